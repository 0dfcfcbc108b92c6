//! `text_coverage`: a line of text as the share of each pixel that its letters cover.

use std::cell::RefCell;

use outlive_data::grid::cells::CellView;
use outlive_data::grid::text::{Caption, Ink};
use outlive_data::picture::Colour;
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// White letters on what is black already: each of the three bytes of a pixel is its coverage.
const WHITE: Ink = Ink {
    letters: Colour([255; 3]),
    ground: None,
};

thread_local! {
    /// The letters of the last height: all lines of a grid have the same.
    static LAST: RefCell<Option<(u32, Caption)>> = const { RefCell::new(None) };
}

/// Draws a text in the middle of a strip: one byte a pixel, row after row.
#[pyfunction]
pub(crate) fn text_coverage<'py>(
    python: Python<'py>,
    text: &str,
    width: u32,
    height: u32,
) -> PyResult<Bound<'py, PyBytes>> {
    let too_large = || PyMemoryError::new_err(format!("A strip of {width} x {height} pixels"));
    let size = (width as usize)
        .checked_mul(height as usize)
        .and_then(|pixels| pixels.checked_mul(3))
        .ok_or_else(too_large)?;
    let mut colours = Vec::new();
    colours.try_reserve_exact(size).map_err(|_| too_large())?;
    colours.resize(size, 0);
    if let Some(mut view) = CellView::new(&mut colours, width as usize * 3, width, height) {
        LAST.with_borrow_mut(|last| {
            let kept = last.take_if(|(known, _)| *known == height);
            let (_, caption) = last.insert(kept.unwrap_or_else(|| (height, Caption::new(height))));
            caption.draw(&mut view, text, WHITE);
        });
    }
    PyBytes::new_with(python, size / 3, |coverage| {
        for (byte, colour) in coverage.iter_mut().zip(colours.chunks_exact(3)) {
            *byte = colour.first().copied().unwrap_or_default();
        }
        Ok(())
    })
}
