//! What a folder remembers of its grid, in `.outlive/`: which grid it is, and which tiles were
//! written before all below them was drawn.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use fs_err as fs;
use fs_err::os::unix::fs::OpenOptionsExt;
use serde::{Deserialize, Serialize};

use super::error::PyramidError;
use super::facts::{Facts, RECORD};
use super::geometry::{Geometry, Tile};
use super::script::CHUNK;
use super::store::{UNFINISHED, unfinished};
use crate::grid::keep::Keep;
use crate::grid::layout::Layout;
use crate::grid::own_file::{Claim, create_folder, create_unshared, no_link};

const VERSION: u32 = 1;
const FOLDER: &str = ".outlive";
const STATE: &str = "grid.json";
const RECORDS: &str = "facts";
const PROBLEMS: &str = "problems";
/// Files with one name in every grid.
const FIXED: [&str; 8] = [
    "index.html",
    "grid.dzi",
    "grid.js",
    "broken.js",
    "broken.tsv",
    "page/openseadragon.min.js",
    "page/page.js",
    "page/page.css",
];

/// The content of `.outlive/grid.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct State {
    version: u32,
    /// Which grid: the caller's fingerprint and all that decides about tiles.
    what: String,
    /// Cells, columns, cell width and height, caption height, padding.
    layout: (u64, u64, u32, u32, u32, u32),
    /// The ending of tiles.
    ending: String,
    /// Tiles to be drawn again, as level, column and row.
    provisional: Vec<(u32, u64, u64)>,
}

/// The folder of a grid, with what it remembers.
#[derive(Debug)]
pub(super) struct Home {
    pub(super) root: PathBuf,
    state: State,
    before: Before,
    claim: Option<Claim>,
}

/// What was in the folder.
#[derive(Debug)]
enum Before {
    Nothing,
    /// The same grid, begun or whole.
    Same,
    /// Another grid of ours, or the same if it is not kept.
    Other(State),
}

impl State {
    pub(super) fn new(layout: &Layout, ending: &str, what: String) -> Self {
        Self {
            version: VERSION,
            what,
            layout: (
                layout.cells,
                layout.columns,
                layout.cell_width,
                layout.cell_height,
                layout.caption_height,
                layout.padding,
            ),
            ending: ending.to_owned(),
            provisional: Vec::new(),
        }
    }

    fn geometry(&self) -> Option<Geometry> {
        let (cells, columns, cell_width, cell_height, caption_height, padding) = self.layout;
        let layout = Layout {
            cells,
            columns,
            cell_width,
            cell_height,
            caption_height,
            padding,
        };
        Geometry::new(&layout).ok()
    }
}

impl Home {
    /// Looks into a folder, and refuses one that holds something else.
    pub(super) fn find(root: &Path, mut state: State, keep: Keep) -> Result<Self, PyramidError> {
        let old = fs::read(root.join(FOLDER).join(STATE)).ok();
        let old: Option<State> = old.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let before = match old {
            Some(old)
                if keep == Keep::Finished && old.version == VERSION && old.what == state.what =>
            {
                state.provisional = old.provisional;
                Before::Same
            }
            Some(old) => Before::Other(old),
            None if is_free(root)? => Before::Nothing,
            None => {
                return Err(PyramidError::NotOurs {
                    path: root.to_owned(),
                });
            }
        };
        Ok(Self {
            root: root.to_owned(),
            state,
            before,
            claim: None,
        })
    }

    /// Whether tiles of this grid may be there, with what was found out when they were drawn.
    pub(super) fn is_begun(&self) -> bool {
        let (cells, ..) = self.state.layout;
        let length = fs::metadata(self.file(RECORDS)).map(|metadata| metadata.len());
        matches!(self.before, Before::Same)
            && length.is_ok_and(|length| length == cells * RECORD as u64)
    }

    /// Whether a grid of ours is there that would go.
    pub(super) fn has_another(&self) -> bool {
        matches!(self.before, Before::Other(_))
    }

