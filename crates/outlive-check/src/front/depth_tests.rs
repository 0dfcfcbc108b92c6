//! Texts that are deep in every way that Python has, and in some that it does not have.

use proptest::prelude::*;
use ruff_python_ast::visitor::source_order::SourceOrderVisitor;
use ruff_python_parser::{Mode, ParseOptions};
use ruff_text_size::{TextRange, TextSize};

use super::{Depth, LIMIT, is_too_deep, measure};
use crate::Source;
use crate::front::Tree;

/// The depth of the tree that the parser builds.
fn depth(text: &str) -> u32 {
    let options = ParseOptions::from(Mode::Module);
    let whole = TextRange::up_to(TextSize::of(text));
    let parsed = ruff_python_parser::parse_cells_unchecked(text, [whole], &options);
    let mut visitor = Depth::default();
    visitor.visit_body(&parsed.syntax().body);
    visitor.deepest
}

/// Runs on a stack of the size that a check is promised.
fn on_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(crate::STACK_SIZE);
        thread.spawn_scoped(scope, work).unwrap().join().unwrap()
    })
}

fn bound(text: &str) -> u32 {
    measure(text, Mode::Module, u32::MAX)
}

/// Pairs of what opens and what closes; repeated, they nest.
const DEEP: [(&str, &str); 35] = [
    ("(", ")"),
    ("[", "]"),
    ("{a: ", "}"),
    ("f(a, b=", ")"),
    ("a[b:", "]"),
    ("-", ""),
    ("not ", ""),
    ("a + ", ""),
    ("a ** -", ""),
    ("a == not ", ""),
    ("a.", ""),
    ("lambda a, b: ", ""),
    ("a + lambda a, b: c or ", ""),
    ("a if b else ", ""),
    ("a if b or c else ", ""),
    ("await ", ""),
    ("yield a, ", ""),
    ("yield from a, ", ""),
    ("a := b or ", ""),
    ("f'{", "}'"),
    ("f'{a:{", "}}'"),
    ("[a for b in ", "]"),
    ("[a for b, c in d if ", "]"),
    ("if a: b, ", ""),
    ("while a: for b in c: ", ""),
    ("f(", ").a.b.c.d"),
    ("async ", ""),
    ("with a: ", ""),
    ("+ and ", ""),
    ("def[1\n", ""),
    ("* None and ", ""),
    (") lambda\n", ""),
    ("lambda a\n def + ", ""),
    ("[ ) \n", ""),
    ("} ; [ ", ""),
];

#[test]
fn what_nests_is_measured() {
    on_large_stack(|| {
        for (open, close) in DEEP {
            let text = format!("{}x{}", open.repeat(300), close.repeat(300));
            assert!(depth(&text) <= bound(&text), "{open}: {}", depth(&text));
        }
    });
}

#[test]
fn what_is_too_deep_is_refused() {
    for (open, close) in DEEP {
        let text = format!("{}x{}", open.repeat(2000), close.repeat(2000));
        assert!(is_too_deep(&text, Mode::Module), "{open}");
        assert!(is_too_deep(&open.repeat(2000), Mode::Module), "{open}");
    }
    for open in ["(", "-", "a + ", "f'{"] {
        assert!(is_too_deep(&open.repeat(100_000), Mode::Module), "{open}");
    }
    let blocks = |times| (0..times).map(|at| " ".repeat(at) + "if x:\n").collect();
    let text: String = blocks(1200);
    assert!(is_too_deep(&text, Mode::Module));
}

#[test]
fn long_is_not_deep() {
    let cases = [
        format!(
            "x = [{}]",
            "-1, [a + b, not c], lambda x: x if x else f(y), ".repeat(5000)
        ),
        format!("x = {}False", "a == 1 or b.c(2) > 3 and ".repeat(5000)),
        format!("x = ({})", "'text'\n f'{a}' ".repeat(5000)),
        "if a + b: c = d.e(f)[g] - 1\n".repeat(5000),
        "if a:\n    b\n".to_owned() + &"elif a:\n    b\n".repeat(5000),
        format!(
            "x = (1, 2\n{}",
            "def f(a):\n    return a + b\n".repeat(5000)
        ),
        format!("x = {}", "a + ".repeat(900) + "b"),
    ];
    for text in cases {
        assert!(!is_too_deep(&text, Mode::Module), "{}", &text[..40]);
    }
}

/// Words and signs in any order; a part of it many times, so that whatever can nest does.
fn soup() -> impl Strategy<Value = String> {
    let tokens = "( ) [ ] { } a 1 's' . , : ; = := + - * ** @ ~ < -> not and or in is lambda if \
        else for await async yield from f' f\" ' \" def class return import with as try except \
        while match case type del ! ? None ... print raise elif #";
    let mut tokens: Vec<&str> = tokens.split_whitespace().collect();
    tokens.extend(["\n", "\n ", "\n  ", "\\\n"]);
    let words = move |most| {
        prop::collection::vec(prop::sample::select(tokens.clone()), 0..most)
            .prop_map(|words| words.join(" ") + " ")
    };
    let parts = (words(4), words(7), words(4), words(4));
    parts.prop_map(|(before, middle, inner, close)| {
        let times = LIMIT as usize + 200;
        before + &middle.repeat(times) + &inner + &close.repeat(times)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn no_tree_is_too_deep(text in soup()) {
        let depth = on_large_stack(|| {
            let tree = Tree::parse(&Source::new("a.py", text.as_bytes()).unwrap());
            let mut visitor = Depth::default();
            visitor.visit_body(tree.body());
            visitor.deepest
        });
        prop_assert!(depth <= LIMIT, "{depth}");
    }
}

/// What the measure does not see is left out when it has been built, and is not dropped.
#[test]
fn a_tree_that_was_read_as_a_comment_is_left_out() {
    let text = "f' { a b # ".to_owned() + &"{ ".repeat(6000);
    assert!(!is_too_deep(&text, Mode::Module));
    let source = Source::new("a.py", text.as_bytes()).unwrap();
    assert!(on_large_stack(|| Tree::parse(&source).is_too_deep()));
}

#[test]
fn the_limit_is_what_a_stack_can_hold() {
    // A walk with frames of 1 KiB and a few of them for each level.
    assert!(LIMIT as usize * 16 * 1024 <= crate::STACK_SIZE);
}
