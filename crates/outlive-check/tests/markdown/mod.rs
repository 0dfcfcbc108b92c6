//! Fenced Python in Markdown files, with the findings that are expected in it.
//!
//! An expected finding is a comment at the end of its line, or alone on the line above it:
//! `# error: [rule]`, and if wanted a piece of the message: `# error: [rule] "74.5 GiB"`. These
//! comments are taken out before the code is checked. The words behind ```` ```python ```` are
//! `notebook` (cells are parted by `# %%` lines), `broken` (it has syntax errors),
//! `budget=4GiB` and `container=8GiB/64GiB`.

use std::fs;
use std::path::{Path, PathBuf};

use outlive_check::{Container, Level, ProblemKind, Selection, Settings, Source, check};
use serde_json::json;

/// Bytes against which sizes are checked where the fence gives none.
const BUDGET: u64 = 16 << 30;

/// One fenced block.
pub(crate) struct Block {
    /// The file, from the root of the repository.
    pub(crate) path: String,
    /// The line of the first line of code, counted from one.
    pub(crate) line: usize,
    /// The words behind the fence.
    pub(crate) words: Vec<String>,
    /// The code without the comments that are ours.
    pub(crate) code: Vec<String>,
    /// For each line of code, its line in the file.
    places: Vec<usize>,
    /// What is expected.
    pub(crate) expected: Vec<Expected>,
}

/// A finding that is expected.
pub(crate) struct Expected {
    /// The line in the file.
    pub(crate) line: usize,
    /// Its level, in words.
    pub(crate) level: &'static str,
    /// The name of its rule.
    pub(crate) rule: String,
    /// A piece of its message.
    pub(crate) piece: String,
}

/// A finding as it was found.
#[derive(Debug)]
pub(crate) struct Found {
    /// The line in the Markdown file.
    pub(crate) line: usize,
    /// Its level, in words.
    pub(crate) level: &'static str,
    /// The name of its rule.
    pub(crate) rule: &'static str,
    /// Its message.
    pub(crate) message: String,
}

/// The Markdown files of a folder of this crate.
pub(crate) fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let mut paths: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|end| end == "md"))
        .collect();
    paths.sort();
    paths
}

/// The Python blocks of a file.
pub(crate) fn blocks(path: &Path) -> Vec<Block> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let shown = path.canonicalize().unwrap();
    let shown = shown.strip_prefix(root.canonicalize().unwrap()).unwrap();
    let text = fs::read_to_string(path).unwrap();
    let mut blocks = Vec::new();
    let mut lines = text.lines().zip(1..);
    while let Some((line, number)) = lines.next() {
        let Some(info) = line.strip_prefix("```") else {
            continue;
        };
        let code: Vec<(&str, usize)> = lines
            .by_ref()
            .take_while(|(line, _)| *line != "```")
            .collect();
        let mut words = info.split_whitespace().map(str::to_owned);
        if words.next().as_deref() == Some("python") {
            blocks.push(Block::new(shown, number + 1, words.collect(), &code));
        }
    }
    blocks
}

impl Block {
    fn new(path: &Path, line: usize, words: Vec<String>, code: &[(&str, usize)]) -> Self {
        let mut block = Self {
            path: path.display().to_string(),
            line,
            words,
            code: Vec::new(),
            places: Vec::new(),
            expected: Vec::new(),
        };
        let mut waiting: Vec<Expected> = Vec::new();
        for (text, number) in code {
            let (code, comments) = text.split_at(annotation_start(text));
            let expected = annotations(comments, *number);
            if code.trim().is_empty() && !expected.is_empty() {
                waiting.extend(expected);
                continue;
            }
            let line = *number;
            let waited = waiting.drain(..).map(|one| Expected { line, ..one });
            block.expected.extend(waited.chain(expected));
            block.code.push(code.trim_end().to_owned());
            block.places.push(line);
        }
        block
    }

    /// Whether the fence has a word.
    pub(crate) fn has(&self, word: &str) -> bool {
        self.words.iter().any(|one| one == word)
    }

