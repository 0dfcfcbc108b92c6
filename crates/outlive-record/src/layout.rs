//! Where everything lies in the file. Offsets here and in `docs/format.md` are the same numbers.
//!
//! All integers are little-endian. Every section starts on a page boundary. A reader takes
//! sections from the table in the header, by kind, and skips kinds it does not know; so a later
//! version may add sections without losing older readers.

pub use crate::sections::{Layout, SECTION_KINDS, Section};

/// First eight bytes of every black box.
pub const MAGIC: u64 = u64::from_le_bytes(*b"OUTLIVE\x1a");
/// The version this code writes. Every version from 1 up to this one can be read.
pub const VERSION: u32 = 1;
/// Size of a box unless `--box-size` says otherwise.
pub const DEFAULT_BOX_SIZE: u64 = 32 << 20;
/// Below this there is no room for useful tables.
pub const MIN_BOX_SIZE: u64 = 4 << 20;
/// Above this, 32-bit record numbers would overflow.
pub const MAX_BOX_SIZE: u64 = 1 << 30;
/// Sections start at multiples of this.
pub const PAGE: u64 = 4096;

/// Offsets in the header page.
pub mod header {
    /// `u64` [`super::MAGIC`], stored last: a file without it was never finished.
    pub const MAGIC: u64 = 0;
    /// `u32` format version.
    pub const VERSION: u64 = 8;
    /// `u32` number of entries in the section table.
    pub const SECTIONS: u64 = 12;
    /// `u64` size of the whole file.
    pub const BOX_SIZE: u64 = 16;
    /// First entry of the section table.
    pub const TABLE: u64 = 64;
    /// Entry: `u32` kind, `u32` record size, `u64` offset, `u64` length, `u64` zero.
    pub const TABLE_ENTRY: u64 = 32;
    /// At most this many sections.
    pub const MAX_SECTIONS: u64 = 64;
}

/// Each section that holds records starts with this many bytes of its own header,
/// whose first `u64` is the cursor: how many records (or bytes) were ever appended.
pub const SECTION_HEADER: u64 = 64;

/// The sections, by the number that stands in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum SectionKind {
    /// Process facts and totals; see [`facts`].
    Facts = 1,
    /// Heap of length-prefixed byte strings: names, line tables.
    Strings = 2,
    /// Code objects; see [`code`].
    Codes = 3,
    /// Frames, runs of (`u32` code, `u32` instruction offset).
    Frames = 4,
    /// Stacks and what each holds; see [`stack`].
    Stacks = 5,
    /// Ring of the last large events; see [`event`].
    Ring = 6,
    /// Ring of the most recent samples; see [`sample`].
    Recent = 7,
    /// The whole life in a constant number of samples; see [`sample`] and [`whole`].
    Whole = 8,
    /// Fatal signals; see [`fatal`].
    Fatal = 9,
    /// Uncaught exceptions; see [`exception`].
    Exceptions = 10,
    /// Ring of the last bytes written to standard error.
    Stderr = 11,
    /// Forks and reaped children; see [`child`].
    Children = 12,
    /// What the recorder itself has to say; see [`note`].
    Notes = 13,
}

