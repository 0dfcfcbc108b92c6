//! A diagnosis as text: what happened and why, memory, proof, who held it, what to do, what it was not.

use std::io::{self, Write};

use outlive_diagnose::Diagnosis;
use outlive_diagnose::VerdictId;
use outlive_diagnose::growth::LastLarge;
use outlive_diagnose::signal;
use outlive_diagnose::size::{Size, Span};
use outlive_diagnose::{ProcessView, Role};

use super::visible::{self, short_cgroups, visible};
use super::{Style, Tone, cause, cut, glued, holding};
use crate::commands::why::Explanation;
use crate::local_time;
use crate::uncaught;

/// Lines of what it was not, and of what could not be looked at.
const PARAGRAPH: usize = 3;
/// Growth from this size on is told.
const WORTH_TELLING: u64 = 16 << 20;
/// Columns that a command or the name of a notebook may take.
const COMMAND: usize = 48;
/// Other processes shown.
const PROCESSES: usize = 6;

/// Prints it.
pub(crate) fn print(
    explanation: &Explanation,
    out: &mut dyn Write,
    style: Style,
) -> io::Result<()> {
    let diagnosis = &explanation.diagnosis;
    let verdict = &diagnosis.verdict;
    let good = matches!(verdict.id, VerdictId::Finished | VerdictId::Running);
    let tone = if good { Tone::Good } else { Tone::Bad };
    let summary = short_cgroups(&visible(&verdict.summary));
    for line in super::wrap(&relative(&summary, &explanation.directory), style.width) {
        writeln!(out, "{}", style.paint(tone, &line))?;
    }
    writeln!(
        out,
        "{}",
        style.paint(Tone::Faint, &cut(&subtitle(explanation), style.width))
    )?;
    writeln!(out)?;
    let section = |out: &mut dyn Write, label: &str, lines: Vec<String>| {
        let lines: Vec<String> = lines
            .into_iter()
            .map(|line| {
                if is_quotation(&line) {
                    line
                } else {
                    relative(&line, &explanation.directory)
                }
            })
            .collect();
        style.section(out, label, &lines)
    };
    section(out, "cause", cause::lines(&diagnosis.causes))?;
    section(out, "change", cause::change(&diagnosis.causes))?;
    section(out, "memory", vec![memory_line(explanation)])?;
    section(out, "proof", verdict.evidence.clone())?;
    section(
        out,
        "thread",
        uncaught::in_threads(&diagnosis.thread_exceptions),
    )?;
    if matters(diagnosis) {
        section(out, "held", holding::lines(explanation, style))?;
    }
    section(out, "last", last_line(diagnosis).into_iter().collect())?;
    section(out, "try", verdict.advice.clone())?;
    section(out, "not", joined(&verdict.ruled_out, style))?;
    section(out, "unseen", joined(&verdict.not_checked, style))?;
    section(out, "tree", process_lines(explanation))?;
    section(out, "note", diagnosis.remarks.clone())
}

/// One short paragraph: these lines are read only when somebody doubts. JSON has them all.
fn joined(lines: &[String], style: Style) -> Vec<String> {
    if lines.is_empty() {
        return Vec::new();
    }
    let width = style.width.saturating_sub(super::MARGIN + super::LABEL);
    let mut shown = lines.len();
    loop {
        let mut parts: Vec<String> = lines.iter().take(shown).map(|line| glued(line)).collect();
        if shown < lines.len() {
            parts.push("…".to_owned());
        }
        let paragraph = parts.join(" · ");
        if shown <= 1 || super::wrap(&paragraph, width).len() <= PARAGRAPH {
            return vec![paragraph];
        }
        shown -= 1;
    }
}

/// Whether a line quotes what somebody else wrote, which is shown as it was found.
fn is_quotation(line: &str) -> bool {
    [
        "standard error",
        "uncaught exception",
        "kernel log",
        "journal",
    ]
    .iter()
    .any(|source| line.starts_with(source))
}

/// Files below the directory the program was started in are named from there.
pub(super) fn relative(line: &str, directory: &str) -> String {
    if directory.len() < 2 {
        line.to_owned()
    } else {
        line.replace(&format!("{directory}/"), "")
    }
}

/// Who held a few MiB is of no interest where memory has nothing to do with the end.
fn matters(diagnosis: &Diagnosis) -> bool {
    let largest = diagnosis
        .holders
        .first()
        .map_or(0, |holder| holder.bytes(diagnosis.moment));
    diagnosis.verdict.id.is_about_memory() || largest >= WORTH_TELLING
}

/// `proved · run … · ran 12 s, ended 14:03:22 (3 min ago) · python train.py`.
fn subtitle(explanation: &Explanation) -> String {
    let verdict = &explanation.diagnosis.verdict;
    let ago = |time: u64| {
        let asked = explanation.explained_at?;
        Some(format!("{} ago", Span(asked.saturating_sub(time))))
    };
    let time = if let Some(end) = explanation.ended_at {
        let length = Span(end.saturating_sub(explanation.started_at));
        let clock = local_time::of_day(end);
        let ended = ago(end).map(|ago| format!(", ended {clock} ({ago})"));
        format!("ran {length}{}", ended.unwrap_or_default())
    } else {
        let clock = local_time::of_day(explanation.started_at);
        let started = ago(explanation.started_at).map(|ago| format!(" ({ago})"));
        format!("started {clock}{}", started.unwrap_or_default())
    };
    let confidence = verdict.confidence.as_str();
    let what = what_ran(explanation);
    format!("{confidence} · run {} · {time} · {what}", explanation.id)
}

