//! The run's ledger, mapped once for this process and all its forks.

#![expect(unsafe_code, reason = "maps a file that other processes write to")]

use core::ffi::CStr;

use outlive_record::ledger::{FILE_NAME, Ledger, SIZE};
use outlive_record::region::Region;

use super::once::SetOnce;
use super::process::Cursor;
use super::{file, map};
use crate::config;

static LEDGER: SetOnce<Ledger> = SetOnce::new();

/// The ledger, if this run has a guard.
#[inline]
pub fn current() -> Option<&'static Ledger> {
    LEDGER.get()
}

/// Maps it. Called in the constructor.
pub fn prepare() {
    let mut path = [0_u8; 3200];
    let mut cursor = Cursor {
        bytes: &mut path,
        at: 0,
    };
    cursor.push(config::directory());
    cursor.push(b"/");
    cursor.push(FILE_NAME.as_bytes());
    let Ok(path) = CStr::from_bytes_until_nul(&path) else {
        return;
    };
    let Some(file) = file::open_whole(path, SIZE) else {
        return;
    };
    // SAFETY: a fresh shared mapping of a file that is as long as the mapping.
    let base = unsafe {
        map::map(
            core::ptr::null_mut(),
            SIZE as usize,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            file.number(),
            0,
        )
    };
    // SAFETY: page-aligned, of this length, and never unmapped.
    let region = base.map(|base| unsafe { Region::new(base, SIZE) });
    if let Some(ledger) = region.and_then(Ledger::open) {
        LEDGER.set(ledger);
    }
}
