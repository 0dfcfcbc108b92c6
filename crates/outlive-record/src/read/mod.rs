//! The reading half: any bytes in, what can be read out.
//!
//! Nothing is decoded before it is asked for, so a hostile file costs no more memory than itself.
//! Counts are bounded by what fits in the section they belong to; references that point outside
//! give "none"; records that were being written when the process died are left out.

mod bytes;
mod interventions;
mod records;
mod stacks;

pub use interventions::{Deed, Intervention};
pub use records::{ChildRecord, Event, ExceptionRecord, FatalSignal, FatalThread, Note};
pub use stacks::{Frame, Stack};

use std::borrow::Cow;
use std::fmt;

use crate::kind::{Attribution, Origin};
use crate::layout::{MAGIC, SECTION_COUNT, Section, SectionKind, VERSION, facts, header};
use bytes::Bytes;

/// Arguments that are told apart; an empty one takes more room here than in the file.
const MAX_ARGUMENTS: usize = 1024;

/// Why a file cannot be read at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadError {
    /// Too short for a header.
    TooShort {
        /// Its length.
        length: u64,
    },
    /// Does not start with the magic number, or was never finished.
    NotABox,
    /// Written by a later version.
    TooNew {
        /// The version it states.
        version: u32,
    },
}

impl fmt::Display for ReadError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooShort { length } => {
                write!(
                    formatter,
                    "Not a black box: {length} bytes are too few for a header"
                )
            }
            Self::NotABox => write!(formatter, "Not a black box: the magic number is missing"),
            Self::TooNew { version } => write!(
                formatter,
                "Black box of format {version}, this Outlive reads up to {VERSION}"
            ),
        }
    }
}

impl std::error::Error for ReadError {}

/// Who the box is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity<'a> {
    /// Process id.
    pub pid: u32,
    /// Parent's process id.
    pub ppid: u32,
    /// Start time in clock ticks since boot; with the pid it names the process for good.
    pub start_ticks: u64,
    /// `CLOCK_MONOTONIC` nanoseconds when the box was made.
    pub monotonic: u64,
    /// `CLOCK_REALTIME` nanoseconds at that instant.
    pub realtime: u64,
    /// (3, 11, 7), or `None` when no interpreter was seen.
    pub python: Option<(u8, u8, u8)>,
    /// Whether lines can be named; `None` for a word this version does not know.
    pub attribution: Option<Attribution>,
    /// Requests from this size on were recorded one by one.
    pub exact_from: u64,
    /// Mean bytes between samples of smaller ones.
    pub sample_mean: u64,
    /// Exec or fork.
    pub origin: Option<Origin>,
    /// The pid it was forked from, or 0.
    pub forked_from: u32,
    /// Executable.
    pub exe: Cow<'a, str>,
    /// Arguments.
    pub argv: Vec<String>,
    /// Working directory.
    pub cwd: Cow<'a, str>,
}

/// Sums over the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Totals {
    /// Bytes live at the end.
    pub live_bytes: i64,
    /// Highest value of it.
    pub peak_bytes: i64,
    /// Monotonic time of that.
    pub peak_time: u64,
    /// Bytes ever acquired.
    pub total_bytes: u64,
    /// Recorded acquisitions.
    pub total_count: u64,
    /// Blocks live at the end.
    pub live_count: i64,
    /// Strings, code objects, stacks that found no room, and events counted elsewhere for it.
    pub lost: Lost,
}

/// What found no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Lost {
    /// Strings.
    pub strings: u64,
    /// Code objects.
    pub codes: u64,
    /// Events whose stack found no room.
    pub stacks: u64,
    /// Blocks whose release was not seen.
    pub blocks: u64,
    /// Their bytes.
    pub block_bytes: u64,
    /// Events whose stack could not be looked up in time.
    pub contended: u64,
}

/// A black box.
#[derive(Clone, Debug)]
pub struct Recording<'a> {
    file: Bytes<'a>,
    sections: [Section; SECTION_COUNT],
    facts: Bytes<'a>,
    version: u32,
}

