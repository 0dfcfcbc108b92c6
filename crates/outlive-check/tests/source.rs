//! Scripts and notebooks: where a place of the text is in the file, and what a change leaves alone.

#![expect(clippy::unwrap_used, reason = "a panic is how a test reports failure")]

use outlive_check::{Edit, EditorPosition, Settings, Source, SourceKind, check};
use proptest::prelude::*;
use ruff_text_size::{TextRange, TextSize};
use serde_json::{Value, json};

/// A notebook as Jupyter writes it.
const NOTEBOOK: &str = r##"{
 "cells": [
  {
   "cell_type": "markdown",
   "metadata": {},
   "source": ["# Über \"torch\""]
  },
  {
   "cell_type": "code",
   "execution_count": 1,
   "metadata": {"tags": [1, 2.5, null]},
   "outputs": [{"text": ["source: [\"x\"]\n"]}],
   "source": [
    "%%time\n",
    "x = \"é\"; y = 1\n",
    "z = 2"
   ]
  },
  {
   "cell_type": "code",
   "metadata": {},
   "outputs": [],
   "source": "a = 1\nb = '\ud83d\ude00'; c = 2\n"
  },
  {"cell_type": "code", "source": ["%%bash\n", "ls"]}
 ],
 "metadata": {"kernelspec": {"language": "python", "name": "python3"}},
 "nbformat": 4,
 "nbformat_minor": 5
}
"##;

fn notebook(file: &str) -> Source {
    Source::new("a.ipynb", file.as_bytes()).unwrap()
}

fn offset_of(source: &Source, piece: &str) -> TextSize {
    TextSize::new(source.text().find(piece).unwrap() as u32)
}

fn edit(source: &Source, piece: &str, content: &str) -> Edit {
    let start = offset_of(source, piece);
    Edit {
        range: TextRange::at(start, TextSize::of(piece)),
        content: content.to_owned(),
    }
}

fn edited(source: &Source, piece: &str, content: &str) -> String {
    String::from_utf8(source.edited(&[edit(source, piece, content)])).unwrap()
}

#[test]
fn cells_are_joined_and_numbered_among_all() {
    let source = notebook(NOTEBOOK);
    let expected = "      \nx = \"é\"; y = 1\nz = 2\na = 1\nb = '😀'; c = 2\n";
    assert_eq!(source.text(), expected);
    let numbers: Vec<u32> = source.cells().iter().map(|cell| cell.number).collect();
    assert_eq!(numbers, [2, 3]);
    let problems = check(&source, &Settings::default()).problems;
    let messages: Vec<&str> = problems.iter().map(|one| one.message.as_str()).collect();
    assert_eq!(messages, ["Cell 4 skipped: `%%bash`"]);
}

#[test]
fn a_place_is_known_in_its_cell_and_in_the_file() {
    let source = notebook(NOTEBOOK);
    for (piece, cell, line, column, file_line, file_column) in [
        ("y = 1", 2, 2, 10, 15, 17),
        ("z = 2", 2, 3, 1, 16, 6),
        ("a = 1", 3, 1, 1, 23, 15),
        ("c = 2", 3, 2, 10, 23, 42),
    ] {
        let offset = offset_of(&source, piece);
        let position = source.position(offset);
        let found = (position.cell, position.line, position.column);
        assert_eq!(found, (Some(cell), line, column), "{piece}");
        assert_eq!(position.file_line, file_line, "{piece}");
        assert_eq!(source.file_column(offset), file_column, "{piece}");
        assert_eq!(source.offset(Some(cell), line, column), Some(offset));
    }
    assert_eq!(source.offset(Some(2), 4, 1), None);
    assert_eq!(source.offset(Some(1), 1, 1), None);
    assert_eq!(source.offset(Some(2), 3, 99), source.offset(Some(2), 3, 6));
}

