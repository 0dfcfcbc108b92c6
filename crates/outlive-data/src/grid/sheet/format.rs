//! Kinds of files, and what they can hold.

use super::error::SheetError;
use super::{jpeg, png, webp};
use crate::grid::layout::Layout;

pub use super::png::Effort;

/// Bytes of a row of cells at most, where nobody says how many columns there are. A sheet of more
/// cells becomes longer and no wider, so that its memory does not grow with their number.
const ROW: u64 = 16 << 20;

/// Which kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Without loss; any size, and it can be continued.
    Png(Effort),
    /// Smaller; at most 65,500 pixels a side.
    Jpeg {
        /// 1 to 100.
        quality: u8,
    },
    /// Smaller still; at most 16,383 pixels a side, and all of them in memory.
    WebP {
        /// 0 to 100.
        quality: u8,
    },
}

impl Format {
    /// The format that a file of this name has.
    pub fn of_name(name: &str, quality: u8) -> Option<Self> {
        let (_, ending) = name.rsplit_once('.')?;
        match ending.to_ascii_lowercase().as_str() {
            "png" => Some(Self::Png(Effort::Fast)),
            "jpg" | "jpeg" => Some(Self::Jpeg { quality }),
            "webp" => Some(Self::WebP { quality }),
            _ => None,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Png(_) => "PNG",
            Self::Jpeg { .. } => "JPEG",
            Self::WebP { .. } => "WebP",
        }
    }

    /// Pixels a side that it can hold.
    pub fn limit(self) -> u64 {
        match self {
            Self::Png(_) => png::LIMIT,
            Self::Jpeg { .. } => jpeg::LIMIT,
            Self::WebP { .. } => webp::LIMIT,
        }
    }

    /// Columns that make a sheet about square, as far as `max_bytes` of memory and the format allow.
    pub fn columns(self, layout: &Layout, max_bytes: u64) -> u64 {
        let (across, down) = (layout.pitch_x().max(1), layout.pitch_y().max(1));
        let padding = u64::from(layout.padding);
        let width = ROW.min(max_bytes) / (down * 3);
        let affordable = (width.saturating_sub(padding) / across).max(1);
        let rows = (self.limit().saturating_sub(padding) / down).max(1);
        let needed = layout.cells.div_ceil(rows);
        let square = Layout::square_columns(layout.cells, across, down);
        affordable.max(needed).min(square)
    }

    /// Refuses a sheet that cannot be written, or not within `max_bytes` of memory.
    pub fn check(self, layout: &Layout, max_bytes: u64) -> Result<(), SheetError> {
        if layout.cells == 0 {
            return Err(SheetError::Empty);
        }
        if layout.columns == 0 || layout.cell_width == 0 || layout.cell_height == 0 {
            return Err(SheetError::NoRoom);
        }
        let (width, height) = (layout.sheet_width(), layout.sheet_height());
        let limit = self.limit();
        if width.max(height) > limit {
            return Err(SheetError::TooLarge {
                format: self.name(),
                width,
                height,
                limit,
                way_out: self.way_out(),
            });
        }
        let (what, height, needed) = self.memory(layout);
        if needed > max_bytes {
            return Err(SheetError::TooMuchMemory {
                what,
                width,
                height,
                needed,
                limit: max_bytes,
                way_out: self.smaller(layout),
            });
        }
        Ok(())
    }

    /// What has to be in memory at once: its name, its height, its bytes.
    fn memory(self, layout: &Layout) -> (&'static str, u64, u64) {
        let row = layout.sheet_width().saturating_mul(layout.pitch_y());
        let row = row.saturating_mul(3);
        match self {
            Self::Png(_) | Self::Jpeg { .. } => ("A row of cells", layout.pitch_y(), row),
            Self::WebP { .. } => {
                let pixels = layout.sheet_width().saturating_mul(layout.sheet_height());
                let needed = pixels.saturating_mul(webp::BYTES_A_PIXEL) + row;
                ("A WebP sheet", layout.sheet_height(), needed)
            }
        }
    }

    /// What takes less memory than this layout.
    fn smaller(self, layout: &Layout) -> String {
        let formats = self.way_out();
        if layout.columns > 1 {
            return format!(
                "take fewer columns or smaller cells{formats}, or make a page to zoom into with \
                 `-o DIR/`"
            );
        }
        // The tiles of a page are larger than such a cell.
        format!("take smaller cells{formats}")
    }

    fn way_out(self) -> &'static str {
        match self {
            Self::Png(_) => "",
            Self::Jpeg { .. } | Self::WebP { .. } => ", write a PNG",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(cells: u64, cell: u32, format: Format, max_bytes: u64) -> Layout {
        let layout = Layout {
            cells,
            columns: 1,
            cell_width: cell,
            cell_height: cell,
            caption_height: 0,
            padding: 2,
        };
        let columns = format.columns(&layout, max_bytes);
        Layout { columns, ..layout }
    }

    #[test]
    fn a_row_of_a_large_sheet_stays_within_its_memory() {
        let png = Format::Png(Effort::Fast);
        for (cells, cell) in [
            (200_000, 128),
            (3_000_000, 128),
            (20_000, 2048),
            (9, 60_000),
        ] {
            for max_bytes in [64 << 20, 1 << 20] {
                let layout = layout(cells, cell, png, max_bytes);
                let row = layout.sheet_width() * layout.pitch_y() * 3;
                assert!(
                    layout.columns == 1 || row <= ROW.min(max_bytes),
                    "{layout:?}"
                );
                assert!(layout.columns >= 1 && layout.sheet_width() <= layout.sheet_height());
            }
        }
    }

    #[test]
    fn small_sheets_are_square_and_large_ones_fit_their_format_if_any_does() {
        let jpeg = Format::Jpeg { quality: 85 };
        assert_eq!(layout(1000, 128, jpeg, 64 << 20).columns, 32);
        assert_eq!(layout(0, 128, jpeg, 64 << 20).columns, 1);
        let large = layout(200_000, 128, jpeg, 64 << 20);
        assert!(large.columns < 448 && jpeg.check(&large, 64 << 20).is_ok());
        let too_large = layout(300_000, 128, jpeg, 64 << 20);
        assert!(jpeg.check(&too_large, 64 << 20).is_err());
    }
}
