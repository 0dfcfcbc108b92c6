//! `cargo xtask tidy`: the rules of the house that no compiler checks. A rule is a file here; each
//! is also a test, so that nobody has to remember to run it.

mod crate_graph;
mod doc_paths;
mod file_length;
mod file_names;
mod first_line;
mod format_text;
mod hook_dependencies;
mod licences;
mod metadata;
mod places;
mod tree;
mod unfinished;
mod unsafe_files;

use anyhow::{Result, bail};

use crate::workspace;
use tree::Tree;

/// Something that breaks a rule, and where.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Problem {
    path: String,
    line: Option<usize>,
    message: String,
}

impl Problem {
    fn in_file(path: &str, message: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line: None,
            message: message.into(),
        }
    }

    /// `line` counts from 1.
    fn at_line(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line: Some(line),
            message: message.into(),
        }
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            Some(line) => write!(formatter, "{}:{line}: {}", self.path, self.message),
            None => write!(formatter, "{}: {}", self.path, self.message),
        }
    }
}

type Check = fn(&Tree) -> Result<Vec<Problem>>;

const CHECKS: [(&str, Check); 11] = [
    ("crate_graph", crate_graph::check),
    ("doc_paths", doc_paths::check),
    ("file_length", file_length::check),
    ("file_names", file_names::check),
    ("first_line", first_line::check),
    ("format_text", format_text::check),
    ("hook_dependencies", hook_dependencies::check),
    ("licences", licences::check),
    ("places", places::check),
    ("unfinished", unfinished::check),
    ("unsafe_files", unsafe_files::check),
];

/// Runs all checks and prints every problem.
pub(crate) fn main() -> Result<()> {
    let tree = Tree::read(&workspace::root())?;
    let mut count = 0_usize;
    for (name, check) in CHECKS {
        for problem in check(&tree)? {
            println!("{problem} [{name}]");
            count += 1;
        }
    }
    if count > 0 {
        bail!("{count} problems");
    }
    println!("{} checks, no problem", CHECKS.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One test a rule, so that a broken one is named.
    macro_rules! house_rules {
        ($($rule:ident)+) => {
            $(#[test]
            fn $rule() {
                let tree = Tree::read(&workspace::root()).unwrap();
                let problems: Vec<String> =
                    super::$rule::check(&tree).unwrap().iter().map(Problem::to_string).collect();
                assert!(problems.is_empty(), "\n{}", problems.join("\n"));
            })+

            #[test]
            fn every_rule_is_a_test() {
                let tested = [$(stringify!($rule)),+];
                assert_eq!(CHECKS.map(|(name, _)| name).to_vec(), tested.to_vec());
            }
        };
    }

    house_rules! {
        crate_graph doc_paths file_length file_names first_line format_text hook_dependencies
        licences places unfinished unsafe_files
    }
}
