//! The JSON that `why`, `list` and `explain` print: a documented shape (`docs/why-json.md`), kept
//! apart from the types inside so that it changes only on purpose. What `check` prints is in
//! `check/report`.

use std::io::{self, Write};

use outlive_check::{Applicability, Rule};
use outlive_diagnose::facts::{BudgetFacts, EndStatus, ProcessFacts};
use outlive_diagnose::growth::Growth;
use outlive_diagnose::holders::{Holder, Moment};
use outlive_diagnose::interventions::{Deed, Intervention};
use outlive_diagnose::memory::Memory;
use outlive_diagnose::notebook::Notebook;
use outlive_diagnose::place::{CellLine, Place};
use outlive_diagnose::reserved::Reservation;
use outlive_diagnose::signal;
use outlive_diagnose::traceback;
use outlive_diagnose::{Cause, Diagnosis, Liveness, ProcessView};
use serde_json::{Value, json};

use crate::commands::list::Listed;
use crate::commands::why::Explanation;

/// Version of the shape. Fields are added without a new version, never renamed or removed.
const VERSION: u32 = 1;

/// Prints an explanation.
pub fn write_why(explanation: &Explanation, out: &mut dyn Write) -> io::Result<()> {
    write(&why(explanation), out)
}

/// Prints the list of runs.
pub fn write_list(runs: &[Listed], out: &mut dyn Write) -> io::Result<()> {
    let runs: Vec<Value> = runs.iter().map(listed).collect();
    write(&json!({ "version": VERSION, "runs": runs }), out)
}

/// Prints rules with their pages.
pub fn write_rules(rules: &[&Rule], out: &mut dyn Write) -> io::Result<()> {
    let rules: Vec<Value> = rules.iter().map(|it| rule(it)).collect();
    write(&json!({ "version": VERSION, "rules": rules }), out)
}

fn write(value: &Value, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    writeln!(out)
}

fn why(explanation: &Explanation) -> Value {
    let diagnosis = &explanation.diagnosis;
    let verdict = &diagnosis.verdict;
    let start = explanation.started_monotonic;
    json!({
        "version": VERSION,
        "run": {
            "id": explanation.id,
            "command": explanation.command,
            "started_at_ns": explanation.started_at,
            "ended_at_ns": explanation.ended_at,
            "notebook": explanation.notebook.as_ref().map(notebook),
            "last_cell": last_cell(explanation),
        },
        "verdict": {
            "id": verdict.id.as_str(),
            "confidence": verdict.confidence.as_str(),
            "summary": verdict.summary,
            "evidence": verdict.evidence,
            "ruled_out": verdict.ruled_out,
            "not_checked": verdict.not_checked,
        },
        "cause": diagnosis.causes.first().map(cause),
        "causes": diagnosis.causes.iter().map(cause).collect::<Vec<_>>(),
        "advice": verdict.advice,
        "first_death": diagnosis.first_death.as_ref().map(|death| first_death(death, start)),
        "memory": memory(diagnosis, explanation.tree_peak),
        "budget": diagnosis.budget.as_ref().map(budget),
        "intervention": diagnosis.intervention.as_ref().map(intervention),
        "growth": growth(&diagnosis.growth),
        "holders_pid": diagnosis.shown.map(|process| process.pid),
        "holders_moment": match diagnosis.moment { Moment::End => "end", Moment::Peak => "peak" },
        "holders": diagnosis.holders.iter().map(holder).collect::<Vec<_>>(),
        "reserved": diagnosis.reserved.iter().map(reservation).collect::<Vec<_>>(),
        "processes": diagnosis.processes.iter().map(|it| process(it, start)).collect::<Vec<_>>(),
        "exceptions": exceptions(explanation),
        "threads": threads(diagnosis),
        "remarks": diagnosis.remarks,
    })
}

