//! Each worker copies a data set of Python objects page by page.

use crate::front::Ranged;
use crate::model::File;
use crate::model::facts::{Call, Scope};
use crate::model::lineage::Lineage;
use crate::model::value::ClassId;
use crate::{Finding, Level, Note, Rule};

use super::worker_loader::{is_dataset, method_text, worker_loaders};

/// `OL308`.
pub(super) static RULE: Rule = Rule {
    code: "OL308",
    name: "python_objects_in_workers",
    cause: "worker_killed",
    level: Level::Info,
    summary: "Each worker copies a data set of Python objects page by page",
    page: include_str!("../../../../docs/rules/python_objects_in_workers.md"),
    find,
};

/// Calls that read a whole file into Python objects.
const READERS: [&str; 6] = [
    "json.load",
    "json.loads",
    "pickle.load",
    "pickle.loads",
    "yaml.safe_load",
    "joblib.load",
];

fn find(file: &File<'_>, found: &mut Vec<Finding>) {
    for (loader, class) in worker_loaders(file) {
        if is_dataset(file, class) {
            for scope in &file.scopes {
                let is_own = file
                    .function(scope)
                    .is_some_and(|it| it.class == Some(class));
                if is_own {
                    found.extend(objects(file, scope, class, loader));
                }
            }
        }
    }
}

fn objects<'a>(
    file: &File<'a>,
    scope: &Scope<'a>,
    class: ClassId,
    loader: &Call<'a>,
) -> Vec<Finding> {
    let lineage = Lineage::new(scope);
    let read: Vec<_> = scope
        .calls
        .iter()
        .filter(|call| {
            call.path
                .as_deref()
                .is_some_and(|path| READERS.contains(&path))
        })
        .filter_map(|call| call.result.id)
        .collect();
    let bindings = scope.bindings.iter().filter(|_| !read.is_empty());
    let kept = bindings.filter_map(|binding| {
        let attribute = binding.key?.attribute?;
        let value = binding.value.id?;
        let is_read = read.iter().any(|of| lineage.is_made_of(value, *of));
        let text = method_text(file, class, "__getitem__").unwrap_or_default();
        let is_used = text.contains(&format!("self.{attribute}"));
        (is_read && is_used).then(|| Finding {
            rule: &RULE,
            level: Level::Info,
            range: binding.range,
            message: format!("Every worker ends up with its own copy of the Python objects in `self.{attribute}`"),
            witness: vec![Note {
                range: loader.node.range(),
                text: "reading an object counts its references, and so writes to the page that the workers share".to_owned(),
            }],
            help: format!("Keep `self.{attribute}` as one array or tensor, or as a memory-mapped file, and make objects in `__getitem__`"),
            fix: None,
            bytes: None,
            region: binding.range,
        })
    });
    kept.collect()
}
