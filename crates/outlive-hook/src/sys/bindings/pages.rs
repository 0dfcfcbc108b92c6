//! The constant pages of an object, which the loader closes when it has filled them.

#![expect(unsafe_code, reason = "changes the protection of pages")]

use core::ops::Range;

use crate::kernel;
use crate::sys::loaded::Loaded;

/// Has the kernel add 0 to a word, and wake nobody.
const ADD_NOTHING: usize = 1 << 28 | 2 << 24;

/// Constant pages that are open for a moment.
#[derive(Debug)]
pub struct Opened {
    range: Range<usize>,
}

impl Opened {
    /// Opens them; `None` when the kernel does not allow it.
    pub fn open(range: Range<usize>) -> Option<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        protect(&range, access).then_some(Self { range })
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        protect(&self.range, libc::PROT_READ);
    }
}

/// The pages of an object that are constant once it is loaded, as the loader closes them: whole
/// ones only.
pub fn constant(object: &Loaded<'_>) -> Option<Range<usize>> {
    let range = object.range(object.segment(libc::PT_GNU_RELRO)?);
    let page = page_size();
    let start = range.start & !page.wrapping_sub(1);
    let end = range.end & !page.wrapping_sub(1);
    (start < end).then_some(start..end)
}

/// Whether the loader has not closed them yet, so that it still writes there itself.
pub fn are_open(range: &Range<usize>) -> bool {
    let own = 0_u32;
    // An atomic addition by the kernel, which fails on a page that may not be written to. Advice
    // that asks for the same (`MADV_POPULATE_WRITE`) is unknown before Linux 5.14.
    // SAFETY: both words are there, and neither changes.
    let result = unsafe {
        kernel!(
            libc::SYS_futex,
            &raw const own,
            libc::FUTEX_WAKE_OP | libc::FUTEX_PRIVATE_FLAG,
            0,
            0,
            range.start,
            ADD_NOTHING
        )
    };
    result >= 0
}

fn protect(range: &Range<usize>, access: i32) -> bool {
    let length = range.end.wrapping_sub(range.start);
    // SAFETY: whole pages of a loaded object, which stay readable all the time.
    unsafe { kernel!(libc::SYS_mprotect, range.start, length, access) == 0 }
}

fn page_size() -> usize {
    // SAFETY: asks for a constant.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).unwrap_or(4096)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::loaded;
    use core::ops::ControlFlow;

    #[test]
    fn constant_pages_open_and_close() {
        let mut found = None;
        loaded::each(|object| {
            if object.path.ends_with(b"libc.so.6") {
                found = constant(object);
            }
            ControlFlow::Continue(())
        });
        let range = found.unwrap();
        assert!(!are_open(&range));
        let opened = Opened::open(range.clone()).unwrap();
        assert!(are_open(&range));
        drop(opened);
        assert!(!are_open(&range));
    }
}
