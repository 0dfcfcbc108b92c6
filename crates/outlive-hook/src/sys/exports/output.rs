//! What writes to standard error: passed on, and its tail kept.
//!
//! Only calls from outside the C library come by here; messages of the C library itself are read
//! from its abort message when the process dies.

#![expect(unsafe_code, reason = "C functions that write for the program")]

use core::ffi::{c_char, c_int, c_void};
use core::mem::transmute;

use crate::last_words;
use crate::recorder;
use crate::sys::c_library::{bounded_text, set_errno, stderr_stream};
use crate::sys::real::rare;
use crate::sys::thread::Entered;

const STDERR: c_int = 2;
/// Longest piece of one formatted call that is kept.
const MAX_FORMATTED: usize = 2048;

fn said(bytes: &[u8]) {
    if let Some(entered) = Entered::try_enter().filter(|_| recorder::is_enabled()) {
        last_words::said(&entered, bytes);
    }
}

/// The real function, with its type.
macro_rules! real {
    ($name:ident: fn($($type:ty),*) -> $result:ty, or $missing:expr) => {{
        let address = rare::$name.address();
        if address.is_null() {
            set_errno(libc::ENOSYS);
            return $missing;
        }
        // SAFETY: the C library's function of this name has this signature.
        unsafe { transmute::<*mut c_void, unsafe extern "C" fn($($type),*) -> $result>(address) }
    }};
}

/// # Safety
///
/// The contract of the C function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn write(fd: c_int, buffer: *const c_void, count: usize) -> isize {
    let real = real!(WRITE: fn(c_int, *const c_void, usize) -> isize, or -1);
    // SAFETY: the caller's own call.
    let written = unsafe { real(fd, buffer, count) };
    if fd == STDERR && written > 0 {
        // SAFETY: the kernel has just read these bytes.
        unsafe { keep(buffer.cast(), written as usize) };
    }
    written
}

/// Keeps the tail of bytes that went out.
///
/// # Safety
///
/// `count` bytes at `buffer` are readable.
unsafe fn keep(buffer: *const u8, count: usize) {
    // SAFETY: promised by the caller.
    said(unsafe { core::slice::from_raw_parts(buffer, count) });
}

/// # Safety
///
/// The contract of the C function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn writev(fd: c_int, parts: *const libc::iovec, count: c_int) -> isize {
    let real = real!(WRITEV: fn(c_int, *const libc::iovec, c_int) -> isize, or -1);
    // SAFETY: the caller's own call.
    let written = unsafe { real(fd, parts, count) };
    let mut left = usize::try_from(written).unwrap_or(0);
    for index in 0..usize::try_from(count).unwrap_or(0) {
        if fd != STDERR || left == 0 {
            break;
        }
        // SAFETY: the kernel has just read this part.
        let part = unsafe { parts.add(index).read() };
        let taken = part.iov_len.min(left);
        if taken > 0 {
            // SAFETY: and these bytes of it.
            unsafe { keep(part.iov_base.cast(), taken) };
        }
        left = left.wrapping_sub(taken);
    }
    written
}

/// # Safety
///
/// The contract of the C function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fwrite(
    buffer: *const c_void,
    size: usize,
    count: usize,
    stream: *mut c_void,
) -> usize {
    let real = real!(FWRITE: fn(*const c_void, usize, usize, *mut c_void) -> usize, or 0);
    // SAFETY: the caller's own call.
    let written = unsafe { real(buffer, size, count, stream) };
    if stream == stderr_stream() && written > 0 && size > 0 {
        // SAFETY: the C library has just read these bytes.
        unsafe { keep(buffer.cast(), size.saturating_mul(written)) };
    }
    written
}

/// # Safety
///
/// The contract of the C function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fputs(text: *const c_char, stream: *mut c_void) -> c_int {
    let real = real!(FPUTS: fn(*const c_char, *mut c_void) -> c_int, or -1);
    if stream == stderr_stream() {
        // SAFETY: the caller hands a NUL-ended text.
        said(unsafe { bounded_text(text, 4096) });
    }
    // SAFETY: the caller's own call.
    unsafe { real(text, stream) }
}

/// Defines `fputc` and its second name, with which C++ streams end their lines.
macro_rules! put_character {
    ($name:ident, $real:ident) => {
        /// # Safety
        ///
        /// The contract of the C function of this name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(character: c_int, stream: *mut c_void) -> c_int {
            let real = real!($real: fn(c_int, *mut c_void) -> c_int, or -1);
            if stream == stderr_stream() {
                said(&[character as u8]);
            }
            // SAFETY: the caller's own call.
            unsafe { real(character, stream) }
        }
    };
}

put_character!(fputc, FPUTC);
put_character!(putc, PUTC);

