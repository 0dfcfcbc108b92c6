//! Who grows: bytes acquired less bytes released, for each thread of late.
//!
//! A stop has to reach the thread that grows, not one that merely allocates. Every recorded event
//! adds to the figure of its thread; the watchdog halves all figures every second, so that what
//! happened long ago does not count. Zeroed memory is an empty table.

use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicI64, AtomicU64};

const THREADS: usize = 128;

/// The table.
#[derive(Debug)]
#[repr(C)]
pub struct GrowthTable {
    threads: [Grower; THREADS],
}

#[derive(Debug)]
#[repr(C)]
struct Grower {
    /// The C library's handle, which is also what Python calls a thread's identifier; 0: empty.
    handle: AtomicU64,
    grown: AtomicI64,
    /// Python's state of the thread, once it was seen with one.
    state: AtomicU64,
}

/// A thread and how much it grew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Growth {
    /// Its handle.
    pub handle: u64,
    /// Bytes.
    pub bytes: i64,
}

impl GrowthTable {
    /// Finds a place for a thread; gives its number plus one, or 0 if there is none.
    pub fn enter(&self, handle: u64) -> u32 {
        let known = self.threads.iter().position(|grower| {
            let kept = grower.handle.load(Relaxed);
            kept == handle
        });
        let place = known.or_else(|| {
            self.threads.iter().position(|grower| {
                let taken = grower.handle.compare_exchange(0, handle, Relaxed, Relaxed);
                taken.is_ok()
            })
        });
        // Full: the thread that grew least gives way. It may be long gone.
        let place = place.or_else(|| {
            let threads = self.threads.iter().enumerate();
            let least = threads.min_by_key(|(_, grower)| grower.grown.load(Relaxed))?;
            least.1.handle.store(handle, Relaxed);
            Some(least.0)
        });
        let Some((place, grower)) = place.and_then(|place| Some((place, self.threads.get(place)?)))
        else {
            return 0;
        };
        grower.grown.store(0, Relaxed);
        grower.state.store(0, Relaxed);
        (place as u32).wrapping_add(1)
    }

    /// Counts bytes, or with a minus sign bytes given back, for the thread at this place.
    #[inline]
    pub fn add(&self, place: u32, bytes: i64) {
        if let Some(grower) = self.threads.get(place.wrapping_sub(1) as usize) {
            grower.grown.fetch_add(bytes, Relaxed);
        }
    }

    /// The thread at this place runs Python, with this state.
    pub fn mark_python(&self, place: u32, state: usize) {
        if let Some(grower) = self.threads.get(place.wrapping_sub(1) as usize) {
            grower.state.store(state as u64, Relaxed);
        }
    }

    /// Python's state of a thread, as it was when the thread was last seen; 0 if it was not.
    pub fn state_of(&self, handle: u64) -> usize {
        let mut threads = self.threads.iter();
        let found = threads.find(|grower| grower.handle.load(Relaxed) == handle);
        found.map_or(0, |grower| grower.state.load(Relaxed) as usize)
    }

    /// By how much the thread at this place grew.
    pub fn at(&self, place: u32) -> i64 {
        let grower = self.threads.get(place.wrapping_sub(1) as usize);
        grower.map_or(0, |grower| grower.grown.load(Relaxed))
    }

    /// The Python thread that grew most.
    pub fn most(&self) -> Option<Growth> {
        let threads = self.threads.iter();
        let python = threads
            .filter(|grower| grower.handle.load(Relaxed) != 0 && grower.state.load(Relaxed) != 0);
        let growth = python.map(|grower| Growth {
            handle: grower.handle.load(Relaxed),
            bytes: grower.grown.load(Relaxed),
        });
        growth.max_by_key(|growth| growth.bytes)
    }

    /// A thread was stopped: what all of them do from now on counts.
    pub fn start_anew(&self) {
        for grower in &self.threads {
            grower.grown.store(0, Relaxed);
        }
    }

    /// A thread is gone.
    pub fn forget(&self, handle: u64) {
        for grower in &self.threads {
            if grower.handle.load(Relaxed) == handle {
                grower.grown.store(0, Relaxed);
                grower.state.store(0, Relaxed);
            }
        }
    }

    /// Halves all figures.
    pub fn fade(&self) {
        for grower in &self.threads {
            let bytes = grower.grown.load(Relaxed);
            grower.grown.fetch_sub(bytes / 2, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::testing::zeroed;

    #[test]
    fn the_python_thread_that_grew_most_is_named() {
        let table = zeroed::<GrowthTable>();
        assert_eq!(table.most(), None);
        let [one, two, three] = [7, 8, 9].map(|handle| table.enter(handle));
        table.mark_python(one, 1);
        table.mark_python(two, 1);
        table.add(one, 100);
        table.add(two, 900);
        table.add(two, -850);
        table.add(three, 5000);
        assert_eq!((table.at(two), table.at(three), table.at(0)), (50, 5000, 0));
        let most = |handle, bytes| Some(Growth { handle, bytes });
        assert_eq!(table.most(), most(7, 100));
        table.fade();
        assert_eq!(table.most(), most(7, 50));
        table.forget(7);
        assert_eq!(table.most(), most(8, 25));
        table.start_anew();
        table.add(two, 4);
        assert_eq!(table.most(), most(8, 4));
    }

    #[test]
    fn a_full_table_forgets_the_thread_that_grew_least() {
        let table = zeroed::<GrowthTable>();
        for handle in 1..=THREADS as u64 {
            let place = table.enter(handle);
            table.mark_python(place, 1);
            table.add(place, handle as i64);
        }
        let place = table.enter(1000);
        assert_eq!(place, 1);
        table.mark_python(place, 1);
        table.add(place, 1_000_000);
        assert_eq!(table.most().map(|growth| growth.handle), Some(1000));
        assert_eq!(table.enter(1000), 1, "a known thread keeps its place");
    }
}