#[test]
fn editors_count_in_utf_16() {
    let source = notebook(NOTEBOOK);
    let offset = offset_of(&source, "c = 2");
    let position = EditorPosition {
        cell: Some(3),
        line: 1,
        character: 10,
    };
    assert_eq!(source.position_utf16(offset), position);
    assert_eq!(source.offset_utf16(position), Some(offset));
}

#[test]
fn only_the_changed_part_of_a_string_changes() {
    let source = notebook(NOTEBOOK);
    let expected = NOTEBOOK.replace("; y = 1", "; y = \\\"ü\\\"");
    assert_eq!(edited(&source, "y = 1", "y = \"ü\""), expected);
    let expected = NOTEBOOK.replace("'; c = 2", "'; c = 3\\n# end");
    assert_eq!(edited(&source, "c = 2", "c = 3\n# end"), expected);
}

#[test]
fn a_new_line_is_a_string_of_its_own() {
    let source = notebook(NOTEBOOK);
    let expected = NOTEBOOK.replace("\"z = 2\"", "\"w = 0\\n\",\n    \"z = 2\"");
    assert_eq!(edited(&source, "z = 2", "w = 0\nz = 2"), expected);
    let expected = NOTEBOOK.replace("\"z = 2\"", "\"z = 2\\n\",\n    \"w = 0\"");
    assert_eq!(edited(&source, "z = 2", "z = 2\nw = 0"), expected);
}

#[test]
fn a_line_that_goes_takes_its_string_along() {
    let source = notebook(NOTEBOOK);
    let expected = NOTEBOOK.replace("    \"x = \\\"é\\\"; y = 1\\n\",\n", "");
    assert_eq!(edited(&source, "x = \"é\"; y = 1\n", ""), expected);
    let expected = NOTEBOOK.replace(",\n    \"z = 2\"", "");
    assert_eq!(edited(&source, "z = 2", ""), expected);
}

#[test]
fn escapes_are_written_as_the_file_writes_them() {
    let file = r#"{"cells": [{"cell_type": "code", "source": ["x = '\u00e9'"]}]}"#;
    let expected = file.replace("x = ", "\\u00fc = ");
    assert_eq!(edited(&notebook(file), "x", "ü"), expected);
}

#[test]
fn a_notebook_of_format_3_is_read() {
    let file = r#"{"nbformat": 3, "worksheets": [{"cells": [
        {"cell_type": "heading", "source": "x"},
        {"cell_type": "code", "language": "python", "input": ["a = 1\n", "b = 2"]},
        {"cell_type": "code", "language": "ruby", "input": "puts 1"}
    ]}]}"#;
    let source = notebook(file);
    assert_eq!(source.text(), "a = 1\nb = 2");
    assert_eq!(source.position(offset_of(&source, "b")).file_line, 3);
    assert_eq!(edited(&source, "b = 2", "c"), file.replace("b = 2", "c"));
    let problems = check(&source, &Settings::default()).problems;
    assert_eq!(problems[0].message, "Cell 3 skipped: `ruby`");
}

#[test]
fn what_cannot_be_seen_is_shown_by_its_number() {
    let source = Source::new("a.py", "import torch\nx =\u{a0}1\0\n".as_bytes()).unwrap();
    let problems = check(&source, &Settings::default()).problems;
    let messages: Vec<&str> = problems.iter().map(|one| one.message.as_str()).collect();
    // One for each line.
    assert_eq!(messages, ["Got unexpected token \\u{a0}"]);
}

#[test]
fn a_notebook_of_another_language_is_left_alone() {
    let file = r#"{"cells": [{"cell_type": "code", "source": "torch"}],
        "metadata": {"language_info": {"name": "R"}}}"#;
    let source = notebook(file);
    assert_eq!(source.text(), "");
    let problems = check(&source, &Settings::default()).problems;
    assert_eq!(problems[0].message, "Not checked: a notebook in `R`");
}

