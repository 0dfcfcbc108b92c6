//! A diagnosis as text: what happened, memory, proof, who held it, what to do, what it was not.

use std::io::{self, Write};

use outlive_diagnose::Diagnosis;
use outlive_diagnose::VerdictId;
use outlive_diagnose::growth::LastLarge;
use outlive_diagnose::holders::{Holder, Moment};
use outlive_diagnose::signal;
use outlive_diagnose::size::{Size, Span};
use outlive_diagnose::{ProcessView, Role};

use super::{Style, Tone, cut};
use crate::commands::why::Explanation;

/// Holders shown; JSON has them all.
const HOLDERS: usize = 5;
/// Growth from this size on is told.
const WORTH_TELLING: u64 = 16 << 20;
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
    for line in super::wrap(
        &relative(&verdict.summary, &explanation.directory),
        style.width,
    ) {
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
            .map(|line| relative(&line, &explanation.directory))
            .collect();
        style.section(out, label, &lines)
    };
    section(out, "memory", vec![memory_line(diagnosis)])?;
    section(out, "proof", verdict.evidence.clone())?;
    section(out, "held", holder_lines(explanation, style))?;
    section(out, "last", last_line(diagnosis).into_iter().collect())?;
    section(out, "try", verdict.advice.clone())?;
    section(out, "not", joined(&verdict.ruled_out))?;
    section(out, "unseen", joined(&verdict.not_checked))?;
    section(out, "tree", process_lines(explanation))?;
    section(out, "note", diagnosis.remarks.clone())
}

/// One paragraph: these lines are read only when somebody doubts.
fn joined(lines: &[String]) -> Vec<String> {
    if lines.is_empty() {
        Vec::new()
    } else {
        vec![lines.join(" · ")]
    }
}

/// Files below the directory the program was started in are named from there.
fn relative(line: &str, directory: &str) -> String {
    if directory.len() < 2 {
        line.to_owned()
    } else {
        line.replace(&format!("{directory}/"), "")
    }
}

/// `proved · run … · python train.py · ran 12 s, ended 3 min ago`.
fn subtitle(explanation: &Explanation) -> String {
    let verdict = &explanation.diagnosis.verdict;
    let since = |time: u64| Span(explanation.explained_at.saturating_sub(time));
    let time = match explanation.ended_at {
        Some(end) => {
            let length = Span(end.saturating_sub(explanation.started_at));
            format!("ran {length}, ended {} ago", since(end))
        }
        None => format!("started {} ago", since(explanation.started_at)),
    };
    let confidence = verdict.confidence.as_str();
    let command = cut(&explanation.command.join(" "), 48);
    format!("{confidence} · run {} · {time} · {command}", explanation.id)
}

fn memory_line(diagnosis: &Diagnosis) -> String {
    let memory = &diagnosis.memory;
    let mut parts = Vec::new();
    match memory.limit {
        Some(limit) => parts.push(format!("limit {} ({})", Size(limit), memory.limit_source)),
        None => parts.push("no limit known".to_owned()),
    }
    if memory.peak > 0 {
        parts.push(format!("peak {}", Size(memory.peak)));
        parts.push(format!("at end {}", Size(memory.at_end)));
    } else if let Some(recorded) = memory.tracked_peak {
        parts.push(format!(
            "gone before its size was seen, recorded {}",
            Size(recorded)
        ));
    }
    // Worth a word where other processes share the limit.
    let shared = memory
        .used_at_end
        .filter(|used| *used / 10 > memory.at_end / 9);
    if let Some(used) = shared.filter(|_| memory.limit_source != "machine") {
        parts.push(format!("all under the limit {}", Size(used)));
    }
    let growth = &diagnosis.growth;
    if growth.bytes >= WORTH_TELLING {
        parts.push(format!(
            "last {}: +{}",
            Span(growth.window),
            Size(growth.bytes)
        ));
    }
    parts.join("   ")
}

fn holder_lines(explanation: &Explanation, style: Style) -> Vec<String> {
    let diagnosis = &explanation.diagnosis;
    let moment = diagnosis.moment;
    let Some(largest) = diagnosis.holders.first().map(|holder| holder.bytes(moment)) else {
        return Vec::new();
    };
    let when = match (moment, diagnosis.verdict.id) {
        (_, VerdictId::Running) => "now",
        (Moment::End, _) => "when it ended",
        (Moment::Peak, _) => "when it held most",
    };
    let pid = diagnosis.shown.map_or(0, |process| process.pid);
    let mut lines = vec![format!("by line, {when} (pid {pid}; ~ means estimated)")];
    let worth_a_line = |holder: &&Holder| holder.bytes(moment) >= largest / 50;
    let shown: Vec<&Holder> = diagnosis
        .holders
        .iter()
        .take(HOLDERS)
        .filter(worth_a_line)
        .collect();
    let places: Vec<String> = shown
        .iter()
        .map(|holder| relative(&holder.place.describe(), &explanation.directory))
        .collect();
    let widest = places
        .iter()
        .map(|place| place.chars().count())
        .max()
        .unwrap_or(0)
        .min(44);
    for (holder, place) in shown.iter().zip(&places) {
        lines.push(holder_line(holder, place, widest, moment, style));
        lines.extend(below(holder));
    }
    if let Some(below) = diagnosis.memory.unexplained() {
        let below = Size(below).to_string();
        let whose = if diagnosis.memory.forked {
            "more resident: shared with the process it was forked from, or below Python"
        } else {
            "more resident, below Python: no line (native libraries, the heap's own)"
        };
        lines.push(format!("{below:>10}  {whose}"));
    }
    lines
}

fn holder_line(
    holder: &Holder,
    place: &str,
    widest: usize,
    moment: Moment,
    style: Style,
) -> String {
    let mark = if holder.exact { "" } else { "~" };
    let size = format!("{mark}{}", Size(holder.bytes(moment)));
    let line = match &holder.text {
        Some(text) => format!("{size:>10}  {place:<widest$}  {text}"),
        None => format!("{size:>10}  {place}"),
    };
    cut(
        &line,
        style.width.saturating_sub(super::MARGIN + super::LABEL),
    )
}

/// How the memory came about, where that is not the line itself.
fn below(holder: &Holder) -> Option<String> {
    let via = holder.via.as_ref().map(|via| format!("via {via}"));
    let created = holder
        .place
        .created_at()
        .map(|place| format!("thread created at {place}"));
    via.or(created).map(|text| format!("{:>10}  {text}", ""))
}

/// The last large request, where memory may have to do with the end.
fn last_line(diagnosis: &Diagnosis) -> Option<String> {
    let id = diagnosis.verdict.id;
    let unknown = matches!(id, VerdictId::KilledFromOutside | VerdictId::SupervisorLost);
    if !id.is_about_memory() && !unknown {
        return None;
    }
    let LastLarge {
        bytes,
        place,
        before_end,
        refused,
    } = diagnosis.growth.last_large.as_ref()?;
    let what = if *refused { "refused: " } else { "" };
    let when = Span(*before_end);
    Some(format!(
        "{what}{} at {}, {when} before the end",
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
            && view.facts.peak_resident >= (diagnosis.memory.peak / 10).max(WORTH_TELLING)
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
    format!(
        "{:>7} {:<15} {status}{time}, peak {}{mark}",
        facts.id.pid,
        facts.name,
        Size(facts.peak_resident)
    )
}