fn cause(cause: &Cause) -> Value {
    let line = cause.line.as_ref();
    json!({
        "id": cause.id.as_str(),
        "confidence": cause.sureness.as_str(),
        "summary": cause.summary,
        "file": line.map(|line| &line.file),
        "line": line.and_then(|line| line.line),
        "cell": line.and_then(|line| line.cell.as_ref()).map(cell),
        "text": cause.text,
        "evidence": cause.evidence,
        "fix": cause.change,
        "rule": cause.rule.map(|rule| json!({ "code": rule.code, "name": rule.name })),
    })
}

fn cell(cell: &CellLine) -> Value {
    json!({ "count": cell.count, "id": cell.id })
}

fn notebook(notebook: &Notebook) -> Value {
    json!({
        "pid": notebook.pid,
        "kernel_id": notebook.kernel_id,
        "session": notebook.session,
    })
}

/// The cell that was started last, by the end of the run's first death.
fn last_cell(explanation: &Explanation) -> Value {
    let death = explanation.diagnosis.first_death.as_ref();
    let end = death.and_then(|death| death.facts.ended_at);
    let last = explanation.cells.last_before(end.unwrap_or(u64::MAX));
    last.map_or(Value::Null, |it| json!({ "count": it.count, "id": it.id }))
}

fn status(status: Option<EndStatus>) -> Value {
    match status {
        Some(EndStatus::Exited(code)) => json!({ "kind": "exited", "number": code }),
        Some(EndStatus::Signaled(number)) => {
            json!({ "kind": "signaled", "number": number, "signal": signal::name(number) })
        }
        None => Value::Null,
    }
}

fn first_death(death: &ProcessView, start: u64) -> Value {
    json!({
        "pid": death.facts.id.pid,
        "name": death.facts.name,
        "status": status(death.facts.status),
        "seconds": since(&death.facts, start),
    })
}

fn memory(diagnosis: &Diagnosis, tree_peak: u64) -> Value {
    let Memory {
        limit,
        limit_source,
        peak,
        at_end,
        resident_peak,
        resident_at_end,
        ..
    } = &diagnosis.memory;
    json!({
        "limit": limit,
        "limit_source": limit_source,
        "peak": peak,
        "at_end": at_end,
        "resident_peak": resident_peak,
        "resident_at_end": resident_at_end,
        "tracked_peak": diagnosis.memory.tracked_peak,
        "tracked_at_end": diagnosis.memory.tracked_at_end,
        "forked": diagnosis.memory.forked,
        "unexplained": diagnosis.memory.unexplained(Moment::End),
        "tree_peak": (tree_peak > 0).then_some(tree_peak),
        "machine": diagnosis.memory.machine,
        "machine_available_lowest": diagnosis.memory.available_lowest,
    })
}

fn budget(budget: &BudgetFacts) -> Value {
    json!({
        "asked": budget.asked,
        "limit": budget.limit,
        "allow_sparse": budget.allow_sparse,
        "at_start": budget.at_start,
        "at_end": budget.at_end,
        "source": budget.source,
        "source_limit": budget.source_limit,
        "headroom": budget.headroom,
        "headroom_lowest": budget.headroom_lowest,
        "refusals": budget.refusals,
        "stops": budget.stops,
    })
}

fn intervention(intervention: &Intervention) -> Value {
    json!({
        "kind": match intervention.deed { Deed::Refused => "refused", Deed::Stopped => "stopped" },
        "pid": intervention.process.pid,
        "bytes": intervention.bytes,
        "budget": intervention.budget,
        "headroom": intervention.headroom,
        "source": intervention.source,
        "place": intervention.place.as_ref().map(place),
        "attempts": intervention.attempts,
    })
}

fn growth(growth: &Growth) -> Value {
    json!({
        "seconds": seconds(growth.window),
        "bytes": growth.bytes,
        "last_large": growth.last_large.as_ref().map(|last| json!({
            "bytes": last.bytes,
            "place": place(&last.place),
            "seconds_before_end": seconds(last.before_end),
            "refused": last.refused,
        })),
    })
}

