//! What the process that is shown held: lines, reserved address space, the last growth, and which
//! line to change first.

use outlive_record::read::Recording;
use outlive_record::timeline::Sample;

use crate::diagnosis::Input;
use crate::growth::Growth;
use crate::holders::{Holder, Moment, holders};
use crate::memory::Memory;
use crate::place::{Line, Place};
use crate::places::Places;
use crate::reserved::{Reservation, reservations};
use crate::size::Size;
use crate::untouched::Untouched;
use crate::verdict::{Verdict, VerdictId};

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
        recording: Option<&Recording<'_>>,
        samples: &[Sample],
        places: &mut Places<'_>,
        verdict: &Verdict,
        memory: &Memory,
        ended_at: Option<u64>,
    ) -> Self {
        let end = ended_at
            .or_else(|| samples.last().map(|sample| sample.time))
            .unwrap_or(0);
        let growth = Growth::of(samples, recording, places, end);
        let Some(recording) = recording else {
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
        let untouched = Untouched::of(recording, memory);
        let mut holders = holders(recording, places, moment, &untouched);
        let mut reserved = reservations(recording, places);
        let argv = recording.identity().argv;
        let directory = recording.identity().cwd;
        let text_of = |place: &Place| {
            let line = place.line()?;
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
    pub(crate) fn advise(&self, verdict: &mut Verdict, memory: &Memory) {
        if !verdict.id.is_about_memory() {
            return;
        }
        let refused = self.growth.last_large.as_ref().filter(|it| it.refused);
        let less = refused.map(|it| {
            let (place, bytes) = (it.place.describe(), Size(it.bytes));
            format!("Ask for less at {place}: {bytes} were refused there")
        });
        let largest = self
            .reserved_line(memory)
            .or_else(|| self.largest_line(memory));
        let mut first: Vec<String> = less.or(largest).into_iter().collect();
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

    /// `Start at train.py:17 in step: it held 366 MiB of the 400 MiB in use`.
    fn largest_line(&self, memory: &Memory) -> Option<String> {
        let holder = self.line_to_change()?;
        let bytes = |holder: &Holder| holder.bytes(self.moment);
        let recorded = self.holders.iter().map(bytes).fold(0, u64::saturating_add);
        let whole = match memory.most(self.moment, recorded) {
            Some(most) if most <= recorded => format!("{} in use", Size(most)),
            _ => format!("{} recorded", Size(recorded)),
        };
        let (place, held) = (holder.place.describe(), Size(bytes(holder)));
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

fn imports(text: Option<&str>) -> bool {
    let text = text.unwrap_or_default();
    text.starts_with("import ") || text.starts_with("from ")
}
