//! Cells from files: decoded ahead on several threads, handed over in order. The window of cells
//! that may be ready and not yet asked for is fixed, so memory does not grow when the renderer is
//! slow; what decoding takes beside that comes out of a [`Budget`].

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use super::cells::{CellView, Cells, DrawError, Drawn};
use super::painter::{CellStyle, Painter};
use crate::budget::Budget;
use crate::source::Opened;

/// Cells ahead of the renderer, for each thread.
const AHEAD: u64 = 4;
/// The part of the budget that cells may take which are ready, or being drawn.
const SHARE: u64 = 4;

/// Whoever knows which file is which cell.
pub trait Source: Send + Sync {
    /// Opens the picture of a cell, or says in one line why it cannot.
    fn open(&self, index: u64) -> Result<Opened, String>;

    /// The text below it.
    fn caption(&self, index: u64) -> Option<String>;
}

/// A [`Cells`] that decodes.
#[derive(Debug)]
pub struct DecodedCells {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    delivered: u64,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    stop: Arc<AtomicBool>,
    source: Arc<dyn Source>,
    style: CellStyle,
    budget: Arc<Budget>,
    window: u64,
}

struct State {
    order: Box<dyn Iterator<Item = u64> + Send>,
    /// How many cells were taken from the order, and how many were handed over.
    claimed: u64,
    delivered: u64,
    ready: BTreeMap<u64, Cell>,
    /// Pixels of cells that were handed over, to be used again.
    spare: Vec<Vec<u8>>,
    /// Threads that still claim cells.
    working: usize,
    /// Threads that wait, for cells or for room. Nobody is woken where nobody sleeps: that would be
    /// two calls of the system for each cell.
    waiting: usize,
    closed: bool,
}

struct Cell {
    index: u64,
    pixels: Vec<u8>,
    drawn: Drawn,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl DecodedCells {
    /// Starts `workers` threads that decode the cells of `order`. When `stop` becomes true, the
    /// next cell that is asked for answers [`DrawError::Stopped`].
    pub fn start(
        order: impl Iterator<Item = u64> + Send + 'static,
        source: Arc<dyn Source>,
        style: CellStyle,
        workers: usize,
        budget: Arc<Budget>,
        stop: Arc<AtomicBool>,
    ) -> std::io::Result<Self> {
        let cell = u64::from(style.cell_width) * u64::from(style.height()) * 3;
        let affordable = (budget.total() / SHARE / cell.max(1)).max(1);
        let workers = workers.clamp(1, affordable.min(1 << 10) as usize);
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                order: Box::new(order),
                claimed: 0,
                delivered: 0,
                ready: BTreeMap::new(),
                spare: Vec::new(),
                working: workers,
                waiting: 0,
                closed: false,
            }),
            changed: Condvar::new(),
            stop,
            source,
            style,
            budget,
            window: (workers as u64 * AHEAD).min(affordable),
        });
        let mut cells = Self {
            shared: Arc::clone(&shared),
            workers: Vec::new(),
            delivered: 0,
        };
        for _ in 0..workers {
            let shared = Arc::clone(&shared);
            let thread = std::thread::Builder::new().name("outlive-decode".to_owned());
            cells.workers.push(thread.spawn(move || shared.work())?);
        }
        Ok(cells)
    }
}

impl Cells for DecodedCells {
    fn draw(&mut self, index: u64, view: &mut CellView<'_>) -> Result<Drawn, DrawError> {
        let cell = self.shared.wait_for(self.delivered)?;
        self.delivered += 1;
        if cell.index != index {
            return Err(DrawError::Failed(format!(
                "Cell {index} was asked for where {} was announced",
                cell.index
            )));
        }
        self.shared.style.copy(&cell.pixels, view);
        let drawn = cell.drawn;
        self.shared.delivered(cell.pixels);
        Ok(drawn)
    }
}

impl Drop for DecodedCells {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.changed.notify_all();
        for worker in self.workers.drain(..) {
            // A worker that panicked has said so already; there is nobody to tell here.
            let _ = worker.join();
        }
    }
}

/// Says that a thread is gone, also when it panics.
struct Leaving<'a>(&'a Shared);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.lock().working -= 1;
        self.0.changed.notify_all();
    }
}

impl Shared {
    fn work(&self) {
        // However this thread ends, nobody must wait for it.
        let _leaving = Leaving(self);
        let mut painter = Painter::new(self.style, Arc::clone(&self.budget));
        while let Some((sequence, index, pixels)) = self.claim() {
            let cell = self.paint(&mut painter, index, pixels);
            let mut state = self.lock();
            state.ready.insert(sequence, cell);
            self.wake(state);
        }
    }

