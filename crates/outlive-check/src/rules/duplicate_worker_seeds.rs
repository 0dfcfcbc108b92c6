//! Workers share one random generator and give identical augmentations.

use crate::model::facts::{Binding, Call, Scope};
use crate::model::value::{ClassId, Kind};
use crate::model::{File, Function};
use crate::{Finding, Level, Note, Rule};

use super::worker_loader::{is_dataset, method_text, worker_loaders};

/// `OL307`.
pub(super) static RULE: Rule = Rule {
    code: "OL307",
    name: "duplicate_worker_seeds",
    cause: "duplicate_worker_seeds",
    level: Level::Warning,
    summary: "Workers share one random generator and give identical augmentations",
    page: include_str!("../../../../docs/rules/duplicate_worker_seeds.md"),
    find,
};

/// Calls that make a generator with a state of its own.
const GENERATORS: [&str; 4] = [
    "numpy.random.default_rng",
    "numpy.random.RandomState",
    "random.Random",
    "numpy.random.Generator",
];

fn find(file: &File<'_>, found: &mut Vec<Finding>) {
    for (loader, dataset) in worker_loaders(file) {
        if is_dataset(file, dataset) && !seeds_workers(file, loader) {
            for class in with_parts(file, dataset) {
                found.extend(generators(file, class, loader));
            }
        }
    }
}

/// The data set, and the objects that are given to it: its transforms.
fn with_parts(file: &File<'_>, dataset: ClassId) -> Vec<ClassId> {
    let calls = file.scopes.iter().flat_map(|scope| &scope.calls);
    let made = calls.filter(|call| matches!(call.callee, Kind::Class(class) if class == dataset));
    let parts = made.flat_map(|call| {
        call.arguments.all().filter_map(|it| match it.kind {
            Kind::Instance(class) => Some(class),
            _ => None,
        })
    });
    let mut all: Vec<ClassId> = std::iter::once(dataset).chain(parts).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Whether a `worker_init_fn` is given that may reach the generator of the data set. One of this
/// file that never looks at the data set cannot.
fn seeds_workers(file: &File<'_>, loader: &Call<'_>) -> bool {
    let Some(given) = loader.arguments.named("worker_init_fn") else {
        return false;
    };
    match given.kind {
        Kind::None => false,
        Kind::Function(id) => {
            let function = file.declarations.functions.get(id.0);
            let text = function.map_or("", |it| file.slice(it.node.range));
            text.contains("dataset") || text.contains("get_worker_info")
        }
        _ => true,
    }
}

fn generators<'a>(file: &File<'a>, class: ClassId, loader: &Call<'a>) -> Vec<Finding> {
    let is_birth = |function: &Function<'a>| {
        function.class == Some(class) && function.node.name.as_str() == "__init__"
    };
    let scope = file
        .scopes
        .iter()
        .find(|scope| file.function(scope).is_some_and(is_birth));
    let Some(scope) = scope else {
        return Vec::new();
    };
    let kept = scope.bindings.iter().filter_map(|binding| {
        let attribute = binding.key?.attribute?;
        let made = generator_of(scope, binding)?;
        let user = used_in(file, class, attribute)?;
        Some(finding(file, loader, made, attribute, user))
    });
    kept.collect()
}

fn generator_of<'s, 'a>(scope: &'s Scope<'a>, binding: &Binding<'a>) -> Option<&'s Call<'a>> {
    scope.calls.iter().find(|call| {
        call.statement == binding.range
            && call
                .path
                .as_deref()
                .is_some_and(|path| GENERATORS.contains(&path))
    })
}

/// The method that runs in a worker and draws from the generator.
fn used_in(file: &File<'_>, class: ClassId, attribute: &str) -> Option<&'static str> {
    ["__getitem__", "__iter__", "__call__", "forward"]
        .into_iter()
        .find(|method| {
            let text = method_text(file, class, method).unwrap_or_default();
            let is_used = text.contains(&format!("self.{attribute}."))
                || text.contains(&format!("self.{attribute})"));
            is_used && !text.contains("get_worker_info")
        })
}

fn finding<'a>(
    file: &File<'a>,
    loader: &Call<'a>,
    made: &Call<'a>,
    attribute: &str,
    user: &str,
) -> Finding {
    use crate::front::Ranged;
    let text = format!(
        "the loader copies the data set, generator included, into each worker: `{}`",
        file.short(loader.node)
    );
    Finding {
        rule: &RULE,
        level: Level::Warning,
        range: made.node.range(),
        message: format!("Every worker starts with a copy of `self.{attribute}` and draws the same numbers in `{user}`"),
        witness: vec![Note {
            range: loader.node.range(),
            text,
        }],
        help: "Make the generator in the worker, from `torch.utils.data.get_worker_info().seed`, or draw from torch's or NumPy's global generator, which the loader seeds for each worker".to_owned(),
        fix: None,
        bytes: None,
        region: made.statement,
    }
}
