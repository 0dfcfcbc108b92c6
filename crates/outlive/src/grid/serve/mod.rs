//! The page of a grid from a server on this machine, for folders that are too large to be drawn
//! ahead. Tiles are made when they are looked at.
//!
//! It listens on the loopback address only, and answers nobody who does not know the address with
//! its token. Memory does not depend on the number of cells: a byte budget for decoding, another
//! one for tiles that are kept, and files without names for what was found out about cells.

mod answering;
mod artist;
mod cache;
mod canvas;
mod connection;
mod door;
mod generation;
mod image;
mod known;
mod making;
mod overview;
mod range;
mod request;
mod response;
mod route;
mod site;
mod studio;
mod token;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use outlive_data::budget::Budget;
use outlive_data::grid::cells::Entries;
use outlive_data::grid::decoded::Source;
use outlive_data::grid::layout::Layout;
use outlive_data::grid::painter::CellStyle;
use outlive_data::grid::pyramid::{Geometry, PyramidError, TileFormat};

use self::cache::Cache;
use self::door::{Counter, Door};
use self::known::Known;
use self::site::Site;
use self::studio::{Plan, Studio};
use self::token::Token;

/// What is served, and how.
pub struct Serving {
    /// What the page is called.
    pub title: String,
    /// Where cells lie.
    pub layout: Layout,
    /// How they look.
    pub style: CellStyle,
    /// How tiles are stored.
    pub format: TileFormat,
    /// Names of cells.
    pub entries: Arc<dyn Entries + Send + Sync>,
    /// Their pictures.
    pub source: Arc<dyn Source>,
    /// What decoding may take.
    pub budget: Arc<Budget>,
    /// Threads that decode.
    pub threads: usize,
    /// Bytes of tiles that are kept.
    pub cache: u64,
    /// Where work files go.
    pub folder: PathBuf,
    /// The port; 0 for any that is free.
    pub port: u16,
}

impl std::fmt::Debug for Serving {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Serving").finish_non_exhaustive()
    }
}

/// Why nothing is served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Another program has the port.
    #[error("Port {port} is in use\nhint: name another one, or leave `--port` out for a free one")]
    PortInUse {
        /// The port.
        port: u16,
    },
    /// The port cannot be had for another reason.
    #[error("Cannot listen on port {port}: {reason}")]
    Listen {
        /// The port.
        port: u16,
        /// What the system says.
        reason: io::Error,
    },
    /// The work files cannot be made.
    #[error(
        "Cannot make a work file in `{}`: {reason}\n\
         hint: set TMPDIR to a folder that can be written to",
        folder.display()
    )]
    WorkFile {
        /// Where they go.
        folder: PathBuf,
        /// What the system says.
        reason: io::Error,
    },
    /// The sizes make no page.
    #[error(transparent)]
    Sizes(#[from] PyramidError),
    /// The server itself failed.
    #[error("The server failed")]
    Failed(#[from] io::Error),
}

/// A server that listens already.
#[derive(Debug)]
pub struct Server {
    door: Door,
    counter: Counter,
    address: String,
    port: u16,
}

impl Server {
    /// Starts to listen, and to look at cells.
    pub fn start(serving: Serving) -> Result<Self, ServeError> {
        let geometry = Geometry::new(&serving.layout)?;
        let threads = threads(&geometry, serving.threads, serving.budget.total())?;
        let door = Door::open(serving.port).map_err(|error| listening(serving.port, error))?;
        let known = Known::new(geometry.cells, &serving.folder);
        let known = known.map_err(|reason| ServeError::WorkFile {
            folder: serving.folder,
            reason,
        })?;
        let plan = Plan {
            geometry,
            style: serving.style,
            format: serving.format,
            source: Arc::clone(&serving.source),
            budget: serving.budget,
        };
        let studio = Studio::start(plan, known, Cache::new(serving.cache), threads)?;
        let token = Token::random()?;
        let bound = door.address()?;
        let address = format!("http://{bound}/{}/", token.text());
        let site = Site {
            token,
            title: serving.title,
            geometry,
            format: serving.format,
            entries: serving.entries,
            source: serving.source,
            studio,
        };
        let counter = answering::start(&Arc::new(site))?;
        Ok(Self {
            door,
            counter,
            address,
            port: bound.port(),
        })
    }

    /// What a browser has to be told.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Serves until Ctrl-C.
    pub fn run(mut self) -> Result<(), ServeError> {
        Ok(self.door.keep(&self.counter)?)
    }
}

/// As many threads as have room for their cells, in a quarter of what decoding may take.
fn threads(geometry: &Geometry, wanted: usize, limit: u64) -> Result<usize, ServeError> {
    let bytes = |side: u64| side.saturating_mul(side).saturating_mul(3);
    // A cell alone and in its square; and at least two tiles.
    let cell = bytes(geometry.pitch).saturating_mul(2);
    let needed = bytes(geometry.tile).saturating_mul(2).saturating_add(cell);
    if needed > limit {
        let side = geometry.tile;
        return Err(PyramidError::TooMuchMemory {
            side,
            needed,
            limit,
        }
        .into());
    }
    let room = (limit / 4 / cell.max(1)).max(1);
    Ok(wanted.min(usize::try_from(room).unwrap_or(usize::MAX)))
}

fn listening(port: u16, reason: io::Error) -> ServeError {
    if reason.kind() == io::ErrorKind::AddrInUse {
        ServeError::PortInUse { port }
    } else {
        ServeError::Listen { port, reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_cells_get_fewer_threads_and_huge_ones_none() {
        let threads = |cell: u32| {
            let layout = Layout {
                cells: 100,
                columns: 10,
                cell_width: cell,
                cell_height: cell,
                caption_height: 0,
                padding: 2,
            };
            threads(&Geometry::new(&layout).unwrap(), 64, 64 << 20).ok()
        };
        assert_eq!(threads(128), Some(64));
        assert_eq!(threads(512), Some(10));
        assert_eq!(threads(1900), Some(1));
        assert_eq!(threads(8192), None);
    }
}
