//! This process and this thread: ids, names, start time, what `/proc` says.

#![expect(unsafe_code, reason = "raw system calls")]

use crate::kernel;

/// Process id.
pub fn pid() -> u32 {
    // SAFETY: cannot fail.
    unsafe { libc::getpid() as u32 }
}

/// Parent's process id.
pub fn ppid() -> u32 {
    // SAFETY: cannot fail.
    unsafe { libc::getppid() as u32 }
}

/// Thread id.
pub fn tid() -> u32 {
    // SAFETY: cannot fail.
    unsafe { kernel!(libc::SYS_gettid) as u32 }
}

/// The C library's handle of this thread: the key under which its creator is known.
pub fn thread_handle() -> u64 {
    // SAFETY: cannot fail.
    unsafe { libc::pthread_self() as u64 }
}

/// A resource limit of this process, if it has one.
pub fn limit(resource: u32) -> Option<u64> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: a live structure; a query of this process.
    let asked = unsafe {
        kernel!(
            libc::SYS_prlimit64,
            0,
            resource,
            core::ptr::null::<libc::rlimit>(),
            &raw mut limit
        )
    };
    (asked == 0 && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

/// Whether the calling thread is the only one left: the main thread has ended and is not gone yet.
pub fn is_only_thread() -> bool {
    let mut text = [0_u8; 2048];
    let length = super::file::read(c"/proc/self/status", &mut text);
    let text = text.get(..length).unwrap_or(&[]);
    let mut has_ended = false;
    let mut threads = 0_u64;
    for line in text.split(|&byte| byte == b'\n') {
        if let Some(state) = line.strip_prefix(b"State:") {
            has_ended = matches!(state.trim_ascii_start().first(), Some(b'Z' | b'X'));
        }
        if let Some(count) = line.strip_prefix(b"Threads:") {
            let digits = count.trim_ascii();
            threads = digits.iter().fold(0, |sum, &byte| push_digit(sum, byte));
        }
    }
    has_ended && threads <= 2
}

/// How often this process touched a page for the first time.
pub fn page_faults() -> u64 {
    // SAFETY: zero is a valid value of this structure of integers.
    let mut usage: libc::rusage = unsafe { core::mem::zeroed() };
    // SAFETY: a live structure; a query of this process.
    unsafe { kernel!(libc::SYS_getrusage, libc::RUSAGE_SELF, &raw mut usage) };
    usage.ru_minflt as u64
}

/// Whether a process has memory: it is there, and not only waited for.
pub fn has_memory(pid: u32) -> bool {
    pages_of(pid)[0] > 0
}

/// Bytes that a process has resident and that are no file's.
pub fn anonymous_memory(pid: u32) -> u64 {
    let [_, resident, shared] = pages_of(pid);
    resident.saturating_sub(shared).wrapping_mul(4096)
}

/// The first three figures of `/proc/PID/statm`: size, resident, shared; in pages.
fn pages_of(pid: u32) -> [u64; 3] {
    let mut path = [0_u8; 48];
    let mut cursor = Cursor {
        bytes: &mut path,
        at: 0,
    };
    cursor.push(b"/proc/");
    cursor.push_number(u64::from(pid));
    cursor.push(b"/statm\0");
    let mut text = [0_u8; 128];
    let length = core::ffi::CStr::from_bytes_until_nul(&path)
        .map_or(0, |path| super::file::read(path, &mut text));
    let mut figures = text
        .get(..length)
        .unwrap_or(&[])
        .split(|&byte| byte == b' ')
        .map(|figure| figure.iter().fold(0, |sum, &byte| push_digit(sum, byte)));
    [(); 3].map(|()| figures.next().unwrap_or(0))
}

/// Name of this thread; returns its length.
pub fn thread_name(buffer: &mut [u8; 16]) -> usize {
    // SAFETY: the kernel writes at most 16 bytes.
    unsafe {
        kernel!(
            libc::SYS_prctl,
            libc::PR_GET_NAME,
            buffer.as_mut_ptr(),
            0,
            0,
            0
        )
    };
    buffer
        .iter()
        .position(|&byte| byte == 0)
        .unwrap_or(buffer.len())
}

/// Start time of this process in clock ticks since boot: field 22 of `/proc/self/stat`.
pub fn start_ticks() -> u64 {
    let mut buffer = [0_u8; 1024];
    let length = super::file::read(c"/proc/self/stat", &mut buffer);
    let line = buffer.get(..length).unwrap_or(&[]);
    // The name stands in parentheses and may hold anything; fields are counted behind the last.
    let after_name = line.iter().rposition(|&byte| byte == b')').unwrap_or(0);
    let rest = line.get(after_name..).unwrap_or(&[]);
    rest.split(|&byte| byte == b' ').nth(20).map_or(0, |field| {
        field.iter().fold(0, |sum, &byte| push_digit(sum, byte))
    })
}

fn push_digit(number: u64, byte: u8) -> u64 {
    number
        .wrapping_mul(10)
        .wrapping_add(u64::from(byte.wrapping_sub(b'0')))
}

/// Names the main thread of another thread in this process: `/proc/self/task/TID/comm`.
pub fn name_of(tid: u32, buffer: &mut [u8; 16]) -> usize {
    let mut path = [0_u8; 48];
    let mut cursor = Cursor {
        bytes: &mut path,
        at: 0,
    };
    cursor.push(b"/proc/self/task/");
    cursor.push_number(u64::from(tid));
    cursor.push(b"/comm\0");
    let Ok(path) = core::ffi::CStr::from_bytes_until_nul(&path) else {
        return 0;
    };
    let length = super::file::read(path, buffer);
    buffer
        .iter()
        .take(length)
        .position(|&byte| byte == b'\n')
        .unwrap_or(length)
}

/// Builds small texts, such as paths, in a buffer; what does not fit is left out.
#[derive(Debug)]
pub struct Cursor<'a> {
    /// The buffer.
    pub bytes: &'a mut [u8],
    /// How much of it is filled.
    pub at: usize,
}

impl Cursor<'_> {
    /// Appends bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if let Some(place) = self.bytes.get_mut(self.at) {
                *place = byte;
                self.at = self.at.wrapping_add(1);
            }
        }
    }

    /// Appends a number in decimal.
    pub fn push_number(&mut self, number: u64) {
        let mut digits = [0_u8; 20];
        let mut rest = number;
        let mut first = digits.len();
        for (index, place) in digits.iter_mut().enumerate().rev() {
            *place = b'0'.wrapping_add((rest % 10) as u8);
            first = index;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        self.push(digits.get(first..).unwrap_or(&[]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_time_is_the_one_in_proc() {
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
        let field = stat
            .rsplit(')')
            .next()
            .unwrap()
            .split_whitespace()
            .nth(19)
            .unwrap();
        assert_eq!(start_ticks(), field.parse::<u64>().unwrap());
    }

    #[test]
    fn numbers_are_written_in_decimal() {
        let mut bytes = [0; 32];
        let mut cursor = Cursor {
            bytes: &mut bytes,
            at: 0,
        };
        cursor.push_number(0);
        cursor.push(b" ");
        cursor.push_number(u64::MAX);
        let length = cursor.at;
        assert_eq!(&bytes[..length], b"0 18446744073709551615");
    }
}
