//! Events, samples, fatal signals, exceptions, children, standard error and notes, oldest first.

use super::Recording;
use super::bytes::{Bytes, into_text, text_of};
use super::stacks::record_count;
use crate::kind::{ChildKind, EventKind, ExceptionKind};
use crate::layout::{
    SECTION_HEADER, SectionKind, WHOLE_SAMPLES, child, event, exception, fatal, note, sample, whole,
};
use crate::timeline::Sample;

/// A large allocation, release, mapping or refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its number since the start of the process.
    pub number: u64,
    /// Monotonic time.
    pub time: u64,
    /// What happened; `None` for a word this version does not know.
    pub kind: Option<EventKind>,
    /// Thread.
    pub tid: u32,
    /// Bytes.
    pub bytes: u64,
    /// Address.
    pub address: u64,
    /// Stack that acquired the memory.
    pub stack: u32,
    /// Live bytes of the process afterwards.
    pub live_after: i64,
}

/// A fatal signal with the Python stacks of all threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FatalSignal {
    /// Signal.
    pub signal: i32,
    /// `si_code`.
    pub code: i32,
    /// Thread it struck.
    pub tid: u32,
    /// Monotonic time.
    pub time: u64,
    /// Faulting address.
    pub address: u64,
    /// Instruction pointer.
    pub ip: u64,
    /// Stack pointer.
    pub sp: u64,
    /// Who sent it, or 0.
    pub sender: u32,
    /// Library of the instruction.
    pub library: String,
    /// Offset in that library.
    pub library_offset: u64,
    /// Name of the thread.
    pub thread: String,
    /// The C library's abort message.
    pub abort_message: String,
    /// Mangled type of the C++ exception in flight.
    pub cxx_type: String,
    /// Whether the program's own handler ran behind the record: it may have recovered, and then
    /// this is not what ended the process.
    pub handled: bool,
    /// Stacks; the thread it struck comes first.
    pub threads: Vec<FatalThread>,
}

/// One thread at the time of a fatal signal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FatalThread {
    /// Thread id.
    pub tid: u32,
    /// Its name.
    pub name: String,
    /// Its stack.
    pub stack: u32,
}

/// An uncaught exception.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExceptionRecord {
    /// Monotonic time.
    pub time: u64,
    /// Thread.
    pub tid: u32,
    /// Where it was seen; `None` for a word this version does not know.
    pub kind: Option<ExceptionKind>,
    /// Name of the thread.
    pub thread: String,
    /// Its type.
    pub type_name: String,
    /// Its message.
    pub message: String,
    /// One line per frame, innermost last: `file:line in function`.
    pub traceback: String,
}

/// A fork, or a child that was waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildRecord {
    /// Monotonic time.
    pub time: u64,
    /// Which of the two; `None` for a word this version does not know.
    pub kind: Option<ChildKind>,
    /// Its pid, or 0.
    pub pid: u32,
    /// Wait status.
    pub status: i32,
    /// Where the parent was.
    pub stack: u32,
}

/// A remark of the recorder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Monotonic time.
    pub time: u64,
    /// The remark.
    pub text: String,
}

