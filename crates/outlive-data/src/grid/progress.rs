//! Who is told of each cell that was drawn.

use super::cells::Drawn;

/// Told of cells in the order in which they are drawn.
pub trait Progress {
    /// Cell `index` is on the canvas.
    fn drawn(&mut self, index: u64, drawn: &Drawn);
}

/// Nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn drawn(&mut self, _index: u64, _drawn: &Drawn) {}
}

/// What came of a grid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Cells that were drawn in this call.
    pub drawn: u64,
    /// Cells that an earlier call had drawn.
    pub kept: u64,
    /// Cells that are drawn as broken, of both.
    pub broken: u64,
    /// Whether all cells are there.
    pub end: End,
}

/// How a grid ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// All cells are there.
    #[default]
    Complete,
    /// The source stopped; what is written can be opened.
    Stopped,
}
