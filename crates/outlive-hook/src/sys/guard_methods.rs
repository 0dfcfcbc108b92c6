//! What the guard's Python part can ask of the hook. All run with the GIL held.

#![expect(unsafe_code, reason = "C functions that the interpreter calls")]

use core::ffi::{c_char, c_int, c_longlong, c_void};
use core::mem::transmute;
use core::sync::atomic::Ordering::Relaxed;

use outlive_record::ledger::{Ledger, MAX_FOLDER, Source};
use outlive_record::write::BoxWriter;

use super::bootstrap::{Method, Object, none};
use super::c_library::symbol;
use super::process::Cursor;
use super::{bindings, guard_calls, interpreter, ledger, loaded, thread};
use crate::arena::{self, Arena};
use crate::guard::holders::{self, Holder, MOST, Untouched};
use crate::guard::measure::measure;
use crate::guard::{self, sources, stop};
use crate::recorder;

/// The functions, by the names they have in Python.
pub static METHODS: [Method; 15] = [
    Method::new(c"_measure", measured),
    Method::new(c"_tighten", tighten),
    Method::new(c"_keep_back", keep_back),
    Method::new(c"_sparse", sparse),
    Method::new(c"_holders", held),
    Method::new(c"_holder_of", holder_of),
    Method::new(c"_last", last),
    Method::new(c"_explained", explained),
    Method::new(c"_arrived", arrived),
    Method::new(c"_told", told),
    Method::new(c"_before_fork", before_fork),
    Method::new(c"_after_fork_in_parent", after_fork_in_parent),
    Method::new(c"_after_fork_in_child", after_fork_in_child),
    Method::new(c"_leave", leave),
    Method::new(c"_left", left),
];

type Build = unsafe extern "C" fn(*const c_char, ...) -> Object;

/// `Py_BuildValue`.
fn builder() -> Option<Build> {
    let address = symbol(c"Py_BuildValue");
    if address.is_null() {
        return None;
    }
    // SAFETY: the C API keeps this signature.
    Some(unsafe { transmute::<*mut c_void, Build>(address) })
}

fn present() -> Option<(&'static Arena, &'static Ledger)> {
    Some((arena::existing()?.0, ledger::current()?))
}

/// The one number a function was called with.
fn number(arguments: Object) -> Option<i64> {
    type Parse = unsafe extern "C" fn(Object, *const c_char, ...) -> c_int;
    let parse = symbol(c"PyArg_ParseTuple");
    if parse.is_null() {
        return None;
    }
    // SAFETY: the C API keeps this signature.
    let parse: Parse = unsafe { transmute(parse) };
    let mut number: c_longlong = 0;
    // SAFETY: one place for one unit of the format.
    let parsed = unsafe { parse(arguments, c"L".as_ptr(), &raw mut number) };
    (parsed != 0).then_some(number)
}

/// A source in words, NUL-ended.
fn words(ledger: &Ledger, source: Source, buffer: &mut [u8; MAX_FOLDER + 64]) -> *const c_char {
    let fixed = match source {
        Source::Cgroup(level) => {
            let mut folder = [0; MAX_FOLDER];
            let level = ledger.level(level, &mut folder);
            let mut cursor = Cursor {
                bytes: &mut buffer[..],
                at: 0,
            };
            cursor.push(b"memory cgroup ");
            cursor.push(level.map_or(&[], |level| below_mount(level.folder)));
            cursor.push(b"\0");
            return buffer.as_ptr().cast();
        }
        Source::Machine => c"memory of the machine",
        Source::Limit => c"--limit",
        Source::Block => c"outlive.guard",
        Source::AddressSpace => c"RLIMIT_AS",
        Source::Data => c"RLIMIT_DATA",
        Source::Unknown => c"unknown",
    };
    fixed.as_ptr()
}

/// A cgroup's folder without the usual places of the mount, as `/proc/self/cgroup` has it.
fn below_mount(folder: &[u8]) -> &[u8] {
    let mounts: [&[u8]; 2] = [b"/sys/fs/cgroup/memory", b"/sys/fs/cgroup"];
    let below = mounts.iter().find_map(|mount| folder.strip_prefix(*mount));
    match below {
        Some([]) => b"/",
        Some(below) => below,
        None => folder,
    }
}

