//! A black box, read.

use std::path::{Path, PathBuf};
use std::{fs, io};

use outlive_record::read as reader;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

use crate::error;
use crate::exception::UncaughtException;
use crate::identity::Identity;
use crate::sample::Sample;
use crate::stack::Stack;
use crate::totals::Totals;

/// A black box: the recording of one process.
#[pyclass(frozen, module = "outlive")]
#[derive(Debug)]
pub(crate) struct Recording {
    path: PathBuf,
    bytes: Vec<u8>,
}

/// Reads a black box.
#[pyfunction]
pub(crate) fn read(path: PathBuf) -> PyResult<Recording> {
    let bytes = fs::read(&path).map_err(|error| with_path(error, &path))?;
    let recording = Recording { path, bytes };
    recording.open()?;
    Ok(recording)
}

#[pymethods]
impl Recording {
    /// The format version of the file.
    #[getter]
    fn version(&self) -> PyResult<u32> {
        Ok(self.open()?.version())
    }

    /// Whether the file is as long as its own table says.
    #[getter]
    fn is_complete(&self) -> PyResult<bool> {
        Ok(self.open()?.is_complete())
    }

    /// Who the box is about.
    #[getter]
    fn identity(&self) -> PyResult<Identity> {
        Ok(Identity::from(self.open()?.identity()))
    }

    /// Sums over the process.
    #[getter]
    fn totals(&self) -> PyResult<Totals> {
        Ok(Totals::from(self.open()?.totals()))
    }

    /// All stacks, largest live bytes first.
    #[getter]
    fn stacks(&self) -> PyResult<Vec<Stack>> {
        let recording = self.open()?;
        let mut stacks: Vec<reader::Stack> = recording.stacks().collect();
        stacks.sort_by_key(|stack| std::cmp::Reverse(stack.live_bytes));
        Ok(stacks
            .iter()
            .map(|stack| Stack::new(&recording, stack))
            .collect())
    }

    /// The time line, oldest first.
    #[getter]
    fn samples(&self) -> PyResult<Vec<Sample>> {
        Ok(self
            .open()?
            .samples()
            .into_iter()
            .map(Sample::from)
            .collect())
    }

    /// Uncaught exceptions, oldest first.
    #[getter]
    fn exceptions(&self) -> PyResult<Vec<UncaughtException>> {
        Ok(self
            .open()?
            .exceptions()
            .into_iter()
            .map(UncaughtException::from)
            .collect())
    }

    /// The last bytes that went to standard error.
    #[getter]
    fn stderr_tail(&self) -> PyResult<String> {
        Ok(self.open()?.stderr_tail())
    }

    /// What the recorder has to say about itself, oldest first.
    #[getter]
    fn notes(&self) -> PyResult<Vec<String>> {
        let notes = self.open()?.notes();
        Ok(notes.into_iter().map(|note| note.text).collect())
    }

    fn __repr__(&self) -> PyResult<String> {
        let pid = self.open()?.identity().pid;
        Ok(format!(
            "<outlive.Recording of process {pid}: {}>",
            self.path.display()
        ))
    }
}

impl Recording {
    /// Reads the header anew: cheaper than a borrow that would outlive the call.
    fn open(&self) -> PyResult<reader::Recording<'_>> {
        reader::Recording::read(&self.bytes).map_err(|error| error::unreadable(&self.path, &error))
    }
}

/// An `OSError` of the right subclass that carries the file's name, as Python's own do.
fn with_path(error: io::Error, path: &Path) -> PyErr {
    let Some(number) = error.raw_os_error() else {
        return PyErr::from(error);
    };
    // Rust appends the number to the system's words; Python shows it in front of them.
    let words = error.to_string();
    let words = words
        .split(" (os error")
        .next()
        .unwrap_or_default()
        .to_owned();
    PyOSError::new_err((number, words, path.display().to_string()))
}