impl<'a> Recording<'a> {
    /// Reads the header; everything else is read when asked for.
    pub fn read(file: &'a [u8]) -> Result<Self, ReadError> {
        let bytes = Bytes(file);
        if file.len() < (header::TABLE + header::TABLE_ENTRY) as usize {
            return Err(ReadError::TooShort {
                length: file.len() as u64,
            });
        }
        if bytes.u64(header::MAGIC) != MAGIC {
            return Err(ReadError::NotABox);
        }
        let version = bytes.u32(header::VERSION);
        if version > VERSION {
            return Err(ReadError::TooNew { version });
        }
        let mut sections = [Section::default(); SECTION_COUNT];
        let count = u64::from(bytes.u32(header::SECTIONS)).min(header::MAX_SECTIONS);
        for index in 0..count {
            let entry = header::TABLE + index * header::TABLE_ENTRY;
            let kind = bytes.u32(entry) as usize;
            if let Some(section) = kind.checked_sub(1).and_then(|kind| sections.get_mut(kind)) {
                *section = Section {
                    offset: bytes.u64(entry + 8),
                    length: bytes.u64(entry + 16),
                };
            }
        }
        let mut recording = Self {
            file: bytes,
            sections,
            facts: Bytes::default(),
            version,
        };
        recording.facts = recording.part(SectionKind::Facts);
        Ok(recording)
    }

    /// The format version of the file.
    pub const fn version(&self) -> u32 {
        self.version
    }

    /// Whether the file is as long as its own table says; a shorter one gives partial results.
    pub fn is_complete(&self) -> bool {
        let length = self.file.0.len() as u64;
        self.sections.iter().all(|section| {
            section
                .offset
                .checked_add(section.length)
                .is_some_and(|e| e <= length)
        })
    }

    /// Who the box is about.
    pub fn identity(&self) -> Identity<'a> {
        let facts = self.facts;
        let python = facts.u32(facts::PYTHON);
        Identity {
            pid: facts.u32(facts::PID),
            ppid: facts.u32(facts::PPID),
            start_ticks: facts.u64(facts::START_TICKS),
            monotonic: facts.u64(facts::MONOTONIC),
            realtime: facts.u64(facts::REALTIME),
            python: (python != 0).then_some((
                (python >> 24) as u8,
                (python >> 16) as u8,
                (python >> 8) as u8,
            )),
            attribution: Attribution::from_number(facts.u32(facts::ATTRIBUTION)),
            exact_from: facts.u64(facts::EXACT_FROM),
            sample_mean: facts.u64(facts::SAMPLE_MEAN),
            origin: Origin::from_number(facts.u32(facts::ORIGIN)),
            forked_from: facts.u32(facts::FORKED_FROM),
            exe: facts.text(facts::EXE, 4092),
            argv: facts
                .text(facts::ARGV, 8188)
                .split_terminator('\0')
                .take(MAX_ARGUMENTS)
                .map(str::to_owned)
                .collect(),
            cwd: facts.text(facts::CWD, 4092),
        }
    }

    /// Sums over the process.
    pub fn totals(&self) -> Totals {
        let facts = self.facts;
        Totals {
            live_bytes: facts.i64(facts::LIVE_BYTES),
            peak_bytes: facts.i64(facts::PEAK_BYTES),
            peak_time: facts.u64(facts::PEAK_TIME),
            total_bytes: facts.u64(facts::TOTAL_BYTES),
            total_count: facts.u64(facts::TOTAL_COUNT),
            live_count: facts.i64(facts::LIVE_COUNT),
            lost: Lost {
                strings: facts.u64(facts::LOST_STRINGS),
                codes: facts.u64(facts::LOST_CODES),
                stacks: facts.u64(facts::LOST_STACKS),
                blocks: facts.u64(facts::LOST_BLOCKS),
                block_bytes: facts.u64(facts::LOST_BLOCK_BYTES),
                contended: facts.u64(facts::LOST_CONTENDED),
            },
        }
    }

    fn part(&self, kind: SectionKind) -> Bytes<'a> {
        let section = self
            .sections
            .get(kind as usize - 1)
            .copied()
            .unwrap_or_default();
        self.file.section(section)
    }
}
