//! Libraries with habits of their own, known by the address that a request comes from.
//!
//! Asked only about requests that seem not to fit, and about blocks that stay untouched.

use crate::sys::{library, stack};

/// Allocators that report a failure as an error, also on threads without Python frames.
const REPORTING: [&[u8]; 4] = [
    b"libc10.so",
    b"libtensorflow_framework.so",
    b"libtensorflow_cc.so",
    b"_multiarray_umath.",
];
/// Allocators that take large pools and fill them with tensors as they come.
const POOLING: [&[u8]; 2] = [b"libtensorflow_framework.so", b"libtensorflow_cc.so"];
/// Allocators that try a refused request again in small pieces, and report it if that fails too.
const PIECEWISE: [&[u8]; 1] = [b"_imaging."];
/// Where `operator new` lives, which throws.
const THROWING: [&[u8]; 2] = [b"libstdc++.so", b"libc++.so"];
/// Parts of the names of libraries that let go of the GIL in a way an exception does not undo.
const UNPREPARED: [&[u8]; 2] = [b"tensorflow", b"_pywrap_"];

/// Whether a caller reports a failure as an error wherever it is called.
pub fn is_known_allocator(caller: usize) -> bool {
    is_one_of(caller, &REPORTING)
}

/// Whether what a caller asks for is a pool, to be filled some day.
pub fn pools(caller: usize) -> bool {
    is_one_of(caller, &POOLING)
}

/// Whether a caller tries a refused request again in small pieces.
pub fn tries_pieces(caller: usize) -> bool {
    is_one_of(caller, &PIECEWISE)
}

/// Whether a failure would end the process, though Python code is running: C++ code throws then,
/// and one framework's bindings lose the GIL over it.
pub fn cannot_be_told(caller: usize) -> bool {
    is_one_of(caller, &THROWING)
        && stack::any_caller(|address| {
            library::of(address).is_some_and(|library| {
                UNPREPARED
                    .iter()
                    .any(|part| holds(name_of(library.path), part))
            })
        })
}

fn is_one_of(caller: usize, names: &[&[u8]]) -> bool {
    library::of(caller).is_some_and(|library| {
        let name = name_of(library.path);
        names.iter().any(|known| name.starts_with(known))
    })
}

/// The last part of a path.
fn name_of(path: &[u8]) -> &[u8] {
    let start = path.iter().rposition(|&byte| byte == b'/');
    let start = start.map_or(0, |slash| slash.wrapping_add(1));
    path.get(start..).unwrap_or(&[])
}

fn holds(text: &[u8], part: &[u8]) -> bool {
    (0..text.len()).any(|start| text.get(start..).is_some_and(|rest| rest.starts_with(part)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_last_part_of_a_path() {
        assert_eq!(name_of(b"/a/b/libc10.so"), b"libc10.so");
        assert_eq!(name_of(b"libc10.so"), b"libc10.so");
        assert_eq!(name_of(b""), b"");
        assert!(holds(b"_pywrap_tensorflow_internal.so", b"tensorflow"));
        assert!(!holds(b"_multiarray", b"tensorflow"));
    }
}
