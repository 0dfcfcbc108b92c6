//! What becomes of the cells that an earlier call drew.

/// Which cells of the same grid are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// All that were finished, broken ones too.
    #[default]
    Finished,
    /// None: everything is drawn again.
    Nothing,
}
