//! Events, fatal signals, exceptions, children, standard error and notes.

use core::sync::atomic::Ordering::{Relaxed, Release};

use super::{BoxWriter, StackId};
use crate::kind::{ChildKind, EventKind, ExceptionKind};
use crate::layout::{
    SECTION_HEADER, STDERR_KEPT, SectionKind, child, event, exception, fatal, note,
};

/// A fatal signal, as far as it is known when the handler starts.
#[derive(Clone, Copy, Debug, Default)]
pub struct FatalFacts<'a> {
    /// Signal number.
    pub signal: i32,
    /// `si_code`.
    pub code: i32,
    /// Thread.
    pub tid: u32,
    /// Monotonic time.
    pub time: u64,
    /// Faulting address.
    pub address: u64,
    /// Instruction pointer.
    pub ip: u64,
    /// Stack pointer.
    pub sp: u64,
    /// Who sent it, if somebody did.
    pub sender: u32,
    /// Library of the instruction.
    pub library: &'a [u8],
    /// Offset in that library.
    pub library_offset: u64,
    /// Name of the thread.
    pub thread: &'a [u8],
    /// The C library's message, for aborts.
    pub abort_message: &'a [u8],
    /// Type of the C++ exception in flight.
    pub cxx_type: &'a [u8],
    /// Whether the program's own handler runs next.
    pub handled: bool,
}

/// An uncaught exception.
#[derive(Clone, Copy, Debug)]
pub struct ExceptionFacts<'a> {
    /// Where it was seen.
    pub kind: ExceptionKind,
    /// Thread.
    pub tid: u32,
    /// Monotonic time.
    pub time: u64,
    /// Name of the thread.
    pub thread: &'a [u8],
    /// Its type.
    pub type_name: &'a [u8],
    /// Its message.
    pub message: &'a [u8],
    /// One line per frame, innermost last.
    pub traceback: &'a [u8],
}

