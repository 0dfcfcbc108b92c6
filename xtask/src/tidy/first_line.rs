//! Every source file opens by saying what it is for.

use anyhow::Result;

use super::Problem;
use super::tree::{File, Tree};

/// Rust files start with `//!`, Python files with a docstring, C files with a comment.
#[expect(clippy::unnecessary_wraps, reason = "all checks have one shape")]
pub(super) fn check(tree: &Tree) -> Result<Vec<Problem>> {
    Ok(tree.files.iter().filter_map(problem).collect())
}

fn problem(file: &File) -> Option<Problem> {
    let mut lines = file.text.lines().skip_while(|line| line.starts_with("#!/"));
    let first = lines.next().unwrap_or_default();
    let (opens, wanted) = if file.has_suffix(".rs") {
        (first.starts_with("//! "), "`//!` and what it is for")
    } else if file.has_suffix(".py") || file.has_suffix(".pyi") {
        (
            first.starts_with("\"\"\"") && first.len() > 3,
            "a docstring that says what it is for",
        )
    } else if file.has_suffix(".c") {
        (
            first.starts_with("/* ") || first.starts_with("// "),
            "a comment that says what it is for",
        )
    } else {
        return None;
    };
    (!opens).then(|| Problem::at_line(&file.path, 1, format!("The file must open with {wanted}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_an_opening_is_reported() {
        let tree = Tree::of(&[
            ("a.rs", "//! What it is for.\n"),
            ("b.rs", "use std::fs;\n"),
            (
                "c.py",
                "#!/usr/bin/env python3\n\"\"\"What it is for.\"\"\"\n",
            ),
            ("d.py", "import os\n"),
            ("e.c", "#include <stdio.h>\n"),
            ("f.toml", "[package]\n"),
        ]);
        let found = check(&tree).unwrap();
        let paths: Vec<&str> = found.iter().map(|problem| problem.path.as_str()).collect();
        assert_eq!(paths, ["b.rs", "d.py", "e.c"]);
    }
}
