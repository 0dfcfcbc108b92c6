//! No marks of unfinished work: what is left to do is an issue, not a comment.

use anyhow::Result;

use super::Problem;
use super::tree::Tree;

/// The marks, cut in two so that this file does not hold them.
const MARKS: [&str; 3] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("X", "XX"),
];

/// Reports each mark.
#[expect(clippy::unnecessary_wraps, reason = "all checks have one shape")]
pub(super) fn check(tree: &Tree) -> Result<Vec<Problem>> {
    let mut problems = Vec::new();
    for file in &tree.files {
        for (number, line) in file.lines() {
            let words = line.split(|letter: char| !letter.is_alphanumeric());
            for mark in words.filter(|word| MARKS.contains(word)) {
                let message = format!("`{mark}` is not allowed: finish it, or open an issue");
                problems.push(Problem::at_line(&file.path, number, message));
            }
        }
    }
    Ok(problems)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_reported_and_a_word_that_contains_it_is_not() {
        let marked = format!("fn f() {{}}\n// {}: later\n", MARKS[0]);
        let similar = format!("let {}S_SEEN = 1;\n", MARKS[0]);
        let tree = Tree::of(&[("a.rs", &marked), ("b.rs", &similar)]);
        let found = check(&tree).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].path.as_str(), found[0].line), ("a.rs", Some(2)));
    }
}
