//! Grids of painted cells, read back and compared with the same drawn pixel by pixel.

#![expect(clippy::unwrap_used, reason = "a test may fail")]

mod pyramid;
mod sheet_lossy;
mod sheet_png;
mod spool;
mod support;
