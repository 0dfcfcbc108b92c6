//! Whatever a file holds: findings or one clear line, never a crash, never seconds.
//!
//! `PROPTEST_CASES=100000 cargo nextest run --release -p outlive-check --test hostile` for a long
//! run.

#![expect(clippy::unwrap_used, reason = "a panic is how a test reports failure")]

use std::fs;
use std::path::Path;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use outlive_check::front::Tree;
use outlive_check::{
    Applicability, Finding, STACK_SIZE, Selection, Settings, Source, SourceError, check, fix,
};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

/// Far above what any of these takes in a debug build on a busy machine: shows a hang, not a delay.
const HANG: Duration = Duration::from_mins(1);

/// The Python of all Markdown tests.
static SNIPPETS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let folders = ["cases", "labelled"].map(|folder| fs::read_dir(tests.join(folder)).unwrap());
    let mut paths: Vec<_> = folders
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    let mut snippets = Vec::new();
    for path in paths {
        let text = fs::read_to_string(path).unwrap();
        let blocks = text.split("\n```python").skip(1);
        let code = blocks.filter_map(|block| Some(block.split_once('\n')?.1.split_once("```")?.0));
        snippets.extend(code.map(str::to_owned));
    }
    snippets
});

/// Reads and checks a file as the command line does; tries each of its fixes.
fn survives(path: &str, bytes: &[u8]) -> Result<usize, SourceError> {
    let start = Instant::now();
    let result = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK_SIZE);
        let work = || outcome(path, bytes);
        thread.spawn_scoped(scope, work).unwrap().join().unwrap()
    });
    assert!(start.elapsed() < HANG, "{path}: {:?}", start.elapsed());
    if let Err(error) = &result {
        let message = &error.message;
        assert!(
            !message.is_empty() && !message.contains('\n'),
            "{message:?}"
        );
    }
    result
}

fn outcome(path: &str, bytes: &[u8]) -> Result<usize, SourceError> {
    let source = Source::new(path, bytes)?;
    assert_eq!(source.edited(&[]), bytes, "unchanged is unchanged");
    let settings = Settings {
        selection: Selection {
            info: true,
            ..Selection::default()
        },
        budget: Some(1 << 30),
        ..Settings::default()
    };
    let report = check(&source, &settings);
    for finding in &report.findings {
        can_be_shown(&source, finding);
        can_be_fixed(&source, finding);
    }
    for problem in &report.problems {
        source.position(problem.range.start());
        assert!(!problem.message.contains('\n'), "{}", problem.message);
    }
    let errors = |source: &Source| Tree::parse(source).errors().count();
    let before = errors(&source);
    let fixed = fix(source, Applicability::Unsafe, |source| {
        check(source, &settings)
    });
    assert!(errors(&fixed.source) <= before, "what was Python is Python");
    Ok(report.findings.len())
}

/// A place in the text, a cell and a line for each, and words.
fn can_be_shown(source: &Source, finding: &Finding) {
    let notes = finding.witness.iter().map(|note| note.range);
    for range in notes.chain([finding.range, finding.region]) {
        assert!(
            source
                .text()
                .get(std::ops::Range::<usize>::from(range))
                .is_some()
        );
        let position = source.position(range.start());
        let offset = source.offset(position.cell, position.line, position.column);
        assert_eq!(offset, Some(range.start()));
        assert_eq!(
            source.offset_utf16(source.position_utf16(range.start())),
            offset
        );
        assert!(position.file_line > 0 && source.file_column(range.start()) > 0);
    }
    let notes = finding.witness.iter().map(|note| &note.text);
    let fix = finding.fix.iter().map(|fix| &fix.title);
    for text in notes.chain(fix).chain([&finding.message, &finding.help]) {
        let is_plain = !text.is_empty() && !text.contains(char::is_control);
        assert!(is_plain, "{}: {text:?}", finding.rule.name);
    }
}

/// The file after one of its fixes is a file of the same kind.
fn can_be_fixed(source: &Source, finding: &Finding) {
    if let Some(fix) = &finding.fix {
        let changed = source.edited(&fix.edits);
        let after = Source::new(source.path(), &changed).unwrap();
        assert_eq!(after.cells().len(), source.cells().len());
    }
}

/// Cells as a notebook, with outputs that look like cells.
fn notebook(cells: &[&str]) -> Vec<u8> {
    let cell = |text: &&str| {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        json!({
            "cell_type": "code",
            "execution_count": 1,
            "metadata": {"tags": ["source"]},
            "outputs": [{"data": {"text/plain": ["\"source\": [\"x\\n\"]"]}, "output_type": "display_data"}],
            "source": lines,
        })
    };
    let cells: Vec<Value> = cells.iter().map(cell).collect();
    let metadata = json!({"kernelspec": {"language": "python", "name": "python3"}});
    let file = json!({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5});
    serde_json::to_vec_pretty(&file).unwrap()
}

