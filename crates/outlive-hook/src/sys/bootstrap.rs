//! Calls into the interpreter for the bootstrap. Everything here runs with the GIL held, outside
//! `malloc`, so the full C API may be used; an error is cleared and the program goes on.

#![expect(unsafe_code, reason = "calls the C API of the interpreter by address")]

use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::transmute;
use core::ops::ControlFlow;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::Relaxed;

use outlive_record::kind::ExceptionKind;
use outlive_record::lines::line_at;
use outlive_record::write::ExceptionFacts;

use super::c_library::{bounded_text, symbol};
use super::peek::{self, own_frames};
use super::{clock, guard_calls, guard_methods, interpreter, process};
use crate::arena;
use crate::python::layout::{BYTES_DATA, BYTES_LENGTH};
use crate::python::{self, Memory, bootstrap, walk};
use crate::recorder;

/// A Python object.
pub type Object = *mut c_void;

/// A function that Python code can call.
type Function = unsafe extern "C" fn(Object, Object) -> Object;

/// `PyMethodDef`.
#[derive(Debug)]
#[repr(C)]
pub struct Method {
    name: *const c_char,
    function: Function,
    flags: c_int,
    doc: *const c_char,
}

impl Method {
    /// A function of this name, which takes a tuple of arguments.
    pub const fn new(name: &'static CStr, function: Function) -> Self {
        Self {
            name: name.as_ptr(),
            function,
            flags: POSITIONAL,
            doc: core::ptr::null(),
        }
    }
}

// SAFETY: never changed, and the texts are static.
unsafe impl Sync for Method {}

/// `METH_VARARGS`.
const POSITIONAL: c_int = 1;
/// `Py_file_input`.
const FILE_INPUT: c_int = 257;

static METHODS: [Method; 2] = [
    Method::new(c"_record", record),
    Method::new(c"_probe", probe),
];

const SOURCE: &CStr = match CStr::from_bytes_with_nul(
    concat!(include_str!("../python/bootstrap.py"), "\0").as_bytes(),
) {
    Ok(source) => source,
    Err(_) => c"",
};

/// The guard's part, which stands behind the exception that the package has too.
const GUARD_SOURCE: &CStr = match CStr::from_bytes_with_nul(
    concat!(
        include_str!("../../../../python/outlive/_out_of_headroom.py"),
        "\n",
        include_str!("../python/guard.py"),
        "\0"
    )
    .as_bytes(),
) {
    Ok(source) => source,
    Err(_) => c"",
};

/// The namespace it all runs in.
static NAMESPACE: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
/// `_install_for_threads` of the bootstrap, kept for later.
static FOR_THREADS: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// A function of the C API with the type the caller expects.
macro_rules! api {
    ($name:literal as fn($($type:ty),*) $(-> $result:ty)?) => {{
        let address = symbol($name);
        if address.is_null() {
            return None;
        }
        // SAFETY: the C API keeps the signature of this function from 3.9 to 3.14.
        unsafe { transmute::<*mut c_void, unsafe extern "C" fn($($type),*) $(-> $result)?>(address) }
    }};
}

/// Pending call: compiles and runs the bootstrap in a namespace of its own.
///
/// # Safety
///
/// Called by the interpreter, with the GIL.
pub unsafe extern "C" fn install(_: *mut c_void) -> c_int {
    install_now();
    0
}

/// Pending call: wraps `threading.excepthook`, after the bootstrap has run.
///
/// # Safety
///
/// Called by the interpreter, with the GIL.
pub unsafe extern "C" fn install_for_threads(_: *mut c_void) -> c_int {
    install_for_threads_now();
    0
}

/// The same, where the GIL is held already.
pub fn install_for_threads_now() {
    if !bootstrap::is_done() {
        install_now();
    }
    bootstrap::threads_done(call_quietly(FOR_THREADS.load(Relaxed)));
}

fn install_now() {
    if !bootstrap::is_done() && bootstrap::may_run_now() && run().is_none() {
        clear_error();
        if let Some((_, black_box)) = arena::existing() {
            let text = b"Python's part could not start: uncaught exceptions are not recorded";
            black_box.add_note(clock::monotonic(), text);
        }
    }
}