/// `_measure()`: budget, use, headroom, untouched, resident, source.
unsafe extern "C" fn measured(_: Object, _: Object) -> Object {
    let (Some((arena, ledger)), Some(build)) = (present(), builder()) else {
        return none();
    };
    let measured = measure(&arena.guard, ledger, 0);
    let mut buffer = [0; MAX_FOLDER + 64];
    let source = words(ledger, measured.source, &mut buffer);
    let used = (measured.budget as i64).wrapping_sub(measured.headroom);
    let resident = guard::own_resident(arena, ledger);
    // SAFETY: a value for each unit of the format; the text ends with a NUL.
    unsafe {
        build(
            c"(LLLLLs)".as_ptr(),
            measured.budget,
            used,
            measured.headroom,
            ledger.untouched(),
            resident,
            source,
        )
    }
}

/// `_last()`: requested, headroom, budget, source; or `None`.
unsafe extern "C" fn last(_: Object, _: Object) -> Object {
    let (Some((arena, ledger)), Some(build)) = (present(), builder()) else {
        return none();
    };
    let Some(last) = arena.guard.last.get() else {
        return none();
    };
    let mut buffer = [0; MAX_FOLDER + 64];
    let source = words(ledger, last.source, &mut buffer);
    // SAFETY: a value for each unit of the format; the text ends with a NUL.
    unsafe {
        build(
            c"(LLLs)".as_ptr(),
            last.requested,
            last.headroom,
            last.budget,
            source,
        )
    }
}

/// `_explained()`: the exception that a refusal became has its note.
unsafe extern "C" fn explained(_: Object, _: Object) -> Object {
    if let Some((arena, _)) = present() {
        arena.guard.last.explained();
    }
    none()
}

/// `_arrived()`: the exception of a stop is being made in this thread.
unsafe extern "C" fn arrived(_: Object, _: Object) -> Object {
    if let Some((arena, ledger)) = present() {
        stop::arrived(arena, ledger);
        guard_calls::withdraw_all();
    }
    none()
}

/// `_told()`: it is made.
unsafe extern "C" fn told(_: Object, _: Object) -> Object {
    if let Some((arena, _)) = present() {
        stop::told(arena);
    }
    none()
}

/// `_tighten(limit)`.
unsafe extern "C" fn tighten(_: Object, arguments: Object) -> Object {
    let Some(limit) = number(arguments) else {
        return core::ptr::null_mut();
    };
    if let Some((arena, ledger)) = present() {
        guard::tighten(arena, ledger, u64::try_from(limit).ok());
    }
    none()
}

/// `_sparse(on)`.
unsafe extern "C" fn sparse(_: Object, arguments: Object) -> Object {
    let Some(on) = number(arguments) else {
        return core::ptr::null_mut();
    };
    thread::current().set_sparse(on != 0);
    none()
}

/// `_keep_back(bytes)`: what of the budget is kept back from now on.
unsafe extern "C" fn keep_back(_: Object, arguments: Object) -> Object {
    let Some(bytes) = number(arguments) else {
        return core::ptr::null_mut();
    };
    if let Some(ledger) = ledger::current() {
        ledger.keep_back(u64::try_from(bytes).unwrap_or(0));
    }
    none()
}

/// A holder as `(bytes, file, line, function)`, the texts as bytes.
fn tuple(build: Build, black_box: &BoxWriter, holder: &Holder) -> Object {
    let mut file = [0_u8; 1024];
    let file_length = holders::file_of(black_box, holder.code, &mut file);
    let mut name = [0_u8; 256];
    let name_length = holders::name_of(black_box, holder.code, &mut name);
    end_text(&mut file, file_length);
    end_text(&mut name, name_length);
    // SAFETY: a value for each unit of the format; `y` takes NUL-ended bytes.
    unsafe {
        build(
            c"(Lyiy)".as_ptr(),
            holder.bytes,
            file.as_ptr(),
            holder.line as c_int,
            name.as_ptr(),
        )
    }
}

/// `_holder_of(address)`: who acquired the block that begins there, if it was recorded.
unsafe extern "C" fn holder_of(_: Object, arguments: Object) -> Object {
    let Some(address) = number(arguments) else {
        return core::ptr::null_mut();
    };
    let (Some((arena, black_box)), Some(build)) = (arena::existing(), builder()) else {
        return none();
    };
    let block = arena.live.find(address as usize);
    match block.and_then(|block| holders::holder_of(black_box, block)) {
        Some(holder) => tuple(build, black_box, &holder),
        None => none(),
    }
}

