//! A tile whose cells are being decoded. Whoever asked for it waits a moment, and takes it as it
//! is then; the rest goes on, and the next one who asks gets all of it.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use outlive_data::grid::pyramid::{Geometry, Tile, TileFormat};

use super::canvas::Canvas;

/// A tile in the making.
#[derive(Debug)]
pub(super) struct Making {
    pub(super) tile: Tile,
    state: Mutex<State>,
    finished: Condvar,
}

#[derive(Debug)]
struct State {
    canvas: Canvas,
    /// Its cells in rising order, and whether each is drawn.
    cells: Vec<u64>,
    is_drawn: Vec<bool>,
    /// How many cells were handed out, from the first on, and how many are drawn.
    claimed: usize,
    drawn: usize,
    result: Option<Encoded>,
}

/// A tile as a file, or why there is none.
pub(super) type Encoded = Result<Arc<[u8]>, String>;

/// What one asks for gets.
#[derive(Debug)]
pub(super) enum Taken {
    /// All its cells are drawn.
    Whole(Encoded),
    /// Some of them.
    Partly(Encoded),
}

impl Making {
    /// Starts with a canvas on which something is already, such as thumbnails.
    pub(super) fn new(geometry: &Geometry, tile: Tile, canvas: Canvas) -> Self {
        let cells = cells(geometry, tile);
        Self {
            tile,
            state: Mutex::new(State {
                canvas,
                is_drawn: vec![false; cells.len()],
                cells,
                claimed: 0,
                drawn: 0,
                result: None,
            }),
            finished: Condvar::new(),
        }
    }

    /// The next cell to decode; `None` when others have all of them in hand.
    pub(super) fn claim(&self) -> Option<u64> {
        let mut state = self.lock();
        while state.is_drawn.get(state.claimed) == Some(&true) {
            state.claimed += 1;
        }
        let cell = state.cells.get(state.claimed).copied()?;
        state.claimed += 1;
        Some(cell)
    }

    /// Draws a cell, if it is one of the tile and not there yet, whoever it was decoded for. The
    /// last one makes the tile whole, and gives it.
    pub(super) fn draw(
        &self,
        geometry: &Geometry,
        format: TileFormat,
        index: u64,
        square: &[u8],
    ) -> Option<Encoded> {
        let mut state = self.lock();
        let place = state.cells.binary_search(&index).ok()?;
        let is_drawn = state.is_drawn.get_mut(place)?;
        if std::mem::replace(is_drawn, true) {
            return None;
        }
        state.canvas.draw_cell(geometry, index, square);
        state.drawn += 1;
        if state.drawn < state.cells.len() {
            return None;
        }
        let result = encode(format, &state.canvas);
        state.result = Some(result.clone());
        self.finished.notify_all();
        Some(result)
    }

    /// Whether it is whole.
    pub(super) fn is_finished(&self) -> bool {
        self.lock().result.is_some()
    }

    /// Waits until it is whole, but no longer than until `deadline`, and takes what is there.
    pub(super) fn take(&self, format: TileFormat, deadline: Instant) -> Taken {
        let mut state = self.lock();
        loop {
            if let Some(result) = &state.result {
                return Taken::Whole(result.clone());
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Taken::Partly(encode(format, &state.canvas));
            }
            let waited = self.finished.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A canvas as a file.
pub(super) fn encode(format: TileFormat, canvas: &Canvas) -> Encoded {
    let frame = canvas.frame;
    let bytes = format.encode(&canvas.bytes, frame.width, frame.height)?;
    Ok(bytes.into())
}

/// The cells of a tile of any level, row after row.
fn cells(geometry: &Geometry, tile: Tile) -> Vec<u64> {
    let side = (geometry.tile / geometry.pitch) << (geometry.top - tile.level);
    let (left, top) = (tile.column * side, tile.row * side);
    let rows = top..(top + side).min(geometry.rows);
    let columns = left..(left + side).min(geometry.columns);
    rows.flat_map(|row| columns.clone().map(move |column| (row, column)))
        .map(|(row, column)| row * geometry.columns + column)
        .filter(|index| *index < geometry.cells)
        .collect()
}
