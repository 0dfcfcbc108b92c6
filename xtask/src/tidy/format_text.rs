//! The normative text of the format states the same version and the same numbers as the code.
//!
//! In `docs/format.md` a heading ends with the name of a module of `layout.rs` in backticks, and
//! each row of the table below it starts with a constant and its number.

use std::collections::BTreeMap;

use anyhow::Result;

use super::Problem;
use super::tree::Tree;

const DOCUMENT: &str = "docs/format.md";
const CODE: &str = "crates/outlive-record/src/layout.rs";

/// Numbers by module and name; constants outside a module have the empty one.
type Numbers = BTreeMap<(String, String), u64>;

/// Compares the document with the code.
#[expect(clippy::unnecessary_wraps, reason = "all checks have one shape")]
pub(super) fn check(tree: &Tree) -> Result<Vec<Problem>> {
    let text = |path: &str| tree.file(path).map_or("", |file| file.text.as_str());
    Ok(compare(&of_code(text(CODE)), &of_document(text(DOCUMENT))))
}

fn compare(code: &Numbers, document: &Numbers) -> Vec<Problem> {
    let mut names: Vec<_> = code.keys().chain(document.keys()).collect();
    names.sort();
    names.dedup();
    names
        .into_iter()
        .filter(|name| code.get(*name) != document.get(*name))
        .map(|name| {
            let shown = |numbers: &Numbers| {
                numbers
                    .get(name)
                    .map_or("nothing".to_owned(), ToString::to_string)
            };
            let path = if name.0.is_empty() {
                name.1.clone()
            } else {
                name.0.clone() + "::" + &name.1
            };
            let message = format!(
                "`{path}` is {} here, {} in the code",
                shown(document),
                shown(code)
            );
            Problem::in_file(DOCUMENT, message)
        })
        .collect()
}

fn of_code(text: &str) -> Numbers {
    let mut numbers = Numbers::new();
    let mut module = String::new();
    for line in text.lines() {
        if let Some(name) = line
            .strip_prefix("pub mod ")
            .and_then(|rest| rest.strip_suffix(" {"))
        {
            name.clone_into(&mut module);
        } else if line == "}" {
            module.clear();
        }
        let constant = line.trim_start().strip_prefix("pub const ");
        if let Some((name, rest)) = constant.and_then(|rest| rest.split_once(": "))
            && let Some((_, value)) = rest.trim_end_matches(';').split_once(" = ")
            && let Some(value) = value_of(value, &numbers)
        {
            numbers.insert((module.clone(), name.to_owned()), value);
        }
    }
    numbers
}

/// Sums, differences and shifts of numbers and of constants seen before; `None` for anything else.
fn value_of(expression: &str, known: &Numbers) -> Option<u64> {
    let expression = expression.trim();
    if let Some((left, right)) = expression.rsplit_once(" - ") {
        return value_of(left, known)?.checked_sub(value_of(right, known)?);
    }
    let expression = expression.trim_start_matches('(').trim_end_matches(')');
    if let Some((left, right)) = expression.split_once(" << ") {
        return value_of(left, known)?.checked_shl(value_of(right, known)? as u32);
    }
    let digits = expression.replace('_', "");
    digits
        .parse()
        .ok()
        .or_else(|| known.get(&(String::new(), expression.to_owned())).copied())
}

fn of_document(text: &str) -> Numbers {
    let mut numbers = Numbers::new();
    let mut module = String::new();
    for line in text.lines() {
        if line.starts_with('#') {
            line.split('`')
                .nth(1)
                .unwrap_or_default()
                .clone_into(&mut module);
        }
        let mut cells = line.split('|').map(str::trim).skip(1);
        let (Some(name), Some(number)) = (cells.next(), cells.next()) else {
            continue;
        };
        let name = name
            .strip_prefix('`')
            .and_then(|name| name.strip_suffix('`'));
        if let (Some(name), Ok(number)) = (name, number.replace(',', "").parse()) {
            numbers.insert((module.clone(), name.to_owned()), number);
        }
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUT: &str = "\
pub const VERSION: u32 = 1;
pub const PAGE: u64 = 4096;
pub const KEPT: u64 = (64 << 10) - PAGE;
pub const MAGIC: u64 = u64::from_le_bytes(*b\"x\");
pub mod facts {
    pub const PID: u64 = 0;
    pub const SIZE: u64 = 20 << 10;
}
";
    const TEXT: &str = "\
## Sizes
| name | number |
|---|---|
| `VERSION` | 1 |
| `PAGE` | 4,096 |
| `KEPT` | 61,440 |
### The facts, `facts`
| field | offset | type |
|---|---|---|
| `PID` | 0 | `u32` |
| `SIZE` | 20,480 | – |
";

    #[test]
    fn the_same_numbers_are_no_problem() {
        assert_eq!(compare(&of_code(LAYOUT), &of_document(TEXT)), []);
        assert_eq!(of_code(LAYOUT).len(), 5);
    }

    #[test]
    fn another_version_or_a_missing_row_is_reported() {
        let text = TEXT
            .replace("`VERSION` | 1", "`VERSION` | 2")
            .replace("| `PID` | 0 | `u32` |\n", "");
        let found = compare(&of_code(LAYOUT), &of_document(&text));
        let found: Vec<String> = found.into_iter().map(|problem| problem.message).collect();
        assert_eq!(
            found,
            [
                "`VERSION` is 2 here, 1 in the code",
                "`facts::PID` is nothing here, 0 in the code"
            ]
        );
    }
}
