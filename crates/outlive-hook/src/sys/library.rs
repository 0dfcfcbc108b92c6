//! Which loaded library an address belongs to, without a lock (`_dl_find_object`, glibc 2.35).

#![expect(unsafe_code, reason = "calls the loader and reads its link map")]

use core::ffi::{c_char, c_int, c_void};
use core::mem::transmute;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::Relaxed;

use super::c_library::{bounded_text, symbol};

/// A loaded library.
#[derive(Clone, Copy, Debug)]
pub struct Library {
    /// First address.
    pub start: usize,
    /// Address behind the last.
    pub end: usize,
    /// Its path; empty for the program itself.
    pub path: &'static [u8],
}

/// The loader's answer, as its header lays it out.
#[repr(C)]
struct FoundObject {
    flags: u64,
    map_start: *mut c_void,
    map_end: *mut c_void,
    link_map: *const LinkMap,
    rest: [u64; 16],
}

#[repr(C)]
struct LinkMap {
    address: usize,
    name: *const c_char,
}

static FIND: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// Looks the loader's function up. Called in the constructor.
pub fn prepare() {
    FIND.store(symbol(c"_dl_find_object"), Relaxed);
}

/// The library that holds this address.
pub fn of(address: usize) -> Option<Library> {
    let function = FIND.load(Relaxed);
    if function.is_null() {
        return None;
    }
    // SAFETY: the symbol has this signature since it exists.
    let find: unsafe extern "C" fn(*mut c_void, *mut FoundObject) -> c_int =
        unsafe { transmute(function) };
    let mut found = FoundObject {
        flags: 0,
        map_start: core::ptr::null_mut(),
        map_end: core::ptr::null_mut(),
        link_map: core::ptr::null(),
        rest: [0; 16],
    };
    // SAFETY: lock-free and async-signal-safe by its documentation; `found` is larger than needed.
    if unsafe { find(address as *mut c_void, &raw mut found) } != 0 || found.link_map.is_null() {
        return None;
    }
    // SAFETY: the link map lives as long as the object is loaded, and code of it is running.
    let name = unsafe { (*found.link_map).name };
    // SAFETY: the loader's names end with a NUL.
    let path = unsafe { bounded_text(name, 4096) };
    Some(Library {
        start: found.map_start as usize,
        end: found.map_end as usize,
        path,
    })
}
