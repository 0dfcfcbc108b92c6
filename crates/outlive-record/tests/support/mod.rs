//! What the tests of hostile files share: a box with everything in it, ways to damage it, a reader
//! that asks for all there is, and a count of the memory that takes.

pub(crate) mod damage;
pub(crate) mod memory;
pub(crate) mod sample_box;
pub(crate) mod whole;
