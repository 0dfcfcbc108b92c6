//! What the process that is shown held: lines, reserved address space, the last growth, and which
//! line to change first.

use crate::diagnosis::Input;
use crate::growth::Growth;
use crate::holders::{Holder, Moment, holders};
use crate::interventions::{Deed, Intervention};
use crate::memory::Memory;
use crate::place::{Line, Place};
use crate::places::Places;
use crate::reserved::{Reservation, reservations};
use crate::seen::Seen;
use crate::size::Size;
use crate::untouched::Untouched;
use crate::verdict::{Verdict, VerdictId};

/// A line that grew until it was stopped is blamed from one part in so many of the whole on.
const WORTH_BLAMING: u64 = 20;
/// It acquired memory within this time before, nanoseconds.
const LATELY: u64 = 5_000_000_000;

/// Holders and growth of the process that is shown.
pub(crate) struct Holdings {
    /// Which moment the holders are ordered by.
    pub(crate) moment: Moment,
    /// Who held its memory, largest first.
    pub(crate) holders: Vec<Holder>,
    /// Where address space was reserved, largest first.
    pub(crate) reserved: Vec<Reservation>,
    /// The last seconds.
    pub(crate) growth: Growth,
}

impl Holdings {
    /// Asks the box, and the user's files for the text of the lines.
    pub(crate) fn of(
        input: &Input<'_>,
        seen: &Seen<'_>,
        places: &mut Places<'_>,
        verdict: &Verdict,
    ) -> Self {
        let end = seen
            .process
            .ended_at
            .or_else(|| seen.samples.last().map(|sample| sample.time))
            .unwrap_or(0);
        let growth = Growth::of(&seen.samples, seen.recording, places, end);
        let Some(recording) = seen.recording else {
            return Self {
                moment: Moment::End,
                holders: Vec::new(),
                reserved: Vec::new(),
                growth,
            };
        };
        let totals = recording.totals();
        // A process that died at its highest, or was killed for what it held: the end is the
        // answer. One that ended in order has given everything back by then.
        let at_peak = totals.live_bytes >= totals.peak_bytes.saturating_sub(totals.peak_bytes / 10);
        let moment = if at_peak || verdict.id.is_kernel_kill() {
            Moment::End
        } else {
            Moment::Peak
        };
        let untouched = Untouched::of(recording, &seen.memory);
        let mut holders = holders(recording, places, moment, &untouched);
        let mut reserved = reservations(recording, places);
        let argv = recording.identity().argv;
        let directory = recording.identity().cwd;
        let text_of = |place: &Place| {
            let line = place.line()?;
            if let Some(cell) = &line.cell {
                return cell.text.clone();
            }
            match line.file.as_str() {
                "<string>" => line_of_argument(&argv, line.line?),
                file => input.sources.line(&directory, file, line.line?),
            }
        };
        for holder in &mut holders {
            holder.text = text_of(&holder.place);
        }
        for reservation in &mut reserved {
            reservation.text = text_of(&reservation.place);
        }
        Self {
            moment,
            holders,
            reserved,
            growth,
        }
    }

    /// The largest holder that the user can do something about. A line that only imports cannot be
    /// made smaller: it is one where no other line of the user holds a tenth of all.
    fn line_to_change(&self) -> Option<&Holder> {
        let bytes = |holder: &Holder| holder.bytes(self.moment);
        let whole = self.holders.iter().map(bytes).fold(0, u64::saturating_add);
        let has_line = |holder: &&Holder| holder.place.line().is_some();
        let is_users = |holder: &&Holder| holder.place.line().is_some_and(Line::is_users);
        let largest = self.holders.first().filter(is_users);
        let users = self
            .holders
            .iter()
            .find(|holder| is_users(holder) && !imports(holder.text.as_deref()));
        let worth_it = users.filter(|holder| bytes(holder) >= whole / 10);
        worth_it.or(largest).or(users).or_else(|| {
            self.holders
                .iter()
                .find(|it| has_line(it) && !imports(it.text.as_deref()))
        })
    }

    /// Where memory that no line explains was reserved, when it is more than any line held. Of a
    /// forked process it may be its parent's.
    fn reserved_line(&self, memory: &Memory) -> Option<String> {
        let unexplained = memory.unexplained(self.moment).filter(|_| !memory.forked)?;
        let largest = self.holders.first().map_or(0, |it| it.bytes(self.moment));
        let reserved = self
            .reserved
            .iter()
            .find(|it| it.place.line().is_some() && !imports(it.text.as_deref()))
            .filter(|_| unexplained > largest)?;
        Some(format!(
            "Start at {}: a library's own allocator reserved {} there, and {} resident have no line",
            reserved.place.describe(),
            Size(reserved.bytes),
            Size(unexplained)
        ))
    }

