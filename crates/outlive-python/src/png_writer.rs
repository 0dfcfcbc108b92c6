//! `PngWriter`: a PNG that Python writes row by row to anything with a method `write`.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

use outlive_data::png_rows::{PngRows, PngRowsError};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes};

/// A PNG that is being written.
#[pyclass(module = "outlive._native", unsendable)]
pub(crate) struct PngWriter {
    rows: Option<PngRows<PythonFile>>,
    raised: Raised,
}

/// What the file raised: an error loses that on its way through the encoder.
type Raised = Rc<RefCell<Option<PyErr>>>;

#[pymethods]
impl PngWriter {
    #[new]
    fn new(file: Py<PyAny>, width: u32, height: u32, channels: u8) -> PyResult<Self> {
        let raised = Raised::default();
        let file = PythonFile {
            file,
            raised: Rc::clone(&raised),
        };
        let rows = PngRows::begin(file, width, height, channels);
        let rows = Some(rows.map_err(|error| mapped(error, &raised))?);
        Ok(Self { rows, raised })
    }

    /// Writes more pixels, 8 bits a channel.
    fn write(&mut self, pixels: &[u8]) -> PyResult<()> {
        let rows = self.rows.as_mut().ok_or_else(closed)?;
        rows.write(pixels)
            .map_err(|error| mapped(error, &self.raised))
    }

    /// Writes the end; the file itself stays open.
    fn close(&mut self) -> PyResult<()> {
        let rows = self.rows.take().ok_or_else(closed)?;
        rows.finish().map_err(|error| mapped(error, &self.raised))
    }
}

/// An object with a method `write` that takes bytes.
struct PythonFile {
    file: Py<PyAny>,
    raised: Raised,
}

impl Write for PythonFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Python::attach(|python| {
            let data = PyBytes::new(python, bytes);
            let written = self.file.call_method1(python, "write", (data,))?;
            // A raw file may take less than it was given. Others answer with nothing at all, or with
            // something else.
            let taken = if written.bind(python).is_instance_of::<PyBool>() {
                None
            } else {
                written.extract(python).ok()
            };
            Ok(taken.unwrap_or(bytes.len()).min(bytes.len()))
        })
        .map_err(|error: PyErr| {
            let failed = io::Error::other(error.to_string());
            *self.raised.borrow_mut() = Some(error);
            failed
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn closed() -> PyErr {
    PyValueError::new_err("The PNG is complete")
}

fn mapped(error: PngRowsError, raised: &Raised) -> PyErr {
    match (raised.take(), error) {
        (Some(raised), _) => raised,
        (None, PngRowsError::Output(error)) => error.into(),
        (None, other) => PyValueError::new_err(other.to_string()),
    }
}
