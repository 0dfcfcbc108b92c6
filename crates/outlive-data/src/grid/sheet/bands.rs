//! Rows of cells, drawn one at a time on a canvas that is used again for each.

use super::error::SheetError;
use crate::grid::cells::{CellView, Cells, DrawError};
use crate::grid::layout::Layout;
use crate::grid::progress::Progress;
use crate::grid::style::Style;

/// Draws rows of cells.
pub(super) struct Bands<'a> {
    layout: Layout,
    style: Style,
    stride: usize,
    canvas: Vec<u8>,
    cells: &'a mut dyn Cells,
    progress: &'a mut dyn Progress,
    /// What was drawn so far.
    pub(super) tally: Tally,
}

/// How many cells were drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) drawn: u64,
    pub(super) broken: u64,
}

/// How the drawing of a row ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Row {
    /// All its cells are there.
    Whole,
    /// The source stopped after some of its cells.
    Begun,
    /// The source stopped before its first cell.
    Blank,
}

impl<'a> Bands<'a> {
    /// Takes the memory of one row, which must be at most `max_bytes`.
    pub(super) fn new(
        layout: Layout,
        style: Style,
        max_bytes: u64,
        cells: &'a mut dyn Cells,
        progress: &'a mut dyn Progress,
    ) -> Result<Self, SheetError> {
        let (width, height) = (layout.sheet_width(), layout.pitch_y());
        let needed = width.saturating_mul(height).saturating_mul(3);
        let refusal = SheetError::TooMuchMemory {
            what: "A row of cells",
            width,
            height,
            needed,
            limit: max_bytes,
            way_out: "take smaller cells".to_owned(),
        };
        let mut canvas = Vec::new();
        if needed > max_bytes || canvas.try_reserve_exact(needed as usize).is_err() {
            return Err(refusal);
        }
        canvas.resize(needed as usize, 0);
        Ok(Self {
            layout,
            style,
            stride: width as usize * 3,
            canvas,
            cells,
            progress,
            tally: Tally::default(),
        })
    }

    /// Bytes of a row of pixels.
    pub(super) fn stride(&self) -> usize {
        self.stride
    }

    /// The row of cells that was drawn last.
    pub(super) fn canvas(&self) -> &[u8] {
        &self.canvas
    }

    /// The padding above the first row of cells, as rows of pixels.
    pub(super) fn top(&self) -> Vec<u8> {
        let mut rows = vec![0; self.stride * self.layout.padding as usize];
        self.style.fill(&mut rows);
        rows
    }

    /// Draws row `row` of the cells.
    pub(super) fn draw(&mut self, row: u64) -> Result<Row, SheetError> {
        self.style.fill(&mut self.canvas);
        let first = row * self.layout.columns;
        let last = (first + self.layout.columns).min(self.layout.cells);
        for index in first..last {
            match self.draw_cell(index, index - first) {
                Ok(()) => {}
                Err(DrawError::Stopped) if index == first => return Ok(Row::Blank),
                Err(DrawError::Stopped) => return Ok(Row::Begun),
                Err(error) => return Err(SheetError::source(&error)),
            }
        }
        Ok(Row::Whole)
    }

    fn draw_cell(&mut self, index: u64, column: u64) -> Result<(), DrawError> {
        let layout = &self.layout;
        let left = column * layout.pitch_x() + u64::from(layout.padding);
        let height = layout.cell_height + layout.caption_height;
        let pixels = self.canvas.get_mut(left as usize * 3..).unwrap_or_default();
        let view = CellView::new(pixels, self.stride, layout.cell_width, height);
        let mut view = view.ok_or_else(|| DrawError::Failed("A cell has no room".to_owned()))?;
        let drawn = self.cells.draw(index, &mut view)?;
        self.tally.drawn += 1;
        self.tally.broken += u64::from(drawn.problem.is_some());
        self.progress.drawn(index, &drawn);
        Ok(())
    }
}
