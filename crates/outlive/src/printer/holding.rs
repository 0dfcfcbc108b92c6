//! Who held the memory, as a table: size, place, source.

use outlive_diagnose::VerdictId;
use outlive_diagnose::holders::{Holder, Moment};
use outlive_diagnose::place::Place;
use outlive_diagnose::reserved::Reservation;
use outlive_diagnose::size::Size;

use super::explanation::relative;
use super::{Style, cut, cut_place};
use crate::commands::why::Explanation;

/// Holders shown; JSON has them all.
const HOLDERS: usize = 5;
/// Places shown where address space was reserved.
const RESERVATIONS: usize = 2;
/// Columns that places may take.
const PLACE: usize = 44;

/// The lines of the table, with a heading; none without holders.
pub(super) fn lines(explanation: &Explanation, style: Style) -> Vec<String> {
    let diagnosis = &explanation.diagnosis;
    let moment = diagnosis.moment;
    let shown = worth_showing(&diagnosis.holders, moment);
    if shown.is_empty() {
        return Vec::new();
    }
    let when = match (moment, diagnosis.verdict.id) {
        (_, VerdictId::Running) => "now",
        (Moment::End, _) => "when it ended",
        (Moment::Peak, _) => "when it held most",
    };
    let pid = diagnosis.shown.map_or(0, |process| process.pid);
    let legend = if shown.iter().any(|holder| holder.is_estimate(moment)) {
        "; ~ means estimated"
    } else {
        ""
    };
    let mut lines = vec![format!("by line, {when} (pid {pid}{legend})")];
    let places: Vec<String> = shown
        .iter()
        .map(|holder| place(holder, &explanation.directory))
        .collect();
    let has_source = |holder: &&Holder| holder.place.line().is_some();
    let widest = shown
        .iter()
        .zip(&places)
        .filter(|(holder, _)| has_source(holder))
        .map(|(_, place)| place.chars().count())
        .max()
        .unwrap_or(0);
    let room = style.width.saturating_sub(super::MARGIN + super::LABEL);
    for (holder, place) in shown.iter().zip(&places) {
        lines.push(cut(&line(holder, place, widest, moment), room));
        lines.extend(below(holder).map(|text| cut(&text, room)));
    }
    if let Some(below) = diagnosis.memory.unexplained(moment) {
        let below = Size(below).to_string();
        let whose = if diagnosis.memory.forked {
            "more resident: shared with the process it was forked from, or below Python"
        } else {
            "more resident, below Python: no line (native libraries, the heap's own)"
        };
        lines.push(format!("{below:>10}  {whose}"));
        let reserved = diagnosis.reserved.iter().take(RESERVATIONS);
        lines.extend(reserved.map(|it| cut(&reservation(it, &explanation.directory), room)));
    }
    lines
}

/// Where some of what has no line may be.
fn reservation(reservation: &Reservation, directory: &str) -> String {
    let place = relative(&reservation.place.describe(), directory);
    let place = cut_place(&place, PLACE);
    let through = match &reservation.via {
        Some(via) => format!(" ({via})"),
        None => String::new(),
    };
    let size = Size(reservation.bytes);
    format!(
        "{:>10}  up to {size} reserved by a library's allocator at {place}{through}",
        ""
    )
}

/// The largest few, and what has no line if it is more than a trifle: it must not go unsaid.
fn worth_showing(holders: &[Holder], moment: Moment) -> Vec<&Holder> {
    let largest = holders.first().map_or(0, |holder| holder.bytes(moment));
    let large = |holder: &&Holder| holder.bytes(moment) >= largest / 50;
    let mut shown: Vec<&Holder> = holders.iter().filter(large).take(HOLDERS).collect();
    let other = holders.iter().find(|holder| holder.place == Place::Other);
    if let Some(other) = other
        && !shown.iter().any(|holder| holder.place == Place::Other)
    {
        shown.push(other);
    }
    shown
}

fn place(holder: &Holder, directory: &str) -> String {
    let place = relative(&holder.place.describe(), directory);
    if holder.place.line().is_some() {
        cut_place(&place, PLACE)
    } else {
        place
    }
}

fn line(holder: &Holder, place: &str, widest: usize, moment: Moment) -> String {
    let mark = if holder.is_estimate(moment) { "~" } else { "" };
    let size = format!("{mark}{}", Size(holder.bytes(moment)));
    match (&holder.text, holder.place.line()) {
        (Some(text), _) => format!("{size:>10}  {place:<widest$}  {text}"),
        (None, Some(_)) => format!("{size:>10}  {place:<widest$}  [no source]"),
        (None, None) => format!("{size:>10}  {place}"),
    }
}

/// How the memory came about, where that is not the line itself.
fn below(holder: &Holder) -> Option<String> {
    let via = holder.via.as_ref()?;
    Some(match holder.place {
        Place::Thread { .. } => format!("{:>10}  {via}, started here", ""),
        _ => format!("{:>10}  via {via}", ""),
    })
}
