//! The bindings of one object.

#![expect(unsafe_code, reason = "reads tables of the loader and writes bindings")]

use core::ffi::{CStr, c_char};
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::Function;
use super::pages::{self, Opened};
use crate::sys::loaded::{
    DT_JMPREL, DT_PLTRELSZ, DT_RELA, DT_RELASZ, DT_STRTAB, DT_SYMTAB, Loaded,
};

/// Kinds of relocation that fill a binding with the address of a function.
#[cfg(target_arch = "x86_64")]
const KINDS: [u32; 3] = [1, 6, 7];
#[cfg(target_arch = "aarch64")]
const KINDS: [u32; 3] = [257, 1025, 1026];
const ADDRESS: u32 = KINDS[0];
const CALLED: u32 = KINDS[2];

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Its bindings hold our functions. Settled unless the loader may still be at work on it, which
    /// cannot be told of an object without constant pages.
    Done {
        /// Whether it need not be looked at again.
        is_settled: bool,
    },
    /// Another thread is loading it.
    Busy,
    /// It allocates by other functions than the rest of the program.
    Bound,
    /// Its pages cannot be written to.
    Closed,
}

/// What the binding of a function holds in an object.
pub fn held(object: &Loaded<'_>, name: &CStr) -> Option<usize> {
    let mut found = None;
    Imports::of(object)?.each(|import, one| {
        if one == name && !import.is_variable {
            found = import.binding().map(|binding| binding.load(Acquire));
        }
    });
    found
}

/// A binding that is filled with the address of a function from elsewhere.
#[derive(Clone, Copy, Debug)]
struct Import {
    address: usize,
    /// Used for calls only, so that it may be bound at the first of them.
    is_call: bool,
    /// A variable of the object's own, which it may have set to something else since.
    is_variable: bool,
}

impl Import {
    fn binding(&self) -> Option<&'static AtomicUsize> {
        if !self.address.is_multiple_of(align_of::<usize>()) {
            return None;
        }
        // SAFETY: an aligned word of a loaded object, which other threads only read; the loader
        // writes it once more if it is bound at the first call, by an aligned store as well.
        Some(unsafe { &*(self.address as *const AtomicUsize) })
    }
}

/// The tables in which an object says what it needs from others.
#[derive(Debug)]
struct Imports<'a> {
    object: &'a Loaded<'a>,
    symbols: *const libc::Elf64_Sym,
    texts: *const c_char,
}

impl<'a> Imports<'a> {
    fn of(object: &'a Loaded<'a>) -> Option<Self> {
        Some(Self {
            object,
            symbols: object.address(DT_SYMTAB)? as *const libc::Elf64_Sym,
            texts: object.address(DT_STRTAB)? as *const c_char,
        })
    }

    /// Shows all bindings of functions, with their names.
    fn each(&self, mut visit: impl FnMut(Import, &CStr)) {
        for (table, size) in [(DT_RELA, DT_RELASZ), (DT_JMPREL, DT_PLTRELSZ)] {
            let table = self.object.address(table);
            if let (Some(table), Some(size)) = (table, self.object.entry(size)) {
                self.table(table as *const Relocation, size, &mut visit);
            }
        }
    }

    fn table(&self, table: *const Relocation, size: usize, visit: &mut impl FnMut(Import, &CStr)) {
        let count = size.checked_div(size_of::<Relocation>()).unwrap_or(0);
        for number in 0..count {
            // SAFETY: the object's own table, which is that long and stays as it is.
            let relocation = unsafe { &*table.wrapping_add(number) };
            let kind = relocation.info as u32;
            let symbol = (relocation.info >> 32) as usize;
            let is_plain = symbol != 0 && relocation.addend == 0 && KINDS.contains(&kind);
            if is_plain && let Some(name) = self.name(symbol) {
                let import = Import {
                    address: self.object.base.wrapping_add(relocation.offset as usize),
                    is_call: kind == CALLED,
                    is_variable: kind == ADDRESS,
                };
                visit(import, name);
            }
        }
    }

