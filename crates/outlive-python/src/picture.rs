//! `decode`: a picture file as pixels, within a size and a budget.

use std::path::PathBuf;

use outlive_data::budget::Budget;
use outlive_data::decode::Scale;
use outlive_data::fit::Fit;
use outlive_data::picture::Colour;
use outlive_data::source::{Opened, PictureReader};
use pyo3::prelude::*;
use pyo3::types::PyByteArray;

use crate::error;

/// Bytes that the decoding of one file may take.
pub(crate) const DECODING: u64 = 1 << 30;

/// Decodes a picture, shrunk so that it fits: its width, its height, and 3 bytes a pixel.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 hands paths over")]
pub(crate) fn decode(
    python: Python<'_>,
    path: PathBuf,
    max_width: u32,
    max_height: u32,
) -> PyResult<(u32, u32, Bound<'_, PyByteArray>)> {
    let scale = Scale::Box(Fit::Contain, max_width, max_height);
    let read = python.detach(|| {
        let opened = Opened::whole(&path).map_err(|error| error::of_file(&path, &error))?;
        PictureReader::new(Budget::new(DECODING))
            .read(&opened, scale, Colour([255; 3]))
            .map_err(|error| error::no_picture(&path, &error))
    })?;
    let picture = read.picture;
    let pixels = PyByteArray::new_with(python, picture.pixels().len(), |bytes| {
        bytes.copy_from_slice(picture.pixels());
        Ok(())
    })?;
    Ok((picture.width(), picture.height(), pixels))
}
