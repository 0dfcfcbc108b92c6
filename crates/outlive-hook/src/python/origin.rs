//! Whose code a file is: the user's own, a library's, or that of a loop that hands work to workers.

use core::ops::ControlFlow;

use super::layout::FrameLayout;
use super::text::{self, Text};
use super::{Memory, walk};

/// Parts of the paths of installed packages and of the interpreter's own modules.
const LIBRARIES: [&[u8]; 3] = [b"/site-packages/", b"/dist-packages/", b"/lib/python"];
/// How the names of code without a file start that is not the user's.
const NAMELESS: [&[u8]; 3] = [b"<frozen ", b"<outlive>", b"<__array_function__"];
/// Parts of the paths of loops that call the user's code and report what it raises. What is raised
/// in the loop itself ends the worker.
const LOOPS: [&[u8]; 3] = [
    b"/multiprocessing/",
    b"/concurrent/futures/",
    b"/torch/utils/data/_utils/worker.py",
];

/// Whether a file is not the user's own.
pub fn is_library(file: &[u8]) -> bool {
    LIBRARIES.iter().any(|part| contains(file, part))
        || NAMELESS.iter().any(|start| file.starts_with(start))
}

/// Whether a thread is in the user's own code, or in what that calls: innermost first, none of a
/// worker's loop comes before it.
pub fn is_in_own_code<M: Memory>(memory: &M, layout: &FrameLayout, thread_state: usize) -> bool {
    let mut is_own = false;
    walk::walk(memory, layout, thread_state, |place| {
        let name = memory.word(place.code.wrapping_add(layout.file as usize));
        let mut file = Text::new();
        text::read(memory, layout, name.unwrap_or(0), &mut file);
        let file = file.as_bytes();
        if LOOPS.iter().any(|part| contains(file, part)) {
            return ControlFlow::Break(());
        }
        is_own = !is_library(file);
        if is_own {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    is_own
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    (0..text.len()).any(|start| text.get(start..).is_some_and(|rest| rest.starts_with(part)))
}

#[cfg(test)]
mod tests {
    use super::is_library;

    #[test]
    fn cells_and_command_lines_are_the_users_own() {
        for own in [
            "/home/a/train.py",
            "<stdin>",
            "<ipython-input-3-1>",
            "<string>",
            "",
        ] {
            assert!(!is_library(own.as_bytes()), "{own}");
        }
        for library in [
            "/v/lib/python3.11/site-packages/torch/nn/a.py",
            "/usr/lib/python3/dist-packages/numpy/a.py",
            "/usr/lib/python3.11/json/decoder.py",
            "<frozen importlib._bootstrap>",
        ] {
            assert!(is_library(library.as_bytes()), "{library}");
        }
    }
}
