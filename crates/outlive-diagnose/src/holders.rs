//! Who held the memory: lines of code and the bytes each had live.

use std::collections::HashMap;

use outlive_record::kind::stack_flag;
use outlive_record::read::{Recording, Stack};

use crate::place::Place;
use crate::places::{Key, Name, Places};
use crate::untouched::Untouched;

/// At most this many are kept, so that a hostile box cannot make a report of any length.
const MOST: usize = 50;
/// Holders below this share of the whole, in thousandths, are left out.
const WORTH_NAMING: u128 = 5;
/// The largest are named whatever their share.
const ALWAYS_NAMED: usize = 5;
/// What found no room in the tables is named from this share on, in thousandths.
const OTHER_WORTH_NAMING: u128 = 10;

/// By which figure holders are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// When the process ended.
    End,
    /// When it held most.
    Peak,
}

/// A line and what it held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Which process.
    pub pid: u32,
    /// Where.
    pub place: Place,
    /// Source text of the line, if the file can still be read.
    pub text: Option<String>,
    /// Bytes live at the end.
    pub live_bytes: u64,
    /// Bytes it held when the process held most.
    pub peak_bytes: u64,
    /// Blocks live at the end.
    pub count: u64,
    /// How many of the bytes live at the end are estimates.
    pub estimated_bytes: u64,
    /// The same of those it held when the process held most, as far as that is known.
    pub estimated_at_peak: u64,
    /// Whether some of it is shared memory.
    pub shared: bool,
    /// How the memory came about below the line: the innermost library frame of its largest
    /// stack, or the thread without Python that the line started.
    pub via: Option<String>,
    /// Monotonic time of its last acquisition.
    pub last_time: u64,
    /// The largest single request it made, bytes.
    pub largest_request: u64,
    /// Number of the stack that most of it came by.
    pub(crate) stack: u32,
}

impl Holder {
    /// Whether every byte was recorded, none estimated.
    pub const fn is_exact(&self) -> bool {
        self.estimated_bytes == 0 && self.estimated_at_peak == 0
    }

    /// Whether so much of the figure is estimated that a person should know.
    pub fn is_estimate(&self, moment: Moment) -> bool {
        let estimated = match moment {
            Moment::End => self.estimated_bytes,
            Moment::Peak => self.estimated_at_peak,
        };
        u128::from(estimated) * 100 > u128::from(self.bytes(moment))
    }

    /// Bytes at the moment.
    pub const fn bytes(&self, moment: Moment) -> u64 {
        match moment {
            Moment::End => self.live_bytes,
            Moment::Peak => self.peak_bytes,
        }
    }
}

/// Sums of all stacks that share a key.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    live_bytes: i64,
    estimated_bytes: i64,
    estimated_at_peak: i64,
    peak_bytes: i64,
    count: i64,
    flags: u32,
    last_time: u64,
    largest_stack: u32,
    largest_bytes: i64,
    largest_request: u64,
}

impl Sum {
    fn add(&mut self, stack: &Stack) {
        self.live_bytes = self.live_bytes.saturating_add(stack.live_bytes);
        let (now, at_peak) = estimates(stack);
        self.estimated_bytes = self.estimated_bytes.saturating_add(now);
        self.estimated_at_peak = self.estimated_at_peak.saturating_add(at_peak);
        self.peak_bytes = self.peak_bytes.saturating_add(stack.at_peak_bytes);
        self.count = self.count.saturating_add(stack.live_count);
        self.flags |= stack.flags;
        self.last_time = self.last_time.max(stack.last_time);
        self.largest_request = self.largest_request.max(stack.largest);
        self.keep_largest(stack.id, stack.live_bytes.max(stack.at_peak_bytes));
    }

    fn merge(&mut self, other: &Self) {
        self.live_bytes = self.live_bytes.saturating_add(other.live_bytes);
        self.estimated_bytes = self.estimated_bytes.saturating_add(other.estimated_bytes);
        self.estimated_at_peak = self
            .estimated_at_peak
            .saturating_add(other.estimated_at_peak);
        self.peak_bytes = self.peak_bytes.saturating_add(other.peak_bytes);
        self.count = self.count.saturating_add(other.count);
        self.flags |= other.flags;
        self.last_time = self.last_time.max(other.last_time);
        self.largest_request = self.largest_request.max(other.largest_request);
        self.keep_largest(other.largest_stack, other.largest_bytes);
    }

    const fn keep_largest(&mut self, stack: u32, bytes: i64) {
        if bytes > self.largest_bytes {
            self.largest_bytes = bytes;
            self.largest_stack = stack;
        }
    }