/// `_holders(count)`: a list of bytes, file, line, function.
unsafe extern "C" fn held(_: Object, arguments: Object) -> Object {
    type Append = unsafe extern "C" fn(Object, Object) -> c_int;
    let Some(count) = number(arguments) else {
        return core::ptr::null_mut();
    };
    let append = symbol(c"PyList_Append");
    let release = symbol(c"Py_DecRef");
    let (Some((arena, black_box)), Some(build)) = (arena::existing(), builder()) else {
        return none();
    };
    // SAFETY: an empty list needs no further argument.
    let list = unsafe { build(c"[]".as_ptr()) };
    if list.is_null() || append.is_null() || release.is_null() {
        return list;
    }
    // SAFETY: the C API keeps this signature.
    let release: unsafe extern "C" fn(Object) = unsafe { transmute(release) };
    // SAFETY: the C API keeps this signature.
    let append: Append = unsafe { transmute(append) };
    let untouched = Untouched::in_ranges(&recorder::largest_mappings(arena));
    let found = holders::holders(black_box, &untouched);
    let wanted = usize::try_from(count).unwrap_or(0).min(MOST);
    for holder in found.iter().take(wanted).filter(|holder| holder.bytes > 0) {
        let entry = tuple(build, black_box, holder);
        if entry.is_null() {
            return entry;
        }
        // SAFETY: a live list and a live object.
        unsafe { append(list, entry) };
        // SAFETY: the list has a reference of its own now.
        unsafe { release(entry) };
    }
    list
}

/// Puts a NUL behind a text, or in place of its last byte.
fn end_text(buffer: &mut [u8], length: usize) {
    let place = length.min(buffer.len().saturating_sub(1));
    if let Some(end) = buffer.get_mut(place) {
        *end = 0;
    }
}

/// `_before_fork()`: no watchdog while the process forks.
unsafe extern "C" fn before_fork(_: Object, _: Object) -> Object {
    if let Some((arena, ledger)) = present() {
        guard::watchdog::retire(arena, ledger);
    }
    none()
}

/// `_after_fork_in_parent()`: the watchdog comes back, but only once Python has counted threads.
unsafe extern "C" fn after_fork_in_parent(_: Object, _: Object) -> Object {
    if let Some((arena, ledger)) = present() {
        // What it grew by before is no reason to stop it rather than its child.
        stop::start_anew(arena, ledger);
    }
    interpreter::call_soon(watch_again);
    none()
}

/// Pending call: starts the watchdog again, if it is needed.
unsafe extern "C" fn watch_again(_: *mut c_void) -> c_int {
    if let Some((arena, ledger)) = present() {
        let is_watched = arena.guard.is_watched.load(Relaxed) != 0;
        if is_watched || stop::is_near(&ledger.measured()) {
            stop::watch(arena);
        }
    }
    0
}

/// `_after_fork_in_child()`: a child that shares its parent's pages may grow without allocating.
unsafe extern "C" fn after_fork_in_child(_: Object, _: Object) -> Object {
    guard_calls::after_fork_in_child();
    guard_calls::use_all();
    stop::after_fork_in_child();
    if let Some(ledger) = ledger::current() {
        // All of it is the parent's too, until the supervisor has looked.
        ledger.credit_shared(sources::Own::read().resident);
    }
    let present = arena::recording().zip(ledger::current());
    if let Some(((arena, _), _)) = present.filter(|(_, ledger)| stop::is_near(&ledger.measured())) {
        stop::watch(arena);
    }
    none()
}

/// `_leave()`: the interpreter is about to go down.
unsafe extern "C" fn leave(_: Object, _: Object) -> Object {
    guard_calls::close();
    none()
}

/// `_left()`: how the program ended was noted.
unsafe extern "C" fn left(_: Object, _: Object) -> Object {
    guard_calls::noted();
    none()
}

/// The namespace of the guard's Python part, or NULL where there is no guard.
///
/// # Safety
///
/// The caller holds the GIL.
#[cfg_attr(feature = "preload", unsafe(no_mangle))]
pub unsafe extern "C" fn outlive_python_namespace() -> Object {
    let is_useless = loaded::came_late() && !bindings::is_in_front();
    if ledger::current().is_none() || is_useless {
        return core::ptr::null_mut();
    }
    super::bootstrap::namespace()
}
