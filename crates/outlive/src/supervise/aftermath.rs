//! After the program has ended: the last evidence is gathered and `run.json` completed.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

use outlive_diagnose::facts::{EndStatus, ProcessFacts, ProcessId, RunFacts, StatusSource};
use outlive_record::kind::ChildKind;
use outlive_record::layout::{MAX_BOX_SIZE, SectionKind};
use outlive_record::read::{ChildRecord, Recording};
use outlive_record::sections::Layout;

use super::clock::{self, MILLISECOND, SECOND};
use super::journal;
use super::machine;
use super::process;
use super::recorder::Recorder;
use super::space;
use super::tree;
use super::watched::box_name;
use crate::kept_sources;
use crate::store::BOX_EXTENSION;

const SIGKILL: i32 = 9;
const SIGTERM: i32 = 15;
/// The kernel writes its line before it kills; the reader of the log may lag a little behind.
const GRACE: u64 = 50 * MILLISECOND;
/// How long the program's end may be held up to remove boxes that are too many.
const REMOVAL: u64 = SECOND;
/// The header and the facts of a black box lie within its first bytes.
const BOX_HEAD: u64 = 64 << 10;

impl Recorder {
    /// Completes and writes the facts.
    pub(super) fn finish(mut self, witness: Option<u32>) -> RunFacts {
        let now = clock::monotonic();
        self.look_for_boxes(now);
        self.note_survivors(witness, now);
        self.list_boxes();
        self.raise_peaks();
        self.give_back_space();
        self.ask_kernel_again();
        self.ask_parents(usize::MAX);
        self.choose_surplus();
        self.remove_surplus(clock::monotonic() + REMOVAL);
        self.read_logs();
        let supervisor = self.facts.supervisor.pid;
        let others = machine::largest_others(&self.facts.machine, |pid| {
            pid == supervisor || self.facts.processes.iter().any(|facts| facts.id.pid == pid)
        });
        self.facts.machine.largest_others = others;
        if self.unlisted() > 0 {
            let remark = format!(
                "{} processes that ended well are not listed",
                self.unlisted()
            );
            self.facts.remarks.push(remark);
        }
        if let Some(guard) = self.guard.take() {
            self.facts.budget = Some(guard.finish());
        }
        self.facts.ended_at = Some(clock::realtime());
        self.refresh();
        // When the facts are safe: it takes a moment, and `why` can do without.
        kept_sources::keep(&self.directory, &self.facts);
        self.facts
    }

    fn note_survivors(&mut self, witness: Option<u32>, now: u64) {
        let survivors: Vec<u32> = tree::descendants(self.ancestor, witness)
            .into_iter()
            .filter(|pid| process::Stat::of(*pid).is_some_and(|stat| !stat.has_ended()))
            .collect();
        for pid in &survivors {
            self.watch(*pid, now);
        }
        match survivors.len() {
            0 => {}
            1 => self.facts.remarks.push("1 process lives on".to_owned()),
            number => self
                .facts
                .remarks
                .push(format!("{number} processes live on")),
        }
    }

    /// Processes that came and went between two looks, but left a black box.
    fn list_boxes(&mut self) {
        let Ok(entries) = std::fs::read_dir(&self.directory) else {
            return;
        };
        let mut names: Vec<String> = entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| is_box(name))
            .collect();
        names.sort();
        for name in names {
            let Some(id) = id_from_box_name(&name) else {
                continue;
            };
            let listed = self.facts.processes.iter_mut().find(|facts| facts.id == id);
            if let Some(facts) = listed {
                facts.black_box = Some(name);
            } else if let Some(facts) = facts_from_box(&self.directory, name, id) {
                self.facts.processes.push(facts);
            }
        }
    }

    /// A process that lived for moments was looked at too early or never. Its box knows what it
    /// asked for, and the kernel how large the largest of all was.
    fn raise_peaks(&mut self) {
        for facts in &mut self.facts.processes {
            if facts.peak_resident >= self.highest_reaped {
                continue;
            }
            let name = facts.black_box.as_ref();
            let head = name.and_then(|name| head_of(&self.directory.join(name)).ok());
            let recording = head.as_ref().and_then(|head| Recording::read(head).ok());
            let asked = recording.map_or(0, |it| it.totals().peak_bytes.max(0) as u64);
            let least = asked.min(self.highest_reaped);
            facts.peak_resident = facts.peak_resident.max(least);
        }
    }

    /// Untouched space of boxes that nobody took care of before.
    fn give_back_space(&self) {
        let Ok(entries) = std::fs::read_dir(&self.directory) else {
            return;
        };
        for entry in entries.filter_map(Result::ok) {
            let name = entry.file_name();
            let name = name.to_str().unwrap_or_default();
            let id = id_from_box_name(name).filter(|_| !self.ended_boxes.is_done(name));
            if id.is_some_and(|id| !process::is_alive(id)) {
                // What cannot be given back stays taken.
                let _ = space::give_back(&entry.path());
            }
        }
    }

    fn ask_kernel_again(&mut self) {
        for watched in &self.unexplained {
            if let Some((status, source)) = watched.end_status()
                && let Some(facts) = self.facts.processes.get_mut(watched.place)
            {
                facts.status = Some(status);
                facts.status_source = source;
            }
        }
    }

    /// What parents wrote down when they waited for their children; those with most children of
    /// unknown end are asked first.
    pub(super) fn ask_parents(&mut self, most: usize) {
        let is_alive = |id| self.alive.iter().any(|watched| watched.id == id);
        let mut unknown: HashMap<u32, usize> = HashMap::new();
        for facts in &self.facts.processes {
            if facts.status.is_none() && !is_alive(facts.id) {
                *unknown.entry(facts.parent).or_default() += 1;
            }
        }
        let mut boxes: Vec<(usize, u32, String)> = self
            .facts
            .processes
            .iter()
            .filter_map(|facts| {
                let children = unknown.get(&facts.id.pid)?;
                Some((*children, facts.id.pid, facts.black_box.clone()?))
            })
            .collect();
        boxes.sort_by_key(|(children, ..)| Reverse(*children));
        for (_, parent, name) in boxes.into_iter().take(most) {
            if let Ok(children) = children_in(&self.directory.join(&name)) {
                apply_reaped(&children, parent, &mut self.facts.processes);
            }
        }
    }

    fn read_logs(&mut self) {
        let ended_by = |signals: &[i32]| {
            self.facts.processes.iter().any(|facts| {
                matches!(facts.status, Some(EndStatus::Signaled(signal)) if signals.contains(&signal))
            })
        };
        let was_killed = ended_by(&[SIGKILL]);
        let may_be_in_journal = ended_by(&[SIGKILL, SIGTERM]);
        let has_line = self.kernel_log.drain(&mut self.facts.kernel_log);
        if was_killed && !has_line && self.facts.kernel_log.lines.is_empty() {
            self.kernel_log.wait(GRACE);
        }
        if may_be_in_journal {
            self.facts.journal = journal::read(self.facts.started_at);
        }
    }
}

