//! Loaders of a file that run their data set in worker processes.

use crate::model::facts::Call;
use crate::model::value::{ClassId, Kind};
use crate::model::{Family, File, library};

/// The loaders of a file with workers, and the class of each one's data set.
pub(super) fn worker_loaders<'f, 'a>(
    file: &'f File<'a>,
) -> impl Iterator<Item = (&'f Call<'a>, ClassId)> {
    let calls = file.scopes.iter().flat_map(|scope| &scope.calls);
    calls.filter_map(|call| {
        let object = call.result.as_object()?;
        let is_loader = &*object.class == library::LOADER && call.path.is_some();
        let workers = call.arguments.get(5, "num_workers")?;
        if !is_loader || workers.as_int() == Some(0) {
            return None;
        }
        match call.arguments.get(0, "dataset")?.kind {
            Kind::Instance(class) => Some((call, class)),
            _ => None,
        }
    })
}

/// Whether a class of the file is a data set of torch.
pub(super) fn is_dataset(file: &File<'_>, class: ClassId) -> bool {
    let class = file.declarations.classes.get(class.0);
    class.is_some_and(|class| class.family == Family::TorchDataset)
}

/// The text of a method of a class of the file, also of one it derives from.
pub(super) fn method_text<'a>(file: &File<'a>, class: ClassId, name: &str) -> Option<&'a str> {
    let id = file.declarations.method(class, name)?;
    let function = file.declarations.functions.get(id.0)?;
    Some(file.slice(function.node.range))
}