    /// Puts the line to change first among what to do.
    pub(crate) fn advise(
        &self,
        verdict: &mut Verdict,
        memory: &Memory,
        decisive: Option<&Intervention>,
    ) {
        if !verdict.id.is_about_memory() {
            return;
        }
        let refused = self.refused(decisive);
        let less = refused.as_ref().map(|(place, bytes)| {
            let (place, bytes) = (place.describe(), Size(*bytes));
            format!("Ask for less at {place}: {bytes} were refused there")
        });
        let largest = self
            .reserved_line(memory)
            .or_else(|| self.largest_line(memory, decisive));
        let mut first: Vec<String> = match (less, &refused) {
            (Some(less), Some((_, bytes))) => {
                let also = largest.filter(|_| self.holds_more_elsewhere(refused.as_ref(), *bytes));
                [less].into_iter().chain(also).collect()
            }
            _ => largest.into_iter().collect(),
        };
        if verdict.id == VerdictId::AllocationRefused {
            first.push(match refused {
                Some(_) => "A smaller dtype, chunks or a memory map need less".to_owned(),
                None => {
                    "Ask for less where it raised: a smaller dtype, chunks, a memory map".to_owned()
                }
            });
        }
        verdict.advice.splice(0..0, first);
    }

    /// Where a request was refused, and for how much: what Outlive says of it, or else the last
    /// one in the ring.
    fn refused(&self, decisive: Option<&Intervention>) -> Option<(Place, u64)> {
        let by_outlive = decisive.filter(|it| it.deed == Deed::Refused);
        if let Some(refusal) = by_outlive {
            return Some((refusal.place.clone()?, refusal.bytes));
        }
        let last = self.growth.last_large.as_ref();
        let last = last.filter(|it| it.refused && decisive.is_none())?;
        Some((last.place.clone(), last.bytes))
    }

    /// Whether another line holds more than was asked for: then it is worth a look too.
    fn holds_more_elsewhere(&self, refused: Option<&(Place, u64)>, bytes: u64) -> bool {
        let refused = refused.and_then(|(place, _)| place.line());
        let is_elsewhere = |holder: &Holder| match (holder.place.line(), refused) {
            (Some(line), Some(refused)) => !line.is_at(refused),
            _ => true,
        };
        self.line_to_change()
            .is_some_and(|holder| holder.bytes(self.moment) > bytes && is_elsewhere(holder))
    }

    /// The line that grew until growth was stopped: the largest of those that acquired memory
    /// shortly before. What was loaded once and only held is not it.
    fn grown_line(&self, stop: &Intervention) -> Option<&Holder> {
        let bytes = |holder: &Holder| holder.bytes(self.moment);
        let whole = self.holders.iter().map(bytes).fold(0, u64::saturating_add);
        self.holders.iter().find(|holder| {
            holder.place.line().is_some_and(Line::is_users)
                && !imports(holder.text.as_deref())
                && bytes(holder) >= whole / WORTH_BLAMING
                && holder.last_time.saturating_add(LATELY) >= stop.time
        })
    }

    /// `Start at train.py:17 in step: it held 366 MiB of the 400 MiB in use`.
    fn largest_line(&self, memory: &Memory, decisive: Option<&Intervention>) -> Option<String> {
        let stop = decisive.filter(|it| it.deed == Deed::Stopped);
        let grown = stop.and_then(|stop| self.grown_line(stop));
        let holder = grown.or_else(|| self.line_to_change())?;
        let bytes = |holder: &Holder| holder.bytes(self.moment);
        let recorded = self.holders.iter().map(bytes).fold(0, u64::saturating_add);
        let (whole, most) = match memory.most(self.moment, recorded) {
            Some(most) if most <= recorded => (format!("{} in use", Size(most)), most),
            _ => (format!("{} recorded", Size(recorded)), recorded),
        };
        // What is estimated may come to more than there was.
        let (place, held) = (holder.place.describe(), Size(bytes(holder).min(most)));
        Some(format!("Start at {place}: it held {held} of the {whole}"))
    }
}

/// A line of the program in `python -c PROGRAM`.
fn line_of_argument(argv: &[String], line: u32) -> Option<String> {
    let place = argv.iter().position(|word| word == "-c")?;
    let program = argv.get(place + 1)?;
    let text = program.lines().nth(line.checked_sub(1)? as usize)?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

pub(crate) fn imports(text: Option<&str>) -> bool {
    let text = text.unwrap_or_default();
    text.starts_with("import ") || text.starts_with("from ")
}