/// Offsets in the facts section.
pub mod facts {
    /// Size of the section.
    pub const SIZE: u64 = 20 << 10;
    /// `u32` process id.
    pub const PID: u64 = 0;
    /// `u32` parent's process id.
    pub const PPID: u64 = 4;
    /// `u64` start time in clock ticks since boot, field 22 of `/proc/PID/stat`.
    pub const START_TICKS: u64 = 8;
    /// `u64` `CLOCK_MONOTONIC` nanoseconds when the box was made.
    pub const MONOTONIC: u64 = 16;
    /// `u64` `CLOCK_REALTIME` nanoseconds at the same instant.
    pub const REALTIME: u64 = 24;
    /// `u32` `PY_VERSION_HEX`, 0 when no interpreter was seen.
    pub const PYTHON: u64 = 32;
    /// `u32` [`crate::kind::Attribution`].
    pub const ATTRIBUTION: u64 = 36;
    /// `u64` requests from this size on are recorded one by one.
    pub const EXACT_FROM: u64 = 40;
    /// `u64` mean number of bytes between two samples of smaller requests.
    pub const SAMPLE_MEAN: u64 = 48;
    /// `u32` [`crate::kind::Origin`].
    pub const ORIGIN: u64 = 56;
    /// `u32` pid this process was forked from.
    pub const FORKED_FROM: u64 = 60;
    /// `i64` bytes live now.
    pub const LIVE_BYTES: u64 = 64;
    /// `i64` highest value of `LIVE_BYTES`.
    pub const PEAK_BYTES: u64 = 72;
    /// `u64` bytes ever acquired.
    pub const TOTAL_BYTES: u64 = 80;
    /// `u64` number of recorded acquisitions.
    pub const TOTAL_COUNT: u64 = 88;
    /// `i64` recorded blocks live now.
    pub const LIVE_COUNT: u64 = 96;
    /// `u64` monotonic time of the highest value.
    pub const PEAK_TIME: u64 = 104;
    /// `u32` which `AT_PEAK` column of the stacks is valid: 0, 1, or 2 for none yet.
    pub const SNAPSHOT: u64 = 112;
    /// Two `i64`: live bytes when column 0 and column 1 were taken.
    pub const SNAPSHOT_BYTES: u64 = 120;
    /// Two `u64`: when.
    pub const SNAPSHOT_TIME: u64 = 136;
    /// `u64` strings that found no room.
    pub const LOST_STRINGS: u64 = 152;
    /// `u64` code objects that found no room.
    pub const LOST_CODES: u64 = 160;
    /// `u64` events counted on stack 0 because their stack found no room.
    pub const LOST_STACKS: u64 = 168;
    /// `u64` blocks whose release cannot be seen because the table of live blocks was full.
    pub const LOST_BLOCKS: u64 = 176;
    /// `u64` their bytes.
    pub const LOST_BLOCK_BYTES: u64 = 184;
    /// `u64` events counted on stack 0 because another thread held the intern lock too long.
    pub const LOST_CONTENDED: u64 = 192;
    /// `u64` `PyInterpreterState` etc. were read this often through the slow, checked way.
    pub const CHECKED_READS: u64 = 200;
    /// Text of at most 4 KiB − 4: path of the executable.
    pub const EXE: u64 = 4096;
    /// Text of at most 8 KiB − 4: arguments, each ended by a NUL.
    pub const ARGV: u64 = 8192;
    /// Text of at most 4 KiB − 4: working directory.
    pub const CWD: u64 = 16384;
}

/// A code object: 48 bytes.
pub mod code {
    /// Record size.
    pub const SIZE: u64 = 48;
    /// `u32`, 1 once the record is complete.
    pub const READY: u64 = 0;
    /// `u32` string: file.
    pub const FILE: u64 = 4;
    /// `u32` string: qualified name.
    pub const NAME: u64 = 8;
    /// `u32` first line.
    pub const FIRST_LINE: u64 = 12;
    /// `u32` string: the line table, as the interpreter has it.
    pub const TABLE: u64 = 16;
    /// `u32` minor version of Python, which fixes the encoding of the table.
    pub const FORMAT: u64 = 20;
    /// `u64` fingerprint: tells two code objects at one address apart.
    pub const FINGERPRINT: u64 = 24;
    /// `u64` address.
    pub const ADDRESS: u64 = 32;
}

/// A frame: 8 bytes, `u32` code and `u32` instruction offset in bytes.
pub mod frame {
    /// Record size.
    pub const SIZE: u64 = 8;
}

