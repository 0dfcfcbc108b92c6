//! A file is one noun in at most 400 lines, tests not counted. The exceptions can only go away.

use anyhow::Result;

use super::Problem;
use super::tree::{File, Tree};

const LIMIT: usize = 400;

/// Longer files: the path, the length it must not exceed, and the reason.
const EXCEPTIONS: [(&str, usize, &str); 0] = [];

/// Checks the lengths against the limit and the list.
#[expect(clippy::unnecessary_wraps, reason = "all checks have one shape")]
pub(super) fn check(tree: &Tree) -> Result<Vec<Problem>> {
    Ok(check_with(tree, &EXCEPTIONS))
}

fn check_with(tree: &Tree, exceptions: &[(&str, usize, &str)]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in tree.files.iter().filter(|file| is_measured(file)) {
        let length = length(file);
        let exception = exceptions.iter().find(|(path, _, _)| *path == file.path);
        let allowed = exception.map_or(LIMIT, |(_, allowed, _)| *allowed);
        if length > allowed {
            let message = format!("{length} lines outside tests, at most {allowed} are allowed");
            problems.push(Problem::in_file(&file.path, message));
        } else if exception.is_some() && length <= LIMIT {
            let message = format!("Only {length} lines now: take it off the list of exceptions");
            problems.push(Problem::in_file(&file.path, message));
        }
    }
    for (path, _, _) in exceptions
        .iter()
        .filter(|(path, _, _)| tree.file(path).is_none())
    {
        problems.push(Problem::in_file(
            path,
            "Listed as an exception, but there is no such file",
        ));
    }
    problems
}

fn is_measured(file: &File) -> bool {
    (file.has_suffix(".rs") || file.has_suffix(".py")) && !file.is_test()
}

/// Lines before the test module, which closes the file.
fn length(file: &File) -> usize {
    let mut lines = file.text.lines().peekable();
    let mut count = 0;
    while let Some(line) = lines.next() {
        let tests = line == "#[cfg(test)]"
            && lines
                .peek()
                .is_some_and(|next| next.starts_with("mod ") && next.ends_with('{'));
        if tests {
            break;
        }
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_length(lines: usize) -> String {
        "// x\n".repeat(lines)
    }

    #[test]
    fn tests_at_the_end_do_not_count() {
        let text = of_length(400) + "#[cfg(test)]\nmod tests {\n" + &of_length(300) + "}\n";
        assert_eq!(check_with(&Tree::of(&[("a.rs", &text)]), &[]), []);
        let text = of_length(401) + "#[cfg(test)]\nmod tests {\n}\n";
        assert_eq!(check_with(&Tree::of(&[("a.rs", &text)]), &[]).len(), 1);
    }

    #[test]
    fn an_exception_may_not_grow_and_must_go_when_it_is_not_needed() {
        let listed = [("a.rs", 450, "reason")];
        assert_eq!(
            check_with(&Tree::of(&[("a.rs", &of_length(450))]), &listed),
            []
        );
        assert_eq!(
            check_with(&Tree::of(&[("a.rs", &of_length(451))]), &listed).len(),
            1
        );
        assert_eq!(
            check_with(&Tree::of(&[("a.rs", &of_length(400))]), &listed).len(),
            1
        );
        assert_eq!(check_with(&Tree::of(&[]), &listed).len(), 1);
    }
}
