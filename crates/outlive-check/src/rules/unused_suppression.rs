//! A comment silences nothing. The comments are read, and matched with findings, in
//! `suppression`; this file says it.

use ruff_text_size::TextRange;

use crate::quoted::quoted;
use crate::{Applicability, Edit, Finding, Fix, Level, Rule, Settings, Source};

/// `OL901`.
pub(super) static RULE: Rule = Rule {
    code: "OL901",
    name: "unused_suppression",
    cause: "",
    level: Level::Warning,
    summary: "A comment silences nothing",
    page: include_str!("../../../../docs/rules/unused_suppression.md"),
    // Known only when all other rules have spoken.
    find: |_, _| {},
};

/// Rules whose findings depend on the machine: silent here, they may speak on another.
const ON_SOME_MACHINES: [&str; 6] = [
    "autotune_in_container",
    "oversized_buffer",
    "oversized_grid",
    "oversized_layer",
    "oversized_tensor",
    "shuffle_after_batch",
];

/// Whether silence of a rule shows that a comment is not needed.
pub(crate) fn is_certain(rule: &Rule, settings: &Settings) -> bool {
    let is_on = settings.selection.wants(rule, rule.level);
    is_on && *rule != RULE && !ON_SOME_MACHINES.contains(&rule.name)
}

/// A comment, or these names in it, that silences nothing.
pub(crate) fn unused(source: &Source, range: TextRange, names: &[&str], removal: Edit) -> Finding {
    let (what, verb) = match names {
        [] => (quoted(&source.text()[range]), "silences"),
        [name] => (quoted(name), "silences"),
        [first @ .., last] => {
            let first: Vec<String> = first.iter().map(|name| quoted(name)).collect();
            let names = format!("{} and {}", first.join(", "), quoted(last));
            (names, "silence")
        }
    };
    let title = match names {
        [] => "Remove the comment",
        _ => "Remove what silences nothing",
    };
    let mut finding = finding(range, format!("{what} {verb} nothing here"), title);
    finding.fix = Some(Fix {
        title: title.to_owned(),
        applicability: Applicability::Safe,
        edits: vec![removal],
    });
    finding
}

/// A name that no rule has.
pub(crate) fn unknown(range: TextRange, name: &str) -> Finding {
    let help = "Take the code or the name of a rule, such as `OL101`";
    finding(range, format!("No rule is called {}", quoted(name)), help)
}

/// A comment for a whole file that is not where it counts.
pub(crate) fn misplaced(range: TextRange) -> Finding {
    let message = "`ignore-file` counts only above the first statement";
    finding(range, message.to_owned(), "Move it to the top of the file")
}

fn finding(range: TextRange, message: String, help: &str) -> Finding {
    Finding {
        rule: &RULE,
        level: Level::Warning,
        range,
        message,
        witness: Vec::new(),
        help: help.to_owned(),
        fix: None,
        bytes: None,
        region: range,
    }
}
