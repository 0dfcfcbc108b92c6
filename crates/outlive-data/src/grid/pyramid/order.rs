//! The order in which a pyramid asks for its cells: quadrant by quadrant, so that four tiles that
//! make one are drawn one after the other.

use std::collections::HashSet;
use std::sync::Arc;

use super::geometry::{Geometry, Tile};

/// Indices of cells, each once.
#[derive(Clone, Debug)]
pub struct Order {
    geometry: Geometry,
    /// Tiles that are there with all below them.
    kept: Arc<HashSet<Tile>>,
    /// Tiles to come, the next one last.
    tiles: Vec<Tile>,
    /// Cells of the tile at hand, the next one last. At most 512 x 512, of one pixel each.
    cells: Vec<u64>,
}

impl Order {
    /// All cells that are not below a tile of `kept`.
    pub(super) fn new(geometry: Geometry, kept: Arc<HashSet<Tile>>) -> Self {
        Self {
            geometry,
            kept,
            tiles: vec![geometry.root()],
            cells: Vec::new(),
        }
    }
}

impl Iterator for Order {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        loop {
            if let Some(index) = self.cells.pop() {
                return Some(index);
            }
            let tile = self.tiles.pop()?;
            if self.kept.contains(&tile) {
                continue;
            }
            if tile.level == self.geometry.top {
                let places = self.geometry.places(tile);
                self.cells.extend(places.map(|place| place.index));
                self.cells.reverse();
            } else {
                self.tiles.extend(self.geometry.children(tile).rev());
            }
        }
    }
}
