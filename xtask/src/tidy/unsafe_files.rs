//! Unsafe is a place: it lives in the files listed here and nowhere else.

use anyhow::Result;

use super::Problem;
use super::tree::{File, Tree};

/// Where unsafe code may be. A path that ends with `/` stands for the folder.
const LISTED: [&str; 12] = [
    "crates/outlive-data/src/decode/webp.rs",
    "crates/outlive-data/src/grid/sheet/webp.rs",
    "crates/outlive-hook/src/panic.rs",
    "crates/outlive-hook/src/sys/",
    "crates/outlive-python/src/c_library.rs",
    "crates/outlive-record/src/region.rs",
    "crates/outlive-record/src/write/intern.rs",
    "crates/outlive-record/tests/support/memory.rs",
    "crates/outlive/src/grid/allocator.rs",
    "crates/outlive/src/local_time.rs",
    "crates/outlive/src/supervise/guard/ledger_file.rs",
    "crates/outlive/src/supervise/spawn.rs",
];
/// Words of a note that says nothing.
const EMPTY_NOTES: [&str; 2] = ["should be safe", "intended for use from c"];

/// Reports unsafe code outside the list, empty notes, and entries of the list that are not needed.
#[expect(clippy::unnecessary_wraps, reason = "all checks have one shape")]
pub(super) fn check(tree: &Tree) -> Result<Vec<Problem>> {
    Ok(check_with(tree, &LISTED))
}

fn check_with(tree: &Tree, listed: &[&str]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in tree.files.iter().filter(|file| file.has_suffix(".rs")) {
        let allowed = listed.iter().any(|entry| covers(entry, &file.path));
        for line in unsafe_lines(file).filter(|_| !allowed) {
            let message = "Unsafe code outside the files listed in `unsafe_files.rs`";
            problems.push(Problem::at_line(&file.path, line, message));
        }
        problems.extend(empty_notes(file));
    }
    for entry in listed {
        let mut covered = tree.files.iter().filter(|file| covers(entry, &file.path));
        if !covered.any(|file| unsafe_lines(file).next().is_some()) {
            problems.push(Problem::in_file(
                entry,
                "No unsafe code here: take it off the list",
            ));
        }
    }
    problems
}

fn covers(entry: &str, path: &str) -> bool {
    if entry.ends_with('/') {
        path.starts_with(entry)
    } else {
        path == entry
    }
}

fn unsafe_lines(file: &File) -> impl Iterator<Item = usize> {
    file.lines()
        .filter(|(_, line)| is_unsafe(line))
        .map(|(number, _)| number)
}

/// Whether a line holds the keyword in code, outside comments and string literals.
fn is_unsafe(line: &str) -> bool {
    let code = without_strings(line);
    let code = code.split("//").next().unwrap_or_default();
    if code.contains("forbid(unsafe_code)") {
        return false;
    }
    let starts = [
        " {", " fn", " impl", " extern", " trait", "(", "_code,", "_code)",
    ];
    code.match_indices("unsafe").any(|(place, word)| {
        let before = code[..place].chars().next_back();
        let after = &code[place + word.len()..];
        before.is_none_or(|letter| !letter.is_alphanumeric() && letter != '_')
            && (after.trim_end().is_empty() || starts.iter().any(|start| after.starts_with(start)))
    })
}

fn without_strings(line: &str) -> String {
    let mut kept = String::new();
    let mut inside = false;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if inside => drop(letters.next()),
            '"' => inside = !inside,
            _ if !inside => kept.push(letter),
            _ => {}
        }
    }
    kept
}

fn empty_notes(file: &File) -> impl Iterator<Item = Problem> + '_ {
    file.lines().filter_map(|(number, line)| {
        let (_, note) = line.split_once("SAFETY:")?;
        let note = note.to_lowercase();
        EMPTY_NOTES
            .iter()
            .any(|words| note.contains(words))
            .then(|| {
                Problem::at_line(
                    &file.path,
                    number,
                    "The note must name the invariant and its keeper",
                )
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keyword_counts_in_code_only() {
        for line in [
            "unsafe {",
            "pub unsafe fn f() {",
            "#[unsafe(no_mangle)]",
            "let x = unsafe",
            "#![expect(unsafe_code, reason = 1)]",
        ] {
            assert!(is_unsafe(line), "{line}");
        }
        for line in [
            "// unsafe { }",
            "#![forbid(unsafe_code)]",
            "mod unsafe_files;",
            "let text = \"an unsafe { word\";",
        ] {
            assert!(!is_unsafe(line), "{line}");
        }
    }

    #[test]
    fn a_place_off_the_list_is_reported_and_so_is_a_needless_entry() {
        let tree = Tree::of(&[
            ("sys/a.rs", "unsafe {"),
            ("b.rs", "x\nunsafe {"),
            ("c.rs", ""),
        ]);
        let problems = check_with(&tree, &["sys/", "c.rs"]);
        assert_eq!(problems.len(), 2);
        assert_eq!(
            (problems[0].path.as_str(), problems[0].line),
            ("b.rs", Some(2))
        );
        assert_eq!(problems[1].path, "c.rs");
    }

    #[test]
    fn a_note_must_say_something() {
        let note = concat!("// SAF", "ETY: this should be safe");
        let tree = Tree::of(&[("a.rs", note)]);
        assert_eq!(check_with(&tree, &[]).len(), 1);
    }
}
