//! A session of TensorFlow is opened again and again, kept, and never closed.

use crate::front::Ranged;
use crate::model::File;
use crate::model::facts::{Call, Scope};
use crate::model::library::TF_SESSION;
use crate::model::value::Value;
use crate::{Finding, Level, Note, Rule};

use super::rounds::{is_many, loops_around};

/// `OL501`.
pub(super) static RULE: Rule = Rule {
    code: "OL501",
    name: "session_not_closed",
    cause: "session_not_closed",
    level: Level::Warning,
    summary: "A session is opened again and again, kept, and never closed",
    page: include_str!("../../../../docs/rules/session_not_closed.md"),
    find,
};

fn find(file: &File<'_>, found: &mut Vec<Finding>) {
    for scope in &file.scopes {
        let opened = scope.calls.iter().filter(|call| opens(call));
        found.extend(opened.filter_map(|call| finding(file, scope, call)));
    }
}

/// Whether a call opens a session, and not as a context that closes it.
fn opens(call: &Call<'_>) -> bool {
    let session = call.result.as_object();
    session.is_some_and(|it| &*it.class == TF_SESSION && it.range == call.node.range())
}

fn finding(file: &File<'_>, scope: &Scope<'_>, call: &Call<'_>) -> Option<Finding> {
    let loops = loops_around(scope, &call.context);
    let is_context = file.slice(call.statement).starts_with("with");
    if is_context || !is_many(&loops) || is_closed(file, call) {
        return None;
    }
    let around = loops.last()?;
    let keep = scope
        .keeps
        .iter()
        .find(|keep| keep.value.id.is_some() && keep.value.id == call.result.id);
    let is_interactive = call.name == "InteractiveSession";
    let opened = file.short(&*call.node.func);
    let (level, message) = match keep {
        Some(keep) => {
            let keeper = file.short(keep.keeper);
            let text =
                format!("`{keeper}` keeps a session of each round, with all of its variables");
            (Level::Warning, text)
        }
        None if is_interactive => {
            let text = format!(
                "Each round opens another `{opened}` and leaves it on TensorFlow's stack, with all of its variables"
            );
            (Level::Warning, text)
        }
        None => {
            let text = format!("Each round opens another `{opened}` and leaves its end to Python");
            (Level::Info, text)
        }
    };
    let witness = vec![Note {
        range: around.header,
        text: "each round opens one, and nothing closes it".to_owned(),
    }];
    Some(Finding {
        rule: &RULE,
        level,
        range: call.node.range(),
        message,
        witness,
        help:
            "Open one session before the loop, or write `with tf.compat.v1.Session() as session:`"
                .to_owned(),
        fix: None,
        bytes: None,
        region: around.range,
    })
}

/// Whether something closes it: `session.close()`, or `close` of what may be a session.
fn is_closed(file: &File<'_>, opened: &Call<'_>) -> bool {
    let calls = file.scopes.iter().flat_map(|scope| &scope.calls);
    let mut closings = calls.filter(|call| call.name == "close");
    closings.any(|call| {
        let receiver = call.receiver.as_ref();
        match receiver.and_then(Value::as_object) {
            Some(session) => session.range == opened.node.range(),
            None => file
                .text(&*call.node.func)
                .to_ascii_lowercase()
                .contains("sess"),
        }
    })
}