/// A stack and its counters: 128 bytes.
pub mod stack {
    /// Record size.
    pub const SIZE: u64 = 128;
    /// `u32`, 1 once the record is complete.
    pub const READY: u64 = 0;
    /// `u32` [`crate::kind::StackKind`].
    pub const KIND: u64 = 4;
    /// `u32` first frame.
    pub const FRAMES: u64 = 8;
    /// `u32` number of frames.
    pub const DEPTH: u64 = 12;
    /// `u32` string: name of the thread, for stacks without Python frames.
    pub const THREAD: u64 = 16;
    /// `u32` string: path of the library that asked for the memory.
    pub const LIBRARY: u64 = 20;
    /// `u32` stack that created the thread, 0 when not known.
    pub const CREATOR: u64 = 24;
    /// `u32` bits of [`crate::kind::stack_flag`].
    pub const FLAGS: u64 = 28;
    /// `i64` bytes live now.
    pub const LIVE_BYTES: u64 = 32;
    /// `i64` recorded blocks live now.
    pub const LIVE_COUNT: u64 = 40;
    /// `i64` highest value of `LIVE_BYTES`.
    pub const PEAK_BYTES: u64 = 48;
    /// `u64` bytes ever acquired.
    pub const TOTAL_BYTES: u64 = 56;
    /// `u64` recorded acquisitions.
    pub const TOTAL_COUNT: u64 = 64;
    /// Two `i64`: live bytes when the process was at its peak.
    pub const AT_PEAK: u64 = 72;
    /// `u64` monotonic time of the last acquisition.
    pub const LAST_TIME: u64 = 88;
    /// `u64` largest single request.
    pub const LARGEST: u64 = 96;
    /// `i64` how many of `LIVE_BYTES` are estimates: weights of samples, arenas of small objects.
    pub const ESTIMATED_BYTES: u64 = 104;
    /// `i64` address space reserved in large pieces by an allocator of a library's own: an upper
    /// bound of what it uses, and not part of `LIVE_BYTES`.
    pub const RESERVED_BYTES: u64 = 112;
}

/// An event of the ring: 64 bytes.
pub mod event {
    /// Record size.
    pub const SIZE: u64 = 64;
    /// `u64` number of the event plus one; 0 while it is being written.
    pub const SEQUENCE: u64 = 0;
    /// `u64` monotonic time.
    pub const TIME: u64 = 8;
    /// `u32` [`crate::kind::EventKind`].
    pub const KIND: u64 = 16;
    /// `u32` thread id.
    pub const TID: u64 = 20;
    /// `u64` bytes.
    pub const BYTES: u64 = 24;
    /// `u64` address.
    pub const ADDRESS: u64 = 32;
    /// `u32` stack that acquired the memory.
    pub const STACK: u64 = 40;
    /// `i64` live bytes of the process afterwards.
    pub const LIVE_AFTER: u64 = 48;
}

/// A sample of the time line: 64 bytes, eight `u64`. `u64::MAX` means not known.
pub mod sample {
    /// Record size.
    pub const SIZE: u64 = 64;
    /// Number of the sample plus one.
    pub const SEQUENCE: u64 = 0;
    /// Monotonic time.
    pub const TIME: u64 = 8;
    /// Resident bytes.
    pub const RESIDENT: u64 = 16;
    /// Proportional set size in bytes.
    pub const PROPORTIONAL: u64 = 24;
    /// Use of the tightest memory cgroup, without reclaimable cache.
    pub const CGROUP_USE: u64 = 32;
    /// Its limit.
    pub const CGROUP_LIMIT: u64 = 40;
    /// `MemAvailable` of the machine.
    pub const AVAILABLE: u64 = 48;
    /// Swapped-out bytes of the process.
    pub const SWAPPED: u64 = 56;
}

/// Header of the section with the whole life: two halves, one valid.
pub mod whole {
    /// `u32` the valid half.
    pub const ACTIVE: u64 = 0;
    /// Two `u64`: samples in each half.
    pub const COUNT: u64 = 8;
    /// Two `u64`: nanoseconds between samples of each half.
    pub const INTERVAL: u64 = 24;
}

