//! Grids: many cells on one sheet, drawn without ever holding more than a row of them.
//!
//! A renderer (a flat sheet, a pyramid) says in which order it wants cells and asks for each of
//! them once; whoever has the pictures draws them ([`cells::Cells`]). So decoding can run ahead on
//! other threads, and the renderer never knows where a cell comes from.
//!
//! The view of a cell is its picture area with the strip for its caption below it: who draws the
//! picture draws the caption too ([`text::Caption`]), and the sign of a broken cell ([`broken`]).

pub mod broken;
pub mod cells;
pub mod decoded;
pub mod keep;
pub mod layout;
mod own_file;
pub mod painter;
pub mod progress;
pub mod pyramid;
pub mod sheet;
pub mod spool;
pub mod style;
pub mod text;
