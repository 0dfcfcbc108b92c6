//! Makes tiles when they are asked for. Cells that are shown larger than a thumbnail are decoded,
//! by as many threads as there are processors; in the time that leaves, the same threads look at
//! all cells in order, so that the sheet from afar fills up.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use outlive_data::budget::Budget;
use outlive_data::grid::decoded::Source;
use outlive_data::grid::painter::CellStyle;
use outlive_data::grid::pyramid::{Geometry, Tile, TileFormat};

use super::artist::Artist;
use super::cache::{Cache, Made, Quality};
use super::generation::Generation;
use super::known::{Known, SIDE};
use super::making::{Encoded, Making, Taken, encode};
use super::overview;

/// Who asks for a tile gets it after this time, as good as it is then.
const PATIENCE: Duration = Duration::from_millis(200);
/// Nobody must have asked for a tile for this long before other cells are looked at.
const QUIET: Duration = Duration::from_millis(100);
/// Bytes and number of canvases of tiles in the making. As many bytes again are for those that
/// requests have in hand.
const CANVASES: u64 = 16 << 20;
const MAKINGS: u64 = 16;

/// What a studio works with.
#[derive(Clone)]
pub(super) struct Plan {
    pub(super) geometry: Geometry,
    pub(super) style: CellStyle,
    pub(super) format: TileFormat,
    pub(super) source: Arc<dyn Source>,
    pub(super) budget: Arc<Budget>,
}

/// Makes tiles.
pub(super) struct Studio {
    plan: Plan,
    pub(super) known: Known,
    pub(super) generation: Generation,
    cache: Cache,
    /// For the canvases of requests.
    canvases: Arc<Budget>,
    desk: Mutex<Desk>,
    changed: Condvar,
}

/// What there is to do.
struct Desk {
    /// Tiles in the making, the one that was asked for last at the end.
    makings: Vec<Arc<Making>>,
    /// The next cell to look at; `None` when all were, or there is no room for what is found.
    next: Option<u64>,
    asked_at: Option<Instant>,
}

impl Desk {
    fn find(&self, tile: Tile) -> Option<Arc<Making>> {
        self.makings
            .iter()
            .find(|making| making.tile == tile)
            .cloned()
    }
}

impl std::fmt::Debug for Studio {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Studio").finish_non_exhaustive()
    }
}

impl Studio {
    /// A studio with this many threads.
    pub(super) fn start(
        plan: Plan,
        known: Known,
        cache: Cache,
        threads: usize,
    ) -> io::Result<Arc<Self>> {
        let canvas = canvas_bytes(&plan.geometry);
        let studio = Arc::new(Self {
            canvases: Budget::new(CANVASES.max(2 * canvas)),
            plan,
            known,
            generation: Generation::new(Instant::now()),
            cache,
            desk: Mutex::new(Desk {
                makings: Vec::new(),
                next: Some(0),
                asked_at: None,
            }),
            changed: Condvar::new(),
        });
        for _ in 0..threads.max(1) {
            let studio = Arc::clone(&studio);
            let thread = std::thread::Builder::new().name("outlive-decode".to_owned());
            thread.spawn(move || studio.work())?;
        }
        Ok(studio)
    }

    /// A tile, which must be one of the geometry.
    pub(super) fn tile(&self, tile: Tile) -> Encoded {
        let generation = self.generation.number(Instant::now());
        let provisional = Quality::Provisional { generation };
        let kept = self.cache.find(tile);
        if let Some(made) =
            kept.filter(|made| made.quality == Quality::Final || made.quality == provisional)
        {
            return Ok(made.bytes);
        }
        let canvas = canvas_bytes(&self.plan.geometry);
        let _grant = self
            .canvases
            .take(canvas)
            .map_err(|error| error.to_string())?;
        let (encoded, quality) = if self.is_far(tile) {
            let is_all = self.known.count() == self.plan.geometry.cells;
            let quality = if is_all { Quality::Final } else { provisional };
            let canvas = self.overview(tile).map_err(|error| error.to_string())?;
            (encode(self.plan.format, &canvas), quality)
        } else {
            let deadline = Instant::now() + PATIENCE;
            let making = self.making(tile).map_err(|error| error.to_string())?;
            match making.take(self.plan.format, deadline) {
                Taken::Whole(encoded) => (encoded, Quality::Final),
                Taken::Partly(encoded) => (encoded, provisional),
            }
        };
        let bytes = encoded?;
        let made = Made {
            bytes: Arc::clone(&bytes),
            quality,
        };
        self.cache.keep(tile, made);
        Ok(bytes)
    }

