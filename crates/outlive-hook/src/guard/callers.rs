//! Libraries with habits of their own, known by the address that a request comes from.
//!
//! Asked only about requests that seem not to fit, and about blocks that stay untouched.

use crate::sys::{c_library, library, stack};

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
/// Allocators that take regions ahead of need, and do with what they need if they get none.
const AHEAD: [&[u8]; 2] = [b"_polars_runtime.", b"polars."];
/// Where `operator new` lives, which throws.
const THROWING: [&[u8]; 2] = [b"libstdc++.so", b"libc++.so"];
/// Parts of the names of libraries that let go of the GIL in a way an exception does not undo.
const UNPREPARED: [&[u8]; 2] = [b"tensorflow", b"_pywrap_"];

/// Whether a caller reports a failure as an error wherever it is called.
pub fn is_known_allocator(caller: usize) -> bool {
    is_one_of(caller, &REPORTING)
}

/// Whether a caller's library works in threads of its own, to which it reports a failure, and not
/// to Python.
pub fn has_own_threads(caller: usize) -> bool {
    is_one_of(caller, &POOLING)
}

/// Whether what a caller asks for is a pool, to be filled some day: a region of TensorFlow's
/// allocator. Without oneDNN there are none, and every request is a tensor.
pub fn pools(caller: usize, size: u64) -> bool {
    is_region_size(size) && is_one_of(caller, &POOLING) && !c_library::is_set_to_zero(ONEDNN)
}

/// What switches TensorFlow's allocator with regions off.
const ONEDNN: &core::ffi::CStr = c"TF_ENABLE_ONEDNN_OPTS";

/// Regions double in size; one that is refused is tried again with nine tenths, each time rounded.
fn is_region_size(size: u64) -> bool {
    (20..44_u32).any(|power| {
        let mut tried = 1_u64 << power;
        let mut slack = 0_u64;
        let mut turn = 0_u32;
        while turn < 14 && tried >= size / 2 {
            if size.abs_diff(tried) <= slack {
                return true;
            }
            tried = tried / 10 * 9;
            // Rounded up to 256 bytes, after a product of single precision.
            slack = slack.saturating_add(256).saturating_add(tried >> 23);
            turn = turn.wrapping_add(1);
        }
        false
    })
}

/// Whether a caller that is refused address space ahead of need asks for less.
pub fn has_another_way(caller: usize) -> bool {
    is_one_of(caller, &AHEAD)
}

/// What makes the batch in TensorFlow's fused map and batch.
const BATCH: &core::ffi::CStr =
    c"_ZN10tensorflow4data12experimental20MapAndBatchDatasetOp7Dataset8Iterator\
    21EnsureOutputAllocatedERKSt10shared_ptrINS0_15IteratorContextEERKS5_INS4_11BatchResultEERKS5_I\
    St6vectorINS_6TensorESaISF_EEE";

/// Whether a request is for the batch of a fused map and batch.
pub fn makes_batch(caller: usize) -> bool {
    is_one_of(caller, &POOLING)
        && stack::any_caller(|address| {
            let library = library::of(address).filter(|it| holds(name_of(it.path), b"tensorflow"));
            let function = library.and_then(|library| library.function(BATCH));
            function.is_some_and(|function| function.contains(&address))
        })
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
    fn regions_are_powers_of_two_and_nine_tenths_of_them() {
        let mut tried = 512_u64 << 20;
        assert!(is_region_size(tried));
        for _ in 0..8 {
            tried = ((tried as f32 * 0.9) as u64).next_multiple_of(256);
            assert!(is_region_size(tried), "{tried}");
        }
        for size in [85 << 20, 100_000_000, 3 * 224 * 224 * 4 * 64] {
            assert!(!is_region_size(size), "{size}");
        }
    }

    #[test]
    fn names_are_the_last_part_of_a_path() {
        assert_eq!(name_of(b"/a/b/libc10.so"), b"libc10.so");
        assert_eq!(name_of(b"libc10.so"), b"libc10.so");
        assert_eq!(name_of(b""), b"");
        assert!(holds(b"_pywrap_tensorflow_internal.so", b"tensorflow"));
        assert!(!holds(b"_multiarray", b"tensorflow"));
    }
}