/// Copies the statuses a parent saw to its children that have none.
fn apply_reaped(children: &[ChildRecord], parent: u32, processes: &mut [ProcessFacts]) {
    // Process ids come back: the oldest of a number is the last in its list, and taken first.
    let mut unknown: HashMap<u32, Vec<usize>> = HashMap::new();
    for (place, facts) in processes.iter().enumerate().rev() {
        if facts.parent == parent && facts.status.is_none() {
            unknown.entry(facts.id.pid).or_default().push(place);
        }
    }
    for child in children {
        if child.kind != Some(ChildKind::Reaped) {
            continue;
        }
        let place = unknown.get_mut(&child.pid).and_then(Vec::pop);
        if let Some(facts) = place.and_then(|place| processes.get_mut(place)) {
            facts.status = Some(process::end_status(child.status));
            facts.status_source = StatusSource::Parent;
            facts.ended_at.get_or_insert(child.time);
        }
    }
}

/// What a box says of the children of its process. The rest of it is not read: it is large, and
/// its process may be at work.
fn children_in(path: &Path) -> io::Result<Vec<ChildRecord>> {
    let file = File::open(path)?;
    let length = file.metadata()?.len().min(MAX_BOX_SIZE);
    let mut bytes = vec![0; length as usize];
    let children = Layout::for_size(length).section(SectionKind::Children);
    for (start, length) in [(0, BOX_HEAD), (children.offset, children.length)] {
        let start = start as usize;
        if let Some(part) = bytes.get_mut(start..start + length as usize) {
            file.read_exact_at(part, start as u64)?;
        }
    }
    let recording = Recording::read(&bytes).map_err(io::Error::other)?;
    Ok(recording.children())
}

/// Whether a file is a black box by its name.
pub(super) fn is_box(name: &str) -> bool {
    name.strip_suffix(BOX_EXTENSION)
        .is_some_and(|stem| stem.ends_with('.'))
}

/// `4711-123456.box`.
pub(super) fn id_from_box_name(name: &str) -> Option<ProcessId> {
    let (stem, _) = name.rsplit_once('.')?;
    let (pid, start_ticks) = stem.split_once('-')?;
    Some(ProcessId {
        pid: pid.parse().ok()?,
        start_ticks: start_ticks.parse().ok()?,
    })
}

fn head_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    File::open(path)?.take(BOX_HEAD).read_to_end(&mut head)?;
    Ok(head)
}

/// What a box says of its process.
pub(super) fn facts_from_box(
    directory: &Path,
    name: String,
    id: ProcessId,
) -> Option<ProcessFacts> {
    let head = head_of(&directory.join(&name)).ok()?;
    let recording = Recording::read(&head).ok()?;
    let identity = recording.identity();
    let name_of = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    debug_assert_eq!(box_name(id), name, "names are made and read in one way");
    Some(ProcessFacts {
        id,
        parent: identity.ppid,
        name: name_of(&identity.exe),
        argv: identity.argv,
        seen_at: identity.monotonic,
        black_box: Some(name),
        ..ProcessFacts::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_boxes_name_processes() {
        let id = ProcessId {
            pid: 4711,
            start_ticks: 123_456,
        };
        assert_eq!(id_from_box_name(&box_name(id)), Some(id));
        assert_eq!(id_from_box_name("notes.box"), None);
    }
}
