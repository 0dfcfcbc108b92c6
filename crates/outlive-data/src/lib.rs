//! Pictures within a byte budget: decoding at the size that is needed, and grids of any number of
//! cells in constant memory.
//!
//! Everything that takes memory by the size of its input asks a [`budget::Budget`] first, with a
//! figure that is worked out from the header of a file before anything is decoded. Nothing here
//! prints, reads the environment, or knows of recording.

pub mod budget;
pub mod decode;
pub mod fit;
pub mod grid;
pub mod listing;
pub mod orientation;
pub mod picture;
pub mod png_rows;
pub mod resize;
pub mod source;
mod window;
