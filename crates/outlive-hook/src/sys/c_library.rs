//! The C library: `errno`, symbol look-up, its abort message, its standard error.

#![expect(unsafe_code, reason = "calls the C library")]

use core::ffi::{CStr, c_char, c_void};
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::Relaxed;

use super::{bindings, loaded};

/// The calling thread's `errno`.
pub fn errno() -> i32 {
    // SAFETY: the C library gives a valid address for each thread.
    unsafe { *libc::__errno_location() }
}

/// Sets it.
pub fn set_errno(value: i32) {
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = value };
}

/// Address of a symbol in the program or any library loaded with it.
pub fn symbol(name: &CStr) -> *mut c_void {
    // SAFETY: both arguments are valid; not called on any recording path, since it may allocate.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }
}

/// Address of the symbol that would have been used if this library were not here.
pub fn next_symbol(name: &CStr) -> *mut c_void {
    if loaded::came_late() {
        // What everybody uses. What the loader would call "next" is behind us in our own list of
        // libraries, and may be another.
        let shown = bindings::behind(symbol(name) as usize, name);
        if shown != 0 {
            return shown as *mut c_void;
        }
    }
    // SAFETY: as above; the caller is this library, so "next" means behind it.
    unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) }
}

/// Forgets the message of a failed look-up, so that the program's own `dlerror` stays clean.
pub fn forget_look_up_errors() {
    // SAFETY: takes no argument.
    unsafe { libc::dlerror() };
}

/// The value of an environment variable.
///
/// # Safety
///
/// No other thread changes the environment meanwhile: called in the constructor only.
pub unsafe fn variable(name: &CStr) -> Option<&'static [u8]> {
    // SAFETY: the name ends with a NUL.
    let value = unsafe { libc::getenv(name.as_ptr()) };
    if value.is_null() {
        return None;
    }
    // SAFETY: a non-null result is a NUL-ended string; the caller vouches that it stays.
    Some(unsafe { CStr::from_ptr(value) }.to_bytes())
}

/// Whether an environment variable is set to `0`. Asked rarely, and about a variable that nobody
/// changes once the library that reads it is loaded.
pub fn is_set_to_zero(name: &CStr) -> bool {
    // SAFETY: the name ends with a NUL.
    let value = unsafe { libc::getenv(name.as_ptr()) };
    // SAFETY: a non-null result is a NUL-ended string.
    !value.is_null() && unsafe { bounded_text(value, 8) } == b"0"
}

static ABORT_MESSAGE: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
static STDERR: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// Looks up what signal handlers and exports need later. Called in the constructor.
pub fn prepare() {
    // SAFETY: valid names; may allocate, which is fine in the constructor.
    let message = unsafe {
        libc::dlvsym(
            libc::RTLD_DEFAULT,
            c"__abort_msg".as_ptr(),
            c"GLIBC_PRIVATE".as_ptr(),
        )
    };
    ABORT_MESSAGE.store(message, Relaxed);
    let stderr = symbol(c"stderr");
    if !stderr.is_null() {
        // SAFETY: `stderr` is a variable of the C library that holds a stream.
        STDERR.store(unsafe { *stderr.cast::<*mut c_void>() }, Relaxed);
    }
    forget_look_up_errors();
}

/// The stream of standard error, as the C library started with it.
#[inline]
pub fn stderr_stream() -> *mut c_void {
    STDERR.load(Relaxed)
}

/// Why the C library is aborting: heap corruption, a failed assertion.
pub fn abort_message(buffer: &mut [u8]) -> usize {
    let holder = ABORT_MESSAGE.load(Relaxed);
    if holder.is_null() {
        return 0;
    }
    // The variable points to a `u32` size and the text. Read through the kernel: we are dying.
    let mut word = [0; 8];
    if !super::peek::copy(holder as usize, &mut word) {
        return 0;
    }
    let message = usize::from_ne_bytes(word);
    if message == 0 {
        return 0;
    }
    let mut length = 0;
    for (index, place) in buffer.iter_mut().enumerate() {
        let mut byte = [0; 1];
        let address = message.wrapping_add(4).wrapping_add(index);
        if !super::peek::copy(address, &mut byte) || byte[0] == 0 {
            break;
        }
        *place = byte[0];
        length = index.wrapping_add(1);
    }
    length
}

/// Length of a NUL-ended string, at most `limit`.
///
/// # Safety
///
/// `text` points to readable bytes up to its NUL or `limit`.
pub unsafe fn bounded_text<'a>(text: *const c_char, limit: usize) -> &'a [u8] {
    if text.is_null() {
        return &[];
    }
    // SAFETY: promised by the caller.
    let length = unsafe { libc::strnlen(text, limit) };
    // SAFETY: `length` bytes were just read.
    unsafe { core::slice::from_raw_parts(text.cast(), length) }
}