/// `python train.py`, or the notebook: the command of its kernel is Jupyter's, and nobody typed it.
fn what_ran(explanation: &Explanation) -> String {
    let Some(notebook) = &explanation.notebook else {
        return cut(&visible::command(&explanation.command), COMMAND);
    };
    match notebook.session.as_deref().filter(|it| !it.is_empty()) {
        Some(session) => {
            // JSON has the whole path.
            let file = session.rsplit('/').find(|part| !part.is_empty());
            let name = visible(file.unwrap_or(session));
            format!("notebook {}", super::cut_middle(&name, COMMAND))
        }
        None => "a notebook".to_owned(),
    }
}

fn memory_line(explanation: &Explanation) -> String {
    let diagnosis = &explanation.diagnosis;
    let memory = &diagnosis.memory;
    let goes_on = diagnosis.verdict.id == VerdictId::Running;
    let mut parts = Vec::new();
    match memory.limit {
        Some(limit) => parts.push(format!("limit {} ({})", Size(limit), memory.limit_source)),
        None => parts.push("no limit known".to_owned()),
    }
    if memory.peak > 0 {
        let tree = whole_tree(memory.peak, explanation.tree_peak);
        parts.push(format!("peak {}{tree}", Size(memory.peak)));
    }
    if memory.at_end > 0 {
        let when = if goes_on { "now" } else { "at end" };
        parts.push(format!("{when} {}", Size(memory.at_end)));
    }
    // Worth a word where others share the limit, or pages of files are many.
    let resident = memory.resident_at_end;
    if resident.abs_diff(memory.at_end) > memory.at_end / 10 && resident > 0 {
        parts.push(format!("of this process {} resident", Size(resident)));
    }
    // A process that lives for moments is gone before it is looked at twice.
    if let Some(recorded) = memory.tracked_at_end.filter(|it| *it / 2 > memory.peak) {
        parts.push(format!("recorded {}", Size(recorded)));
    }
    let growth = &diagnosis.growth;
    if growth.bytes >= WORTH_TELLING {
        parts.push(format!(
            "last {}: +{}",
            Span(growth.window),
            Size(growth.bytes)
        ));
    }
    parts
        .iter()
        .map(|part| glued(part))
        .collect::<Vec<_>>()
        .join(" · ")
}

/// What is compared with a limit may be one process, or a cgroup that the run shares with others.
fn whole_tree(peak: u64, tree: u64) -> String {
    let differs = peak.abs_diff(tree) > peak.min(tree) / 10 && peak.max(tree) >= WORTH_TELLING;
    if differs && tree > 0 {
        format!(" (whole tree {})", Size(tree))
    } else {
        String::new()
    }
}

/// The last large request, where memory may have to do with the end.
fn last_line(diagnosis: &Diagnosis) -> Option<String> {
    let id = diagnosis.verdict.id;
    let unknown = matches!(id, VerdictId::KilledFromOutside | VerdictId::SupervisorLost);
    if !id.is_about_memory() && !unknown {
        return None;
    }
    // What Outlive did is in the proof, and is what mattered.
    if diagnosis.intervention.is_some() {
        return None;
    }
    let LastLarge {
        bytes,
        place,
        before_end,
        refused,
        ..
    } = diagnosis.growth.last_large.as_ref()?;
    let what = if *refused { "refused: " } else { "" };
    let when = Span(*before_end);
    let through = match (place.line(), place.thread()) {
        (Some(_), Some(thread)) => format!(" ({thread})"),
        _ => String::new(),
    };
    Some(format!(
        "{what}{} at {}{through}, {when} before the end",
        Size(*bytes),
        place.describe()
    ))
}

/// Deaths in their order, then processes that are large beside the one explained.
fn process_lines(explanation: &Explanation) -> Vec<String> {
    let diagnosis = &explanation.diagnosis;
    let is_dead = |view: &&ProcessView| {
        let recorded = view.facts.black_box.is_some();
        matches!(view.role, Role::First | Role::Secondary)
            || (view.role == Role::Earlier && recorded)
    };
    let mut dead: Vec<&ProcessView> = diagnosis.processes.iter().filter(is_dead).collect();
    dead.sort_by_key(|view| view.facts.ended_at);
    let is_large = |view: &&ProcessView| {
        !is_dead(view)
            && Some(view.facts.id) != diagnosis.shown
            && view.facts.peak_resident >= (diagnosis.memory.resident_peak / 10).max(WORTH_TELLING)
    };
    let mut large: Vec<&ProcessView> = diagnosis.processes.iter().filter(is_large).collect();
    large.sort_by_key(|view| std::cmp::Reverse(view.facts.peak_resident));
    let views: Vec<&ProcessView> = dead.into_iter().chain(large).collect();
    if views.len() < 2 && views.iter().all(|view| view.role == Role::First) {
        return Vec::new();
    }
    let mut lines: Vec<String> = views
        .iter()
        .take(PROCESSES)
        .map(|view| process_line(explanation, view))
        .collect();
    if views.len() > PROCESSES {
        lines.push(format!("and {} more", views.len() - PROCESSES));
    }
    lines
}

fn process_line(explanation: &Explanation, view: &ProcessView) -> String {
    let facts = &view.facts;
    let status = facts
        .status
        .map_or_else(|| "no end seen".to_owned(), signal::describe);
    let time = facts.ended_at.map_or_else(String::new, |time| {
        format!(
            " at {}",
            Span(time.saturating_sub(explanation.started_monotonic))
        )
    });
    let mark = match view.role {
        Role::First => "  first death",
        Role::Secondary => "  after it",
        Role::Earlier => "  before it",
        Role::Fine | Role::Unknown => "",
    };
    let peak = match facts.peak_resident {
        0 => String::new(),
        bytes => format!(", peak {}", Size(bytes)),
    };
    format!(
        "{:>7} {:<15} {status}{time}{peak}{mark}",
        facts.id.pid, facts.name
    )
}
