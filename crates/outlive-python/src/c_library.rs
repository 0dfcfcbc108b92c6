//! What has no name in Rust: the hook in this process, the C library's spare memory, and exceptions
//! that were posted to a thread.
#![expect(
    unsafe_code,
    reason = "the hook, the C library and the interpreter are called by symbol"
)]

use std::ffi::{c_long, c_void};
use std::mem::transmute;

use pyo3::ffi::{PyObject, PyThreadState_SetAsyncExc};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Gives the dictionary of its functions, borrowed, or null.
type Namespace = unsafe extern "C" fn() -> *mut PyObject;

/// The functions that the hook offers to Python code of its process; `None` without a hook, or with
/// one that only records.
#[pyfunction]
pub(crate) fn hook_namespace(python: Python<'_>) -> Option<Bound<'_, PyDict>> {
    let name = c"outlive_python_namespace";
    // SAFETY: the name ends with a zero byte, which its type keeps.
    let symbol: *mut c_void = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    if symbol.is_null() {
        return None;
    }
    // SAFETY: only the hook exports this name, and `Namespace` is how it declares it.
    let namespace = unsafe { transmute::<*mut c_void, Namespace>(symbol) };
    // SAFETY: it asks for the lock of the interpreter, which `python` stands for.
    let pointer = unsafe { namespace() };
    // SAFETY: null, or an object that the hook keeps alive as long as the interpreter.
    let found = unsafe { Bound::from_borrowed_ptr_or_opt(python, pointer) }?;
    found.cast_into().ok()
}

/// Lets the C library give free memory back to the kernel. True when there was any.
#[pyfunction]
pub(crate) fn trim(python: Python<'_>) -> bool {
    // It walks over all free memory: other threads go on meanwhile.
    python.detach(|| {
        // SAFETY: takes locks of the allocator alone, which no thread holds while it runs Python.
        unsafe { libc::malloc_trim(0) != 0 }
    })
}

/// Takes back an exception that another thread posted to this one and that has not struck yet.
pub(crate) fn forget_posted_exception(_python: Python<'_>) {
    // SAFETY: has no preconditions; the interpreter knows a thread by the same number.
    let thread = unsafe { libc::pthread_self() };
    // SAFETY: it asks for the lock of the interpreter, which the caller's token stands for; null
    // means that nothing is posted in its place.
    unsafe { PyThreadState_SetAsyncExc(thread as c_long, std::ptr::null_mut()) };
}

/// Asks for huge pages for memory that was just allocated and not touched yet. Whole pages inside
/// it only; what the kernel makes of it is its own affair, so there is no answer.
#[pyfunction]
pub(crate) fn advise_huge_pages(address: usize, size: usize) {
    let page = 4096;
    let end = address.saturating_add(size) / page * page;
    let Some(start) = address
        .checked_next_multiple_of(page)
        .filter(|start| *start < end)
    else {
        return;
    };
    // SAFETY: this advice changes neither contents nor protection of any page, mapped or not; the
    // kernel refuses a range that it cannot be given for.
    unsafe { libc::madvise(start as *mut c_void, end - start, libc::MADV_HUGEPAGE) };
}
