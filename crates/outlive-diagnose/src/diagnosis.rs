//! From a run to its diagnosis: the steps, in order, and what comes out.

use std::rc::Rc;

use outlive_record::kind::ExceptionKind;
use outlive_record::read::{ExceptionRecord, Recording};

use crate::case::Case;
use crate::cause::Cause;
use crate::causes::{Known, causes, lacks_memory};
use crate::cells::Cells;
use crate::deadly::deadly;
use crate::facts::{BudgetFacts, EndStatus, ProcessFacts, ProcessId, RunFacts};
use crate::growth::Growth;
use crate::guarded;
use crate::holders::{Holder, Moment};
use crate::holdings::Holdings;
use crate::interventions::{Intervention, Interventions, LastWords};
use crate::kernel_log::KernelLog;
use crate::memory::Memory;
use crate::notebook::Notebook;
use crate::oom;
use crate::places::Places;
use crate::process_view::{ProcessView, first_death, views};
use crate::remarks::remarks;
use crate::reserved::Reservation;
use crate::ruled_out;
use crate::seen::Seen;
use crate::size::Span;
use crate::thread_exceptions::{ThreadException, thread_exceptions};
use crate::thread_stacks::{ThreadStack, struck_at, threads};
use crate::tree::{Liveness, Subject, Tree};
use crate::verdict::Verdict;
use crate::verdicts;
use crate::words;

/// How many ancestors are asked for words about their child.
const ANCESTORS_ASKED: usize = 3;

/// Gives black boxes when they are asked for: a tree may have hundreds, and few matter.
pub trait BlackBoxes {
    /// The box of this process, if there is one and it can be read.
    fn open(&self, process: ProcessId) -> Option<Recording<'_>>;
}

/// Gives source code: as it was kept with the run, or as it can be read now.
pub trait SourceText {
    /// The whole of `file`, which may be relative to `directory`.
    fn file(&self, directory: &str, file: &str) -> Option<Rc<SourceFile>>;

    /// Line `line` of it.
    fn line(&self, directory: &str, file: &str, line: u32) -> Option<String>;
}

/// A file of the user's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Its text.
    pub text: String,
    /// Whether it was changed after the run had started, so that other lines may have run.
    pub is_later: bool,
}

/// What a diagnosis starts from.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    /// What the supervisor wrote down.
    pub run: &'a RunFacts,
    /// The boxes.
    pub boxes: &'a dyn BlackBoxes,
    /// The user's files.
    pub sources: &'a dyn SourceText,
    /// The notebook it belongs to.
    pub notebook: Option<&'a Notebook>,
    /// Cells that ran in it.
    pub cells: &'a Cells,
    /// Whether the run is over.
    pub liveness: Liveness,
}

/// What ended a run, and who held its memory.
#[derive(Clone, Debug)]
pub struct Diagnosis {
    /// What ended it.
    pub verdict: Verdict,
    /// The death that is explained.
    pub first_death: Option<ProcessView>,
    /// The process whose memory and holders are shown.
    pub shown: Option<ProcessId>,
    /// Its memory.
    pub memory: Memory,
    /// Which moment the holders are ordered by.
    pub moment: Moment,
    /// Why memory ran out, the best first.
    pub causes: Vec<Cause>,
    /// Who held it, largest first.
    pub holders: Vec<Holder>,
    /// Where libraries reserved address space, largest first.
    pub reserved: Vec<Reservation>,
    /// The last seconds.
    pub growth: Growth,
    /// Every process, in the order they were seen.
    pub processes: Vec<ProcessView>,
    /// Uncaught exceptions of the process that is explained.
    pub exceptions: Vec<ExceptionRecord>,
    /// What ended threads of the process that is shown and of the one that was started, whatever
    /// the verdict.
    pub thread_exceptions: Vec<ThreadException>,
    /// Python stacks at a fatal signal; the thread it struck comes first.
    pub threads: Vec<ThreadStack>,
    /// What Outlive did that led to the end, if that is what led to it.
    pub intervention: Option<Intervention>,
    /// What the tree was let use, if it was guarded.
    pub budget: Option<BudgetFacts>,
    /// What the recorder and the supervisor have to say about themselves.
    pub remarks: Vec<String>,
}

/// Explains a run.
pub fn diagnose(input: &Input<'_>) -> Diagnosis {
    let tree = Tree::new(input.run, input.boxes, input.liveness);
    let subject = tree.subject(input.liveness);
    let shown = shown_process(&tree, subject, input.boxes);
    explain(input, &tree, subject, shown)
}

