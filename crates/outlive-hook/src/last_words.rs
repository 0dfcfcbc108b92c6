//! What the program says on standard error: the tail is kept, since the reason of many an abort
//! stands there and nowhere else.

use crate::arena;
use crate::recorder;
use crate::sys::thread::Entered;

/// Bytes are about to go to standard error.
pub fn said(_entered: &Entered, bytes: &[u8]) {
    if let Some((_, black_box)) = arena::recording() {
        // A program this short may print its traceback before the bootstrap had its turn. Asked
        // for now, it still runs before the interpreter calls what is registered for the exit.
        recorder::watch_interpreter(black_box);
        black_box.add_stderr(bytes);
    }
}
