//! The one place where errors of the crates become Python exceptions.

use std::io::{self, ErrorKind};
use std::path::Path;

use outlive_data::decode::DecodeError;
use outlive_data::grid::pyramid::PyramidError;
use outlive_data::grid::sheet::SheetError;
use outlive_data::grid::spool::SpoolError;
use outlive_record::read::ReadError;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyOSError, PyValueError};
use pyo3::prelude::*;

create_exception!(
    outlive,
    OutliveError,
    PyException,
    "Base of all errors that Outlive raises."
);
create_exception!(
    outlive,
    NotABlackBoxError,
    OutliveError,
    "The file is not a black box."
);
create_exception!(
    outlive,
    FormatTooNewError,
    OutliveError,
    "The black box was written by a later version of Outlive."
);
create_exception!(
    outlive,
    CommandError,
    OutliveError,
    "The `outlive` command could not answer."
);
create_exception!(
    outlive,
    NotGuarded,
    OutliveError,
    "There is no guard in this process."
);

/// Adds the exception types to the module.
pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let python = module.py();
    module.add("OutliveError", python.get_type::<OutliveError>())?;
    module.add("NotABlackBoxError", python.get_type::<NotABlackBoxError>())?;
    module.add("FormatTooNewError", python.get_type::<FormatTooNewError>())?;
    module.add("CommandError", python.get_type::<CommandError>())?;
    module.add("NotGuarded", python.get_type::<NotGuarded>())
}

/// What the system says of a file, with its name.
pub(crate) fn of_file(path: &Path, error: &io::Error) -> PyErr {
    match error.raw_os_error() {
        Some(number) => {
            let text = error.to_string();
            let text = text.split(" (os error").next().unwrap_or_default();
            PyOSError::new_err((number, text.to_owned(), path.display().to_string()))
        }
        None => PyOSError::new_err(format!("{error}: `{}`", path.display())),
    }
}

/// A file that is no picture, or one that does not fit.
pub(crate) fn no_picture(path: &Path, error: &DecodeError) -> PyErr {
    PyValueError::new_err(format!("{error}: `{}`", path.display()))
}

/// A cell that was not appended.
pub(crate) fn of_spool(error: &SpoolError) -> PyErr {
    match error {
        SpoolError::Length { .. } => PyValueError::new_err(error.to_string()),
        SpoolError::Write { source, .. } => system(source, error.to_string()),
    }
}

/// A sheet that was not written.
pub(crate) fn of_sheet(error: &SheetError) -> PyErr {
    match error {
        SheetError::Write { cause, .. } => system(cause, error.to_string()),
        _ => OutliveError::new_err(error.to_string()),
    }
}

/// A page that was not written.
pub(crate) fn of_page(error: &PyramidError) -> PyErr {
    match error {
        PyramidError::Write { cause, .. } => system(cause, error.to_string()),
        _ => OutliveError::new_err(error.to_string()),
    }
}

fn system(source: &io::Error, message: String) -> PyErr {
    let Some(number) = number_of(source) else {
        return PyOSError::new_err(message);
    };
    // Python puts the number in front.
    let end = message.rfind(" (os error").unwrap_or(message.len());
    let text = message.get(..end).unwrap_or(&message).to_owned();
    PyOSError::new_err((number, text))
}

/// The system's number of an error: by it Python knows which exception it is. An error that names
/// its file has only its kind left.
fn number_of(error: &io::Error) -> Option<i32> {
    let by_kind = || match error.kind() {
        ErrorKind::NotFound => Some(2),
        ErrorKind::PermissionDenied => Some(13),
        ErrorKind::ResourceBusy => Some(16),
        ErrorKind::AlreadyExists => Some(17),
        ErrorKind::NotADirectory => Some(20),
        ErrorKind::IsADirectory => Some(21),
        ErrorKind::FileTooLarge => Some(27),
        ErrorKind::StorageFull => Some(28),
        ErrorKind::ReadOnlyFilesystem => Some(30),
        ErrorKind::InvalidFilename => Some(36),
        ErrorKind::QuotaExceeded => Some(122),
        _ => None,
    };
    error.raw_os_error().or_else(by_kind)
}

/// A file that cannot be read as a black box, named.
pub(crate) fn unreadable(path: &Path, error: &ReadError) -> PyErr {
    let message = format!("{error}: `{}`", path.display());
    match error {
        ReadError::TooShort { .. } | ReadError::NotABox => NotABlackBoxError::new_err(message),
        ReadError::TooNew { .. } => FormatTooNewError::new_err(message),
    }
}