/// Explains one process of a run, whatever became of the others.
pub fn diagnose_process(input: &Input<'_>, process: ProcessId) -> Diagnosis {
    let mut tree = Tree::new(input.run, input.boxes, input.liveness);
    let index = tree.processes.iter().position(|it| it.id == process);
    tree.root = index;
    let subject = tree.subject_alone(input.liveness);
    explain(input, &tree, subject, index)
}

fn explain(input: &Input<'_>, tree: &Tree, subject: Subject, shown: Option<usize>) -> Diagnosis {
    let run = input.run;
    let log = KernelLog::parse(&run.kernel_log, &run.journal);
    let unknown = ProcessFacts::default();
    let process = shown
        .and_then(|index| tree.processes.get(index))
        .unwrap_or(&unknown);
    let recording = shown.and_then(|_| input.boxes.open(process.id));
    let seen = Seen::new(run, &log, tree, process, recording.as_ref());
    let mut places = Places::new(seen.recording, input.cells);
    let case = process
        .status
        .map(|status| case(input, tree, &log, &seen, status));
    let fatal = case.as_ref().and_then(|case| case.fatal.as_ref());
    let threads = threads(seen.recording, fatal, &mut places);
    let mut verdict = verdict(input, tree, subject, case.as_ref(), &seen.memory);
    let struck = threads.first().filter(|_| subject.is_death());
    verdict.evidence.extend(struck.and_then(struck_at));
    if subject.is_death() {
        verdict.evidence.extend(last_cell(input, process));
    }
    let decisive = case.as_ref().and_then(|case| case.decisive(verdict.id));
    let decisive = decisive.cloned();
    let judged = Judged {
        verdict,
        exceptions: case.map(|case| case.exceptions).unwrap_or_default(),
        threads,
    };
    // What Outlive did to another process is explained by what that one held.
    let other = decisive
        .as_ref()
        .and_then(|it| tree.processes.iter().find(|one| one.id == it.process))
        .filter(|other| other.id != process.id);
    let other_box = other.and_then(|other| input.boxes.open(other.id));
    let other = other
        .zip(other_box.as_ref())
        .map(|(other, recording)| Seen::new(run, &log, tree, other, Some(recording)));
    let held = other.as_ref().unwrap_or(&seen);
    let mut diagnosis = conclude(input, tree, held, decisive, judged);
    diagnosis.shown = shown.map(|_| held.process.id);
    diagnosis.first_death = first_death(tree, subject);
    diagnosis.processes = views(tree, subject);
    diagnosis
}

/// What is known once the verdict is.
struct Judged {
    verdict: Verdict,
    exceptions: Vec<ExceptionRecord>,
    threads: Vec<ThreadStack>,
}

/// Who held the memory of this process, why it ran out, and what to do.
fn conclude(
    input: &Input<'_>,
    tree: &Tree,
    held: &Seen<'_>,
    decisive: Option<Intervention>,
    judged: Judged,
) -> Diagnosis {
    let mut places = Places::new(held.recording, input.cells);
    let mut verdict = judged.verdict;
    let holdings = Holdings::of(input, held, &mut places, &verdict);
    holdings.advise(&mut verdict, &held.memory, decisive.as_ref());
    let root = tree.root().filter(|root| root.id != held.process.id);
    let root = root.and_then(|root| input.boxes.open(root.id));
    let thread_exceptions = thread_exceptions(held.recording.into_iter().chain(&root), input.cells);
    let of_thread = thread_exceptions
        .iter()
        .any(|it| lacks_memory(&it.type_name) && !verdict.id.is_about_memory());
    let of_thread = held
        .recording
        .filter(|_| of_thread)
        .and_then(|recording| Interventions::last_of(input, held.process, recording));
    let known = Known {
        input,
        tree,
        verdict: &verdict,
        held,
        holdings: &holdings,
        decisive: decisive.as_ref().or(of_thread.as_ref()),
        exceptions: &judged.exceptions,
        threads: &thread_exceptions,
    };
    let causes = causes(known, &mut places);
    let mut remarks = remarks(input, held.recording);
    remarks.extend(guarded::remarks(input, held, verdict.id, decisive.as_ref()));
    Diagnosis {
        first_death: None,
        shown: None,
        processes: Vec::new(),
        moment: holdings.moment,
        holders: holdings.holders,
        reserved: holdings.reserved,
        growth: holdings.growth,
        thread_exceptions,
        memory: held.memory.clone(),
        exceptions: judged.exceptions,
        threads: judged.threads,
        causes,
        remarks,
        intervention: decisive,
        budget: input.run.budget.clone(),
        verdict,
    }
}