impl Recording<'_> {
    /// The last large events.
    pub fn events(&self) -> Vec<Event> {
        self.ring(SectionKind::Ring, event::SIZE, |number, at| Event {
            number,
            time: at.u64(event::TIME),
            kind: EventKind::from_number(at.u32(event::KIND)),
            tid: at.u32(event::TID),
            bytes: at.u64(event::BYTES),
            address: at.u64(event::ADDRESS),
            stack: at.u32(event::STACK),
            live_after: at.i64(event::LIVE_AFTER),
        })
    }

    /// The time line: the whole life, then the last seconds at full rate.
    pub fn samples(&self) -> Vec<Sample> {
        let recent = self.ring(SectionKind::Recent, sample::SIZE, |_, at| read_sample(at));
        let mut samples = self.whole_life();
        let from = recent
            .iter()
            .map(|sample| sample.time)
            .min()
            .unwrap_or(u64::MAX);
        samples.retain(|sample| sample.time < from);
        samples.extend(recent);
        samples.sort_unstable_by_key(|sample| sample.time);
        samples
    }

    /// Fatal signals, first one first: a second one usually comes from handling the first.
    pub fn fatal_signals(&self) -> Vec<FatalSignal> {
        let section = self.part(SectionKind::Fatal);
        (0..record_count(section, fatal::SIZE).min(fatal::RECORDS))
            .filter_map(|index| section.slice(SECTION_HEADER + index * fatal::SIZE, fatal::SIZE))
            .map(Bytes)
            .filter(|at| at.u32(fatal::READY) != 0)
            .map(read_fatal)
            .collect()
    }

    /// Uncaught exceptions.
    pub fn exceptions(&self) -> Vec<ExceptionRecord> {
        self.ring(SectionKind::Exceptions, exception::SIZE, |_, at| {
            ExceptionRecord {
                time: at.u64(exception::TIME),
                tid: at.u32(exception::TID),
                kind: ExceptionKind::from_number(at.u32(exception::KIND)),
                thread: at.text(exception::THREAD, 60).into_owned(),
                type_name: at.text(exception::TYPE, 124).into_owned(),
                message: at.text(exception::MESSAGE, 1020).into_owned(),
                traceback: at.text(exception::TRACEBACK, 2852).into_owned(),
            }
        })
    }

    /// Forks and reaped children.
    pub fn children(&self) -> Vec<ChildRecord> {
        self.ring(SectionKind::Children, child::SIZE, |_, at| ChildRecord {
            time: at.u64(child::TIME),
            kind: ChildKind::from_number(at.u32(child::KIND)),
            pid: at.u32(child::PID),
            status: at.u32(child::STATUS) as i32,
            stack: at.u32(child::STACK),
        })
    }

    /// Remarks of the recorder.
    pub fn notes(&self) -> Vec<Note> {
        self.ring(SectionKind::Notes, note::SIZE, |_, at| Note {
            time: at.u64(note::TIME),
            text: at.text(note::TEXT, 236).into_owned(),
        })
    }

    /// The last bytes that went to standard error, as far as the recorder could see them.
    pub fn stderr_tail(&self) -> String {
        let section = self.part(SectionKind::Stderr);
        let written = section.u64(0);
        let data = section.0.get(SECTION_HEADER as usize..).unwrap_or(&[]);
        let kept = data.len() as u64;
        if written <= kept || kept == 0 {
            return text_of(data.get(..written as usize).unwrap_or(data)).into_owned();
        }
        let mut tail = data.to_vec();
        tail.rotate_left((written % kept) as usize);
        // The ring cut its oldest line somewhere; start at a whole one.
        if let Some(end_of_line) = tail.iter().position(|&byte| byte == b'\n') {
            tail.drain(..=end_of_line);
        }
        into_text(tail)
    }

    fn whole_life(&self) -> Vec<Sample> {
        let section = self.part(SectionKind::Whole);
        let half = u64::from(section.u32(whole::ACTIVE)) & 1;
        let count = section.u64(whole::COUNT + half * 8).min(WHOLE_SAMPLES);
        (0..count)
            .map_while(|index| {
                let place = SECTION_HEADER + (half * WHOLE_SAMPLES + index) * sample::SIZE;
                section.slice(place, sample::SIZE).map(Bytes)
            })
            .filter(|at| at.u64(sample::SEQUENCE) != 0)
            .map(read_sample)
            .collect()
    }

    /// Records of a ring whose sequence number fits their place, oldest first.
    fn ring<T>(
        &self,
        kind: SectionKind,
        size: u64,
        decode: impl Fn(u64, Bytes<'_>) -> T,
    ) -> Vec<T> {
        let section = self.part(kind);
        let capacity = (section.0.len() as u64).saturating_sub(SECTION_HEADER) / size;
        let numbered = |index: u64| {
            let at = Bytes(section.slice(SECTION_HEADER + index * size, size)?);
            let number = at.u64(0).checked_sub(1)?;
            (number % capacity == index).then_some((number, at))
        };
        // Counted first and sorted in place: the records take no more room here than in the file.
        let indices = 0..capacity.min(section.u64(0));
        let mut records = Vec::with_capacity(indices.clone().filter_map(numbered).count());
        records.extend(
            indices
                .filter_map(numbered)
                .map(|(number, at)| (number, decode(number, at))),
        );
        records.sort_unstable_by_key(|(number, _)| *number);
        records.into_iter().map(|(_, record)| record).collect()
    }
}

fn read_sample(at: Bytes<'_>) -> Sample {
    Sample {
        time: at.u64(sample::TIME),
        resident: at.u64(sample::RESIDENT),
        proportional: at.u64(sample::PROPORTIONAL),
        cgroup_use: at.u64(sample::CGROUP_USE),
        cgroup_limit: at.u64(sample::CGROUP_LIMIT),
        available: at.u64(sample::AVAILABLE),
        swapped: at.u64(sample::SWAPPED),
    }
}

fn read_fatal(at: Bytes<'_>) -> FatalSignal {
    let count = u64::from(at.u32(fatal::THREADS)).min(fatal::MAX_THREADS);
    let threads = (0..count)
        .map(|index| fatal::THREAD_TABLE + index * fatal::THREAD_ENTRY)
        .map(|entry| FatalThread {
            tid: at.u32(entry),
            stack: at.u32(entry + 4),
            name: at.text(entry + 8, 20).into_owned(),
        })
        .collect();
    FatalSignal {
        handled: at.u32(fatal::HANDLED) == 1,
        signal: at.u32(fatal::SIGNAL) as i32,
        code: at.u32(fatal::CODE) as i32,
        tid: at.u32(fatal::TID),
        time: at.u64(fatal::TIME),
        address: at.u64(fatal::ADDRESS),
        ip: at.u64(fatal::IP),
        sp: at.u64(fatal::SP),
        sender: at.u32(fatal::SENDER),
        library: at.text(fatal::LIBRARY, 252).into_owned(),
        library_offset: at.u64(fatal::LIBRARY_OFFSET),
        thread: at.text(fatal::THREAD, 28).into_owned(),
        abort_message: at.text(fatal::ABORT_MESSAGE, 508).into_owned(),
        cxx_type: at.text(fatal::CXX_TYPE, 124).into_owned(),
        threads,
    }
}
