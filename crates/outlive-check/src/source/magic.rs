//! Which cells have Python in them, by their first line.

/// What is to be done with a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Python, after so many bytes of cell magics, which are to be blanked.
    Python { magics: usize },
    /// Something else; the command in its first line.
    Other { command: String },
}

/// Cell magics whose body runs as Python in the notebook; `backend` is that of the Keras book.
const PYTHON: [&str; 15] = [
    "backend",
    "capture",
    "debug",
    "ipytest",
    "memit",
    "mprun",
    "prun",
    "pyinstrument",
    "pypy",
    "python",
    "python3",
    "scalene",
    "snakeviz",
    "time",
    "timeit",
];

/// The same, as the start of a family of names.
const PYTHON_FAMILIES: [&str; 2] = ["memray", "outlive"];

/// Commands that `IPython` takes without `%` if a cell is one line of them.
const BARE: [&str; 24] = [
    "alias",
    "bookmark",
    "cat",
    "cd",
    "conda",
    "config",
    "cp",
    "env",
    "history",
    "load",
    "load_ext",
    "ls",
    "mamba",
    "matplotlib",
    "mkdir",
    "mv",
    "pip",
    "pwd",
    "pylab",
    "reload_ext",
    "rm",
    "run",
    "whos",
    "writefile",
];

/// Looks at a cell.
pub(super) fn content(cell: &str) -> Content {
    let mut magics = 0;
    let mut passed = 0;
    for line in cell.split_inclusive('\n') {
        passed += line.len();
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let first = line.split_whitespace().next().unwrap_or_default();
        let Some(name) = first.strip_prefix("%%") else {
            break;
        };
        if !is_python(name) {
            let command = first.to_owned();
            return Content::Other { command };
        }
        magics = passed;
    }
    match bare_command(cell) {
        Some(command) => Content::Other { command },
        None => Content::Python { magics },
    }
}

fn is_python(name: &str) -> bool {
    PYTHON.contains(&name)
        || PYTHON_FAMILIES
            .iter()
            .any(|family| name.starts_with(family))
}

/// `pip install torch` as the only line of a cell.
fn bare_command(cell: &str) -> Option<String> {
    let line = cell.trim();
    if line.contains('\n') {
        return None;
    }
    let mut words = line.split_whitespace();
    let first = words.next().filter(|word| BARE.contains(word))?;
    // `env = …` and `run, x = …` are Python.
    let second = words.next().unwrap_or_default();
    let is_python = second.ends_with('=') || second.starts_with(['=', '(', '[', '.', ',', ':']);
    (!is_python && !matches!(second, "in" | "is" | "and" | "or" | "if" | "not"))
        .then(|| first.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn other(command: &str) -> Content {
        Content::Other {
            command: command.to_owned(),
        }
    }

    #[test]
    fn magics_around_python_are_passed() {
        for (cell, magics) in [
            ("x = 1", 0),
            ("%%time\nx = 1", 7),
            ("\n%%timeit -n 1\n%%capture out\nx = 1", 29),
            ("%%memray_flamegraph --native\nx", 29),
            ("%%outlive\nx", 10),
            ("# note\n%%time\nx", 14),
            ("%matplotlib inline\nx", 0),
            ("env = 3", 0),
            ("env.reset()", 0),
            ("run += 1", 0),
            ("pip install a\nx = 1", 0),
            ("", 0),
        ] {
            assert_eq!(content(cell), Content::Python { magics }, "{cell}");
        }
    }

    #[test]
    fn other_languages_are_named() {
        assert_eq!(content("%%bash\nls"), other("%%bash"));
        assert_eq!(content("%%time\n%%html\n<p>"), other("%%html"));
        assert_eq!(content("%%writefile a.py\nx = 1"), other("%%writefile"));
        assert_eq!(content("pip install torch\n"), other("pip"));
        assert_eq!(content("ls"), other("ls"));
    }
}