fn case<'a>(
    input: &Input<'a>,
    tree: &'a Tree,
    log: &'a KernelLog,
    seen: &Seen<'a>,
    status: EndStatus,
) -> Case<'a> {
    let (run, process, recording) = (input.run, seen.process, seen.recording);
    let fatal = recording.and_then(|recording| deadly(recording, process.status));
    let exceptions = recording.map(Recording::exceptions).unwrap_or_default();
    let last_words = LastWords::of(&exceptions, fatal.as_ref(), process);
    Case {
        run,
        tree,
        notebook: input.notebook,
        cells: input.cells,
        victim: process,
        status,
        recording,
        words: recording.map_or_else(Vec::new, |it| words::collect(it, fatal.as_ref())),
        ancestors_words: ancestors_words(tree, process, input.boxes),
        log,
        kernel_kill: oom::kernel_kill(run, log, tree, process, &seen.memory),
        memory: seen.memory.clone(),
        interventions: Interventions::before(&last_words, input, tree, process, recording),
        exceptions,
        fatal,
    }
}

fn verdict(
    input: &Input<'_>,
    tree: &Tree,
    subject: Subject,
    case: Option<&Case<'_>>,
    memory: &Memory,
) -> Verdict {
    match (subject, case) {
        (Subject::Death(_), Some(case)) => ruled_out::complete(verdicts::judge(case), case),
        (Subject::Hang(_), Some(case)) => {
            let of_child = ruled_out::complete(verdicts::judge(case), case);
            let mut verdict = verdicts::hang(input, tree.root(), &of_child);
            verdict.ruled_out = of_child.ruled_out;
            verdict.not_checked = of_child.not_checked;
            verdict
        }
        (Subject::Finished, _) => verdicts::finished(input, tree.root()),
        (Subject::Running, _) => verdicts::running(input, tree.root()),
        (Subject::Lost | Subject::Death(_) | Subject::Hang(_), _) => {
            verdicts::lost(input.run, memory)
        }
    }
}

/// The process to show: who died first, else the largest one that has a box.
fn shown_process(tree: &Tree, subject: Subject, boxes: &dyn BlackBoxes) -> Option<usize> {
    if let Subject::Death(index) | Subject::Hang(index) = subject {
        return Some(index);
    }
    let mut recorded: Vec<usize> = (0..tree.processes.len())
        .filter(|&index| {
            tree.processes
                .get(index)
                .is_some_and(|it| it.black_box.is_some())
        })
        .collect();
    recorded.sort_by_key(|&index| {
        let size = tree
            .processes
            .get(index)
            .map_or(0, |process| process.peak_resident);
        (std::cmp::Reverse(size), index)
    });
    recorded
        .into_iter()
        .take(ANCESTORS_ASKED)
        .find(|&index| {
            tree.processes
                .get(index)
                .is_some_and(|it| boxes.open(it.id).is_some())
        })
        .or(tree.root)
}

fn ancestors_words(tree: &Tree, victim: &ProcessFacts, boxes: &dyn BlackBoxes) -> Vec<words::Word> {
    let mut spoken = Vec::new();
    let mut child = victim;
    for _ in 0..ANCESTORS_ASKED {
        let Some(parent) = tree.processes.iter().find(|it| it.id.pid == child.parent) else {
            break;
        };
        if parent.black_box.is_some()
            && let Some(recording) = boxes.open(parent.id)
        {
            spoken.extend(words::standard_error(&recording));
            let exceptions = recording.exceptions();
            let main = exceptions
                .iter()
                .filter(|it| it.kind == Some(ExceptionKind::Main));
            spoken.extend(main.map(|exception| words::Word {
                speaker: words::Speaker::MainException,
                line: words::headline(exception),
            }));
        }
        child = parent;
    }
    spoken
}

/// What was asked of a notebook's kernel last; whether it was done is not written down.
fn last_cell(input: &Input<'_>, process: &ProcessFacts) -> Option<String> {
    let end = process.ended_at?;
    let is_kernel = input.notebook.is_some_and(|it| it.is_kernel(process));
    let cell = input.cells.last_before(end).filter(|_| is_kernel)?;
    let before = Span(end.saturating_sub(cell.time));
    let count = cell.count;
    Some(format!(
        "cell [{count}] was started last, {before} before the end"
    ))
}
