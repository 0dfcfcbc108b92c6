//! The last seconds: how fast memory grew, and what was acquired last.

use outlive_record::kind::EventKind;
use outlive_record::read::{Event, Recording};
use outlive_record::timeline::Sample;

use crate::place::Place;
use crate::places::Places;

const SECOND: u64 = 1_000_000_000;
/// Windows to look through, shortest first: a sudden death needs seconds, a leak minutes.
const WINDOWS: [u64; 4] = [3 * SECOND, 15 * SECOND, 60 * SECOND, 600 * SECOND];
/// Growth below this share of the last size is no growth worth telling.
const WORTH_TELLING: u64 = 10;
/// From this size on a single allocation is worth naming.
const LARGE: u64 = 1 << 20;

/// Growth before the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Growth {
    /// Length of the window, nanoseconds.
    pub window: u64,
    /// Resident bytes gained in it.
    pub bytes: u64,
    /// The last large allocation in the ring.
    pub last_large: Option<LastLarge>,
}

/// One large allocation shortly before the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastLarge {
    /// Bytes asked for.
    pub bytes: u64,
    /// Where.
    pub place: Place,
    /// Nanoseconds before the end.
    pub before_end: u64,
    /// Whether it was refused.
    pub refused: bool,
    /// Number of its stack.
    pub(crate) stack: u32,
}

impl Growth {
    /// Looks at the time line and the ring; `end` is the monotonic time of death.
    pub fn of(
        samples: &[Sample],
        recording: Option<&Recording<'_>>,
        places: &mut Places<'_>,
        end: u64,
    ) -> Self {
        let (window, bytes) = recent_growth(samples);
        let last_large = recording.and_then(|recording| last_large(recording, places, end));
        Self {
            window,
            bytes,
            last_large,
        }
    }
}

/// The shortest window in which memory grew noticeably: its length and the bytes.
fn recent_growth(samples: &[Sample]) -> (u64, u64) {
    let Some(last) = samples.last() else {
        return (0, 0);
    };
    for window in WINDOWS {
        let from = last.time.saturating_sub(window);
        let inside: Vec<&Sample> = samples.iter().filter(|it| it.time >= from).collect();
        let lowest = inside
            .iter()
            .map(|sample| sample.resident)
            .min()
            .unwrap_or(0);
        let bytes = last.resident.saturating_sub(lowest);
        if bytes > 0 && bytes >= last.resident / WORTH_TELLING {
            let first = inside.first().map_or(last.time, |sample| sample.time);
            return (last.time.saturating_sub(first).max(1), bytes);
        }
    }
    (0, 0)
}

fn last_large(recording: &Recording<'_>, places: &mut Places<'_>, end: u64) -> Option<LastLarge> {
    let events = recording.events();
    let is_wanted = |event: &&Event| {
        let kinds = [
            EventKind::Acquired,
            EventKind::Mapped,
            EventKind::Failed,
            EventKind::Refused,
        ];
        event.bytes >= LARGE && event.kind.is_some_and(|kind| kinds.contains(&kind))
    };
    let mut wanted = events.iter().rev().filter(is_wanted);
    wanted.find_map(|event| {
        let stack = recording.stack(event.stack)?;
        let place = places.of_stack(&stack, event.time);
        // What IPython does between cells is nobody's request.
        (place != Place::Ipython).then(|| LastLarge {
            bytes: event.bytes,
            place,
            before_end: end.saturating_sub(event.time),
            refused: matches!(event.kind, Some(EventKind::Failed | EventKind::Refused)),
            stack: event.stack,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::{SECOND, recent_growth};
    use outlive_record::timeline::{Sample, UNKNOWN};

    fn sample(time: u64, resident: u64) -> Sample {
        Sample {
            time,
            resident,
            proportional: UNKNOWN,
            cgroup_use: UNKNOWN,
            cgroup_limit: UNKNOWN,
            available: UNKNOWN,
            swapped: UNKNOWN,
        }
    }

    #[test]
    fn a_burst_is_told_in_seconds_and_a_leak_in_minutes() {
        let burst: Vec<Sample> = (0..100)
            .map(|n| sample(n * SECOND, if n < 98 { 100 } else { 1000 }))
            .collect();
        assert_eq!(recent_growth(&burst), (3 * SECOND, 900));
        let leak: Vec<Sample> = (0..1000).map(|n| sample(n * SECOND, 1000 + n)).collect();
        let (window, bytes) = recent_growth(&leak);
        assert_eq!((window, bytes), (600 * SECOND, 600));
        let flat: Vec<Sample> = (0..100).map(|n| sample(n * SECOND, 1000)).collect();
        assert_eq!(recent_growth(&flat), (0, 0));
    }
}
