//! What limits an answer, said beside it: ends that were not seen, attribution that was off,
//! tables that were full.

use outlive_record::kind::Attribution;
use outlive_record::read::Recording;

use crate::diagnosis::Input;
use crate::size::Size;

/// Notes about refusals and stops are for those who read a box by itself; here they are counted,
/// and the one that matters is in the evidence.
const OF_GUARD: [&str; 2] = ["Refused a request", "Stopped growth"];

/// What limits the answer: attribution that was off, tables that were full.
pub(crate) fn remarks(input: &Input<'_>, recording: Option<&Recording<'_>>) -> Vec<String> {
    let run = input.run;
    let mut remarks = run.remarks.clone();
    let unseen = run
        .processes
        .iter()
        .filter(|process| process.status.is_none() && process.ended_at.is_some());
    let unseen = unseen.count();
    if run.ended_at.is_some() && unseen > 0 {
        remarks.push(format!(
            "How processes ended is not known for {unseen} of the run"
        ));
    }
    let Some(recording) = recording else {
        return remarks;
    };
    if !recording.is_complete() {
        remarks.push("The black box is shorter than it says: figures may be missing".to_owned());
    }
    match recording.identity().attribution {
        Some(Attribution::On) => {}
        Some(Attribution::Pending) => {
            remarks.push("No Python interpreter was seen in this process: no lines".to_owned());
        }
        Some(Attribution::Mismatch) => remarks.push(
            "Lines are off: this Python's frames are not laid out as expected, sizes are right"
                .to_owned(),
        ),
        Some(Attribution::Unsupported) | None => {
            remarks.push("Lines are off: this version of Python is not known".to_owned());
        }
    }
    remarks.extend(losses(input, recording));
    let notes = recording.notes().into_iter().map(|note| note.text);
    remarks.extend(notes.filter(|text| !OF_GUARD.iter().any(|mark| text.starts_with(mark))));
    remarks
}

fn losses(input: &Input<'_>, recording: &Recording<'_>) -> Vec<String> {
    let lost = recording.totals().lost;
    let mut lines = Vec::new();
    let tables = [
        ("names", lost.strings),
        ("functions", lost.codes),
        ("stacks", lost.stacks),
    ];
    let full: Vec<&str> = tables
        .into_iter()
        .filter_map(|(name, count)| (count > 0).then_some(name))
        .collect();
    if !full.is_empty() {
        let how_many = match lost.stacks {
            0 => "lines seen after that are".to_owned(),
            1 => "1 allocation is".to_owned(),
            count => format!("{count} allocations are"),
        };
        // A notebook's kernel is started without options.
        let hint = match input.notebook {
            Some(_) => "",
            None => "; `--box-size` gives room",
        };
        lines.push(format!(
            "The box had no room for more {}: {how_many} counted as other{hint}",
            full.join(", ")
        ));
    }
    if lost.contended > 0 {
        lines.push(format!(
            "{} allocations are counted as other: threads met",
            lost.contended
        ));
    }
    if lost.blocks > 0 {
        lines.push(format!(
            "The release of {} blocks ({}) could not be seen: live figures may be too high",
            lost.blocks,
            Size(lost.block_bytes)
        ));
    }
    lines
}
