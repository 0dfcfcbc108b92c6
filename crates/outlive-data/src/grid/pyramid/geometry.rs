//! Where tiles lie. Levels are those of Deep Zoom: the last one has the full size, each one before
//! it half of that, rounded up, and level 0 is one pixel.

use crate::grid::layout::Layout;

use super::error::PyramidError;

/// Pixels a side that a pyramid may have.
const LIMIT: u64 = (1 << 31) - 1;
/// Tiles are about this large.
const TILE: u64 = 512;

/// Sizes of a pyramid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// How many cells there are.
    pub cells: u64,
    /// Cells in a row.
    pub columns: u64,
    /// Rows of cells.
    pub rows: u64,
    /// From a cell to the next, in both directions.
    pub pitch: u64,
    /// Width of a cell without its padding.
    pub cell_width: u32,
    /// Height of a cell with its caption, without its padding.
    pub cell_height: u32,
    /// Side of a tile: a multiple of the pitch, and even.
    pub tile: u64,
    /// Width of the last level.
    pub width: u64,
    /// Height of the last level.
    pub height: u64,
    /// The last level.
    pub top: u32,
}

/// One tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tile {
    /// Its level.
    pub level: u32,
    /// Tiles on its left.
    pub column: u64,
    /// Tiles above it.
    pub row: u64,
}

/// A cell on a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Which cell.
    pub index: u64,
    /// From the left of the tile.
    pub left: u64,
    /// From its top.
    pub top: u64,
}

impl Geometry {
    /// Of a layout, whose cells are put into squares.
    pub fn new(layout: &Layout) -> Result<Self, PyramidError> {
        if layout.cells == 0 {
            return Err(PyramidError::Empty);
        }
        if layout.columns == 0 || layout.cell_width == 0 || layout.cell_height == 0 {
            return Err(PyramidError::NoRoom);
        }
        let pitch = layout.pitch_x().max(layout.pitch_y());
        let (columns, rows) = (layout.columns, layout.rows());
        let (width, height) = (columns.saturating_mul(pitch), rows.saturating_mul(pitch));
        if width.max(height) > LIMIT {
            return Err(PyramidError::TooLarge {
                width,
                height,
                limit: LIMIT,
            });
        }
        Ok(Self {
            cells: layout.cells,
            columns,
            rows,
            pitch,
            cell_width: layout.cell_width,
            cell_height: layout.cell_height.saturating_add(layout.caption_height),
            tile: tile(pitch),
            width,
            height,
            top: width.max(height).next_power_of_two().trailing_zeros(),
        })
    }

    /// Width and height of a level.
    pub fn level_size(&self, level: u32) -> (u64, u64) {
        let scale = 1 << self.top.saturating_sub(level);
        (self.width.div_ceil(scale), self.height.div_ceil(scale))
    }

    /// Columns and rows of tiles of a level.
    pub fn tiles(&self, level: u32) -> (u64, u64) {
        let (width, height) = self.level_size(level);
        (width.div_ceil(self.tile), height.div_ceil(self.tile))
    }

    /// Width and height of a tile; those at the right and at the bottom may be smaller.
    pub fn tile_size(&self, tile: Tile) -> (usize, usize) {
        let (width, height) = self.level_size(tile.level);
        let side = |whole: u64, before: u64| {
            let rest = whole.saturating_sub(before.saturating_mul(self.tile));
            rest.min(self.tile) as usize
        };
        (side(width, tile.column), side(height, tile.row))
    }

    /// The tile that shows all.
    pub fn root(&self) -> Tile {
        Tile {
            level: 0,
            column: 0,
            row: 0,
        }
    }

    /// Whether there is such a tile.
    pub fn has(&self, tile: Tile) -> bool {
        let (columns, rows) = self.tiles(tile.level.min(self.top));
        tile.level <= self.top && tile.column < columns && tile.row < rows
    }

    /// The tiles of the next level that make this one, in the order in which they are drawn. None
    /// for a tile of the last level.
    pub fn children(&self, tile: Tile) -> impl DoubleEndedIterator<Item = Tile> + use<> {
        let geometry = *self;
        (0..4)
            .map(move |quarter| Tile {
                level: tile.level + 1,
                column: tile.column * 2 + quarter % 2,
                row: tile.row * 2 + quarter / 2,
            })
            .filter(move |child| geometry.has(*child))
    }

