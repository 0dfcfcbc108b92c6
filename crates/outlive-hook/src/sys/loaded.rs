//! The objects that the loader has brought into this process: the program, its libraries, ours.

#![expect(unsafe_code, reason = "walks the loader's list of objects")]

use core::ffi::{c_int, c_void};
use core::ops::{ControlFlow, Range};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU8, AtomicUsize};

use super::c_library::bounded_text;

/// The table of needed symbol relocations without a procedure linkage table, and its size.
pub const DT_RELA: i64 = 7;
/// Its size.
pub const DT_RELASZ: i64 = 8;
/// Relocations of the procedure linkage table.
pub const DT_JMPREL: i64 = 23;
/// Their size.
pub const DT_PLTRELSZ: i64 = 2;
/// Symbols.
pub const DT_SYMTAB: i64 = 6;
/// Their names.
pub const DT_STRTAB: i64 = 5;
/// Where the object's own needs are looked for: two tags with nearly the same meaning.
pub const DT_RPATH: i64 = 15;
/// The newer one.
pub const DT_RUNPATH: i64 = 29;

/// One entry of a dynamic section.
#[derive(Debug)]
#[repr(C)]
pub struct Dynamic {
    tag: i64,
    value: usize,
}

/// An object that is loaded, seen while the loader lets nobody take it away.
#[derive(Clone, Copy, Debug)]
pub struct Loaded<'a> {
    /// What is added to the addresses in its file.
    pub base: usize,
    /// Its path; empty for the program itself.
    pub path: &'a [u8],
    /// Its segments.
    pub segments: &'a [libc::Elf64_Phdr],
    /// How many objects were ever loaded, and taken away.
    pub changes: (u64, u64),
}

impl Loaded<'_> {
    /// The addresses of a segment.
    pub fn range(&self, segment: &libc::Elf64_Phdr) -> Range<usize> {
        let start = self.base.wrapping_add(segment.p_vaddr as usize);
        start..start.wrapping_add(segment.p_memsz as usize)
    }

    /// The first segment of a kind.
    pub fn segment(&self, kind: u32) -> Option<&libc::Elf64_Phdr> {
        self.segments.iter().find(|segment| segment.p_type == kind)
    }

    /// Whether an address lies in a part of it that is loaded and satisfies a condition.
    pub fn holds(&self, address: usize, is_it: impl Fn(&libc::Elf64_Phdr) -> bool) -> bool {
        self.segments.iter().any(|segment| {
            segment.p_type == libc::PT_LOAD
                && is_it(segment)
                && self.range(segment).contains(&address)
        })
    }

    /// The value of an entry of its dynamic section.
    pub fn entry(&self, tag: i64) -> Option<usize> {
        let dynamic = self.range(self.segment(libc::PT_DYNAMIC)?).start as *const Dynamic;
        let mut place = dynamic;
        loop {
            // SAFETY: the object is loaded, and its dynamic section ends with a zero tag.
            let entry = unsafe { &*place };
            if entry.tag == tag {
                return Some(entry.value);
            }
            if entry.tag == 0 {
                return None;
            }
            place = place.wrapping_add(1);
        }
    }

    /// The address that an entry of its dynamic section holds. The loader has moved it to where the
    /// object is; where it may not write, it has not.
    pub fn address(&self, tag: i64) -> Option<usize> {
        let value = self.entry(tag)?;
        let is_moved = value >= self.base;
        Some(if is_moved {
            value
        } else {
            self.base.wrapping_add(value)
        })
    }
}

/// Shows all objects, until `visit` has seen enough. It must not load or unload anything.
pub fn each<F: FnMut(&Loaded<'_>) -> ControlFlow<()>>(mut visit: F) {
    unsafe extern "C" fn call<F: FnMut(&Loaded<'_>) -> ControlFlow<()>>(
        info: *mut libc::dl_phdr_info,
        _: libc::size_t,
        visit: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader hands out a description that is valid during this call.
        let info = unsafe { &*info };
        if info.dlpi_phdr.is_null() {
            return 0;
        }
        // SAFETY: the loader keeps the table, which is that long, while the object is loaded.
        let segments =
            unsafe { core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
        let loaded = Loaded {
            base: info.dlpi_addr as usize,
            // SAFETY: the loader's names end with a NUL.
            path: unsafe { bounded_text(info.dlpi_name, 4096) },
            segments,
            changes: (info.dlpi_adds, info.dlpi_subs),
        };
        // SAFETY: the pointer that was handed in below, to a closure that nobody else uses.
        let visit = unsafe { &mut *visit.cast::<F>() };
        c_int::from(visit(&loaded).is_break())
    }
    // SAFETY: the callback gets back the pointer to `visit`, which lives until the call returns.
    unsafe { libc::dl_iterate_phdr(Some(call::<F>), (&raw mut visit).cast()) };
}

const UNKNOWN: u8 = 0;
const EARLY: u8 = 1;
const LATE: u8 = 2;
static CAME: AtomicU8 = AtomicU8::new(UNKNOWN);

/// Whether this library was loaded into a program that ran already: objects are listed in the order
/// they came, and what is preloaded comes before the C library.
pub fn came_late() -> bool {
    match CAME.load(Relaxed) {
        EARLY => false,
        LATE => true,
        _ => {
            let late = find_order();
            CAME.store(if late { LATE } else { EARLY }, Relaxed);
            late
        }
    }
}

fn find_order() -> bool {
    let marker = find_order as *const () as usize;
    let mut is_late = false;
    each(|object| {
        is_late |= object.path.ends_with(b"/libc.so.6");
        let is_own = object.holds(marker, |_| true);
        if is_own || is_late {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    is_late
}

static OWN_START: AtomicUsize = AtomicUsize::new(0);
static OWN_END: AtomicUsize = AtomicUsize::new(0);

/// Whether an address belongs to this library.
pub fn is_own(address: usize) -> bool {
    if OWN_END.load(Acquire) == 0 {
        find_own();
    }
    (OWN_START.load(Relaxed)..OWN_END.load(Acquire)).contains(&address)
}

fn find_own() {
    let marker = find_own as *const () as usize;
    each(|object| {
        if !object.holds(marker, |_| true) {
            return ControlFlow::Continue(());
        }
        let loads = object
            .segments
            .iter()
            .filter(|one| one.p_type == libc::PT_LOAD);
        let ranges = loads.map(|segment| object.range(segment));
        let (start, end) = ranges.fold((usize::MAX, 0), |(start, end), range| {
            (range.start.min(start), range.end.max(end))
        });
        OWN_START.store(start, Relaxed);
        OWN_END.store(end, Release);
        ControlFlow::Break(())
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_code_is_ours_and_the_c_librarys_is_not() {
        assert!(is_own(find_own as *const () as usize));
        assert!(!is_own(super::super::c_library::symbol(c"qsort") as usize));
    }

    #[test]
    fn every_object_names_its_symbols() {
        let mut count = 0;
        each(|object| {
            let is_ours = object.path.ends_with(b"libc.so.6");
            if is_ours {
                assert!(object.address(DT_SYMTAB) > Some(object.base));
                assert!(object.segment(libc::PT_GNU_RELRO).is_some());
            }
            count += usize::from(is_ours);
            ControlFlow::Continue(())
        });
        assert_eq!(count, 1);
    }
}