#[test]
fn what_is_no_notebook_is_said_in_one_line() {
    for (file, message) in [
        ("", "Not valid JSON: it breaks off in line 1"),
        (
            "{\"cells\": [\n{\"source\": \"x",
            "Not valid JSON: it breaks off in line 2",
        ),
        ("{}", "Not a notebook: it has no `cells`"),
        ("[1, 2]", "Not a notebook: it has no `cells`"),
        ("{\"cells\": []} x", "Not valid JSON in line 1"),
        (
            "\u{feff}\n{\"cells\": [{\"cell_type\": \"code\",\n\"source\": \"\\x\"}]}",
            "Not valid JSON: an unknown escape in line 3",
        ),
    ] {
        let error = Source::new("a.ipynb", file.as_bytes()).unwrap_err();
        assert_eq!(error.message, message, "{file}");
    }
    let error = Source::new("a.ipynb", b"{\n\"\xff\": 1}").unwrap_err();
    assert_eq!(error.message, "Not UTF-8 in line 2: save it as UTF-8");
}

#[test]
fn what_is_too_large_is_said_in_one_line() {
    let text = "x".repeat(9 << 20);
    let message = "Too large to check: more than 8 MiB of Python";
    let error = Source::new("a.py", text.as_bytes()).unwrap_err();
    assert_eq!(error.message, message);
    for size in [9 << 20, 49 << 20] {
        let text = "x".repeat(size);
        let file = format!(r#"{{"cells": [{{"cell_type": "code", "source": "{text}"}}]}}"#);
        let error = Source::new("a.ipynb", file.as_bytes()).unwrap_err();
        assert_eq!(error.message, message);
    }
}

#[test]
fn an_editor_gives_cells() {
    let cells = [
        (1, "import torch".to_owned()),
        (3, "%%time\nx = 1".to_owned()),
    ];
    let source = Source::cells_of("a.ipynb", &cells).unwrap();
    assert_eq!(source.kind(), SourceKind::Notebook);
    assert_eq!(source.text(), "import torch\n      \nx = 1");
    let position = source.position(offset_of(&source, "x = 1"));
    assert_eq!((position.cell, position.line), (Some(3), 2));
}

#[test]
fn a_script_keeps_its_mark_its_encoding_and_its_line_ends() {
    let file = "\u{feff}a = 1\r\nb = 2\rc = 3\r\n";
    let source = Source::new("a.py", file.as_bytes()).unwrap();
    let position = source.position(offset_of(&source, "c = 3"));
    assert_eq!((position.line, position.file_line), (3, 3));
    let expected = file.replace("a = 1", "a = 2\r\nx = 0");
    assert_eq!(edited(&source, "a = 1", "a = 2\nx = 0"), expected);
    let file = b"# coding: latin-1\na = '\xe9'\n";
    let source = Source::new("a.py", file).unwrap();
    let edits = [edit(&source, "a =", "é =")];
    assert_eq!(source.edited(&edits), b"# coding: latin-1\n\xe9 = '\xe9'\n");
    // What the encoding cannot say leaves the file as it was.
    let edits = [edit(&source, "a =", "λ =")];
    assert_eq!(source.edited(&edits), file);
}

/// The text of the cells of a notebook, read by another reader.
fn texts(file: &[u8]) -> Vec<String> {
    let value: Value = serde_json::from_slice(file).unwrap();
    let cells = value["cells"].as_array().unwrap();
    let text = |source: &Value| match source {
        Value::String(text) => text.clone(),
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    };
    cells.iter().map(|cell| text(&cell["source"])).collect()
}

/// The bytes of a file in front of, between and behind its sources: what no change may touch. No
/// line in these files has `"source"` or `"outputs"` but as a key.
fn without_sources(file: &[u8]) -> Vec<&str> {
    let file = str::from_utf8(file).unwrap();
    let mut parts = file.split("\"source\":");
    let first = parts.next().unwrap();
    let after = parts.map(|part| part.split_once("\"zeta\"").unwrap().1);
    std::iter::once(first).chain(after).collect()
}

fn source_value() -> impl Strategy<Value = Value> {
    let line = "[a-z \"\\\\é😀\t]{0,6}";
    let lines = prop::collection::vec(line, 0..5);
    (lines, 0..3).prop_map(|(lines, shape)| match shape {
        0 => json!(lines.join("\n")),
        1 => json!(lines),
        _ => {
            let joined = lines.join("\n");
            let list: Vec<&str> = joined.split_inclusive('\n').collect();
            json!(list)
        }
    })
}

/// A notebook with these sources; the keys come in the order of the alphabet.
fn file_of(sources: &[Value], pretty: bool) -> String {
    let cell =
        |source: &Value| json!({"cell_type": "code", "source": source, "zeta": ["1\n", 2.50]});
    let cells: Vec<Value> = sources.iter().map(cell).collect();
    let value = json!({"cells": cells, "nbformat": 4});
    if pretty {
        serde_json::to_string_pretty(&value).unwrap()
    } else {
        value.to_string()
    }
}

type Wish = (prop::sample::Index, usize, String);

/// Wishes as edits inside cells that do not touch each other.
fn edits_of(source: &Source, wishes: &[Wish]) -> Vec<Edit> {
    let text = source.text();
    let mut edits: Vec<Edit> = Vec::new();
    for (at, len, content) in wishes {
        let start = text.floor_char_boundary(at.index(text.len() + 1));
        let end = text.floor_char_boundary(text.len().min(start + len));
        let range = TextRange::new(TextSize::new(start as u32), TextSize::new(end as u32));
        let is_apart = |edit: &Edit| edit.range.intersect(range).is_none();
        let mut cells = source.cells().iter();
        if edits.iter().all(is_apart) && cells.any(|cell| cell.range.contains_range(range)) {
            let content = content.clone();
            edits.push(Edit { range, content });
        }
    }
    edits.sort_by_key(|edit| edit.range.start());
    edits
}

/// The texts of the cells with edits made.
fn expected_texts(source: &Source, edits: &[Edit]) -> Vec<String> {
    let mut expected = Vec::new();
    for cell in source.cells() {
        let mut text = source.text()[cell.range].to_owned();
        let inside = |edit: &&Edit| cell.range.contains_range(edit.range);
        for edit in edits.iter().filter(inside).rev() {
            let range = edit.range - cell.range.start();
            text.replace_range(std::ops::Range::<usize>::from(range), &edit.content);
        }
        expected.push(text);
    }
    expected
}

proptest! {
    #[test]
    fn changes_change_the_cells_and_nothing_else(
        sources in prop::collection::vec(source_value(), 1..4),
        pretty: bool,
        wishes in prop::collection::vec((any::<prop::sample::Index>(), 0..9_usize, "[x\né\"]{0,4}"), 0..4),
    ) {
        let file = file_of(&sources, pretty);
        let source = notebook(&file);
        prop_assume!(source.cells().len() == sources.len());
        prop_assert_eq!(source.edited(&[]), file.as_bytes());
        let edits = edits_of(&source, &wishes);
        let changed = source.edited(&edits);
        prop_assert_eq!(texts(&changed), expected_texts(&source, &edits));
        prop_assert_eq!(without_sources(&changed), without_sources(file.as_bytes()));
    }

    #[test]
    fn every_place_has_a_way_back(file in "[a-c\r\n\té😀]{0,40}", at: prop::sample::Index) {
        let source = Source::new("a.py", file.as_bytes()).unwrap();
        let at = source.text().floor_char_boundary(at.index(file.len() + 1));
        let offset = TextSize::new(at as u32);
        let position = source.position(offset);
        let back = source.offset(None, position.line, position.column).unwrap();
        let editor = source.offset_utf16(source.position_utf16(offset)).unwrap();
        prop_assert_eq!(back, editor);
        // Between the two characters of a line end there is no place of its own.
        prop_assert!(back == offset || source.text()[..at].ends_with('\r'));
    }
}
