//! What is known of the data set behind a loader of torch.

use crate::front::Ranged;
use crate::model::File;
use crate::model::facts::Call;
use crate::model::value::{ClassId, Kind, Object, Value};

/// Data sets of libraries that have a length.
const SIZED: [&str; 5] = [
    "torch.utils.data.TensorDataset",
    "torch.utils.data.Subset",
    "torch.utils.data.ConcatDataset",
    "torch.utils.data.StackDataset",
    "torchvision.datasets.",
];

/// Whether a loader surely knows its length: its data set does, and no sampler says otherwise.
pub(super) fn is_sized(file: &File<'_>, loader: &Object<'_>) -> bool {
    let arguments = &loader.arguments;
    let has_sampler = ["sampler", "batch_sampler"]
        .iter()
        .any(|it| arguments.named(it).is_some());
    if arguments.has_more || has_sampler || arguments.positional.len() > 3 {
        return false;
    }
    let Some(data) = data_of(loader) else {
        return false;
    };
    if let Some(class) = class_of(data) {
        return !is_iterable(file, class) && file.declarations.method(class, "__len__").is_some();
    }
    let path = maker(file, data).and_then(|call| call.path.clone());
    path.is_some_and(|path| SIZED.iter().any(|it| path.starts_with(it)))
}

/// The data set that a loader was made of.
pub(super) fn data_of<'l, 'a>(loader: &'l Object<'a>) -> Option<&'l Value<'a>> {
    loader.arguments.get(0, "dataset")
}

/// The class of the file that a data set is an object of.
pub(super) fn class_of(data: &Value<'_>) -> Option<ClassId> {
    match data.kind {
        Kind::Instance(class) => Some(class),
        _ => None,
    }
}

/// Whether the class is an `IterableDataset`, which has no length.
fn is_iterable(file: &File<'_>, class: ClassId) -> bool {
    let mut next = Some(class);
    for _ in 0..8 {
        let Some(class) = next.and_then(|id| file.declarations.classes.get(id.0)) else {
            return false;
        };
        if class
            .bases
            .iter()
            .any(|base| base.ends_with("IterableDataset"))
        {
            return true;
        }
        next = class
            .bases
            .iter()
            .find_map(|base| file.declarations.class_named(base));
    }
    true
}

/// The call that made a value, in whatever scope.
pub(super) fn maker<'f, 'a>(file: &'f File<'a>, value: &Value<'a>) -> Option<&'f Call<'a>> {
    let place = value.id?.range();
    let mut calls = file.scopes.iter().flat_map(|scope| &scope.calls);
    calls.find(|call| call.node.range() == place)
}