    /// All tiles, level after level.
    pub fn all(&self) -> impl Iterator<Item = Tile> + use<> {
        let geometry = *self;
        (0..=self.top).flat_map(move |level| {
            let (columns, rows) = geometry.tiles(level);
            (0..rows * columns).map(move |number| Tile {
                level,
                column: number % columns,
                row: number / columns,
            })
        })
    }

    /// The cells of a tile of the last level, row after row.
    pub fn places(&self, tile: Tile) -> impl Iterator<Item = Place> + use<> {
        let Self {
            cells,
            columns,
            rows,
            pitch,
            ..
        } = *self;
        let side = self.tile / pitch;
        let (left, top) = (tile.column * side, tile.row * side);
        (top..(top + side).min(rows))
            .flat_map(move |row| {
                (left..(left + side).min(columns)).map(move |column| Place {
                    index: row * columns + column,
                    left: (column - left) * pitch,
                    top: (row - top) * pitch,
                })
            })
            .filter(move |place| place.index < cells)
    }

    /// How many cells are below a tile.
    pub fn cells_below(&self, tile: Tile) -> u64 {
        let side = (self.tile / self.pitch) << (self.top - tile.level.min(self.top));
        let (left, top) = (tile.column * side, tile.row * side);
        let columns = (left + side).min(self.columns).saturating_sub(left);
        let bottom = (top + side).min(self.rows);
        let all = columns * bottom.saturating_sub(top);
        if bottom < self.rows || bottom <= top {
            return all;
        }
        // Only the last row of the grid can be short.
        let first = (self.rows - 1) * self.columns + left;
        let last_row = (first + columns).min(self.cells).saturating_sub(first);
        all - columns + last_row
    }
}

impl Tile {
    /// Its name in a published grid.
    pub fn name(self, ending: &str) -> String {
        let Self { level, column, row } = self;
        format!("grid_files/{level}/{column}_{row}.{ending}")
    }
}

/// Side of a tile: whole cells, near [`TILE`], and an even number of pixels, so that two pixels
/// that make one of the level below never lie on different tiles.
fn tile(pitch: u64) -> u64 {
    let cells = (TILE / pitch).max(1);
    if (pitch * cells).is_multiple_of(2) {
        pitch * cells
    } else {
        pitch * (cells - 1).max(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn geometry(cells: u64, columns: u64, cell: u32) -> Geometry {
        let layout = Layout {
            cells,
            columns,
            cell_width: cell,
            cell_height: cell,
            caption_height: 0,
            padding: 0,
        };
        Geometry::new(&layout).unwrap()
    }

    #[test]
    fn tiles_hold_whole_cells_and_are_even() {
        let tiles = [1, 2, 64, 100, 131, 171, 255, 256, 300, 511, 512, 513, 800].map(tile);
        let wanted = [
            512, 512, 512, 500, 262, 342, 510, 512, 300, 1022, 512, 1026, 800,
        ];
        assert_eq!(tiles, wanted);
    }

    #[test]
    fn levels_are_those_of_deep_zoom() {
        let geometry = geometry(1_000_000, 1000, 64);
        assert_eq!(geometry.top, 16);
        assert_eq!(geometry.level_size(16), (64_000, 64_000));
        assert_eq!(geometry.level_size(0), (1, 1));
        assert_eq!(geometry.tiles(16), (125, 125));
        assert_eq!(geometry.cells_below(geometry.root()), 1_000_000);
        let one = self::geometry(1, 1, 1);
        assert_eq!((one.top, one.tiles(0)), (0, (1, 1)));
        assert_eq!(one.all().count(), 1);
    }

    #[test]
    fn children_cover_every_tile_once() {
        for (cells, columns, cell) in [(1, 1, 1), (7, 7, 200), (50, 7, 171), (3000, 40, 64)] {
            let geometry = geometry(cells, columns, cell);
            let mut found = vec![geometry.root()];
            let mut next = 0;
            while let Some(tile) = found.get(next).copied() {
                found.extend(geometry.children(tile));
                next += 1;
            }
            found.sort();
            let mut all: Vec<Tile> = geometry.all().collect();
            all.sort();
            assert_eq!(found, all);
            let last = all.iter().filter(|tile| tile.level == geometry.top);
            let mut placed: Vec<u64> = last
                .flat_map(|tile| {
                    let places: Vec<Place> = geometry.places(*tile).collect();
                    assert_eq!(places.len() as u64, geometry.cells_below(*tile));
                    places.into_iter().map(|place| place.index)
                })
                .collect();
            placed.sort_unstable();
            assert_eq!(placed, (0..cells).collect::<Vec<_>>());
        }
    }
}
