//! What a refusal or a stop was about: kept for the exception, and written down for people.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU32, AtomicU64};

use outlive_record::ledger::{Measurement, Source};
use outlive_record::write::{BoxWriter, StackId};

use crate::sys::process::Cursor;

/// The last refusal or stop of this process. Zeroed memory is none.
#[derive(Debug)]
#[repr(C)]
pub struct Last {
    requested: AtomicU64,
    headroom: AtomicU64,
    budget: AtomicU64,
    source: AtomicU64,
    stack: AtomicU64,
    thread: AtomicU64,
    /// How often an exception to explain may still be looked for.
    tries: AtomicU32,
    /// When; written last, 0 for never.
    time: AtomicU64,
}

/// The exception is made within microseconds, unless a framework wraps it first.
const TRIES: u32 = 25;

/// One refusal or stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Intervention {
    /// Bytes asked for; 0 for a stop.
    pub requested: u64,
    /// Bytes that were left.
    pub headroom: i64,
    /// Of so many.
    pub budget: u64,
    /// By whose word.
    pub source: Source,
    /// The stack of the thread.
    pub stack: StackId,
    /// When.
    pub time: u64,
}

impl Last {
    /// A request was refused.
    pub fn refused(&self, requested: u64, measured: &Measurement, stack: StackId, time: u64) {
        self.keep(requested, measured, stack, time);
        self.tries.store(TRIES, Relaxed);
    }

    /// Whether the exception that a refusal became has yet to be found; counts the tries.
    pub fn is_unexplained(&self) -> bool {
        let left = self.tries.load(Relaxed);
        self.tries.store(left.saturating_sub(1), Relaxed);
        left > 0
    }

    /// It was found.
    pub fn explained(&self) {
        self.tries.store(0, Relaxed);
    }

    /// Growth was stopped.
    pub fn stopped(&self, measured: &Measurement, stack: StackId, time: u64) {
        self.keep(0, measured, stack, time);
    }

    /// Two threads at once may mix their figures; both are true of this moment.
    fn keep(&self, requested: u64, measured: &Measurement, stack: StackId, time: u64) {
        self.requested.store(requested, Relaxed);
        self.headroom.store(measured.headroom as u64, Relaxed);
        self.budget.store(measured.budget, Relaxed);
        let source = u64::from(measured.source.number());
        self.source.store(source, Relaxed);
        self.stack.store(u64::from(stack.0), Relaxed);
        let handle = crate::sys::process::thread_handle();
        self.thread.store(handle, Relaxed);
        self.time.store(time, Release);
    }

    /// The last one, if there was one.
    pub fn get(&self) -> Option<Intervention> {
        let time = self.time.load(Acquire);
        (time != 0).then(|| Intervention {
            requested: self.requested.load(Relaxed),
            headroom: self.headroom.load(Relaxed) as i64,
            budget: self.budget.load(Relaxed),
            source: Source::from_number(self.source.load(Relaxed) as u32),
            stack: StackId(self.stack.load(Relaxed) as u32),
            time,
        })
    }

    /// The thread it happened to.
    pub fn thread(&self) -> u64 {
        self.thread.load(Relaxed)
    }
}

/// Writes a refusal into the notes.
pub fn note_refusal(black_box: &BoxWriter, requested: u64, measured: &Measurement, time: u64) {
    let mut text = [0_u8; 200];
    let mut cursor = Cursor {
        bytes: &mut text,
        at: 0,
    };
    cursor.push(b"Refused a request for ");
    push_size(&mut cursor, requested);
    push_room(&mut cursor, measured);
    let length = cursor.at;
    black_box.add_note(time, text.get(..length).unwrap_or(&[]));
}

/// Writes a stop into the notes.
pub fn note_stop(black_box: &BoxWriter, measured: &Measurement, time: u64) {
    let mut text = [0_u8; 200];
    let mut cursor = Cursor {
        bytes: &mut text,
        at: 0,
    };
    cursor.push(b"Stopped growth");
    push_room(&mut cursor, measured);
    let length = cursor.at;
    black_box.add_note(time, text.get(..length).unwrap_or(&[]));
}

fn push_room(cursor: &mut Cursor<'_>, measured: &Measurement) {
    cursor.push(b": ");
    push_size(cursor, measured.headroom.max(0) as u64);
    cursor.push(b" left of a budget of ");
    push_size(cursor, measured.budget);
}

fn push_size(cursor: &mut Cursor<'_>, bytes: u64) {
    cursor.push_number(bytes.wrapping_add(1 << 19) >> 20);
    cursor.push(b" MiB");
}
