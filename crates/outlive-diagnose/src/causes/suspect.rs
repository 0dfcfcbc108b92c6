//! Lines that may have to do with a death: the one whose request did not fit, and those that held
//! memory, each with the calls that led there.

use outlive_record::kind::StackKind;

use super::inquiry::Known;
use super::libraries::{self, Nature};
use crate::holders::Holder;
use crate::interventions::Deed;
use crate::place::{Line, Place};
use crate::places::Places;
use crate::verdict::VerdictId;

/// A request of at least one part in so many of all there was matters by itself.
const LARGE: u64 = 8;

/// A line and the memory it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Suspect {
    /// The innermost line that the user wrote.
    pub(crate) line: Line,
    /// All lines that led to its largest part, innermost first.
    pub(crate) frames: Vec<Line>,
    /// Bytes it held when it was too late; 0 where that is not known.
    pub(crate) bytes: u64,
    /// Its largest single request; 0 where that is not known.
    pub(crate) largest_request: u64,
    /// Monotonic time of its last acquisition.
    pub(crate) last_time: u64,
}

impl Suspect {
    /// Holders that are lines of the user's and do more than import.
    pub(super) fn of_holders(known: &Known<'_>, places: &mut Places<'_>) -> Vec<Self> {
        let holders = known.holdings.holders.iter();
        let own = holders.filter(|holder| is_own(holder));
        own.filter_map(|holder| {
            let bytes = holder.bytes(known.holdings.moment);
            Some(Self {
                line: holder.place.line()?.clone(),
                frames: places.lines(holder.stack, holder.last_time),
                bytes,
                largest_request: holder.largest_request.min(bytes),
                last_time: holder.last_time,
            })
        })
        .collect()
    }

    /// The user's line of a stack.
    pub(super) fn of_stack(stack: u32, time: u64, places: &mut Places<'_>) -> Option<Self> {
        let line = places.line_of(stack, time).filter(Line::is_users)?;
        Some(Self {
            line,
            frames: places.lines(stack, time),
            bytes: 0,
            largest_request: 0,
            last_time: time,
        })
    }

    /// The user's line that acquired memory last, however little.
    pub(super) fn latest(known: &Known<'_>, places: &mut Places<'_>) -> Option<Self> {
        let recording = known.held.recording?;
        let python = |stack: &outlive_record::read::Stack| stack.kind == Some(StackKind::Python);
        let stacks = recording.stacks().filter(python);
        let last = stacks.max_by_key(|stack| stack.last_time)?;
        Self::of_stack(last.id, last.last_time, places)
    }

    /// With the size that the same line has among these.
    pub(super) fn with_size_of(mut self, others: &[Self]) -> Self {
        if let Some(same) = others.iter().find(|it| it.line.is_at(&self.line)) {
            self.bytes = same.bytes;
            self.largest_request = same.largest_request;
        }
        self
    }

    /// What its memory was taken for, by the library calls below the line.
    pub(crate) fn nature(&self) -> Option<Nature> {
        libraries::of_frames(&self.frames)
    }

    /// Whether it holds several pieces rather than one or two.
    pub(crate) const fn is_many(&self) -> bool {
        self.largest_request > 0 && self.bytes / self.largest_request >= 3
    }

    /// `train.py:17 in step`.
    pub(crate) fn describe(&self) -> String {
        self.line.describe()
    }
}

fn is_own(holder: &Holder) -> bool {
    let line = holder.place.line();
    line.is_some_and(Line::is_users) && !crate::holdings::imports(holder.text.as_deref())
}

/// A request that did not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// Bytes asked for.
    pub(crate) bytes: u64,
    /// Bytes that could be used in all.
    pub(crate) room: u64,
    /// The user's line.
    pub(crate) line: Line,
    /// All lines that led to it, innermost first.
    pub(crate) frames: Vec<Line>,
    /// Whether the answer was no, by Outlive or by the system; otherwise it was granted, and the
    /// process was killed when it used what it got.
    pub(crate) is_refused: bool,
}

impl Request {
    /// What was refused, or what was granted last before a kill.
    pub(super) fn of(known: &Known<'_>, places: &mut Places<'_>) -> Option<Self> {
        let limit = known.held.memory.limit;
        if let Some(refusal) = known.decisive.filter(|it| it.deed == Deed::Refused) {
            let suspect = Suspect::of_stack(refusal.stack, refusal.time, places)?;
            return Some(Self::at(suspect, refusal.bytes, refusal.budget, true));
        }
        let last = known.holdings.growth.last_large.as_ref()?;
        let is_kill = known.verdict.id.is_kernel_kill();
        let failed = matches!(
            known.verdict.id,
            VerdictId::AllocationRefused | VerdictId::CxxAllocationRefused
        );
        let fits = if last.refused { failed } else { is_kill };
        // What was granted and given back again has nothing to do with a kill.
        let is_held = last.refused || Self::still_holds(known, &last.place, last.bytes);
        if !fits || !is_held || known.decisive.is_some() {
            return None;
        }
        let room = limit
            .or(Some(known.held.memory.machine))
            .filter(|it| *it > 0)?;
        let suspect = Suspect::of_stack(last.stack, known.held.process.ended_at?, places)?;
        Some(Self::at(suspect, last.bytes, room, last.refused))
    }

    fn still_holds(known: &Known<'_>, place: &Place, bytes: u64) -> bool {
        let line = place.line();
        let holders = known.holdings.holders.iter();
        let mut here = holders.filter(|holder| match (holder.place.line(), line) {
            (Some(one), Some(other)) => one.is_at(other),
            _ => false,
        });
        here.any(|holder| holder.bytes(known.holdings.moment) >= bytes / 10 * 9)
    }

    fn at(suspect: Suspect, bytes: u64, room: u64, is_refused: bool) -> Self {
        Self {
            bytes,
            room,
            line: suspect.line,
            frames: suspect.frames,
            is_refused,
        }
    }

    /// Whether nothing else could have made room for it.
    pub(crate) const fn exceeds_everything(&self) -> bool {
        self.bytes > self.room
    }

    /// Whether it is a good part of all there was.
    pub(crate) const fn is_large(&self) -> bool {
        self.bytes >= self.room / LARGE
    }

    /// What it was for, by the library calls below the line.
    pub(crate) fn nature(&self) -> Option<Nature> {
        libraries::of_frames(&self.frames)
    }

    /// As a line of evidence.
    pub(crate) fn evidence(&self) -> String {
        use crate::size::Size;
        let (bytes, room, place) = (Size(self.bytes), Size(self.room), self.line.describe());
        let what = if self.is_refused {
            "was refused"
        } else {
            "was granted and used"
        };
        format!("one request for {bytes} {what} at {place}, with {room} for the whole program")
    }
}
