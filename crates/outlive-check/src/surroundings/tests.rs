//! Lines are marked with `# here`; the keeper is compared as text.

use super::{Surroundings, surroundings};
use crate::Source;
use crate::front::{TextRange, TextSize};

fn look(text: &str) -> (Surroundings, Option<String>) {
    let source = Source::new("train.py", text.as_bytes()).unwrap();
    let mark = text.find("# here").unwrap();
    let start = text[..mark].rfind('\n').map_or(0, |at| at + 1);
    let line = TextRange::new(TextSize::new(start as u32), TextSize::new(mark as u32));
    let found = surroundings(&source, line);
    let keeper = found.keeper.map(|it| text[it.range].to_owned());
    (found, keeper)
}

#[test]
fn the_statement_that_keeps_is_found_through_names() {
    let (found, keeper) = look(
        "def work():
    for batch in loader:
        out = model(batch)  # here
        if batch.is_last:
            loss = out.mean() + 1
            total += loss
    return total
",
    );
    assert_eq!(keeper.as_deref(), Some("total += loss"));
    assert_eq!(found.calls, ["model"]);
    assert!(found.in_loop.is_some());
    assert!(!found.carries_state);
    let (found, _) = look("for x in y:\n    out, state = cell(x, state)  # here\n");
    assert!(found.carries_state);
    let (found, _) = look("for x in y:\n    out, state = cell(x, state.detach())  # here\n");
    assert!(!found.carries_state);
}

#[test]
fn a_line_that_keeps_is_its_own_keeper() {
    for line in [
        "kept.append(torch.rand(9))",
        "cache[key] = load(key)",
        "frame = pd.concat([frame, load(key)])",
        "data += chunk",
        "self.seen.add(load(key))",
    ] {
        let (_, keeper) = look(&format!("while True:\n    {line}  # here\n"));
        assert_eq!(keeper.as_deref(), Some(line), "{line}");
    }
    let (_, keeper) = look("images = [load(path) for path in paths]  # here\n");
    assert!(keeper.is_some_and(|text| text.starts_with("images")));
}

#[test]
fn what_is_kept_without_its_history_is_told_from_what_is_kept_whole() {
    for (body, is_whole) in [
        ("out = model(x)  # here\n    kept.append(out)", true),
        ("kept.append(model(x).abs().mean())  # here", true),
        ("kept.append(model(x).detach())  # here", false),
        (
            "out = model(x)  # here\n    kept.append(out.detach().cpu())",
            false,
        ),
        (
            "out = model(x)  # here\n    row = out.numpy()\n    kept.append(row)",
            false,
        ),
    ] {
        let (found, _) = look(&format!("for x in loader:\n    {body}\n"));
        assert_eq!(found.keeper.map(|it| it.is_whole), Some(is_whole), "{body}");
    }
}

#[test]
fn what_is_let_go_of_has_no_keeper() {
    for body in [
        "out = model(x)  # here\n    print(out)",
        "out = model(x)  # here\n    kept.append(1)",
        "kept.append(model(x).mean().item())  # here",
        "total += float(model(x))  # here",
        "out = model(x)  # here\n    total += out.mean().item()\n    kept.append(float(out))",
        "print(model(x))  # here",
        "self.last = model(x)  # here",
        "total = model(x)  # here",
    ] {
        let (found, keeper) = look(&format!("for x in loader:\n    {body}\n"));
        assert_eq!(keeper, None, "{body}");
        assert!(found.in_loop.is_some());
    }
    let (_, keeper) = look("total = sum(load(path) for path in paths)  # here\n");
    assert_eq!(keeper, None);
}

#[test]
fn a_function_is_not_in_the_loop_around_its_definition() {
    let (found, _) = look("for x in y:\n    def load():\n        return read()  # here\n");
    assert_eq!(found.in_loop, None);
    let (found, _) = look("read()  # here\nfor x in y:\n    pass\n");
    assert_eq!(found.in_loop, None);
    let text = "class A:\n    def f(self):\n        read()  # here\n\nx = 1\n";
    let body = look(text).0.body.map(|range| &text[range]);
    assert_eq!(body, Some("def f(self):\n        read()"));
    let text = "with no_grad():\n    for x in y:\n        read(x)  # here\n";
    let body = look(text).0.body.map(|range| &text[range]);
    assert!(body.is_some_and(|body| body.starts_with("with no_grad():")));
    let (found, _) = look("for batch in ds.shuffle(9):  # here\n    step(batch)\n");
    assert!(found.in_loop.is_some());
    assert_eq!(found.calls, ["ds.shuffle"]);
}

#[test]
fn what_outlives_a_call_is_put_into_something_from_outside() {
    let outliving = |body: &str| {
        let text = format!("class A:\n    def get(self, key, into):\n{body}");
        let found = look(&text).0;
        found.outliving.map(|it| text[it.range].to_owned())
    };
    let kept = outliving("        self.cache[key] = load(key)  # here\n");
    assert_eq!(kept.as_deref(), Some("self.cache[key] = load(key)"));
    let kept = outliving(
        "        row = load(key)  # here\n        if row:\n            into.append(row)\n",
    );
    assert_eq!(kept.as_deref(), Some("into.append(row)"));
    let own = outliving("        rows = []\n        rows.append(load(key))  # here\n");
    assert_eq!(own, None);
    let number = outliving("        row = load(key)  # here\n        into.append(len(row))\n");
    assert_eq!(number, None);
}

#[test]
fn a_handler_is_told_from_what_it_handles() {
    let text = |first, second| {
        format!("def f():\n    try:\n        g(){first}\n    except E:\n        g(){second}\n")
    };
    assert!(!look(&text("  # here", "")).0.in_handler);
    assert!(look(&text("", "  # here")).0.in_handler);
}

#[test]
fn calls_into_a_c_library_are_seen() {
    let text =
        "import ctypes\nlibc = ctypes.CDLL(None)\nfor x in y:\n    kept.append(libc.strdup(x))";
    let (found, _) = look(&format!("{text}  # here\n"));
    assert!(found.calls_foreign_code);
    assert_eq!(found.calls, ["kept.append", "libc.strdup"]);
    let (found, _) = look("import numpy as np\nx = np.ones(9)  # here\n");
    assert!(!found.calls_foreign_code);
}

#[test]
fn broken_text_and_lines_that_are_not_there_give_nothing() {
    let (found, _) = look("def (:\n  x = = 1  # here\n");
    assert_eq!(found.keeper, None);
    let source = Source::new("train.py", b"x = 1\n").unwrap();
    let far = TextRange::new(TextSize::new(90), TextSize::new(99));
    assert_eq!(surroundings(&source, far), Surroundings::default());
}