/// A fatal signal: 4096 bytes.
pub mod fatal {
    /// Record size.
    pub const SIZE: u64 = 4096;
    /// Records in the section.
    pub const RECORDS: u64 = 8;
    /// `u32`, 1 once signal and place are written, 2 once the stacks are too.
    pub const READY: u64 = 0;
    /// `i32` signal.
    pub const SIGNAL: u64 = 4;
    /// `i32` `si_code`.
    pub const CODE: u64 = 8;
    /// `u32` thread.
    pub const TID: u64 = 12;
    /// `u64` monotonic time.
    pub const TIME: u64 = 16;
    /// `u64` `si_addr`, for faults.
    pub const ADDRESS: u64 = 24;
    /// `u64` instruction pointer.
    pub const IP: u64 = 32;
    /// `u64` stack pointer.
    pub const SP: u64 = 40;
    /// `u32` pid of the sender, for signals somebody sent.
    pub const SENDER: u64 = 48;
    /// `u32` number of thread entries.
    pub const THREADS: u64 = 52;
    /// `u64` offset of `IP` in its library.
    pub const LIBRARY_OFFSET: u64 = 56;
    /// `u32`, 1 when the program's own handler ran behind the record: it may have recovered.
    pub const HANDLED: u64 = 1000;
    /// Text of at most 252 bytes: library of `IP`.
    pub const LIBRARY: u64 = 64;
    /// Text of at most 28 bytes: name of the thread.
    pub const THREAD: u64 = 320;
    /// Text of at most 508 bytes: the C library's own abort message.
    pub const ABORT_MESSAGE: u64 = 352;
    /// Text of at most 124 bytes: type of the C++ exception in flight.
    pub const CXX_TYPE: u64 = 864;
    /// Thread entries: `u32` tid, `u32` stack, text of at most 20 bytes.
    pub const THREAD_TABLE: u64 = 1024;
    /// Size of a thread entry.
    pub const THREAD_ENTRY: u64 = 32;
    /// At most this many.
    pub const MAX_THREADS: u64 = 96;
}

/// An uncaught exception: 4096 bytes.
pub mod exception {
    /// Record size.
    pub const SIZE: u64 = 4096;
    /// Records in the ring.
    pub const RECORDS: u64 = 64;
    /// `u64` number plus one.
    pub const SEQUENCE: u64 = 0;
    /// `u64` monotonic time.
    pub const TIME: u64 = 8;
    /// `u32` thread.
    pub const TID: u64 = 16;
    /// `u32` [`crate::kind::ExceptionKind`].
    pub const KIND: u64 = 20;
    /// Text of at most 60 bytes: name of the thread.
    pub const THREAD: u64 = 24;
    /// Text of at most 124 bytes: type.
    pub const TYPE: u64 = 88;
    /// Text of at most 1020 bytes: message.
    pub const MESSAGE: u64 = 216;
    /// Text of at most 2852 bytes: one line per frame, innermost last, `file:line in function`.
    pub const TRACEBACK: u64 = 1240;
}

/// A fork or a reaped child: 64 bytes.
pub mod child {
    /// Record size.
    pub const SIZE: u64 = 64;
    /// Records in the ring.
    pub const RECORDS: u64 = 1023;
    /// `u64` number plus one.
    pub const SEQUENCE: u64 = 0;
    /// `u64` monotonic time.
    pub const TIME: u64 = 8;
    /// `u32` [`crate::kind::ChildKind`].
    pub const KIND: u64 = 16;
    /// `u32` pid, 0 when not known.
    pub const PID: u64 = 20;
    /// `i32` wait status as `waitpid` gives it.
    pub const STATUS: u64 = 24;
    /// `u32` stack.
    pub const STACK: u64 = 28;
}

/// A remark of the recorder: 256 bytes.
pub mod note {
    /// Record size.
    pub const SIZE: u64 = 256;
    /// Records in the ring.
    pub const RECORDS: u64 = 63;
    /// `u64` number plus one.
    pub const SEQUENCE: u64 = 0;
    /// `u64` monotonic time.
    pub const TIME: u64 = 8;
    /// Text of at most 236 bytes.
    pub const TEXT: u64 = 16;
}

/// Bytes kept of standard error.
pub const STDERR_KEPT: u64 = (64 << 10) - SECTION_HEADER;
/// Most recent samples kept.
pub const RECENT_SAMPLES: u64 = 1023;
/// Samples in each half of the whole life.
pub const WHOLE_SAMPLES: u64 = 2048;
/// How many kinds of section this version writes.
pub const SECTION_COUNT: usize = 13;