    /// The file that the block stands for.
    pub(crate) fn source(&self) -> Source {
        if !self.has("notebook") {
            let text = self.code.join("\n") + "\n";
            return Source::new("case.py", text.as_bytes()).unwrap();
        }
        let cells: Vec<_> = self
            .cells()
            .iter()
            .map(|(_, code)| {
                let text = code.join("\n");
                let lines: Vec<&str> = text.split_inclusive('\n').collect();
                json!({"cell_type": "code", "metadata": {}, "outputs": [], "source": lines})
            })
            .collect();
        let file = json!({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5});
        let file = serde_json::to_vec_pretty(&file).unwrap();
        Source::new("case.ipynb", &file).unwrap()
    }

    /// The cells: the index of the first line of each, and its lines.
    fn cells(&self) -> Vec<(usize, &[String])> {
        let mut first = 0;
        let mut cells = Vec::new();
        for code in self.code.split(|line| line.trim() == "# %%") {
            // A `# %%` above the first cell parts nothing.
            if first > 0 || !code.is_empty() {
                cells.push((first, code));
            }
            first += code.len() + 1;
        }
        cells
    }

    /// What the fence asks for: every rule, and this machine.
    pub(crate) fn settings(&self) -> Settings {
        let value = |key: &str| self.words.iter().find_map(|word| word.strip_prefix(key));
        let container = value("container=").map(|value| {
            let (limit, machine) = value.split_once('/').unwrap();
            Container {
                limit: bytes(limit),
                machine: bytes(machine),
            }
        });
        Settings {
            selection: Selection {
                info: true,
                ..Selection::default()
            },
            budget: Some(value("budget=").map_or(BUDGET, bytes)),
            container,
        }
    }

    /// Checks it. A syntax error counts as a finding of the rule `syntax`.
    pub(crate) fn found(&self) -> Vec<Found> {
        let source = self.source();
        let report = check(&source, &self.settings());
        let line = |range: ruff_text_size::TextRange| {
            let position = source.position(range.start());
            let cells = self.cells();
            let cell = position.cell.and_then(|cell| cells.get(cell as usize - 1));
            let index = cell.map_or(0, |(first, _)| *first) + position.line as usize - 1;
            self.places.get(index).copied().unwrap_or(self.line)
        };
        let findings = report.findings.iter().map(|finding| Found {
            line: line(finding.range),
            level: finding.level.word(),
            rule: finding.rule.name,
            message: finding.message.clone(),
        });
        let problems = report.problems.iter();
        let errors = problems.filter(|one| one.kind == ProblemKind::Syntax && !self.has("broken"));
        let errors = errors.map(|problem| Found {
            line: line(problem.range),
            level: Level::Error.word(),
            rule: "syntax",
            message: problem.message.clone(),
        });
        errors.chain(findings).collect()
    }
}

/// Where the comments that are ours begin in a line.
fn annotation_start(line: &str) -> usize {
    let levels = [Level::Error, Level::Warning, Level::Info];
    let starts = levels.map(|level| format!("# {}: [", level.word()));
    let found = starts.iter().filter_map(|start| line.find(start));
    found.min().unwrap_or(line.len())
}

/// Reads `# error: [rule] "piece" # warning: [other]`.
fn annotations(comments: &str, line: usize) -> Vec<Expected> {
    let mut expected = Vec::new();
    let mut rest = comments;
    while let Some(comment) = rest.strip_prefix("# ") {
        let (comment, others) = comment.split_at(annotation_start(comment));
        rest = others;
        let (level, comment) = comment.split_once(": [").unwrap();
        let (rule, piece) = comment.split_once(']').unwrap_or((comment, ""));
        let levels = [Level::Error, Level::Warning, Level::Info];
        let mut levels = levels.iter().map(|level| level.word());
        expected.push(Expected {
            line,
            level: levels.find(|word| *word == level).unwrap(),
            rule: rule.to_owned(),
            piece: piece.trim().trim_matches('"').to_owned(),
        });
    }
    expected
}

/// `4GiB` in bytes.
fn bytes(text: &str) -> u64 {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let found = units.iter().find_map(|(unit, shift)| {
        let number = text.strip_suffix(unit)?.parse::<u64>().ok()?;
        Some(number << shift)
    });
    found.unwrap()
}
