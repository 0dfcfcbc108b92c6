//! The size of a part of an array: `x[0]`, `x[:, None]`, `x[:1000]`.

use crate::model::extent::Extent;

/// One index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::model) enum Index {
    /// `0`: the axis goes.
    At,
    /// `:`, or a slice with known ends, of which some may be left out.
    Slice(Option<i64>, Option<i64>),
    /// `None` or `np.newaxis`: an axis of one comes.
    New,
    /// `...`.
    Ellipsis,
}

/// The size of what is taken by these indices.
pub(in crate::model) fn of_items(extent: &Extent, indices: &[Index]) -> Option<Extent> {
    let uses = |index: &&Index| matches!(index, Index::At | Index::Slice(..));
    let used = indices.iter().filter(uses).count();
    let rest = extent.shape.len().checked_sub(used)?;
    let mut axes = extent.shape.iter().copied();
    let mut shape = Vec::with_capacity(extent.shape.len() + 1);
    for index in indices {
        match index {
            Index::At => {
                axes.next()?;
            }
            Index::Slice(start, stop) => shape.push(length(axes.next()?, *start, *stop)),
            Index::New => shape.push(1),
            Index::Ellipsis => shape.extend(axes.by_ref().take(rest)),
        }
    }
    shape.extend(axes);
    let dtype = extent.dtype;
    Some(Extent { shape, dtype })
}

fn length(axis: u64, start: Option<i64>, stop: Option<i64>) -> u64 {
    let place = |at: i64| match u64::try_from(at) {
        Ok(at) => at.min(axis),
        Err(_) => axis.saturating_sub(at.unsigned_abs()),
    };
    let start = start.map_or(0, place);
    let stop = stop.map_or(axis, place);
    stop.saturating_sub(start)
}