    fn bytes(&self, moment: Moment) -> i64 {
        match moment {
            Moment::End => self.live_bytes,
            Moment::Peak => self.peak_bytes,
        }
    }
}

/// How many of a stack's bytes are estimates, at the end and at the peak. The box says it of the
/// end alone: the peak is taken to have had the same share.
fn estimates(stack: &Stack) -> (i64, i64) {
    let live = stack.live_bytes.max(0);
    let now = stack.estimated_bytes.clamp(0, live);
    let peak = stack.at_peak_bytes.max(0);
    let at_peak = if live > 0 {
        (i128::from(peak) * i128::from(now) / i128::from(live)) as i64
    } else if stack.flags & stack_flag::ESTIMATE != 0 {
        peak
    } else {
        0
    };
    (now, at_peak)
}

/// The holders of one process, largest first.
pub(crate) fn holders(
    recording: &Recording<'_>,
    places: &mut Places<'_>,
    moment: Moment,
    untouched: &Untouched,
) -> Vec<Holder> {
    let pid = recording.identity().pid;
    let lines = by_name(recording, places, untouched);
    let mut lines: Vec<(Name<'_>, Line)> = lines.into_iter().collect();
    // Any bytes may stand in a box, so the sums are wider than its numbers.
    let wide = |line: &Line| u128::from(line.sum.bytes(moment).max(0) as u64);
    let whole = lines
        .iter()
        .map(|(_, line)| wide(line))
        .sum::<u128>()
        .max(1);
    lines.sort_unstable_by(|(left_name, left), (right_name, right)| {
        wide(right)
            .cmp(&wide(left))
            .then_with(|| left_name.cmp(right_name))
    });
    let mut named = 0;
    lines.retain(|(_, line)| {
        let share = wide(line) * 1000 / whole;
        let enough = match line.key {
            Key::Other => share >= OTHER_WORTH_NAMING,
            _ => share >= WORTH_NAMING || named < ALWAYS_NAMED,
        };
        let kept = enough && wide(line) > 0;
        named += usize::from(kept);
        kept
    });
    lines.truncate(MOST);
    lines
        .into_iter()
        .map(|(_, line)| finish(recording, places, pid, &line))
        .collect()
}

/// A name's sums, and one of its keys.
#[derive(Clone, Copy, Debug)]
struct Line {
    key: Key,
    sum: Sum,
}

/// Sums by place as numbers first, then by what the places are called.
fn by_name<'a>(
    recording: &Recording<'_>,
    places: &mut Places<'a>,
    untouched: &Untouched,
) -> HashMap<Name<'a>, Line> {
    let mut by_key: HashMap<Key, Sum> = HashMap::new();
    for stack in recording.stacks() {
        let stack = untouched.take_off(stack);
        if stack.live_bytes > 0 || stack.at_peak_bytes > 0 {
            let key = places.key(&stack);
            by_key.entry(key).or_default().add(&stack);
        }
    }
    let mut sums: Vec<(Key, Sum)> = by_key.into_iter().collect();
    // Hash order differs from run to run; which key stands for a name must not.
    sums.sort_unstable_by_key(|(key, _)| *key);
    let mut by_name: HashMap<Name<'a>, Line> = HashMap::new();
    for (key, sum) in sums {
        let line = by_name.entry(places.name(key)).or_insert(Line {
            key,
            sum: Sum::default(),
        });
        line.sum.merge(&sum);
    }
    by_name
}

fn finish(recording: &Recording<'_>, places: &mut Places<'_>, pid: u32, line: &Line) -> Holder {
    let sum = &line.sum;
    let mut place = places.of_key(line.key);
    // One way to the line is told where most of its bytes came by it.
    let is_most = sum.largest_bytes >= sum.live_bytes.max(sum.peak_bytes) / 2;
    let via = match place {
        Place::Line(_) => recording
            .stack(sum.largest_stack)
            .filter(|_| is_most)
            .and_then(|stack| places.via(&stack, &place)),
        _ => place.thread().filter(|_| place.line().is_some()),
    };
    places.mark(&mut place, sum.last_time);
    Holder {
        pid,
        estimated_bytes: sum.estimated_bytes.max(0) as u64,
        estimated_at_peak: sum.estimated_at_peak.max(0) as u64,
        place,
        text: None,
        live_bytes: sum.live_bytes.max(0) as u64,
        peak_bytes: sum.peak_bytes.max(0) as u64,
        count: sum.count.max(0) as u64,
        shared: sum.flags & stack_flag::SHARED != 0,
        via,
        last_time: sum.last_time,
        largest_request: sum.largest_request,
        stack: sum.largest_stack,
    }
}
