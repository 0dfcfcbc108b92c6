//! Grids to zoom into: a Deep Zoom pyramid of tiles with the page that shows it, as a folder or as
//! one zip archive.
//!
//! Tiles are drawn quadrant by quadrant, so memory is one tile a level whatever the number of
//! cells. In a folder a tile appears only after all below it; a grid that was interrupted is
//! continued by the next call with the same fingerprint.

mod error;
mod facts;
mod geometry;
mod order;
mod page;
mod publish;
mod render;
mod script;
mod shrink;
mod state;
mod store;
mod tile;
mod zip;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use self::render::{OnStop, Parties, Plan, memory, read, render};
use self::state::{Home, State};
use self::zip::folder_of;
use super::cells::{Cells, Entries};
use super::keep::Keep;
use super::layout::Layout;
use super::progress::{End, Outcome, Progress};
use super::style::Style;

pub use self::error::PyramidError;
pub use self::facts::{Fact, Facts};
pub use self::geometry::{Geometry, Place, Tile};
pub use self::order::Order;
pub use self::page::FILES;
pub use self::script::{BrokenScript, CHUNK, CellsScript, MOST_BROKEN, Summary, broken_row};
pub use self::store::{Folder, Store};
pub use self::tile::TileFormat;
pub use self::zip::Zip;

/// How to write a pyramid.
#[derive(Clone, Debug)]
pub struct Options {
    /// How tiles are stored.
    pub format: TileFormat,
    /// What the page is called.
    pub title: String,
    /// Bytes that tiles may take in memory.
    pub max_bytes: u64,
    /// Names the cells and all that decides how they look. A folder that was interrupted is
    /// continued by the next call with the same one.
    pub fingerprint: String,
    /// What becomes of the same grid, if it is in the folder.
    pub keep: Keep,
}

/// A pyramid that can be written.
#[derive(Debug)]
pub struct Pyramid {
    geometry: Geometry,
    style: Style,
    options: Options,
    place: Destination,
    kept: Arc<HashSet<Tile>>,
}

#[derive(Debug)]
enum Destination {
    Folder(Box<Home>),
    Zip(PathBuf),
}

/// The order in which a new pyramid asks for its cells.
pub fn order(layout: &Layout) -> Result<Order, PyramidError> {
    Ok(Order::new(Geometry::new(layout)?, Arc::default()))
}

impl Pyramid {
    /// A pyramid in a folder: one that is empty or not there, or one of a grid of ours, which is
    /// continued if it is the same and is kept, and replaced otherwise. Writes nothing yet.
    pub fn in_folder(
        layout: &Layout,
        style: Style,
        folder: &Path,
        options: Options,
    ) -> Result<Self, PyramidError> {
        let geometry = checked(layout, &options)?;
        let Options {
            format,
            fingerprint,
            keep,
            ..
        } = &options;
        let what = format!("{geometry:?} {style:?} {format:?} {fingerprint}");
        let home = Home::find(folder, State::new(layout, format.ending(), what), *keep)?;
        let mut pyramid = Self {
            geometry,
            style,
            options,
            place: Destination::Folder(Box::new(home)),
            kept: Arc::default(),
        };
        pyramid.kept = Arc::new(pyramid.find_kept());
        Ok(pyramid)
    }

    /// A pyramid in a new archive. Writes nothing yet.
    pub fn in_zip(
        layout: &Layout,
        style: Style,
        file: &Path,
        options: Options,
    ) -> Result<Self, PyramidError> {
        Ok(Self {
            geometry: checked(layout, &options)?,
            style,
            options,
            place: Destination::Zip(file.to_owned()),
            kept: Arc::default(),
        })
    }

    /// Its sizes.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// How many cells are there already and will not be asked for.
    pub fn cells_kept(&self) -> u64 {
        let kept = self.kept.iter();
        kept.map(|tile| self.geometry.cells_below(*tile)).sum()
    }

    /// Whether writing it removes a grid that lies in the folder: another one, or one that is not
    /// kept.
    pub fn replaces_another(&self) -> bool {
        matches!(&self.place, Destination::Folder(home) if home.has_another())
    }

    /// The cells that will be asked for, in this order.
    pub fn order(&self) -> Order {
        Order::new(self.geometry, Arc::clone(&self.kept))
    }