    /// Whether cells are no larger on a tile than their thumbnails, or hardly.
    fn is_far(&self, tile: Tile) -> bool {
        let Geometry { pitch, top, .. } = self.plan.geometry;
        pitch >> (top - tile.level) < SIDE as u64 * 3 / 2 && tile.level < top
    }

    fn overview(&self, tile: Tile) -> io::Result<super::canvas::Canvas> {
        let Plan {
            geometry, style, ..
        } = &self.plan;
        overview::paint(geometry, tile, &self.known, style.background)
    }

    /// The tile in the making, which begins with this if it is not one yet.
    fn making(&self, tile: Tile) -> io::Result<Arc<Making>> {
        let before = self.lock().find(tile);
        let making = match before {
            Some(making) => making,
            None => Arc::new(Making::new(&self.plan.geometry, tile, self.overview(tile)?)),
        };
        let mut desk = self.lock();
        // Somebody else may have asked for it meanwhile, or it may be whole.
        let making = desk.find(tile).unwrap_or(making);
        desk.asked_at = Some(Instant::now());
        desk.makings.retain(|other| !Arc::ptr_eq(other, &making));
        if making.is_finished() {
            return Ok(making);
        }
        if desk.makings.len() as u64 >= self.most_makings() {
            // The one that was asked for first has waited longest, and is out of sight by now.
            desk.makings.remove(0);
        }
        desk.makings.push(Arc::clone(&making));
        drop(desk);
        self.changed.notify_all();
        Ok(making)
    }

    fn most_makings(&self) -> u64 {
        let canvas = canvas_bytes(&self.plan.geometry);
        (CANVASES / canvas.max(1)).clamp(2, MAKINGS)
    }

    fn work(&self) {
        let Plan {
            geometry,
            style,
            format,
            source,
            budget,
        } = self.plan.clone();
        let mut artist = Artist::new(geometry, style, source, budget);
        loop {
            let index = self.next();
            let drawn = artist.draw(index);
            let kept = self.known.record(index, &artist.thumbnail(), &drawn);
            self.generation.improve();
            if let Err(error) = kept {
                self.give_up_looking(&error);
            }
            // Tiles of several levels show the same cell, and are often asked for together.
            let makings = self.lock().makings.clone();
            for making in makings {
                let encoded = making.draw(&geometry, format, index, artist.square());
                if let Some(encoded) = encoded {
                    self.finish(&making, encoded);
                }
            }
        }
    }

    /// Waits for a cell to draw: those of tiles that somebody waits for first, and of these those of
    /// the tile that was asked for last.
    fn next(&self) -> u64 {
        let mut desk = self.lock();
        loop {
            for making in desk.makings.iter().rev() {
                if let Some(index) = making.claim() {
                    return index;
                }
            }
            let quiet = desk.asked_at.map(|asked_at| asked_at.elapsed());
            let is_quiet = quiet.is_none_or(|quiet| quiet >= QUIET);
            if is_quiet && let Some(index) = self.unseen(&mut desk) {
                return index;
            }
            let waited = self.changed.wait_timeout(desk, QUIET);
            desk = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The next cell that was not seen yet.
    fn unseen(&self, desk: &mut Desk) -> Option<u64> {
        let start = desk.next?;
        let mut rest = start..self.plan.geometry.cells;
        let index = rest.find(|index| !self.known.has(*index));
        desk.next = index.map(|index| index + 1);
        index
    }

    fn finish(&self, making: &Arc<Making>, encoded: Encoded) {
        if let Ok(bytes) = encoded {
            let quality = Quality::Final;
            self.cache.keep(making.tile, Made { bytes, quality });
        }
        self.lock()
            .makings
            .retain(|other| !Arc::ptr_eq(other, making));
        self.generation.improve();
    }

    /// Without room for what is found, looking at all cells is of no use. Tiles are still made.
    fn give_up_looking(&self, error: &io::Error) {
        if self.lock().next.take().is_some() {
            crate::say(&format!(
                "No room for thumbnails, the sheet stays grey from afar: {error}\n\
                 hint: set TMPDIR to a folder on a disk with room"
            ));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn canvas_bytes(geometry: &Geometry) -> u64 {
    geometry.tile.saturating_pow(2).saturating_mul(3)
}