    /// The name of a symbol from elsewhere, unless it is one of C++, as most are.
    fn name(&self, number: usize) -> Option<&CStr> {
        // SAFETY: relocations name symbols that there are.
        let symbol = unsafe { &*self.symbols.wrapping_add(number) };
        if symbol.st_shndx != 0 {
            return None;
        }
        let text = self.texts.wrapping_add(symbol.st_name as usize);
        // SAFETY: names end with a NUL, so two bytes are there unless the first is the NUL.
        let is_cpp = unsafe { *text as u8 == b'_' && *text.wrapping_add(1) as u8 == b'Z' };
        // SAFETY: as above.
        (!is_cpp).then(|| unsafe { CStr::from_ptr(text) })
    }
}

/// An entry of a relocation table.
#[repr(C)]
#[derive(Debug)]
struct Relocation {
    offset: u64,
    info: u64,
    addend: i64,
}

/// Replaces functions in an object.
pub fn patch(object: &Loaded<'_>, functions: &[Function], names: &[&CStr]) -> Outcome {
    let Some(imports) = Imports::of(object) else {
        return Outcome::Done { is_settled: true };
    };
    let constant = pages::constant(object);
    if constant.as_ref().is_some_and(pages::are_open) {
        return Outcome::Busy;
    }
    let mut patcher = Patcher {
        object,
        constant: constant.clone(),
        opened: None,
        is_bound: false,
        is_closed: false,
    };
    // First a look at what is bound elsewhere: then what is not bound yet will be too.
    for pass in [Pass::Look, Pass::Replace] {
        imports.each(|import, name| {
            let place = names.iter().position(|one| *one == name);
            if let Some(function) = place.and_then(|place| functions.get(place)) {
                let is_allocator = place < Some(super::ALLOCATOR);
                patcher.binding(import, function, is_allocator, pass);
            }
        });
    }
    match patcher {
        Patcher {
            is_closed: true, ..
        } => Outcome::Closed,
        Patcher { is_bound: true, .. } => Outcome::Bound,
        _ => Outcome::Done {
            is_settled: constant.is_some(),
        },
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pass {
    Look,
    Replace,
}

struct Patcher<'a> {
    object: &'a Loaded<'a>,
    constant: Option<core::ops::Range<usize>>,
    opened: Option<Opened>,
    is_bound: bool,
    is_closed: bool,
}

impl Patcher<'_> {
    /// Replaces what a binding holds, if it is the function that ours stands in front of.
    fn binding(&mut self, import: Import, function: &Function, is_allocator: bool, pass: Pass) {
        let (ours, real) = (function.ours.load(Acquire), function.real.load(Relaxed));
        let Some(binding) = import.binding().filter(|_| ours != 0 && real != 0) else {
            return;
        };
        let held = binding.load(Acquire);
        let stub = function.stub.load(Relaxed);
        if held == ours || (held == stub && stub != 0) {
            return;
        }
        // Not called yet: it leads back into the object, to code that asks the loader.
        let is_unbound = import.is_call && self.object.holds(held, |_| true);
        if held != real && !is_unbound {
            self.is_bound |= is_allocator && !import.is_variable && held != 0;
            return;
        }
        let is_unsure = is_unbound && is_allocator && self.is_bound;
        if pass == Pass::Look || is_unsure {
            return;
        }
        if self.open(import.address) {
            binding.store(ours, Release);
        } else {
            self.is_closed = true;
        }
    }

    /// Sees to it that a word may be written to.
    fn open(&mut self, address: usize) -> bool {
        let constant = self
            .constant
            .as_ref()
            .filter(|range| range.contains(&address));
        let Some(range) = constant else {
            return self
                .object
                .holds(address, |segment| segment.p_flags & libc::PF_W != 0);
        };
        if self.opened.is_none() {
            self.opened = Opened::open(range.clone());
        }
        self.opened.is_some()
    }
}
