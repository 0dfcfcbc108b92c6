//! What Outlive itself did before an end: the request it refused, the growth it stopped.
//!
//! An exception that a worker met often ends its parent: loaders and pools carry it over and raise
//! it again, and the worker lives on. So the boxes of the other processes are asked too, where the
//! process that ended has nothing to tell.

use outlive_record::kind::ExceptionKind;
use outlive_record::ledger::reserve_of;
pub use outlive_record::read::Deed;
use outlive_record::read::{self, ExceptionRecord, FatalSignal, Recording};

use crate::diagnosis::Input;
use crate::facts::{ProcessFacts, ProcessId, RunFacts};
use crate::place::Place;
use crate::places::Places;
use crate::size::Size;
use crate::tree::Tree;
use crate::words::headline;

const SECOND: u64 = 1_000_000_000;
/// An exception that is raised is on its way up for a while: handlers run, state is saved.
const ON_ITS_WAY: u64 = 60 * SECOND;
/// Libraries try again with less before they give up, TensorFlow for ten seconds.
const TRYING: u64 = 15 * SECOND;
/// Growth is stopped again while the exception is still on its way.
const STOPPING: u64 = 2 * SECOND;
/// So long after it, an end or an exception may well come of it.
const MOMENTS: u64 = 2 * SECOND;
/// How many other processes are asked, largest first.
const BOXES_ASKED: usize = 16;

/// A refusal or a stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intervention {
    /// Which process it struck.
    pub process: ProcessId,
    /// Which of the two.
    pub deed: Deed,
    /// Bytes asked for; of a stop, what the tree used.
    pub bytes: u64,
    /// Bytes the tree might use in all.
    pub budget: u64,
    /// Bytes that were left of them.
    pub headroom: i64,
    /// Whose limit was behind the budget; empty where that is not known.
    pub source: String,
    /// The line it struck, if it is known.
    pub place: Option<Place>,
    /// The library that asked; empty where that is not known.
    pub library: String,
    /// Monotonic time.
    pub time: u64,
    /// How many times in a row, the last of which is told here.
    pub attempts: u64,
    /// Number of its stack in the box of that process.
    pub(crate) stack: u32,
}

impl Intervention {
    /// `only 1.2 GiB were left of the budget of 3.9 GiB (memory cgroup /job)`.
    pub fn room(&self) -> String {
        let source = match self.source.as_str() {
            "" => String::new(),
            source => format!(" ({source})"),
        };
        let budget = Size(self.budget);
        if self.headroom <= 0 {
            return format!("nothing was left of the budget of {budget}{source}");
        }
        let left = Size(self.headroom as u64);
        format!("only {left} were left of the budget of {budget}{source}")
    }

    /// ` at train.py:17 in step`, or nothing.
    pub fn at_place(&self) -> String {
        let place = self.place.as_ref();
        place.map_or_else(String::new, |place| format!(" at {}", place.describe()))
    }

    /// As a line of evidence.
    pub fn evidence(&self) -> String {
        let what = match self.deed {
            Deed::Refused => format!(
                "Outlive refused a request for {}{}",
                Size(self.bytes),
                self.at_place()
            ),
            Deed::Stopped => format!("Outlive stopped growth{}", self.at_place()),
        };
        format!("black box: {what}, {}", self.room())
    }

    /// Whether it happened so shortly before this time that it may well be the cause.
    pub fn is_moments_before(&self, time: u64) -> bool {
        self.time.saturating_add(MOMENTS) >= time
    }

    /// Whether no amount of freeing would have helped.
    pub fn exceeds_budget(&self) -> bool {
        self.deed == Deed::Refused && self.bytes > self.budget
    }
}

/// When a process had its last say, and of whom it spoke.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastWords {
    time: u64,
    /// An exception that speaks of other processes may be one of theirs.
    of_others: bool,
}

impl LastWords {
    pub(crate) fn of(
        exceptions: &[ExceptionRecord],
        fatal: Option<&FatalSignal>,
        process: &ProcessFacts,
    ) -> Self {
        let main = exceptions
            .iter()
            .rfind(|it| it.kind == Some(ExceptionKind::Main));
        let said = main.map(headline).unwrap_or_default().to_lowercase();
        // What follows in brackets are names, such as that of a cgroup.
        let said = said.split(" (").next().unwrap_or_default();
        Self {
            time: main
                .map(|exception| exception.time)
                .or(fatal.map(|fatal| fatal.time))
                .or(process.ended_at)
                .unwrap_or(u64::MAX),
            of_others: ["worker", "process"].iter().any(|word| said.contains(word)),
        }
    }
}

/// The last of each kind before an end.
#[derive(Clone, Debug, Default)]
pub struct Interventions {
    /// The last refusal.
    pub refused: Option<Intervention>,
    /// The last stop.
    pub stopped: Option<Intervention>,
}

