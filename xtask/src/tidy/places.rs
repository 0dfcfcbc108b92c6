//! Nothing in the repository names a place on the machine it was written on.

use anyhow::Result;

use super::Problem;
use super::tree::Tree;

/// The places, cut in two so that this file does not hold them.
const PLACES: [&str; 3] = [
    concat!("/ro", "ot/"),
    concat!("/wo", "rk/"),
    concat!("/tmp/tar", "get"),
];

/// Reports each place. A path below another folder (`…/share/…`) is not one.
#[expect(clippy::unnecessary_wraps, reason = "all checks have one shape")]
pub(super) fn check(tree: &Tree) -> Result<Vec<Problem>> {
    let mut problems = Vec::new();
    for file in &tree.files {
        for (number, line) in file.lines() {
            for place in PLACES.iter().filter(|place| names(line, place)) {
                let message = format!("`{place}` is a place on one machine");
                problems.push(Problem::at_line(&file.path, number, message));
            }
        }
    }
    Ok(problems)
}

fn names(line: &str, place: &str) -> bool {
    line.match_indices(place).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        before.is_none_or(|letter| !letter.is_alphanumeric() && !"_-.}>".contains(letter))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absolute_path_is_reported_and_a_relative_one_is_not() {
        let text = format!("x\nlet path = \"{}x\";\n", PLACES[0]);
        let relative = format!("chroot{}x\n", PLACES[0]);
        let tree = Tree::of(&[("a.rs", &text), ("b.md", &relative)]);
        let found = check(&tree).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].path.as_str(), found[0].line), ("a.rs", Some(2)));
    }
}