    /// Draws all cells of [`Pyramid::order`] and publishes the page.
    pub fn write(
        mut self,
        cells: &mut dyn Cells,
        entries: &dyn Entries,
        progress: &mut dyn Progress,
    ) -> Result<Outcome, PyramidError> {
        let place = std::mem::replace(&mut self.place, Destination::Zip(PathBuf::new()));
        match place {
            Destination::Folder(home) => self.write_folder(*home, cells, entries, progress),
            Destination::Zip(file) => self.write_zip(&file, cells, entries, progress),
        }
    }

    fn write_folder(
        &self,
        mut home: Home,
        cells: &mut dyn Cells,
        entries: &dyn Entries,
        progress: &mut dyn Progress,
    ) -> Result<Outcome, PyramidError> {
        let root = home.root.clone();
        let mut store = Folder::new(&root);
        home.begin().map_err(PyramidError::write(&root))?;
        let mut facts = home.facts().map_err(PyramidError::write(&root))?;
        let provisional = home.provisional();
        let mut on_stop = |tiles: &HashSet<Tile>| home.keep(tiles);
        let parties = Parties {
            cells,
            progress,
            facts: &mut facts,
            provisional,
            on_stop: &mut on_stop,
        };
        let (drawn, end) = render(self.plan(&root), &mut store, parties)?;
        let outcome = self.publish(&mut store, &facts, entries, (drawn, end), &root, &root)?;
        if end == End::Complete {
            let kept = home.keep(&HashSet::new());
            kept.map_err(PyramidError::write(&root))?;
        }
        Ok(outcome)
    }

    fn write_zip(
        &self,
        file: &Path,
        cells: &mut dyn Cells,
        entries: &dyn Entries,
        progress: &mut dyn Progress,
    ) -> Result<Outcome, PyramidError> {
        let scratch = folder_of(file);
        let unnamed = || tempfile::tempfile_in(&scratch);
        let facts = unnamed().and_then(|records| {
            let problems = unnamed()?;
            Facts::new(records, problems, self.geometry.cells)
        });
        let mut facts = facts.map_err(PyramidError::write(file))?;
        let mut store = Zip::create(file).map_err(PyramidError::write(file))?;
        let on_stop: OnStop<'_> = &mut |_| Ok(());
        let parties = Parties {
            cells,
            progress,
            facts: &mut facts,
            provisional: HashSet::new(),
            on_stop,
        };
        let ended = render(self.plan(file), &mut store, parties)?;
        self.publish(&mut store, &facts, entries, ended, file, &scratch)
    }

    fn publish(
        &self,
        store: &mut dyn Store,
        facts: &Facts,
        entries: &dyn Entries,
        (drawn, end): (u64, End),
        shown: &Path,
        scratch: &Path,
    ) -> Result<Outcome, PyramidError> {
        let summary = Summary {
            geometry: self.geometry,
            format: self.options.format,
            title: &self.options.title,
            broken: 0,
            complete: end == End::Complete,
            live: false,
        };
        let published = publish::publish(store, summary, facts, entries, scratch);
        let published = published.and_then(|broken| store.finish().map(|()| broken));
        let broken = published.map_err(PyramidError::write(shown))?;
        Ok(Outcome {
            drawn,
            kept: self.cells_kept(),
            broken,
            end,
        })
    }

    fn plan<'a>(&'a self, root: &'a Path) -> Plan<'a> {
        Plan {
            geometry: self.geometry,
            style: self.style,
            format: self.options.format,
            kept: &self.kept,
            root,
        }
    }

    /// The largest tiles that are there and need not be drawn again, nor anything below them.
    fn find_kept(&self) -> HashSet<Tile> {
        let mut kept = HashSet::new();
        let Destination::Folder(home) = &self.place else {
            return kept;
        };
        if !home.is_begun() {
            return kept;
        }
        let provisional = home.provisional();
        let plan = self.plan(&home.root);
        let mut tiles = vec![self.geometry.root()];
        while let Some(tile) = tiles.pop() {
            // One that cannot be read is drawn again.
            if !provisional.contains(&tile) && read(&plan, tile).is_some() {
                kept.insert(tile);
            } else {
                tiles.extend(self.geometry.children(tile));
            }
        }
        kept
    }
}

fn checked(layout: &Layout, options: &Options) -> Result<Geometry, PyramidError> {
    let geometry = Geometry::new(layout)?;
    let needed = memory(&geometry);
    if needed > options.max_bytes {
        return Err(PyramidError::TooMuchMemory {
            side: geometry.tile,
            needed,
            limit: options.max_bytes,
        });
    }
    Ok(geometry)
}