impl Interventions {
    /// What may have led to the end of `victim`.
    pub(crate) fn before(
        last_words: &LastWords,
        input: &Input<'_>,
        tree: &Tree,
        victim: &ProcessFacts,
        recording: Option<&Recording<'_>>,
    ) -> Self {
        let run = input.run;
        let end = last_words.time;
        let mut found = Self::default();
        if let Some(recording) = recording {
            found.take(input, victim, recording, end);
        }
        let has_own = found.refused.is_some() || found.stopped.is_some();
        if (has_own && !last_words.of_others) || !was_active(run) {
            return found;
        }
        for process in others(tree, victim) {
            if let Some(recording) = input.boxes.open(process.id) {
                found.take(input, process, &recording, end);
            }
        }
        found
    }

    /// The last that Outlive did to a process, whatever came of it.
    pub(crate) fn last_of(
        input: &Input<'_>,
        process: &ProcessFacts,
        recording: &Recording<'_>,
    ) -> Option<Intervention> {
        let event = recording.interventions();
        let event = event.iter().max_by_key(|event| event.time)?;
        Some(resolve(input, process, recording, event, 1))
    }

    /// Takes over what is later than what is known.
    fn take(
        &mut self,
        input: &Input<'_>,
        process: &ProcessFacts,
        recording: &Recording<'_>,
        end: u64,
    ) {
        let events = recording.interventions();
        for (deed, known) in [
            (Deed::Refused, &mut self.refused),
            (Deed::Stopped, &mut self.stopped),
        ] {
            let found = last(&events, deed, end);
            let known_time = known.as_ref().map(|known| known.time);
            if let Some((event, attempts)) = found.filter(|it| Some(it.0.time) > known_time) {
                *known = Some(resolve(input, process, recording, &event, attempts));
            }
        }
    }
}

/// The last one, and how many there were in a row. Of several attempts the largest is told: it is
/// what the program wanted.
fn last(events: &[read::Intervention], deed: Deed, end: u64) -> Option<(read::Intervention, u64)> {
    let since = end.saturating_sub(ON_ITS_WAY);
    let in_time = |event: &&read::Intervention| {
        event.deed == deed && event.time >= since && event.time <= end.saturating_add(SECOND)
    };
    let last = events.iter().rev().find(in_time)?;
    let is_same = |event: &&read::Intervention| match deed {
        Deed::Refused => {
            event.stack == last.stack && event.time.saturating_add(TRYING) >= last.time
        }
        Deed::Stopped => event.time.saturating_add(STOPPING) >= last.time,
    };
    let row = events.iter().filter(in_time).filter(is_same);
    let attempts = row.clone().count() as u64;
    let largest = *row.max_by_key(|event| (event.bytes, event.time))?;
    let told = read::Intervention {
        time: last.time,
        ..largest
    };
    Some((told, attempts))
}

fn resolve(
    input: &Input<'_>,
    process: &ProcessFacts,
    recording: &Recording<'_>,
    event: &read::Intervention,
    attempts: u64,
) -> Intervention {
    let stack = recording.stack(event.stack).filter(|stack| stack.id != 0);
    let mut places = Places::new(Some(recording), input.cells);
    let place = stack.as_ref();
    let place = place.map(|stack| places.of_stack(stack, event.time));
    let library = stack.map_or_else(String::new, |stack| recording.library(&stack).into_owned());
    Intervention {
        process: process.id,
        deed: event.deed,
        bytes: event.bytes,
        budget: event.budget,
        headroom: event.headroom,
        source: source(input.run, process, event.budget),
        place: place.filter(|place| *place != Place::Other),
        library,
        time: event.time,
        attempts,
        stack: event.stack,
    }
}

/// Which limit makes this budget. That of the machine changes all the time, so it is the one that
/// is left where the others are known and do not fit.
fn source(run: &RunFacts, process: &ProcessFacts, budget: u64) -> String {
    let Some(facts) = &run.budget else {
        return String::new();
    };
    let makes = |limit: Option<u64>| limit.is_some_and(|it| it - reserve_of(it) == budget);
    if makes(facts.limit) {
        return "--limit".to_owned();
    }
    if let Some(cgroup) = run.cgroups.iter().find(|cgroup| makes(cgroup.limit)) {
        return format!("memory cgroup {}", cgroup.path);
    }
    if makes(process.limits.address_space.0) {
        return "RLIMIT_AS".to_owned();
    }
    if makes(process.limits.data.0) {
        return "RLIMIT_DATA".to_owned();
    }
    if budget == facts.at_end || facts.source == "MemAvailable" {
        return facts.source.clone();
    }
    String::new()
}

/// Whether Outlive said no at all in this run.
pub(crate) fn was_active(run: &RunFacts) -> bool {
    let budget = run.budget.as_ref();
    budget.is_some_and(|budget| budget.refusals > 0 || budget.stops > 0)
}

/// The other recorded processes, largest first.
fn others<'t>(tree: &'t Tree, victim: &ProcessFacts) -> Vec<&'t ProcessFacts> {
    let is_other = |it: &&ProcessFacts| it.id != victim.id && it.black_box.is_some();
    let mut others: Vec<&ProcessFacts> = tree.processes.iter().filter(is_other).collect();
    others.sort_by_key(|process| std::cmp::Reverse(process.peak_resident));
    others.truncate(BOXES_ASKED);
    others
}
