//! Reading the interpreter's memory, trusting it or not.

#![expect(unsafe_code, reason = "reads memory that Rust does not own")]

use crate::kernel;
use outlive_record::write::{BoxWriter, StringId};

use crate::python::Memory;

/// Reads directly. Only made where the addresses are known to be good.
#[derive(Clone, Copy, Debug)]
pub struct Direct(());

impl Direct {
    /// # Safety
    ///
    /// Every address that is read through this value is mapped and holds what the caller expects:
    /// for frames of the calling thread under a verified layout that is so, because only this
    /// thread changes them and it is here.
    pub const unsafe fn new() -> Self {
        Self(())
    }
}

impl Memory for Direct {
    #[inline]
    fn word(&self, address: usize) -> Option<usize> {
        // SAFETY: promised when this value was made.
        Some(unsafe { (address as *const usize).read_unaligned() })
    }

    #[inline]
    fn half(&self, address: usize) -> Option<u32> {
        // SAFETY: promised when this value was made.
        Some(unsafe { (address as *const u32).read_unaligned() })
    }

    #[inline]
    fn byte(&self, address: usize) -> Option<u8> {
        // SAFETY: promised when this value was made.
        Some(unsafe { (address as *const u8).read() })
    }

    #[inline]
    fn expect(&self, address: usize) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a hint; the processor ignores addresses that it cannot read.
        unsafe {
            core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(
                address as *const i8,
            );
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: as on x86-64.
        unsafe {
            core::arch::asm!("prfm pldl1keep, [{0}]", in(reg) address, options(nostack, readonly));
        }
    }
}

/// Reads through the kernel, which says no instead of faulting. For everything not yet verified,
/// and for signal handlers.
#[derive(Clone, Copy, Debug)]
pub struct Checked;

impl Memory for Checked {
    fn word(&self, address: usize) -> Option<usize> {
        let mut bytes = [0; size_of::<usize>()];
        copy(address, &mut bytes).then(|| usize::from_ne_bytes(bytes))
    }

    fn half(&self, address: usize) -> Option<u32> {
        let mut bytes = [0; 4];
        copy(address, &mut bytes).then(|| u32::from_ne_bytes(bytes))
    }

    fn byte(&self, address: usize) -> Option<u8> {
        let mut bytes = [0; 1];
        copy(address, &mut bytes).then_some(bytes[0])
    }
}

/// Copies memory of this process if all of it is readable.
pub fn copy(address: usize, bytes: &mut [u8]) -> bool {
    let local = libc::iovec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: bytes.len(),
    };
    let remote = libc::iovec {
        iov_base: address as *mut libc::c_void,
        iov_len: bytes.len(),
    };
    let pid = super::process::pid();
    // SAFETY: a raw system call; the kernel checks `remote`, and `local` is a live slice.
    let copied = unsafe {
        kernel!(
            libc::SYS_process_vm_readv,
            pid,
            core::ptr::from_ref(&local),
            1,
            core::ptr::from_ref(&remote),
            1,
            0,
        )
    };
    copied as usize == bytes.len()
}

/// For the frames of the calling thread, under a verified layout (`python::layout`).
pub fn own_frames() -> Direct {
    // SAFETY: callers walk the state that `PyGILState_GetThisThreadState` gave them. Only this
    // thread pushes and pops its frames, and it is here; they keep their code objects alive, and
    // those their texts and tables. The layout was tried on real frames before.
    unsafe { Direct::new() }
}

/// Copies an object of the interpreter into a new string of the box, if both its ends can be read.
pub fn copy_to_string<M: Memory>(
    black_box: &BoxWriter,
    memory: &M,
    address: usize,
    length: usize,
) -> StringId {
    let last = address.wrapping_add(length.saturating_sub(1));
    if length == 0 || memory.byte(address).is_none() || memory.byte(last).is_none() {
        return StringId(0);
    }
    // SAFETY: both ends are mapped, and a line table is one object of a living code object of a
    // frame that cannot end before we return.
    unsafe { black_box.add_raw_string(address as *const u8, length as u64) }.unwrap_or(StringId(0))
}
