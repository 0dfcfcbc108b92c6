//! Where cells lie on a sheet. Plain arithmetic; nothing here can overflow for sheets that a file
//! format can hold, and larger ones are refused before anything is drawn.

/// Positions of cells. A cell is a picture area, a strip for its caption below it, and padding to
/// the right and below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// How many cells there are.
    pub cells: u64,
    /// Cells in a row.
    pub columns: u64,
    /// Width of the picture area.
    pub cell_width: u32,
    /// Height of the picture area.
    pub cell_height: u32,
    /// Height of the strip for the caption; 0 for none.
    pub caption_height: u32,
    /// Pixels between cells, and around the sheet.
    pub padding: u32,
}

impl Layout {
    /// Rows of cells; the last may be short.
    pub fn rows(&self) -> u64 {
        self.cells.div_ceil(self.columns.max(1))
    }

    /// From a cell to the next one on its right.
    pub fn pitch_x(&self) -> u64 {
        u64::from(self.cell_width) + u64::from(self.padding)
    }

    /// From a cell to the next one below.
    pub fn pitch_y(&self) -> u64 {
        u64::from(self.cell_height) + u64::from(self.caption_height) + u64::from(self.padding)
    }

    /// Width of a flat sheet, padding around it included.
    pub fn sheet_width(&self) -> u64 {
        self.pitch_x()
            .saturating_mul(self.columns)
            .saturating_add(u64::from(self.padding))
    }

    /// Height of a flat sheet, padding around it included.
    pub fn sheet_height(&self) -> u64 {
        self.pitch_y()
            .saturating_mul(self.rows())
            .saturating_add(u64::from(self.padding))
    }

    /// Columns that make a sheet of square proportions of `cells` cells of this pitch.
    pub fn square_columns(cells: u64, pitch_x: u64, pitch_y: u64) -> u64 {
        let ratio = pitch_y as f64 / pitch_x.max(1) as f64;
        ((cells as f64 * ratio).sqrt().ceil() as u64).clamp(1, cells.max(1))
    }
}
