//! Which loaded library an address belongs to, without a lock (`_dl_find_object`, glibc 2.35).

#![expect(unsafe_code, reason = "calls the loader and reads its link map")]

use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::transmute;
use core::ops::Range;
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
    /// What is added to the addresses in its file.
    base: usize,
    /// Its dynamic section.
    dynamic: *const Dynamic,
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
    dynamic: *const Dynamic,
}

#[derive(Debug)]
#[repr(C)]
struct Dynamic {
    tag: i64,
    value: usize,
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
    let link_map = unsafe { &*found.link_map };
    // SAFETY: the loader's names end with a NUL.
    let path = unsafe { bounded_text(link_map.name, 4096) };
    Some(Library {
        start: found.map_start as usize,
        end: found.map_end as usize,
        path,
        base: link_map.address,
        dynamic: link_map.dynamic,
    })
}

impl Library {
    /// Where an exported function of it lies. The loader would say so too, but behind a lock.
    pub fn function(&self, name: &CStr) -> Option<Range<usize>> {
        let symbols = self.section(DT_SYMTAB)? as *const libc::Elf64_Sym;
        let names = self.section(DT_STRTAB)? as *const c_char;
        let table = self.section(DT_GNU_HASH)? as *const u32;
        let hash = name.to_bytes().iter().fold(5381_u32, |hash, &byte| {
            hash.wrapping_mul(33).wrapping_add(u32::from(byte))
        });
        // SAFETY: the table starts with four numbers; filters of eight bytes, buckets and chains
        // follow, all as long as those say.
        let word = |place: usize| unsafe { table.wrapping_add(place).read_unaligned() };
        let (first, filters) = (word(1) as usize, word(2) as usize);
        let buckets = 4_usize.wrapping_add(filters.wrapping_mul(2));
        let chains = buckets.wrapping_add(word(0) as usize);
        let bucket = hash.checked_rem(word(0))? as usize;
        let mut number = word(buckets.wrapping_add(bucket)) as usize;
        while number >= first {
            let kept = word(chains.wrapping_add(number.wrapping_sub(first)));
            // SAFETY: the hash table names symbols that there are, and those have names.
            let symbol = unsafe { &*symbols.wrapping_add(number) };
            // SAFETY: names end with a NUL.
            let is_it = (kept ^ hash) < 2
                && unsafe { CStr::from_ptr(names.wrapping_add(symbol.st_name as usize)) } == name;
            if is_it {
                let start = self.base.wrapping_add(symbol.st_value as usize);
                return Some(start..start.wrapping_add(symbol.st_size as usize));
            }
            if kept & 1 != 0 {
                break;
            }
            number = number.wrapping_add(1);
        }
        None
    }

    /// The address of a section that is needed at run time.
    fn section(&self, tag: i64) -> Option<usize> {
        let mut place = self.dynamic;
        if place.is_null() {
            return None;
        }
        // SAFETY: the section ends with a zero tag.
        let entries = core::iter::from_fn(|| unsafe {
            let entry = &*place;
            place = place.wrapping_add(1);
            (entry.tag != 0).then_some(entry)
        });
        let found = entries.into_iter().find(|entry| entry.tag == tag)?;
        // The loader has moved it to where the library is; where it may not write, it has not.
        let is_moved = found.value >= self.base;
        Some(if is_moved {
            found.value
        } else {
            self.base.wrapping_add(found.value)
        })
    }
}

const DT_STRTAB: i64 = 5;
const DT_SYMTAB: i64 = 6;
const DT_GNU_HASH: i64 = 0x6fff_fef5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_by_name() {
        prepare();
        let address = symbol(c"qsort") as usize;
        let library = of(address).unwrap();
        assert!(library.path.ends_with(b"libc.so.6"));
        assert_eq!(library.function(c"qsort").unwrap().start, address);
        assert_eq!(library.function(c"no_such_function"), None);
    }
}