fn holder(holder: &Holder) -> Value {
    let figures = json!({
        "pid": holder.pid,
        "text": holder.text,
        "live_bytes": holder.live_bytes,
        "peak_bytes": holder.peak_bytes,
        "count": holder.count,
        "exact": holder.is_exact(),
        "estimated_bytes": holder.estimated_bytes,
        "shared": holder.shared,
        "via": holder.via,
    });
    place_with(&holder.place, figures)
}

fn reservation(reservation: &Reservation) -> Value {
    let figures = json!({
        "text": reservation.text,
        "bytes": reservation.bytes,
        "via": reservation.via,
    });
    place_with(&reservation.place, figures)
}

fn place_with(at: &Place, figures: Value) -> Value {
    let mut value = place(at);
    if let (Value::Object(all), Value::Object(figures)) = (&mut value, figures) {
        all.extend(figures);
    }
    value
}

fn place(place: &Place) -> Value {
    let line = place.line();
    let mut value = json!({
        "kind": place.kind(),
        "file": line.map(|line| &line.file),
        "line": line.and_then(|line| line.line),
        "function": line.map_or_else(|| place.describe(), |line| line.function.clone()),
    });
    let Value::Object(fields) = &mut value else {
        return value;
    };
    let at_cell = line.and_then(|line| line.cell.as_ref());
    fields.insert("cell".to_owned(), json!(at_cell.map(cell)));
    if let Some(cell) = at_cell {
        fields.insert("text".to_owned(), json!(cell.text));
    }
    if let Place::Thread { name, library, .. } = place {
        fields.insert("thread".to_owned(), json!(name));
        fields.insert("library".to_owned(), json!(library));
    }
    value
}

fn process(view: &ProcessView, start: u64) -> Value {
    let facts = &view.facts;
    json!({
        "pid": facts.id.pid,
        "start_ticks": facts.id.start_ticks,
        "parent": facts.parent,
        "name": facts.name,
        "argv": facts.argv,
        "status": status(facts.status),
        "seconds": since(facts, start),
        "role": view.role.as_str(),
        "last_resident": facts.last_resident,
        "peak_resident": facts.peak_resident,
        "black_box": facts.black_box,
    })
}

fn exceptions(explanation: &Explanation) -> Vec<Value> {
    let exceptions = explanation.diagnosis.exceptions.iter();
    exceptions
        .map(|exception| {
            let lines = traceback::lines(exception, &explanation.cells);
            let lines = lines.into_iter().map(Place::Line);
            json!({
                "where": exception.kind.map(|kind| format!("{kind:?}").to_lowercase()),
                "thread": exception.thread,
                "type": exception.type_name,
                "message": exception.message,
                "traceback": exception.traceback.lines().collect::<Vec<_>>(),
                "places": lines.map(|line| place(&line)).collect::<Vec<_>>(),
            })
        })
        .collect()
}

fn threads(diagnosis: &Diagnosis) -> Vec<Value> {
    let threads = diagnosis.threads.iter();
    threads
        .map(|thread| {
            let frames: Vec<Value> = thread.frames.iter().map(place).collect();
            json!({ "tid": thread.tid, "name": thread.name, "frames": frames })
        })
        .collect()
}

fn listed(run: &Listed) -> Value {
    json!({
        "id": run.id,
        "command": run.command,
        "started_at_ns": run.started_at,
        "ended_at_ns": run.ended_at,
        "state": match run.liveness {
            Liveness::Ended => "ended",
            Liveness::Running => "running",
            Liveness::SupervisorLost => "lost",
        },
        "status": status(run.status),
        "peak": run.peak,
        "processes": run.processes,
    })
}

fn rule(rule: &Rule) -> Value {
    json!({
        "code": rule.code,
        "name": rule.name,
        "cause": rule.cause,
        "level": rule.level.word(),
        "summary": rule.summary,
        "fix": rule.fix().map(Applicability::word),
        "page": rule.page,
    })
}

fn since(facts: &ProcessFacts, start: u64) -> Option<f64> {
    facts
        .ended_at
        .map(|time| seconds(time.saturating_sub(start)))
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}