/// Room for a copy of a `va_list`, which on this processor is one pointer to 24 bytes.
#[cfg(target_arch = "x86_64")]
type Arguments = [u64; 3];

/// # Safety
///
/// The contract of the C function of this name.
#[cfg(target_arch = "x86_64")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vfprintf(
    stream: *mut c_void,
    format: *const c_char,
    arguments: *mut Arguments,
) -> c_int {
    let real = real!(VFPRINTF: fn(*mut c_void, *const c_char, *mut Arguments) -> c_int, or -1);
    if stream == stderr_stream() {
        // SAFETY: the caller's own format and arguments, on a copy.
        unsafe { keep_formatted(format, arguments) };
    }
    // SAFETY: the caller's own call.
    unsafe { real(stream, format, arguments) }
}

/// # Safety
///
/// The contract of the C function of this name.
#[cfg(target_arch = "x86_64")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __vfprintf_chk(
    stream: *mut c_void,
    flag: c_int,
    format: *const c_char,
    arguments: *mut Arguments,
) -> c_int {
    let real = real!(VFPRINTF_CHECKED: fn(*mut c_void, c_int, *const c_char, *mut Arguments) -> c_int,
        or -1);
    if stream == stderr_stream() {
        // SAFETY: the caller's own format and arguments, on a copy.
        unsafe { keep_formatted(format, arguments) };
    }
    // SAFETY: the caller's own call.
    unsafe { real(stream, flag, format, arguments) }
}

/// Formats into a buffer of ours, with a copy of the arguments: formatting uses them up.
#[cfg(target_arch = "x86_64")]
unsafe fn keep_formatted(format: *const c_char, arguments: *mut Arguments) {
    type Format = unsafe extern "C" fn(*mut u8, usize, *const c_char, *mut Arguments) -> c_int;
    let address = rare::VSNPRINTF.address();
    if address.is_null() || !recorder::is_enabled() {
        return;
    }
    // SAFETY: the C library's function of this name has this signature.
    let real: Format = unsafe { transmute(address) };
    // SAFETY: a `va_list` of the caller.
    let mut copy = unsafe { arguments.read() };
    let mut buffer = [0_u8; MAX_FORMATTED];
    // SAFETY: the buffer's own length, the caller's format, a copy of its arguments.
    let length = unsafe { real(buffer.as_mut_ptr(), buffer.len(), format, &raw mut copy) };
    let length = usize::try_from(length)
        .unwrap_or(0)
        .min(MAX_FORMATTED.wrapping_sub(1));
    said(buffer.get(..length).unwrap_or(&[]));
}

/// Defines a variadic front: saves the argument registers, builds a `va_list` whose first
/// `$named` words are taken, and calls the `v` function.
#[cfg(target_arch = "x86_64")]
macro_rules! variadic {
    ($name:ident => $target:path, named $named_bytes:literal, list $list:literal) => {
        /// # Safety
        ///
        /// The contract of the C function of this name; its variable arguments are found where
        /// the caller put them.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() -> c_int {
            core::arch::naked_asm!(
                "push rbp",
                "mov rbp, rsp",
                "sub rsp, 208",
                "mov qword ptr [rsp], rdi",
                "mov qword ptr [rsp + 8], rsi",
                "mov qword ptr [rsp + 16], rdx",
                "mov qword ptr [rsp + 24], rcx",
                "mov qword ptr [rsp + 32], r8",
                "mov qword ptr [rsp + 40], r9",
                "test al, al",
                "je 2f",
                "movaps xmmword ptr [rsp + 48], xmm0",
                "movaps xmmword ptr [rsp + 64], xmm1",
                "movaps xmmword ptr [rsp + 80], xmm2",
                "movaps xmmword ptr [rsp + 96], xmm3",
                "movaps xmmword ptr [rsp + 112], xmm4",
                "movaps xmmword ptr [rsp + 128], xmm5",
                "movaps xmmword ptr [rsp + 144], xmm6",
                "movaps xmmword ptr [rsp + 160], xmm7",
                "2:",
                concat!("mov dword ptr [rsp + 176], ", $named_bytes),
                "mov dword ptr [rsp + 180], 48",
                "lea rax, [rbp + 16]",
                "mov qword ptr [rsp + 184], rax",
                "mov qword ptr [rsp + 192], rsp",
                concat!("lea ", $list, ", [rsp + 176]"),
                "call {target}",
                "leave",
                "ret",
                target = sym $target,
            );
        }
    };
}

#[cfg(target_arch = "x86_64")]
variadic!(fprintf => vfprintf, named "16", list "rdx");
#[cfg(target_arch = "x86_64")]
variadic!(__fprintf_chk => __vfprintf_chk, named "24", list "rcx");
