//! Encoded tiles, as many as fit into a number of bytes. The one that was not asked for longest
//! goes first.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use outlive_data::grid::pyramid::Tile;

/// What an entry takes beside its bytes, about.
const OVERHEAD: u64 = 200;

/// Tiles that were made.
#[derive(Debug)]
pub(super) struct Cache {
    limit: u64,
    state: Mutex<State>,
}

/// A tile, and how long it is good for.
#[derive(Clone, Debug)]
pub(super) struct Made {
    pub(super) bytes: Arc<[u8]>,
    pub(super) quality: Quality,
}

/// How good a tile is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quality {
    /// All its cells are drawn: it stays as it is.
    Final,
    /// Made of what was known in this generation.
    Provisional {
        /// Its number.
        generation: u64,
    },
}

#[derive(Debug, Default)]
struct State {
    tiles: HashMap<Tile, (u64, Made)>,
    /// Tiles by the time of their last use.
    order: BTreeMap<u64, Tile>,
    clock: u64,
    bytes: u64,
}

impl Cache {
    pub(super) fn new(limit: u64) -> Self {
        Self {
            limit,
            state: Mutex::default(),
        }
    }

    /// A tile, if it is there.
    pub(super) fn find(&self, tile: Tile) -> Option<Made> {
        let mut state = self.lock();
        let state = &mut *state;
        let (used, made) = state.tiles.get_mut(&tile)?;
        state.clock += 1;
        state.order.remove(used);
        state.order.insert(state.clock, tile);
        *used = state.clock;
        Some(made.clone())
    }

    /// Keeps a tile in place of an older one, unless that is better.
    pub(super) fn keep(&self, tile: Tile, made: Made) {
        let needed = made.bytes.len() as u64 + OVERHEAD;
        let mut state = self.lock();
        let before = state.tiles.get(&tile).map(|(_, made)| made.quality);
        if before == Some(Quality::Final) && made.quality != Quality::Final {
            return;
        }
        state.remove(tile);
        if needed > self.limit {
            return;
        }
        while state.bytes + needed > self.limit {
            let Some((_, oldest)) = state.order.first_key_value() else {
                return;
            };
            let oldest = *oldest;
            state.remove(oldest);
        }
        state.clock += 1;
        let now = state.clock;
        state.bytes += needed;
        state.order.insert(now, tile);
        state.tiles.insert(tile, (now, made));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn remove(&mut self, tile: Tile) {
        if let Some((used, made)) = self.tiles.remove(&tile) {
            self.order.remove(&used);
            self.bytes -= made.bytes.len() as u64 + OVERHEAD;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tile(column: u64) -> Tile {
        Tile {
            level: 1,
            column,
            row: 0,
        }
    }

    fn made(length: usize) -> Made {
        Made {
            bytes: vec![0; length].into(),
            quality: Quality::Final,
        }
    }

    #[test]
    fn the_tile_that_was_not_used_longest_goes_first() {
        let cache = Cache::new(3 * (1000 + OVERHEAD));
        (0..3).for_each(|column| cache.keep(tile(column), made(1000)));
        assert!(cache.find(tile(0)).is_some());
        cache.keep(tile(3), made(1000));
        let kept: Vec<bool> = (0..4)
            .map(|column| cache.find(tile(column)).is_some())
            .collect();
        assert_eq!(kept, [true, false, true, true]);
    }

    #[test]
    fn it_never_holds_more_than_it_may() {
        let cache = Cache::new(10_000);
        for round in 0..2000_u64 {
            cache.keep(tile(round * 7 % 40), made((round * 131 % 3000) as usize));
            let state = cache.lock();
            let sum: u64 = state
                .order
                .values()
                .map(|tile| state.tiles[tile].1.bytes.len() as u64 + OVERHEAD)
                .sum();
            assert!(
                state.bytes <= 10_000
                    && state.bytes == sum
                    && state.tiles.len() == state.order.len()
            );
        }
        cache.keep(tile(0), made(20_000));
        assert!(cache.find(tile(0)).is_none());
    }
}
