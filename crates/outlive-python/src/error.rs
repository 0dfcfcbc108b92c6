//! The one place where errors of the crates become Python exceptions.

use std::path::Path;

use outlive_record::read::ReadError;
use pyo3::create_exception;
use pyo3::exceptions::PyException;
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

/// A file that cannot be read as a black box, named.
pub(crate) fn unreadable(path: &Path, error: &ReadError) -> PyErr {
    let message = format!("{error}: `{}`", path.display());
    match error {
        ReadError::TooShort { .. } | ReadError::NotABox => NotABlackBoxError::new_err(message),
        ReadError::TooNew { .. } => FormatTooNewError::new_err(message),
    }
}
