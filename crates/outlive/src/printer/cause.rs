//! Why memory ran out, as text: what happened and where, what shows it, what to change.

use outlive_diagnose::{Cause, Sureness};

/// Lines of evidence shown; JSON has them all.
const EVIDENCE: usize = 4;

/// What the best cause is, where, and why that is believed.
pub(super) fn lines(causes: &[Cause]) -> Vec<String> {
    let Some(cause) = causes.first() else {
        return Vec::new();
    };
    let id = cause.id.as_str();
    let sureness = cause.sureness.as_str();
    let mut lines = vec![format!("{} ({id}, confidence {sureness})", cause.summary)];
    lines.extend(place(cause).map(|place| format!("at {place}")));
    let evidence = cause.evidence.iter().take(EVIDENCE);
    lines.extend(evidence.map(|line| format!("- {line}")));
    lines
}

/// What to change for it, and which other causes are as likely.
pub(super) fn change(causes: &[Cause]) -> Vec<String> {
    let Some(cause) = causes.first() else {
        return Vec::new();
    };
    let mut lines = vec![cause.change.clone()];
    if let Some(rule) = cause.rule {
        let code = rule.code;
        lines.push(format!(
            "{code} of `outlive check`, see `outlive explain {code}`"
        ));
    }
    let others = causes.iter().skip(1);
    let others = others.filter(|it| it.sureness >= cause.sureness.min(Sureness::Medium));
    lines.extend(others.map(|other| {
        let place = place(other).map_or_else(String::new, |place| format!(" at {place}"));
        format!("Or it is {}{place}: {}", other.id.as_str(), other.change)
    }));
    lines
}

/// `train.py:40: total_loss += loss`.
fn place(cause: &Cause) -> Option<String> {
    let place = cause.line.as_ref()?.describe();
    Some(match &cause.text {
        Some(text) => format!("{place}: {text}"),
        None => place,
    })
}
