//! Asks a recording for everything it has, as a tool would, one answer at a time.

use std::hint::black_box;

use outlive_record::read::{ReadError, Recording};

/// Reads all of it; what is asked for is dropped before the next question.
pub(crate) fn read(file: &[u8]) -> Result<(), ReadError> {
    let recording = Recording::read(file)?;
    black_box((recording.version(), recording.is_complete()));
    black_box(recording.identity());
    black_box(recording.totals());
    for stack in recording.stacks() {
        black_box((recording.thread_name(&stack), recording.library(&stack)));
        black_box(recording.stack(stack.creator));
        for frame in recording.frames(&stack) {
            black_box(&frame);
        }
    }
    for file in recording.files() {
        black_box(file);
    }
    black_box(recording.events());
    black_box(recording.samples());
    black_box(recording.fatal_signals());
    black_box(recording.exceptions());
    black_box(recording.children());
    black_box(recording.notes());
    black_box(recording.stderr_tail());
    Ok(())
}