fn run() -> Option<()> {
    let new_dict = api!(c"PyDict_New" as fn() -> Object);
    let module = api!(c"PyImport_GetModule" as fn(Object) -> Object);
    // SAFETY (all calls below): the GIL is held, every object is checked before its use, and the
    // few references that are not given back live as long as the interpreter.
    // SAFETY: no arguments.
    let globals = not_null(unsafe { new_dict() })?;
    // Not those of the interrupted code, which may have none: a named tuple is made without.
    let name = text(c"builtins")?;
    // SAFETY: a live text; finds what is imported, and imports nothing.
    let builtins = not_null(unsafe { module(name) })?;
    set_item(globals, c"__builtins__", builtins)?;
    set_item(globals, c"__name__", text(c"outlive")?)?;
    define(globals, &METHODS)?;
    execute(globals, SOURCE)?;
    // SAFETY: the dictionary made above.
    let for_threads = unsafe { item(globals, c"_install_for_threads") };
    FOR_THREADS.store(for_threads, Relaxed);
    NAMESPACE.store(globals, Relaxed);
    if super::ledger::current().is_some() {
        define(globals, &guard_methods::METHODS)?;
        execute(globals, GUARD_SOURCE)?;
        // SAFETY: the dictionary made above.
        unsafe { guard_calls::adopt(globals) };
    }
    Some(())
}

/// A text as a Python object.
fn text(text: &CStr) -> Option<Object> {
    let make = api!(c"PyUnicode_FromString" as fn(*const c_char) -> Object);
    // SAFETY: a NUL-ended text; the GIL is held.
    not_null(unsafe { make(text.as_ptr()) })
}

/// Puts a value into a dictionary.
fn set_item(dictionary: Object, name: &CStr, value: Object) -> Option<()> {
    let set = api!(c"PyDict_SetItemString" as fn(Object, *const c_char, Object) -> c_int);
    // SAFETY: live objects and a NUL-ended name; the GIL is held.
    (unsafe { set(dictionary, name.as_ptr(), value) } == 0).then_some(())
}

/// Adds functions to a dictionary.
fn define(dictionary: Object, methods: &'static [Method]) -> Option<()> {
    let make = api!(c"PyCFunction_NewEx" as fn(*const Method, Object, Object) -> Object);
    let null = core::ptr::null_mut();
    methods.iter().try_for_each(|method| {
        // SAFETY: a static method table; the GIL is held.
        let function = not_null(unsafe { make(core::ptr::from_ref(method), null, null) })?;
        // SAFETY: a static, NUL-ended name.
        let name = unsafe { CStr::from_ptr(method.name) };
        set_item(dictionary, name, function)
    })
}

/// Compiles and runs a text in a namespace.
fn execute(globals: Object, source: &CStr) -> Option<()> {
    let compile = api!(c"Py_CompileString" as fn(*const c_char, *const c_char, c_int) -> Object);
    let evaluate = api!(c"PyEval_EvalCode" as fn(Object, Object, Object) -> Object);
    // SAFETY: NUL-ended texts; the GIL is held.
    let code = not_null(unsafe { compile(source.as_ptr(), c"<outlive>".as_ptr(), FILE_INPUT) })?;
    // SAFETY: live objects.
    not_null(unsafe { evaluate(code, globals, globals) })?;
    Some(())
}

/// An item of a dictionary, borrowed: the namespace lives on, since its functions hold it.
///
/// # Safety
///
/// A live dictionary, and the GIL is held.
pub unsafe fn item(dictionary: Object, name: &CStr) -> Object {
    let find = symbol(c"PyDict_GetItemString");
    if find.is_null() {
        return core::ptr::null_mut();
    }
    // SAFETY: the C API keeps this signature.
    let find: unsafe extern "C" fn(Object, *const c_char) -> Object = unsafe { transmute(find) };
    // SAFETY: promised by the caller; a NUL-ended name.
    unsafe { find(dictionary, name.as_ptr()) }
}

/// The namespace, made now if it was not made before. The caller holds the GIL.
pub fn namespace() -> Object {
    // In a process that loaded us a moment ago nothing may have been recorded yet.
    python::try_verify();
    if let Some((_, black_box)) = arena::existing() {
        recorder::watch_interpreter(black_box);
    }
    install_now();
    NAMESPACE.load(Relaxed)
}

/// Calls a function without arguments and forgets what it raises, but not what was raised before.
/// Says whether it got to its end.
pub fn call_quietly(function: Object) -> bool {
    if function.is_null() {
        return false;
    }
    let is_done = call(function).is_some();
    if !is_done {
        clear_error();
    }
    is_done
}

fn call(function: Object) -> Option<()> {
    let call = api!(c"PyObject_CallObject" as fn(Object, Object) -> Object);
    // SAFETY: the GIL is held; a function without arguments.
    not_null(unsafe { call(function, core::ptr::null_mut()) }).map(|_| ())
}

