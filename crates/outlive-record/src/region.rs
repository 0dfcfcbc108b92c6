//! The mapped box as a field of atomics: every access is checked against its length, and an access
//! outside goes to a sink instead of a panic.

#![expect(
    unsafe_code,
    reason = "turns mapped memory that another process may read into atomics"
)]

use core::ptr::NonNull;
use core::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};

/// Where writes outside a region go. A wrong offset is a defect, but never one the user's program
/// may feel.
static SINK: AtomicU64 = AtomicU64::new(0);

/// Memory shared with whoever maps the same file.
#[derive(Clone, Copy, Debug)]
pub struct Region {
    base: NonNull<u8>,
    len: u64,
}

// SAFETY: a region is only ever touched through atomics and through byte copies into records that
// no other writer owns, so it may be used from any thread.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    /// Wraps `len` bytes at `base`.
    ///
    /// # Safety
    ///
    /// `base` is aligned to 8 bytes, and `len` bytes from it stay mapped, readable and writable as
    /// long as this value or a copy of it is used.
    pub const unsafe fn new(base: NonNull<u8>, len: u64) -> Self {
        Self { base, len }
    }

    /// Zeroed memory of its own, at least `len` bytes, never given back: a box without a file,
    /// for tests and for tools that make recordings.
    #[cfg(feature = "read")]
    pub fn leaked(len: u64) -> Self {
        let words = vec![0_u64; (len as usize).div_ceil(8)].leak();
        let len = (words.len() as u64).wrapping_mul(8);
        // SAFETY: a slice of `u64` is aligned to 8 bytes, and leaked memory stays for good; the
        // unique reference to it ends here.
        unsafe { Self::new(NonNull::from(words).cast(), len) }
    }

    /// A copy of its bytes, as a file would have them.
    #[cfg(feature = "read")]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.len as usize];
        let mut offset = 0_u64;
        for place in bytes.chunks_exact_mut(8) {
            let word = self.u64(offset).load(Ordering::Acquire);
            if word != 0 {
                place.copy_from_slice(&word.to_le_bytes());
            }
            offset = offset.wrapping_add(8);
        }
        bytes
    }

    /// Its length in bytes.
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Its first address.
    pub fn start(&self) -> u64 {
        self.base.as_ptr() as u64
    }

    /// Whether an address lies in it.
    pub fn holds(&self, address: u64) -> bool {
        address.wrapping_sub(self.start()) < self.len
    }

    /// Whether there are no bytes at all.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The `u64` at `offset`, which is a multiple of 8.
    #[inline]
    pub fn u64(&self, offset: u64) -> &AtomicU64 {
        match self.at(offset, 8) {
            // SAFETY: `at` checked bounds and alignment; the memory is mapped (contract of `new`).
            Some(place) => unsafe { place.cast::<AtomicU64>().as_ref() },
            None => &SINK,
        }
    }

    /// The `i64` at `offset`, which is a multiple of 8.
    #[inline]
    pub fn i64(&self, offset: u64) -> &AtomicI64 {
        let place: NonNull<AtomicI64> = NonNull::from(self.u64(offset)).cast();
        // SAFETY: `AtomicI64` and `AtomicU64` have the same size, alignment and validity.
        unsafe { place.as_ref() }
    }

    /// The `u32` at `offset`, which is a multiple of 4.
    #[inline]
    pub fn u32(&self, offset: u64) -> &AtomicU32 {
        let place = self.at(offset, 4).unwrap_or(NonNull::from(&SINK).cast());
        // SAFETY: `at` checked bounds and alignment, and the sink is larger than a `u32`.
        unsafe { place.cast::<AtomicU32>().as_ref() }
    }

    /// Copies `bytes` to `offset`; what does not fit is left out.
    pub fn put(&self, offset: u64, bytes: &[u8]) {
        let room = self.len.saturating_sub(offset).min(bytes.len() as u64);
        if room == 0 {
            return;
        }
        // SAFETY: `offset` is below `len`, so the sum stays inside the mapping.
        let target = unsafe { self.base.as_ptr().add(offset as usize) };
        // SAFETY: `room` bytes lie inside the mapping and inside `bytes`; the two cannot overlap,
        // since `bytes` is not a view into the region (nothing hands one out).
        unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), target, room as usize) };
    }

    /// Copies bytes at `offset` out; what lies outside stays as it was.
    pub fn get(&self, offset: u64, bytes: &mut [u8]) {
        let room = self.len.saturating_sub(offset).min(bytes.len() as u64);
        if room == 0 {
            return;
        }
        // SAFETY: `offset` is below `len`, so the sum stays inside the mapping.
        let source = unsafe { self.base.as_ptr().add(offset as usize) };
        // SAFETY: `room` bytes lie inside the mapping and inside `bytes`. Another process may be
        // changing them: any bytes are valid, and callers check that they were left alone.
        unsafe { core::ptr::copy_nonoverlapping(source, bytes.as_mut_ptr(), room as usize) };
    }

    /// Copies `len` bytes from a raw source that may not be a valid slice for Rust, such as memory
    /// of the interpreter.
    ///
    /// # Safety
    ///
    /// `len` bytes at `source` are mapped and readable during the call.
    pub unsafe fn put_raw(&self, offset: u64, source: *const u8, len: u64) {
        let room = self.len.saturating_sub(offset).min(len);
        if room == 0 {
            return;
        }
        // SAFETY: `offset` is below `len` of the region.
        let target = unsafe { self.base.as_ptr().add(offset as usize) };
        // SAFETY: the caller vouches for the source, the line above for the target.
        unsafe { core::ptr::copy(source, target, room as usize) };
    }

    /// Writes a text field: a `u32` length and as many bytes as fit in `capacity` behind it, cut
    /// between characters. The length is zero while the bytes change.
    pub fn put_text(&self, offset: u64, capacity: u64, text: &[u8]) {
        let fits = text.len().min(capacity as usize);
        let mut cut = fits;
        if fits < text.len() {
            // A continuation byte at the cut means the character before it is incomplete.
            while cut > 0 && text.get(cut).is_some_and(|byte| byte & 0xC0 == 0x80) {
                cut = cut.wrapping_sub(1);
            }
        }
        self.u32(offset).store(0, Ordering::Release);
        self.put(offset.wrapping_add(4), text.get(..cut).unwrap_or(&[]));
        self.u32(offset).store(cut as u32, Ordering::Release);
    }

    #[inline]
    fn at(&self, offset: u64, size: u64) -> Option<NonNull<u8>> {
        let fits = offset.checked_add(size).is_some_and(|end| end <= self.len);
        if !fits || offset & (size - 1) != 0 {
            return None;
        }
        // SAFETY: inside the mapping, as just checked.
        Some(unsafe { self.base.add(offset as usize) })
    }
}
