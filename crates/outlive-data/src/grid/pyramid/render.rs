//! Draws tiles depth first: the four below a tile, then the tile. At any time there is one tile a
//! level in memory, and a few that wait for being encoded on a second thread.

use std::collections::{HashSet, VecDeque};
use std::io;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

use fs_err as fs;

use super::error::PyramidError;
use super::facts::Facts;
use super::geometry::{Geometry, Place, Tile};
use super::shrink::Pixels;
use super::store::Store;
use super::tile::TileFormat;
use crate::grid::cells::{CellView, Cells, DrawError};
use crate::grid::progress::{End, Progress};
use crate::grid::style::Style;

/// Tiles that wait for being encoded.
const WAITING: usize = 2;

/// What does not change while tiles are drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan<'a> {
    pub(super) geometry: Geometry,
    pub(super) style: Style,
    pub(super) format: TileFormat,
    /// Tiles that are there with all below them, and the folder in which they are.
    pub(super) kept: &'a HashSet<Tile>,
    pub(super) root: &'a Path,
}

/// Told of the tiles to be drawn again, before the first of them is written.
pub(super) type OnStop<'a> = &'a mut dyn FnMut(&HashSet<Tile>) -> io::Result<()>;

/// Who gives and takes cells.
pub(super) struct Parties<'a> {
    pub(super) cells: &'a mut dyn Cells,
    pub(super) progress: &'a mut dyn Progress,
    pub(super) facts: &'a mut Facts,
    /// Tiles that an earlier call wrote too early.
    pub(super) provisional: HashSet<Tile>,
    pub(super) on_stop: OnStop<'a>,
}

/// Bytes that drawing takes at most.
pub(super) fn memory(geometry: &Geometry) -> u64 {
    let tile = geometry.tile.saturating_mul(geometry.tile) * 3;
    let levels = (0..=geometry.top).map(|level| {
        let (width, height) = geometry.level_size(level);
        (width.min(geometry.tile) * height.min(geometry.tile)).saturating_mul(3)
    });
    let levels = levels.fold(0, u64::saturating_add);
    levels.saturating_add(tile.saturating_mul(WAITING as u64 + 2))
}

/// Draws all tiles that are not kept, and gives how many cells were drawn and how it ended.
pub(super) fn render(
    plan: Plan<'_>,
    store: &mut dyn Store,
    parties: Parties<'_>,
) -> Result<(u64, End), PyramidError> {
    std::thread::scope(|scope| {
        let (jobs, to_do) = sync_channel(WAITING);
        let (give_back, spare) = channel();
        let encoder = scope.spawn(move || encode_all(plan, store, &to_do, &give_back));
        let mut renderer = Renderer {
            plan,
            parties,
            jobs,
            spare,
            handed_on: VecDeque::new(),
            path: Vec::new(),
            drawn: 0,
            end: End::Complete,
        };
        let root = plan.geometry.root();
        let rendered = renderer
            .render(root)
            .and_then(|pixels| renderer.hand_on(root, pixels));
        let ended = (renderer.drawn, renderer.end);
        // The encoder ends when there is nobody left to send.
        drop(renderer);
        let encoded = encoder.join();
        match (rendered, encoded) {
            (_, Ok(Err(error))) | (Err(Some(error)), _) => Err(error),
            (Ok(()), Ok(Ok(()))) => Ok(ended),
            _ => Err(PyramidError::Encode("The thread is gone".to_owned())),
        }
    })
}

/// A tile to encode.
struct Job {
    tile: Tile,
    pixels: Pixels,
}

struct Renderer<'a, 'b> {
    plan: Plan<'a>,
    parties: Parties<'b>,
    jobs: SyncSender<Job>,
    spare: Receiver<Vec<u8>>,
    /// Tiles that are with the encoder, or were, oldest first.
    handed_on: VecDeque<Tile>,
    /// From the root to the tile at hand.
    path: Vec<Tile>,
    drawn: u64,
    end: End,
}

/// None if the encoder is gone, which then has the error.
type Failure = Option<PyramidError>;

impl Renderer<'_, '_> {
    fn render(&mut self, tile: Tile) -> Result<Pixels, Failure> {
        if self.plan.kept.contains(&tile) {
            return read(&self.plan, tile).ok_or_else(|| {
                let name = tile.name(self.plan.format.ending());
                let path = self.plan.root.join(name);
                Some(PyramidError::Read { path })
            });
        }
        self.path.push(tile);
        let mut pixels = self.blank(tile);
        if tile.level == self.plan.geometry.top {
            self.draw(tile, &mut pixels)?;
        } else {
            self.merge(tile, &mut pixels)?;
        }
        self.path.pop();
        Ok(pixels)
    }