fn not_null(object: Object) -> Option<Object> {
    if object.is_null() { None } else { Some(object) }
}

fn clear_error() {
    let clear = symbol(c"PyErr_Clear");
    if !clear.is_null() {
        // SAFETY: the C API keeps this signature.
        let clear: unsafe extern "C" fn() = unsafe { transmute(clear) };
        // SAFETY: the GIL is held.
        unsafe { clear() };
    }
}

/// `None`, as a new reference.
pub fn none() -> Object {
    let object = symbol(c"_Py_NoneStruct");
    let increase = symbol(c"Py_IncRef");
    if !increase.is_null() {
        // SAFETY: the C API keeps this signature.
        let increase: unsafe extern "C" fn(Object) = unsafe { transmute(increase) };
        // SAFETY: the GIL is held; `None` always lives.
        unsafe { increase(object) };
    }
    object
}

/// `_record(kind, thread, type, message, traceback)`, the texts as bytes.
unsafe extern "C" fn record(_: Object, arguments: Object) -> Object {
    type Parse = unsafe extern "C" fn(Object, *const c_char, ...) -> c_int;
    let parse = symbol(c"PyArg_ParseTuple");
    let Some((_, black_box)) = arena::existing().filter(|_| !parse.is_null()) else {
        return none();
    };
    // SAFETY: the C API keeps this signature.
    let parse: Parse = unsafe { transmute(parse) };
    let mut kind: c_int = 0;
    let mut texts = [core::ptr::null::<c_char>(); 4];
    let [thread, type_name, message, traceback] = &mut texts;
    // SAFETY: one place per unit of the format; `y` gives NUL-ended bytes that the tuple owns.
    let parsed = unsafe {
        parse(
            arguments,
            c"iyyyy".as_ptr(),
            &raw mut kind,
            &raw mut *thread,
            &raw mut *type_name,
            &raw mut *message,
            &raw mut *traceback,
        )
    };
    if parsed == 0 {
        return core::ptr::null_mut();
    }
    // SAFETY: parsed texts live as long as the tuple, which the caller holds.
    let text = |text: *const c_char| unsafe { bounded_text(text, 4096) };
    black_box.add_exception(&ExceptionFacts {
        kind: ExceptionKind::from_number(kind as u32).unwrap_or(ExceptionKind::Unraisable),
        tid: process::tid(),
        time: clock::monotonic(),
        thread: text(*thread),
        type_name: text(*type_name),
        message: text(*message),
        traceback: text(*traceback),
    });
    none()
}

/// `_probe(line)`: walks to the caller's frame and compares the line it finds with the true one.
unsafe extern "C" fn probe(_: Object, arguments: Object) -> Object {
    type Parse = unsafe extern "C" fn(Object, *const c_char, ...) -> c_int;
    let parse = symbol(c"PyArg_ParseTuple");
    if parse.is_null() {
        return none();
    }
    // SAFETY: the C API keeps this signature.
    let parse: Parse = unsafe { transmute(parse) };
    let mut line: c_int = 0;
    // SAFETY: one place for one unit of the format.
    if unsafe { parse(arguments, c"i".as_ptr(), &raw mut line) } == 0 {
        return core::ptr::null_mut();
    }
    if innermost_line() != Some(line as u32) {
        python::distrust();
        if let Some((_, black_box)) = arena::existing() {
            black_box.set_python(interpreter::version_hex(), python::attribution());
            let text = b"Lines are not named: the probe found another line than the one it was on";
            black_box.add_note(clock::monotonic(), text);
        }
    }
    none()
}

/// The line of the innermost Python frame, as a reader of the box will decode it.
fn innermost_line() -> Option<u32> {
    let layout = python::layout()?;
    let memory = own_frames();
    let mut place = None;
    walk::walk(&memory, layout, interpreter::this_thread_state(), |found| {
        place = Some(found);
        ControlFlow::Break(())
    })?;
    let place = place?;
    let table = memory.word(place.code.wrapping_add(layout.table as usize))?;
    let first_line = memory.half(place.code.wrapping_add(layout.first_line as usize))?;
    let length = memory.word(table.wrapping_add(BYTES_LENGTH))?.min(256);
    let mut bytes = [0_u8; 256];
    let bytes = bytes.get_mut(..length)?;
    if !peek::copy(table.wrapping_add(BYTES_DATA), bytes) {
        return None;
    }
    line_at(layout.minor, bytes, first_line, place.offset)
}
