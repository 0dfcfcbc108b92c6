//! Everything known about one death, in the form the rules ask for.

use outlive_record::kind::{Attribution, EventKind, ExceptionKind};
use outlive_record::read::{ExceptionRecord, FatalSignal, Recording};

use crate::cells::Cells;
use crate::facts::{EndStatus, ProcessFacts, RunFacts, StatusSource};
use crate::interventions::{Intervention, Interventions};
use crate::kernel_log::{Fault, FaultKind, KernelLog};
use crate::memory::Memory;
use crate::notebook::Notebook;
use crate::oom::KernelKill;
use crate::signal;
use crate::tree::Tree;
use crate::verdict::{Confidence, VerdictId};
use crate::words::{Speaker, Word};

/// A message this long was cut when it was recorded, or nearly.
const LONG_MESSAGE: usize = 1000;

/// One death and its evidence.
#[derive(Debug)]
pub struct Case<'a> {
    /// The run.
    pub run: &'a RunFacts,
    /// Its processes.
    pub tree: &'a Tree,
    /// The notebook it belongs to.
    pub notebook: Option<&'a Notebook>,
    /// Cells that ran in it.
    pub cells: &'a Cells,
    /// Who died.
    pub victim: &'a ProcessFacts,
    /// How.
    pub status: EndStatus,
    /// Its black box.
    pub recording: Option<&'a Recording<'a>>,
    /// The fatal signal it recorded that ended it.
    pub fatal: Option<FatalSignal>,
    /// Uncaught exceptions, oldest first.
    pub exceptions: Vec<ExceptionRecord>,
    /// Its last words.
    pub words: Vec<Word>,
    /// Last lines on standard error of its ancestors, which may speak of it.
    pub ancestors_words: Vec<Word>,
    /// The kernel log.
    pub log: &'a KernelLog,
    /// Its memory.
    pub memory: Memory,
    /// What Outlive did before the end, to it or to a process of the tree.
    pub interventions: Interventions,
    /// What the kernel's out-of-memory killer has to do with it.
    pub(crate) kernel_kill: Option<KernelKill<'a>>,
}