    /// Draws a tile from those below it.
    fn merge(&mut self, tile: Tile, pixels: &mut Pixels) -> Result<(), Failure> {
        let half = self.plan.geometry.tile as usize / 2;
        for child in self.plan.geometry.children(tile) {
            let below = self.render(child)?;
            let left = (child.column % 2) as usize * half;
            let top = (child.row % 2) as usize * half;
            pixels.draw_half(&below, left, top);
            self.hand_on(child, below)?;
            if self.end == End::Stopped {
                break;
            }
        }
        Ok(())
    }

    /// Draws a tile from its cells.
    fn draw(&mut self, tile: Tile, pixels: &mut Pixels) -> Result<(), Failure> {
        for place in self.plan.geometry.places(tile) {
            match self.draw_cell(place, pixels) {
                Ok(()) => {}
                Err(Undrawn::Stopped) => return self.stop(),
                Err(Undrawn::Failed(error)) => return Err(Some(error)),
            }
        }
        Ok(())
    }

    fn draw_cell(&mut self, place: Place, pixels: &mut Pixels) -> Result<(), Undrawn> {
        let Geometry {
            cell_width,
            cell_height,
            ..
        } = self.plan.geometry;
        let start = (place.top as usize * pixels.width + place.left as usize) * 3;
        let stride = pixels.width * 3;
        let bytes = pixels.bytes.get_mut(start..).unwrap_or_default();
        let view = CellView::new(bytes, stride, cell_width, cell_height);
        let no_room = || PyramidError::Source("A cell has no room".to_owned());
        let mut view = view.ok_or_else(|| Undrawn::Failed(no_room()))?;
        let drawn = self.parties.cells.draw(place.index, &mut view);
        let drawn = drawn.map_err(|error| match error {
            DrawError::Stopped => Undrawn::Stopped,
            DrawError::Failed(reason) => Undrawn::Failed(PyramidError::Source(reason)),
        })?;
        let kept = self.parties.facts.write(place.index, &drawn);
        kept.map_err(|error| Undrawn::Failed(PyramidError::write(self.plan.root)(error)))?;
        self.drawn += 1;
        self.parties.progress.drawn(place.index, &drawn);
        Ok(())
    }

    /// All tiles on the path to the root will be written too early.
    fn stop(&mut self) -> Result<(), Failure> {
        self.end = End::Stopped;
        while self.take_spare().is_some() {}
        self.parties.provisional.extend(&self.path);
        let told = (self.parties.on_stop)(&self.parties.provisional);
        told.map_err(|error| Some(PyramidError::write(self.plan.root)(error)))
    }

    /// Gives a tile that is drawn to the encoder.
    fn hand_on(&mut self, tile: Tile, pixels: Pixels) -> Result<(), Failure> {
        if self.plan.kept.contains(&tile) {
            return Ok(());
        }
        self.handed_on.push_back(tile);
        self.jobs.send(Job { tile, pixels }).map_err(|_| None)
    }

    /// Memory that the encoder gives back, once the tile that was in it is in its place.
    fn take_spare(&mut self) -> Option<Vec<u8>> {
        let bytes = self.spare.try_recv().ok()?;
        if let Some(tile) = self.handed_on.pop_front() {
            // Before, a kill would leave what an earlier call wrote too early.
            self.parties.provisional.remove(&tile);
        }
        Some(bytes)
    }

    /// A tile of background.
    fn blank(&mut self, tile: Tile) -> Pixels {
        let (width, height) = self.plan.geometry.tile_size(tile);
        let mut bytes = self.take_spare().unwrap_or_default();
        bytes.resize(width * height * 3, 0);
        self.plan.style.fill(&mut bytes);
        Pixels {
            width,
            height,
            bytes,
        }
    }
}

enum Undrawn {
    Stopped,
    Failed(PyramidError),
}

/// The pixels of a tile that was written by an earlier call.
pub(super) fn read(plan: &Plan<'_>, tile: Tile) -> Option<Pixels> {
    let bytes = fs::read(plan.root.join(tile.name(plan.format.ending()))).ok()?;
    let (width, height) = plan.geometry.tile_size(tile);
    let bytes = plan.format.decode(&bytes, width, height)?;
    Some(Pixels {
        width,
        height,
        bytes,
    })
}

/// Encodes tiles in the order in which they come, so that a tile is there only after all below it.
fn encode_all(
    plan: Plan<'_>,
    store: &mut dyn Store,
    jobs: &Receiver<Job>,
    spare: &Sender<Vec<u8>>,
) -> Result<(), PyramidError> {
    while let Ok(Job { tile, pixels }) = jobs.recv() {
        let encoded = plan
            .format
            .encode(&pixels.bytes, pixels.width, pixels.height);
        let encoded = encoded.map_err(PyramidError::Encode)?;
        let name = tile.name(plan.format.ending());
        let put = store.put(&name, &encoded);
        put.map_err(PyramidError::write(&plan.root.join(name)))?;
        // Nobody wants the memory any more once the root is drawn.
        let _ = spare.send(pixels.bytes);
    }
    Ok(())
}
