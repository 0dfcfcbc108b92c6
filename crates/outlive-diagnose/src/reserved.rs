//! Address space that allocators of libraries reserved: where memory may be that no line explains.
//!
//! Such an allocator asks the kernel for a gibibyte at a time and fills it as it goes; how much of
//! it is used, and by which lines, is not seen.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use outlive_record::read::{Recording, Stack};

use crate::place::Place;
use crate::places::{Key, Name, Places};

/// At most this many are kept, so that a hostile box cannot make a report of any length.
const MOST: usize = 10;

/// A line and the address space that was reserved there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// Where.
    pub place: Place,
    /// Source text of the line, if the file can still be read.
    pub text: Option<String>,
    /// Bytes reserved: more than is used of them.
    pub bytes: u64,
    /// Who asked below the line: a library, or the innermost frame.
    pub via: Option<String>,
}

/// A name's sum, one of its keys and its largest stack.
#[derive(Debug)]
struct Sum {
    key: Key,
    bytes: i64,
    largest: Stack,
}

/// The reservations of one process, largest first.
pub(crate) fn reservations(recording: &Recording<'_>, places: &mut Places<'_>) -> Vec<Reservation> {
    let mut sums: HashMap<Name<'_>, Sum> = HashMap::new();
    for stack in recording.stacks().filter(|it| it.reserved_bytes > 0) {
        let key = places.key(&stack);
        match sums.entry(places.name(key)) {
            Entry::Occupied(mut sum) => sum.get_mut().add(stack),
            Entry::Vacant(place) => {
                let bytes = stack.reserved_bytes;
                let largest = stack;
                place.insert(Sum {
                    key,
                    bytes,
                    largest,
                });
            }
        }
    }
    let mut sums: Vec<(Name<'_>, Sum)> = sums.into_iter().collect();
    sums.sort_unstable_by(|(left_name, left), (right_name, right)| {
        right
            .bytes
            .cmp(&left.bytes)
            .then_with(|| left_name.cmp(right_name))
    });
    sums.truncate(MOST);
    sums.into_iter()
        .map(|(_, sum)| finish(recording, places, &sum))
        .collect()
}

impl Sum {
    fn add(&mut self, stack: Stack) {
        self.bytes = self.bytes.saturating_add(stack.reserved_bytes);
        if stack.reserved_bytes > self.largest.reserved_bytes {
            self.largest = stack;
        }
    }
}

fn finish(recording: &Recording<'_>, places: &mut Places<'_>, sum: &Sum) -> Reservation {
    let mut place = places.of_key(sum.key);
    let library = recording.library(&sum.largest);
    let via = match library.rsplit('/').next() {
        Some(name) if !name.is_empty() => Some(name.to_owned()),
        _ => places.via(&sum.largest, &place),
    };
    places.mark(&mut place, sum.largest.last_time);
    Reservation {
        place,
        text: None,
        bytes: sum.bytes.max(0) as u64,
        via,
    }
}
