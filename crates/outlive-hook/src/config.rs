//! What `outlive run` tells the hook, through the environment. Read once, in the constructor.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

use outlive_record::layout::{DEFAULT_BOX_SIZE, Layout};

use crate::sys::once::SetOnce;

/// Folder for the black boxes; without it nothing is recorded.
pub const RUN_DIR: &core::ffi::CStr = c"OUTLIVE_RUN_DIR";
/// Size of a box in bytes.
pub const BOX_SIZE: &core::ffi::CStr = c"OUTLIVE_BOX_SIZE";

const MAX_PATH: usize = 3072;

/// A path of bounded length.
#[derive(Clone, Copy, Debug)]
struct Path {
    bytes: [u8; MAX_PATH],
    len: usize,
}

static DIRECTORY: SetOnce<Path> = SetOnce::new();
static SIZE: AtomicU64 = AtomicU64::new(DEFAULT_BOX_SIZE);

/// Takes the settings over; `false` when there is nothing to record into.
pub fn set(directory: Option<&[u8]>, size: Option<&[u8]>) -> bool {
    let Some(directory) = directory.filter(|path| !path.is_empty() && path.len() < MAX_PATH) else {
        return false;
    };
    let mut path = Path {
        bytes: [0; MAX_PATH],
        len: directory.len(),
    };
    for (place, &byte) in path.bytes.iter_mut().zip(directory) {
        *place = byte;
    }
    DIRECTORY.set(path);
    let size = size.and_then(parse).unwrap_or(DEFAULT_BOX_SIZE);
    SIZE.store(Layout::for_size(size).box_size, Relaxed);
    true
}

/// The folder.
pub fn directory() -> &'static [u8] {
    DIRECTORY
        .get()
        .and_then(|path| path.bytes.get(..path.len))
        .unwrap_or(&[])
}

/// Size of a box.
pub fn box_size() -> u64 {
    SIZE.load(Relaxed)
}

fn parse(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0_u64, |number, byte| {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit < 10)?;
        number.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn sizes_are_plain_numbers() {
        assert_eq!(super::parse(b"33554432"), Some(32 << 20));
        assert_eq!(super::parse(b"32MiB"), None);
        assert_eq!(super::parse(b"99999999999999999999999"), None);
    }
}