impl Case<'_> {
    /// Whether this signal ended it.
    pub fn died_of(&self, signal: i32) -> bool {
        self.status == EndStatus::Signaled(signal)
    }

    /// The code it exited with, if it did.
    pub fn exit_code(&self) -> Option<i32> {
        match self.status {
            EndStatus::Exited(code) => Some(code),
            EndStatus::Signaled(_) => None,
        }
    }

    /// `wait status: killed by SIGKILL (signal 9)`.
    pub fn status_line(&self) -> String {
        let status = signal::describe(self.status);
        match self.victim.status_source {
            StatusSource::KernelLog => {
                format!("{status}, as the kernel log says: nobody was left to wait for it")
            }
            _ => format!("wait status: {status}"),
        }
    }

    /// `python (pid 12)`.
    pub fn who(&self) -> String {
        who(self.victim, self.notebook)
    }

    /// Whether it is part of a notebook's kernel, which nobody starts by a command.
    pub const fn is_in_notebook(&self) -> bool {
        self.notebook.is_some()
    }

    /// The first of its last words that contains one of these.
    pub fn says(&self, marks: &[&str]) -> Option<&Word> {
        find(&self.words, marks)
    }

    /// The same, in the words of its ancestors too.
    pub fn tree_says(&self, marks: &[&str]) -> Option<&Word> {
        find(&self.words, marks).or_else(|| find(&self.ancestors_words, marks))
    }

    /// What ended the main thread, in its own words or, where none could be recorded, in the last
    /// line of the traceback.
    pub fn raised(&self, marks: &[&str]) -> Option<&Word> {
        self.exit_code().filter(|&code| code != 0)?;
        if let Some(exception) = self.main_exception() {
            let mut main = self
                .words
                .iter()
                .filter(|word| word.speaker == Speaker::MainException);
            let found = main.find(|word| contains_any(&word.line, marks));
            // Of a long message the record has the start. What a loader got from its worker has
            // the error itself at the end, and the end is on standard error.
            if found.is_some() || exception.message.len() < LONG_MESSAGE {
                return found;
            }
        } else if !self.standard_error_counts() {
            return None;
        }
        self.last_error_lines()
            .find(|word| contains_any(&word.line, marks))
    }

    /// How sure an exception is: recorded, or only told on standard error.
    pub fn sureness(&self) -> Confidence {
        match self.main_exception() {
            Some(_) => Confidence::Proved,
            None => Confidence::Likely,
        }
    }

    /// Whether a traceback on standard error may be the one that ended the process. Where the box
    /// records exceptions and has none of the main thread, it was caught; but `multiprocessing`
    /// catches what ends its children, and says so.
    pub fn standard_error_counts(&self) -> bool {
        let records =
            |recording: &Recording<'_>| recording.identity().attribution == Some(Attribution::On);
        let of_child = |word: &Word| word.line.starts_with("Process ") && word.line.ends_with(':');
        !self.recording.is_some_and(records) || self.words.iter().any(of_child)
    }

    /// The last line of the last traceback on standard error.
    pub fn last_traceback(&self) -> Option<&Word> {
        self.says(&["Traceback (most recent call last)"])?;
        self.last_error_lines().find(|word| {
            let name = word.line.split(':').next().unwrap_or_default();
            let plain = !name.is_empty() && !name.contains(' ');
            plain && (name.ends_with("Error") || name.ends_with("Exception"))
        })
    }

    /// The exception that ended the main thread.
    pub fn main_exception(&self) -> Option<&ExceptionRecord> {
        self.exceptions
            .iter()
            .rev()
            .find(|it| it.kind == Some(ExceptionKind::Main))
    }

    /// The last handful of lines on standard error, newest first.
    pub fn last_error_lines(&self) -> impl Iterator<Item = &Word> {
        self.words
            .iter()
            .filter(|word| word.speaker == Speaker::StandardError)
            .take(12)
    }

    /// The fault of this process in the kernel log.
    pub fn logged_fault(&self, kinds: &[FaultKind]) -> Option<&Fault> {
        let ours = |fault: &&Fault| {
            let struck = self.fatal.as_ref().map_or(0, |fatal| fatal.tid);
            fault.tid == self.victim.id.pid || (struck != 0 && fault.tid == struck)
        };
        let of_kind = |fault: &&Fault| kinds.contains(&fault.kind);
        let named = |fault: &&Fault| fault.name == self.victim.name;
        let faults = &self.log.faults;
        faults
            .iter()
            .filter(of_kind)
            .find(ours)
            .or_else(|| faults.iter().filter(of_kind).find(named))
    }

    /// Whether the system itself, not Outlive, said no after this time.
    pub fn failed_after(&self, time: u64) -> bool {
        let events = self.recording.map(Recording::events).unwrap_or_default();
        let mut events = events.iter().rev();
        events.any(|event| event.kind == Some(EventKind::Failed) && event.time > time)
    }

    /// What Outlive did to this very process moments before it ended.
    pub(crate) fn just_before(&self) -> Option<&Intervention> {
        let end = self.victim.ended_at?;
        let both = [&self.interventions.refused, &self.interventions.stopped];
        both.into_iter()
            .flatten()
            .filter(|it| it.process == self.victim.id)
            .filter(|it| it.is_moments_before(end))
            .max_by_key(|it| it.time)
    }

    /// What Outlive did that this verdict rests on.
    pub(crate) fn decisive(&self, verdict: VerdictId) -> Option<&Intervention> {
        match verdict {
            VerdictId::GrowthStopped => self.interventions.stopped.as_ref(),
            VerdictId::AllocationRefused | VerdictId::CxxAllocationRefused => {
                let refused = self.interventions.refused.as_ref();
                refused.filter(|refusal| !self.failed_after(refusal.time))
            }
            _ => None,
        }
    }

    /// A line of the system journal that contains this.
    pub fn journal_says(&self, marks: &[&str]) -> Option<&str> {
        let lines = self.run.journal.lines.iter().map(String::as_str);
        lines.into_iter().find(|line| contains_any(line, marks))
    }
}

/// `python (pid 12)`, `the notebook kernel (pid 12)`.
pub(crate) fn who(process: &ProcessFacts, notebook: Option<&Notebook>) -> String {
    let name = if notebook.is_some_and(|notebook| notebook.is_kernel(process)) {
        // Without the first word it would be Linux's.
        "the notebook kernel"
    } else if process.name.is_empty() {
        "the process"
    } else {
        &process.name
    };
    format!("{name} (pid {})", process.id.pid)
}

fn find<'w>(words: &'w [Word], marks: &[&str]) -> Option<&'w Word> {
    words.iter().find(|word| contains_any(&word.line, marks))
}

fn contains_any(text: &str, marks: &[&str]) -> bool {
    marks.iter().any(|mark| text.contains(mark))
}
