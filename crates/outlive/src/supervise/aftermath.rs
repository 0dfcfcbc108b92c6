//! After the program has ended: the last evidence is gathered and `run.json` completed.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use outlive_diagnose::facts::{EndStatus, ProcessFacts, ProcessId, RunFacts, StatusSource};
use outlive_record::kind::ChildKind;
use outlive_record::read::Recording;

use super::clock::{self, MILLISECOND};
use super::journal;
use super::machine;
use super::process;
use super::recorder::Recorder;
use super::space;
use super::tree;
use super::watched::box_name;
use crate::store::BOX_EXTENSION;

const SIGKILL: i32 = 9;
const SIGTERM: i32 = 15;
/// The kernel writes its line before it kills; the reader of the log may lag a little behind.
const GRACE: u64 = 50 * MILLISECOND;
/// The header and the facts of a black box lie within its first bytes.
const BOX_HEAD: u64 = 64 << 10;

impl Recorder {
    /// Completes and writes the facts.
    pub(super) fn finish(mut self, witness: Option<u32>) -> RunFacts {
        let now = clock::monotonic();
        self.look_for_boxes(now);
        self.note_survivors(witness, now);
        self.list_boxes();
        self.give_back_space();
        self.ask_kernel_again();
        self.ask_parents();
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
        self.facts.ended_at = Some(clock::realtime());
        self.refresh();
        self.facts
    }

    fn note_survivors(&mut self, witness: Option<u32>, now: u64) {
        let survivors: Vec<u32> = tree::descendants(self.facts.supervisor.pid, witness)
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
            .filter(|name| {
                name.strip_suffix(BOX_EXTENSION)
                    .is_some_and(|stem| stem.ends_with('.'))
            })
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

    /// Boxes take their whole size in advance, so that a full disk cannot hurt the program; what
    /// it never touched is given back.
    fn give_back_space(&self) {
        let Ok(entries) = std::fs::read_dir(&self.directory) else {
            return;
        };
        for entry in entries.filter_map(Result::ok) {
            let name = entry.file_name();
            let id = name.to_str().and_then(id_from_box_name);
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

    /// What parents wrote down when they waited for their children.
    fn ask_parents(&mut self) {
        let is_unknown = |facts: &ProcessFacts| {
            facts.status.is_none() && !self.alive.iter().any(|watched| watched.id == facts.id)
        };
        let unknown: Vec<usize> = (0..self.facts.processes.len())
            .filter(|place| self.facts.processes.get(*place).is_some_and(is_unknown))
            .collect();
        if unknown.is_empty() {
            return;
        }
        let boxes: Vec<(u32, String)> = self
            .facts
            .processes
            .iter()
            .filter_map(|facts| Some((facts.id.pid, facts.black_box.clone()?)))
            .collect();
        for (parent, name) in boxes {
            let of_parent = |place: &&usize| {
                self.facts
                    .processes
                    .get(**place)
                    .is_some_and(|facts| facts.parent == parent)
            };
            if unknown.iter().any(|place| of_parent(&place))
                && let Ok(bytes) = fs_err::read(self.directory.join(&name))
                && let Ok(recording) = Recording::read(&bytes)
            {
                apply_reaped(&recording, parent, &mut self.facts.processes);
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
fn apply_reaped(recording: &Recording<'_>, parent: u32, processes: &mut [ProcessFacts]) {
    for child in recording.children() {
        if child.kind != Some(ChildKind::Reaped) {
            continue;
        }
        let facts = processes.iter_mut().find(|facts| {
            facts.id.pid == child.pid && facts.parent == parent && facts.status.is_none()
        });
        if let Some(facts) = facts {
            facts.status = Some(process::end_status(child.status));
            facts.status_source = StatusSource::Parent;
            facts.ended_at.get_or_insert(child.time);
        }
    }
}

/// `4711-123456.box`.
fn id_from_box_name(name: &str) -> Option<ProcessId> {
    let (stem, _) = name.rsplit_once('.')?;
    let (pid, start_ticks) = stem.split_once('-')?;
    Some(ProcessId {
        pid: pid.parse().ok()?,
        start_ticks: start_ticks.parse().ok()?,
    })
}

fn facts_from_box(directory: &Path, name: String, id: ProcessId) -> Option<ProcessFacts> {
    let mut head = Vec::new();
    File::open(directory.join(&name))
        .ok()?
        .take(BOX_HEAD)
        .read_to_end(&mut head)
        .ok()?;
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
