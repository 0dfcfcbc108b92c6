//! The end of a `with` block, in native code. A Python function is where an exception strikes that
//! the guard posted to the thread meanwhile; it would get past a block that is there to catch it.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::c_library;

/// Base of a context manager that says in `goes_on_after` whether an error is swallowed.
#[pyclass(subclass, frozen, module = "outlive._native")]
#[derive(Debug)]
pub(crate) struct NativeExit;

#[pymethods]
impl NativeExit {
    /// Arguments are for the constructor of the derived class.
    #[new]
    #[pyo3(signature = (*_arguments, **_named))]
    fn new(_arguments: &Bound<'_, PyTuple>, _named: Option<&Bound<'_, PyDict>>) -> Self {
        Self
    }

    /// Ends the block: what was posted is dropped if the block failed for another reason already.
    fn __exit__(
        slf: &Bound<'_, Self>,
        _kind: &Bound<'_, PyAny>,
        error: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<bool> {
        if !error.is_none() {
            c_library::forget_posted_exception(slf.py());
        }
        slf.call_method1("goes_on_after", (error,))?.is_truthy()
    }
}
