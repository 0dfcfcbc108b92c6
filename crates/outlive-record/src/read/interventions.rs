//! What Outlive itself did to the process: requests it refused, growth it stopped.

use super::Recording;
use crate::kind::EventKind;

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// A request was answered with no.
    Refused,
    /// Growth was ended by an exception.
    Stopped,
}

/// A refusal or a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Intervention {
    /// Which of the two.
    pub deed: Deed,
    /// Monotonic time.
    pub time: u64,
    /// Thread.
    pub tid: u32,
    /// Bytes asked for; of a stop, what the tree used.
    pub bytes: u64,
    /// Bytes the tree might use in all.
    pub budget: u64,
    /// Bytes that were left of them; negative when the tree was over its budget.
    pub headroom: i64,
    /// Stack of the thread it struck; 0 where it is not known.
    pub stack: u32,
}

impl Recording<'_> {
    /// The last refusals and stops.
    pub fn interventions(&self) -> Vec<Intervention> {
        let mut events = self.events();
        events.retain(|event| matches!(event.kind, Some(EventKind::Refused | EventKind::Stopped)));
        let deed = |kind| match kind {
            Some(EventKind::Stopped) => Deed::Stopped,
            _ => Deed::Refused,
        };
        events
            .into_iter()
            .map(|event| Intervention {
                deed: deed(event.kind),
                time: event.time,
                tid: event.tid,
                bytes: event.bytes,
                budget: event.address,
                headroom: event.live_after,
                stack: event.stack,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Deed, Intervention};
    use crate::kind::EventKind;
    use crate::layout::MIN_BOX_SIZE;
    use crate::read::Recording;
    use crate::region::Region;
    use crate::write::{BoxWriter, Identity, StackId};

    #[test]
    fn refusals_and_stops_are_found_among_other_events() {
        let region = Region::leaked(MIN_BOX_SIZE);
        let writer = BoxWriter::create(region, &Identity::default());
        for (time, kind) in (1..).zip([
            EventKind::Acquired,
            EventKind::Refused,
            EventKind::Failed,
            EventKind::Stopped,
        ]) {
            writer.add_event(kind, time, 7, 500, 1000, StackId(3), -20);
        }
        let bytes = region.to_bytes();
        let refused = Intervention {
            deed: Deed::Refused,
            time: 2,
            tid: 7,
            bytes: 500,
            budget: 1000,
            headroom: -20,
            stack: 3,
        };
        let stopped = Intervention {
            deed: Deed::Stopped,
            time: 4,
            ..refused
        };
        let recording = Recording::read(&bytes).unwrap();
        assert_eq!(recording.interventions(), [refused, stopped]);
    }
}