impl BoxWriter {
    /// Appends an event to the ring.
    #[expect(
        clippy::too_many_arguments,
        reason = "one argument a field, called in one place"
    )]
    pub fn add_event(
        &self,
        kind: EventKind,
        time: u64,
        tid: u32,
        bytes: u64,
        address: u64,
        stack: StackId,
        live_after: i64,
    ) {
        let (number, record) = self.reserve_in_ring(self.section(SectionKind::Ring), event::SIZE);
        let at = |offset: u64| record.wrapping_add(offset);
        self.region.u64(at(event::TIME)).store(time, Relaxed);
        self.region.u32(at(event::KIND)).store(kind as u32, Relaxed);
        self.region.u32(at(event::TID)).store(tid, Relaxed);
        self.region.u64(at(event::BYTES)).store(bytes, Relaxed);
        self.region.u64(at(event::ADDRESS)).store(address, Relaxed);
        self.region.u32(at(event::STACK)).store(stack.0, Relaxed);
        self.region
            .i64(at(event::LIVE_AFTER))
            .store(live_after, Relaxed);
        self.publish_in_ring(record, number);
    }

    /// Starts the record of a fatal signal; the stacks follow with [`Self::add_fatal_thread`].
    /// `instead_of` is an earlier record that the program recovered from.
    pub fn add_fatal(&self, facts: &FatalFacts<'_>, instead_of: Option<u64>) -> Option<u64> {
        let section = self.section(SectionKind::Fatal);
        let record = match instead_of {
            Some(record) => record,
            None => section.record(self.reserve(section, fatal::SIZE, 1)?, fatal::SIZE),
        };
        let at = |offset: u64| record.wrapping_add(offset);
        self.region.u32(at(fatal::READY)).store(0, Release);
        self.region.u32(at(fatal::THREADS)).store(0, Relaxed);
        self.region
            .u32(at(fatal::HANDLED))
            .store(u32::from(facts.handled), Relaxed);
        self.region
            .u32(at(fatal::SIGNAL))
            .store(facts.signal as u32, Relaxed);
        self.region
            .u32(at(fatal::CODE))
            .store(facts.code as u32, Relaxed);
        self.region.u32(at(fatal::TID)).store(facts.tid, Relaxed);
        self.region.u64(at(fatal::TIME)).store(facts.time, Relaxed);
        self.region
            .u64(at(fatal::ADDRESS))
            .store(facts.address, Relaxed);
        self.region.u64(at(fatal::IP)).store(facts.ip, Relaxed);
        self.region.u64(at(fatal::SP)).store(facts.sp, Relaxed);
        self.region
            .u32(at(fatal::SENDER))
            .store(facts.sender, Relaxed);
        self.region
            .u64(at(fatal::LIBRARY_OFFSET))
            .store(facts.library_offset, Relaxed);
        self.region.put_text(at(fatal::LIBRARY), 252, facts.library);
        self.region.put_text(at(fatal::THREAD), 28, facts.thread);
        self.region
            .put_text(at(fatal::ABORT_MESSAGE), 508, facts.abort_message);
        self.region
            .put_text(at(fatal::CXX_TYPE), 124, facts.cxx_type);
        self.region.u32(at(fatal::READY)).store(1, Release);
        Some(record)
    }

    /// Adds the stack of one thread to a fatal signal's record.
    pub fn add_fatal_thread(&self, record: u64, tid: u32, name: &[u8], stack: StackId) {
        let count = self.region.u32(record.wrapping_add(fatal::THREADS));
        let index = u64::from(count.load(Relaxed));
        if index >= fatal::MAX_THREADS {
            return;
        }
        let entry = record
            .wrapping_add(fatal::THREAD_TABLE)
            .wrapping_add(index.wrapping_mul(fatal::THREAD_ENTRY));
        self.region.u32(entry).store(tid, Relaxed);
        self.region
            .u32(entry.wrapping_add(4))
            .store(stack.0, Relaxed);
        self.region.put_text(entry.wrapping_add(8), 20, name);
        count.store((index as u32).wrapping_add(1), Release);
    }

    /// The program's handler gave the signal back: it was fatal after all.
    pub fn confirm_fatal(&self, record: u64) {
        self.region
            .u32(record.wrapping_add(fatal::HANDLED))
            .store(0, Release);
    }

    /// Declares the stacks of a fatal signal complete.
    pub fn finish_fatal(&self, record: u64) {
        self.region
            .u32(record.wrapping_add(fatal::READY))
            .store(2, Release);
    }

    /// Appends an uncaught exception.
    pub fn add_exception(&self, facts: &ExceptionFacts<'_>) {
        let section = self.section(SectionKind::Exceptions);
        let (number, record) = self.reserve_in_ring(section, exception::SIZE);
        let at = |offset: u64| record.wrapping_add(offset);
        self.region
            .u64(at(exception::TIME))
            .store(facts.time, Relaxed);
        self.region
            .u32(at(exception::TID))
            .store(facts.tid, Relaxed);
        self.region
            .u32(at(exception::KIND))
            .store(facts.kind as u32, Relaxed);
        self.region
            .put_text(at(exception::THREAD), 60, facts.thread);
        self.region
            .put_text(at(exception::TYPE), 124, facts.type_name);
        self.region
            .put_text(at(exception::MESSAGE), 1020, facts.message);
        self.region
            .put_text(at(exception::TRACEBACK), 2852, facts.traceback);
        self.publish_in_ring(record, number);
    }

    /// Appends a fork or a reaped child.
    pub fn add_child(&self, kind: ChildKind, time: u64, pid: u32, status: i32, stack: StackId) {
        let (number, record) =
            self.reserve_in_ring(self.section(SectionKind::Children), child::SIZE);
        let at = |offset: u64| record.wrapping_add(offset);
        self.region.u64(at(child::TIME)).store(time, Relaxed);
        self.region.u32(at(child::KIND)).store(kind as u32, Relaxed);
        self.region.u32(at(child::PID)).store(pid, Relaxed);
        self.region
            .u32(at(child::STATUS))
            .store(status as u32, Relaxed);
        self.region.u32(at(child::STACK)).store(stack.0, Relaxed);
        self.publish_in_ring(record, number);
    }

    /// Keeps the tail of what goes to standard error.
    pub fn add_stderr(&self, bytes: &[u8]) {
        let kept = STDERR_KEPT as usize;
        let bytes = bytes
            .get(bytes.len().saturating_sub(kept)..)
            .unwrap_or(bytes);
        let section = self.section(SectionKind::Stderr);
        let start = self
            .region
            .u64(section.offset)
            .fetch_add(bytes.len() as u64, Relaxed);
        let data = section.offset.wrapping_add(SECTION_HEADER);
        let at = start % STDERR_KEPT;
        let first = ((STDERR_KEPT - at) as usize).min(bytes.len());
        self.region
            .put(data.wrapping_add(at), bytes.get(..first).unwrap_or(&[]));
        self.region.put(data, bytes.get(first..).unwrap_or(&[]));
    }

    /// Leaves a remark about the recording itself.
    pub fn add_note(&self, time: u64, text: &[u8]) {
        let (number, record) = self.reserve_in_ring(self.section(SectionKind::Notes), note::SIZE);
        self.region
            .u64(record.wrapping_add(note::TIME))
            .store(time, Relaxed);
        self.region
            .put_text(record.wrapping_add(note::TEXT), 236, text);
        self.publish_in_ring(record, number);
    }
}
