//! Every package we build with may be used and passed on under terms from this list.

use anyhow::Result;

use super::Problem;
use super::metadata;
use super::tree::Tree;

const ALLOWED: [&str; 11] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "IJG",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unicode-DFS-2016",
    "Zlib",
];

/// Reports packages whose terms are not covered.
pub(super) fn check(_tree: &Tree) -> Result<Vec<Problem>> {
    let packages = metadata::packages()?;
    Ok(packages
        .values()
        .filter(|package| !is_allowed(&package.licence))
        .map(|package| {
            let message = format!("`{}` has licence `{}`", package.name, package.licence);
            Problem::in_file("Cargo.lock", message)
        })
        .collect())
}

/// Whether an SPDX expression can be met from the list. `/` is the old way to write `OR`.
fn is_allowed(expression: &str) -> bool {
    let spaced = expression
        .replace('/', " OR ")
        .replace('(', " ( ")
        .replace(')', " ) ");
    let spaced = spaced.replace(" WITH ", "+WITH+");
    let mut words = spaced.split_whitespace().peekable();
    any_of(&mut words) && words.next().is_none()
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn any_of(words: &mut Words<'_>) -> bool {
    let mut allowed = all_of(words);
    while words.next_if_eq(&"OR").is_some() {
        allowed |= all_of(words);
    }
    allowed
}

fn all_of(words: &mut Words<'_>) -> bool {
    let mut allowed = term(words);
    while words.next_if_eq(&"AND").is_some() {
        allowed &= term(words);
    }
    allowed
}

fn term(words: &mut Words<'_>) -> bool {
    match words.next() {
        Some("(") => {
            let allowed = any_of(words);
            words.next_if_eq(&")").is_some() && allowed
        }
        Some(word) => ALLOWED.contains(&word.replace("+WITH+", " WITH ").as_str()),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_branch_of_an_or_is_enough_and_every_part_of_an_and_is_needed() {
        for expression in [
            "MIT",
            "MIT/Apache-2.0",
            "GPL-3.0 OR MIT",
            "(MIT OR GPL-3.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT",
        ] {
            assert!(is_allowed(expression), "{expression}");
        }
        for expression in ["", "GPL-3.0", "MIT AND GPL-3.0", "(MIT", "MIT MIT"] {
            assert!(!is_allowed(expression), "{expression}");
        }
    }
}