    /// The next cell of the order, once the window has room for it; `None` at the end.
    fn claim(&self) -> Option<(u64, u64, Vec<u8>)> {
        let mut state = self.lock();
        loop {
            if state.closed || self.stop.load(Ordering::Relaxed) {
                return None;
            }
            if state.claimed < state.delivered + self.window {
                break;
            }
            state = self.wait(state);
        }
        let index = state.order.next()?;
        let sequence = state.claimed;
        state.claimed += 1;
        let pixels = state.spare.pop().unwrap_or_default();
        Some((sequence, index, pixels))
    }

    /// A decoder that panics spoils its own cell, and no other.
    fn paint(&self, painter: &mut Painter, index: u64, mut pixels: Vec<u8>) -> Cell {
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let caption = self.source.caption(index);
            let opened = self.source.open(index);
            painter.paint(opened, caption.as_deref(), &mut pixels)
        }));
        let drawn = outcome.unwrap_or_else(|_| {
            *painter = Painter::new(self.style, Arc::clone(&self.budget));
            let problem = "The decoder failed on it".to_owned();
            painter.paint_broken(problem, None, &mut pixels)
        });
        Cell {
            index,
            pixels,
            drawn,
        }
    }

    fn wait_for(&self, sequence: u64) -> Result<Cell, DrawError> {
        let mut state = self.lock();
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Err(DrawError::Stopped);
            }
            if let Some(cell) = state.ready.remove(&sequence) {
                return Ok(cell);
            }
            if state.working == 0 {
                return Err(DrawError::Failed(
                    "More cells were asked for than announced".to_owned(),
                ));
            }
            state = self.wait(state);
        }
    }

    fn delivered(&self, pixels: Vec<u8>) {
        let mut state = self.lock();
        state.delivered += 1;
        state.spare.push(pixels);
        self.wake(state);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes now and then by itself, since a signal sets `stop` without a word to anyone.
    fn wait<'a>(&self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let moment = std::time::Duration::from_millis(100);
        state.waiting += 1;
        let woken = self.changed.wait_timeout(state, moment);
        let mut state = woken.unwrap_or_else(PoisonError::into_inner).0;
        state.waiting -= 1;
        state
    }

    /// Tells who waits that something is there.
    fn wake(&self, state: MutexGuard<'_, State>) {
        let is_awaited = state.waiting > 0;
        drop(state);
        if is_awaited {
            self.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::Fit;
    use crate::picture::Colour;

    struct Panics;

    impl Source for Panics {
        fn open(&self, index: u64) -> Result<Opened, String> {
            assert!(index != 3, "a defect");
            Err(format!("number {index}"))
        }

        fn caption(&self, _index: u64) -> Option<String> {
            None
        }
    }

    fn cells(order: Vec<u64>, cell: u32, stop: &Arc<AtomicBool>) -> DecodedCells {
        let style = CellStyle {
            cell_width: cell,
            cell_height: cell,
            caption_height: 0,
            background: Colour([255; 3]),
            fit: Fit::Contain,
        };
        let budget = Budget::new(1 << 20);
        let source = Arc::new(Panics);
        DecodedCells::start(
            order.into_iter(),
            source,
            style,
            3,
            budget,
            Arc::clone(stop),
        )
        .unwrap()
    }

    fn draw(cells: &mut DecodedCells, index: u64) -> Result<Drawn, DrawError> {
        let mut pixels = [0; 4 * 4 * 3];
        cells.draw(index, &mut CellView::new(&mut pixels, 12, 4, 4).unwrap())
    }

    #[test]
    fn cells_come_in_the_order_that_was_announced_and_a_panic_spoils_one() {
        let order = [9, 3, 0, 5, 5, 7];
        let mut cells = cells(order.to_vec(), 4, &Arc::default());
        for index in order {
            let problem = draw(&mut cells, index).unwrap().problem.unwrap();
            let wanted = if index == 3 {
                "The decoder failed on it".to_owned()
            } else {
                format!("number {index}")
            };
            assert_eq!(problem, wanted);
        }
        assert!(matches!(draw(&mut cells, 0), Err(DrawError::Failed(_))));
    }

    #[test]
    fn a_stop_is_answered_at_once_and_the_threads_end() {
        let stop = Arc::new(AtomicBool::new(false));
        let mut cells = cells((10..10_000).collect(), 4, &stop);
        draw(&mut cells, 10).unwrap();
        stop.store(true, Ordering::Relaxed);
        assert!(matches!(draw(&mut cells, 11), Err(DrawError::Stopped)));
    }

    #[test]
    fn cells_that_are_large_are_not_drawn_far_ahead() {
        let cells = cells((10..100).collect(), 250, &Arc::default());
        assert_eq!((cells.shared.window, cells.workers.len()), (1, 1));
    }
}