    /// Tiles that were written too early.
    pub(super) fn provisional(&self) -> HashSet<Tile> {
        let tiles = self.state.provisional.iter();
        tiles
            .map(|(level, column, row)| Tile {
                level: *level,
                column: *column,
                row: *row,
            })
            .collect()
    }

    /// Makes the folder one of this grid, before its first tile is written.
    pub(super) fn begin(&mut self) -> io::Result<()> {
        create_folder(&self.root, &self.root.join(FOLDER))?;
        self.claim = Some(Claim::on(&self.open(RECORDS)?)?);
        if let Before::Other(old) = &self.before {
            remove(&self.root, old);
        }
        if !self.is_begun() {
            self.state.provisional.clear();
            for name in [RECORDS, PROBLEMS] {
                self.open(name)?.set_len(0)?;
            }
        }
        self.write()
    }

    /// The files of facts.
    pub(super) fn facts(&self) -> io::Result<Facts> {
        let (cells, ..) = self.state.layout;
        Facts::new(self.open(RECORDS)?, self.open(PROBLEMS)?, cells)
    }

    fn open(&self, name: &str) -> io::Result<File> {
        let mut options = fs::OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        let options = options.custom_flags(no_link());
        options.open(self.file(name)).map(fs::File::into_file)
    }

    /// Remembers which tiles are to be drawn again.
    pub(super) fn keep(&mut self, provisional: &HashSet<Tile>) -> io::Result<()> {
        let tiles = provisional.iter();
        let tiles = tiles.map(|tile| (tile.level, tile.column, tile.row));
        self.state.provisional = tiles.collect();
        self.state.provisional.sort_unstable();
        self.write()
    }

    fn write(&self) -> io::Result<()> {
        let path = self.file(STATE);
        let new = unfinished(&path);
        create_unshared(&new)?.write_all(&serde_json::to_vec(&self.state)?)?;
        fs::rename(&new, &path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.root.join(FOLDER).join(name)
    }
}

/// Whether nothing but our own folder is there, or nothing at all.
fn is_free(root: &Path) -> Result<bool, PyramidError> {
    let entries = match fs::read_dir(root) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(PyramidError::write(root)(error)),
    };
    for entry in entries {
        let entry = entry.map_err(PyramidError::write(root))?;
        if entry.file_name() != FOLDER {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Removes what another grid of ours wrote, name by name, and folders that are empty then. What
/// cannot be removed is replaced, or left as a file that no page asks for.
fn remove(root: &Path, old: &State) {
    let Some(geometry) = old.geometry() else {
        return;
    };
    let tiles = root.join("grid_files");
    for level in 0..=geometry.top {
        remove_known(&tiles.join(level.to_string()), |name| {
            let (column, row) = name
                .strip_suffix(&old.ending)?
                .strip_suffix('.')?
                .split_once('_')?;
            let tile = Tile {
                level,
                column: column.parse().ok()?,
                row: row.parse().ok()?,
            };
            geometry.has(tile).then_some(())
        });
    }
    let _ = fs::remove_dir(tiles);
    let chunks = geometry.cells.div_ceil(CHUNK);
    remove_known(&root.join("cells"), |name| {
        let chunk: u64 = name.strip_suffix(".js")?.parse().ok()?;
        (chunk < chunks).then_some(())
    });
    for name in FIXED {
        let _ = fs::remove_file(root.join(name));
    }
}

/// Removes the files of a folder whose names are known, and the folder if it is empty then. A file
/// that was being written when it was interrupted has an ending more.
fn remove_known(folder: &Path, is_known: impl Fn(&str) -> Option<()>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_str().unwrap_or_default();
        let finished = name.strip_suffix(UNFINISHED).unwrap_or(name);
        if is_known(finished).is_some() {
            let _ = fs::remove_file(entry.path());
        }
    }
    let _ = fs::remove_dir(folder);
}