/// The same in the format of ten years ago.
fn old_notebook(cells: &[&str]) -> Vec<u8> {
    let cell = |text: &&str| json!({"cell_type": "code", "language": "python", "input": text, "outputs": []});
    let cells: Vec<Value> = cells.iter().map(cell).collect();
    json!({"nbformat": 3, "worksheets": [{"cells": cells}]})
        .to_string()
        .into_bytes()
}

/// A way to damage a text.
#[derive(Clone, Debug)]
enum Damage {
    Cut(Index, Index),
    Double(Index, Index),
    Put(Index, &'static str),
    Truncate(Index),
    Windows,
}

fn damage() -> impl Strategy<Value = Damage> {
    let pieces = "( ) [ ] { } : , . ' \" ''' \\ # @ * ** lambda await async yield if else for del \
        global return with import \0 \u{feff} é 😀 \r % ! %%time 1e999 0x := -> ... None";
    let pieces: Vec<&str> = pieces
        .split(' ')
        .chain(["\n", "\n    ", "\t", "\u{c}"])
        .collect();
    let index = any::<Index>;
    prop_oneof![
        (index(), index()).prop_map(|(from, to)| Damage::Cut(from, to)),
        (index(), index()).prop_map(|(from, to)| Damage::Double(from, to)),
        (index(), prop::sample::select(pieces)).prop_map(|(at, piece)| Damage::Put(at, piece)),
        index().prop_map(Damage::Truncate),
        Just(Damage::Windows),
    ]
}

impl Damage {
    fn apply(&self, text: &mut String) {
        let place =
            |index: &Index, text: &str| text.floor_char_boundary(index.index(text.len() + 1));
        match self {
            Self::Cut(from, to) | Self::Double(from, to) => {
                let (from, to) = (place(from, text), place(to, text));
                let range = from.min(to)..from.max(to).min(from.min(to) + 60);
                let range = range.start..text.floor_char_boundary(range.end);
                let copy = text[range.clone()].to_owned();
                let is_cut = matches!(self, Self::Cut(..));
                text.replace_range(range, if is_cut { "" } else { &copy });
                if !is_cut {
                    text.insert_str(from.min(to), &copy);
                }
            }
            Self::Put(at, piece) => text.insert_str(place(at, text), piece),
            Self::Truncate(at) => text.truncate(place(at, text)),
            Self::Windows => *text = text.replace('\n', "\r\n"),
        }
    }
}

/// A snippet of the tests after some damage.
fn damaged() -> impl Strategy<Value = String> {
    let snippet = prop::sample::select(SNIPPETS.clone());
    (snippet, prop::collection::vec(damage(), 0..5)).prop_map(|(mut text, damages)| {
        for damage in damages {
            damage.apply(&mut text);
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400), concerns_us: bool) {
        let head: &[u8] = if concerns_us { b"import torch\n" } else { b"" };
        let bytes = [head, &bytes].concat();
        let _ = survives("a.py", &bytes);
        let _ = survives("a.ipynb", &bytes);
        let text = String::from_utf8_lossy(&bytes);
        survives("b.py", text.as_bytes()).unwrap();
        survives("b.ipynb", &notebook(&[&text, "import torch\n", &text])).unwrap();
    }

    #[test]
    fn any_text_that_looks_like_json(words in prop::collection::vec(
        prop::sample::select(vec!["{", "}", "[", "]", ":", ",", "\"cells\"", "\"source\"", "\"cell_type\"",
            "\"code\"", "\"metadata\"", "\"kernelspec\"", "\"import torch\\n\"", "\"\\ud800\"", "\"\\x\"",
            "1", "null", "\n", "\"", "\\", "\"worksheets\"", "\"input\""]), 0..40)
    ) {
        let _ = survives("a.ipynb", words.concat().as_bytes());
        let inside = format!("{{\"cells\": [{{\"cell_type\": \"code\", {}}}]}}", words.concat());
        let _ = survives("a.ipynb", inside.as_bytes());
    }

    #[test]
    fn any_words(words in prop::collection::vec(prop::sample::select(vec!["(", ")", "[", "]", "{", "}",
        "a", "1", "'", "\"\"\"", "f'", ".", ",", ":", ";", "=", "+", "*", "/", "?", "%", "!", "@", "\\", "#",
        "\n", "\n ", "\n  ", "\n?", "\n/", "\n,", "\n;", "\n%", "\n!", "\r", " ", "def", "class", "lambda",
        "if", "else", "for", "in", "with", "async", "await", "yield", "match", "case", "import", "from",
        "except", "try", "return", "del", "global", "not", "type", "is", "as", "\u{c}", "\u{feff}", "\0"]), 0..60)
    ) {
        let text = words.join(" ");
        survives("a.py", format!("import torch\n{text}").as_bytes()).unwrap();
        survives("a.ipynb", &notebook(&["import torch", &text, &words.concat()])).unwrap();
    }

    #[test]
    fn damaged_code(text in damaged(), other in damaged(), mark: bool) {
        let mark = if mark { "\u{feff}" } else { "" };
        survives("a.py", format!("{mark}{text}").as_bytes()).unwrap();
        let cells: Vec<&str> = text.split("# %%").chain([other.as_str()]).collect();
        survives("a.ipynb", &notebook(&cells)).unwrap();
        survives("a.ipynb", &old_notebook(&cells)).unwrap();
        // One byte a character, where that is possible.
        if text.chars().all(|character| u32::from(character) < 256) {
            let bytes = text.chars().map(|character| character as u8);
            let bytes: Vec<u8> = b"# coding: latin-1\n".iter().copied().chain(bytes).collect();
            survives("a.py", &bytes).unwrap();
        }
    }

    #[test]
    fn damaged_notebooks(text in damaged(), at: Index, byte: u8, cut: bool) {
        let mut file = notebook(&[&text, "import torch"]);
        let at = at.index(file.len());
        if cut {
            file.truncate(at);
            prop_assert!(survives("a.ipynb", &file).is_err());
        } else {
            file[at] = byte;
            let _ = survives("a.ipynb", &file);
        }
    }
}

#[test]
fn undamaged_code_has_findings_and_fixes_that_can_be_made() {
    let mut found = 0;
    for snippet in SNIPPETS.iter() {
        found += survives("a.py", snippet.as_bytes()).unwrap();
        survives("a.ipynb", &notebook(&[snippet])).unwrap();
    }
    assert!(found > 20, "{found} findings in all snippets");
}

/// What opens, and what closes: so often that Python still reads it, and so often that nothing can.
#[test]
fn depth_is_survived() {
    let patterns = [
        ("(", ")", 190),
        ("[", "]", 190),
        ("f(", ")", 190),
        ("{1: ", "}", 190),
        ("-", "", 900),
        ("not ", "", 200),
        ("a + ", "", 900),
        ("a * b @ ", "", 400),
        ("model.", "", 900),
        ("lambda x: ", "", 200),
        ("a if b else ", "", 190),
        ("f'{", "}'", 90),
        ("[x for x in ", "]", 40),
        ("torch.relu(", ").detach()", 90),
    ];
    let lines = [
        "{}",
        "for x in y:\n    total += {}",
        "def f(x):\n    return {}",
        "@{}\nclass A: pass",
    ];
    for (open, close, most) in patterns {
        for (times, line) in [most, 20_000]
            .into_iter()
            .flat_map(|it| lines.map(|line| (it, line)))
        {
            let nested = format!("{}x{}", open.repeat(times), close.repeat(times));
            let text = format!("import torch\n{}\n", line.replace("{}", &nested));
            survives("a.py", text.as_bytes()).unwrap();
        }
    }
    for open in ["-", "(", "a + ", "f'{", "a.", "[", "not ", "lambda: "] {
        for bytes in [32_000, 1 << 20] {
            let text = "import torch\n".to_owned() + &open.repeat(bytes / open.len());
            survives("a.py", text.as_bytes()).unwrap();
        }
    }
}

#[test]
fn blocks_in_blocks_are_survived() {
    for (head, times) in [
        ("if x:", 95),
        ("for x in y:", 95),
        ("def f(x):", 95),
        ("with x:", 95),
        ("try:", 2000),
    ] {
        let lines = (0..times).map(|depth| " ".repeat(depth) + head + "\n");
        let text = lines.collect::<String>() + &" ".repeat(times) + "total += loss\n";
        survives("a.py", format!("import torch\n{text}").as_bytes()).unwrap();
    }
}

#[test]
fn length_is_survived() {
    let loops =
        "for x, y in loader:\n    loss = model(x)\n    loss.backward()\n    total += loss\n";
    let function = |at| format!("def f{at}(x):\n    return f{}(x)\n", at + 1);
    let functions: Vec<String> = (0..500).map(function).collect();
    let texts = [
        loops.repeat(300),
        functions.concat(),
        format!("x = [{}]\n", "1, ".repeat(50_000)),
        format!("x = {{{}}}\n", "'a': torch.zeros(3), ".repeat(3000)),
        "x = 1\n".repeat(10_000),
        "if x:\n    y = 1\n".to_owned() + &"elif x:\n    y = 2\n".repeat(2000),
        format!("x = {}\n", "1".repeat(1 << 18)),
        format!("x = '{}'\n", "a".repeat(2 << 20)),
        "\n".repeat(1 << 20),
        "#\n".repeat(1 << 18),
        "x".repeat(2 << 20),
        "\0".repeat(1 << 14),
    ];
    for text in texts {
        survives("a.py", format!("import torch\n{text}").as_bytes()).unwrap();
    }
}

#[test]
fn outputs_of_any_size_are_passed_over() {
    let output = json!({"data": {"image/png": "A".repeat(20 << 20), "text/html": "<p>\n\"".repeat(1 << 18)}});
    let cells = json!([{"cell_type": "code", "outputs": [output], "source": ["import torch\n"]}]);
    let file = json!({"cells": cells, "nbformat": 4}).to_string();
    survives("a.ipynb", file.as_bytes()).unwrap();
}
