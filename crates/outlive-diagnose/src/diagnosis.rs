//! From a run to its diagnosis: the steps, in order, and what comes out.

use outlive_record::kind::ExceptionKind;
use outlive_record::read::{ExceptionRecord, FatalSignal, Recording};
use outlive_record::timeline::Sample;

use crate::case::Case;
use crate::facts::{ProcessFacts, ProcessId, RunFacts};
use crate::growth::Growth;
use crate::holders::{Holder, Moment, holders};
use crate::kernel_log::KernelLog;
use crate::memory::Memory;
use crate::oom;
use crate::place::{Line, Place};
use crate::places::Places;
use crate::process_view::{ProcessView, first_death, views};
use crate::remarks::remarks;
use crate::ruled_out;
use crate::size::Size;
use crate::tree::{Liveness, Subject, Tree};
use crate::verdict::Verdict;
use crate::verdicts;
use crate::words;

/// How many ancestors are asked for words about their child.
const ANCESTORS_ASKED: usize = 3;
/// Frames shown of each thread at a fatal signal.
const FRAMES_SHOWN: usize = 32;

/// Gives black boxes when they are asked for: a tree may have hundreds, and few matter.
pub trait BlackBoxes {
    /// The box of this process, if there is one and it can be read.
    fn open(&self, process: ProcessId) -> Option<Recording<'_>>;
}

/// Gives lines of source code.
pub trait SourceText {
    /// Line `line` of `file`, which may be relative to `directory`.
    fn line(&self, directory: &str, file: &str, line: u32) -> Option<String>;
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
    /// Who held it, largest first.
    pub holders: Vec<Holder>,
    /// The last seconds.
    pub growth: Growth,
    /// Every process, in the order they were seen.
    pub processes: Vec<ProcessView>,
    /// Uncaught exceptions of the process that is explained.
    pub exceptions: Vec<ExceptionRecord>,
    /// Python stacks at a fatal signal; the thread it struck comes first.
    pub threads: Vec<ThreadStack>,
    /// What the recorder and the supervisor have to say about themselves.
    pub remarks: Vec<String>,
}

/// A thread's Python stack, innermost first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadStack {
    /// Thread id.
    pub tid: u32,
    /// Its name.
    pub name: String,
    /// The innermost line the user wrote.
    pub own: Option<Place>,
    /// Where it was.
    pub frames: Vec<Place>,
}

/// Explains a run.
pub fn diagnose(input: &Input<'_>) -> Diagnosis {
    let run = input.run;
    let tree = Tree::new(run, input.boxes, input.liveness);
    let subject = tree.subject(input.liveness);
    let log = KernelLog::parse(&run.kernel_log, &run.journal);
    let shown = shown_process(&tree, subject, input.boxes);
    let unknown = ProcessFacts::default();
    let process = shown
        .and_then(|index| tree.processes.get(index))
        .unwrap_or(&unknown);
    let recording = shown.and_then(|_| input.boxes.open(process.id));
    let recording = recording.as_ref();
    let mut samples = recording.map(Recording::samples).unwrap_or_default();
    // A look at a process that has just died shows nothing.
    while samples.last().is_some_and(|sample| sample.resident == 0) {
        samples.pop();
    }
    let kill = oom::kill_of(&log, &tree, process);
    let memory = Memory::of(run, process, recording, &samples, kill);
    let fatal = recording.and_then(|recording| recording.fatal_signals().into_iter().next());
    let mut places = Places::new(recording);
    let threads = threads(recording, fatal.as_ref(), &mut places);
    let case = process.status.map(|status| Case {
        run,
        tree: &tree,
        victim: process,
        status,
        recording,
        exceptions: recording.map(Recording::exceptions).unwrap_or_default(),
        words: recording.map_or_else(Vec::new, |it| words::collect(it, fatal.as_ref())),
        ancestors_words: ancestors_words(&tree, process, input.boxes),
        fatal,
        log: &log,
        kernel_kill: oom::kernel_kill(run, &log, &tree, process, &memory),
        memory: memory.clone(),
    });
    let mut verdict = verdict(run, &tree, subject, case.as_ref(), &memory);
    verdict.evidence.extend(threads.first().and_then(struck_at));
    let end = process
        .ended_at
        .or_else(|| samples.last().map(|sample| sample.time))
        .unwrap_or(0);
    let mut holdings = Holdings::of(input, recording, &samples, &mut places, &verdict, end);
    holdings.advise(&mut verdict);
    Diagnosis {
        first_death: first_death(&tree, subject),
        shown: shown.map(|_| process.id),
        moment: holdings.moment,
        holders: std::mem::take(&mut holdings.holders),
        growth: holdings.growth,
        processes: views(&tree, subject),
        exceptions: case.map(|case| case.exceptions).unwrap_or_default(),
        threads,
        remarks: remarks(run, recording),
        verdict,
        memory,
    }
}

fn verdict(
    run: &RunFacts,
    tree: &Tree,
    subject: Subject,
    case: Option<&Case<'_>>,
    memory: &Memory,
) -> Verdict {
    match (subject, case) {
        (Subject::Death(_), Some(case)) => ruled_out::complete(verdicts::judge(case), case),
        (Subject::Hang(_), Some(case)) => {
            let of_child = ruled_out::complete(verdicts::judge(case), case);
            let mut verdict = verdicts::hang(tree.root(), &of_child);
            verdict.ruled_out = of_child.ruled_out;
            verdict.not_checked = of_child.not_checked;
            verdict
        }
        (Subject::Finished, _) => verdicts::finished(run, tree.root()),
        (Subject::Running, _) => verdicts::running(tree.root()),
        (Subject::Lost | Subject::Death(_) | Subject::Hang(_), _) => verdicts::lost(run, memory),
    }
}

/// Holders and growth of the process that is shown.
struct Holdings {
    moment: Moment,
    holders: Vec<Holder>,
    growth: Growth,
}

impl Holdings {
    fn of(
        input: &Input<'_>,
        recording: Option<&Recording<'_>>,
        samples: &[Sample],
        places: &mut Places<'_>,
        verdict: &Verdict,
        end: u64,
    ) -> Self {
        let growth = Growth::of(samples, recording, places, end);
        let Some(recording) = recording else {
            return Self {
                moment: Moment::End,
                holders: Vec::new(),
                growth,
            };
        };
        let totals = recording.totals();
        // A process that died at its highest, or was killed for what it held: the end is the
        // answer. One that ended in order has given everything back by then.
        let at_peak = totals.live_bytes >= totals.peak_bytes.saturating_sub(totals.peak_bytes / 10);
        let moment = if at_peak || verdict.id.is_kernel_kill() {
            Moment::End
        } else {
            Moment::Peak
        };
        let mut holders = holders(recording, places, moment);
        let identity = recording.identity();
        for holder in &mut holders {
            if let Some(Line {
                file,
                line: Some(line),
                ..
            }) = holder.place.line()
            {
                holder.text = match file.as_str() {
                    "<string>" => line_of_argument(&identity.argv, *line),
                    _ => input.sources.line(&identity.cwd, file, *line),
                };
            }
        }
        Self {
            moment,
            holders,
            growth,
        }
    }

    /// The largest holder that the user can do something about. A line that only imports is one
    /// where nothing larger can be changed.
    fn line_to_change(&self) -> Option<&Holder> {
        let has_line = |holder: &&Holder| holder.place.line().is_some();
        let is_users = |holder: &&Holder| holder.place.line().is_some_and(Line::is_users);
        let largest = self.holders.first().filter(is_users);
        let users = self
            .holders
            .iter()
            .find(|holder| is_users(holder) && !imports(holder));
        largest
            .or(users)
            .or_else(|| self.holders.iter().find(|it| has_line(it) && !imports(it)))
    }

    /// Puts the line to change first among what to do.
    fn advise(&self, verdict: &mut Verdict) {
        if !verdict.id.is_about_memory() {
            return;
        }
        let refused = self
            .growth
            .last_large
            .as_ref()
            .filter(|it| it.refused)
            .map(|it| {
                let place = it.place.describe();
                format!(
                    "Ask for less at {place}: {} were refused there",
                    Size(it.bytes)
                )
            });
        let whole: u64 = self
            .holders
            .iter()
            .map(|holder| holder.bytes(self.moment))
            .fold(0, u64::saturating_add);
        let largest = self.line_to_change().map(|holder| {
            let place = holder.place.describe();
            let held = Size(holder.bytes(self.moment));
            format!(
                "Start at {place}: it held {held} of the {} recorded",
                Size(whole)
            )
        });
        verdict.advice.splice(0..0, refused.or(largest));
    }
}

/// A line of the program in `python -c PROGRAM`.
fn line_of_argument(argv: &[String], line: u32) -> Option<String> {
    let place = argv.iter().position(|word| word == "-c")?;
    let program = argv.get(place + 1)?;
    let text = program.lines().nth(line.checked_sub(1)? as usize)?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn imports(holder: &Holder) -> bool {
    let text = holder.text.as_deref().unwrap_or_default();
    text.starts_with("import ") || text.starts_with("from ")
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

fn threads(
    recording: Option<&Recording<'_>>,
    fatal: Option<&FatalSignal>,
    places: &mut Places<'_>,
) -> Vec<ThreadStack> {
    let (Some(recording), Some(fatal)) = (recording, fatal) else {
        return Vec::new();
    };
    let threads = fatal.threads.iter();
    threads
        .map(|thread| {
            let stack = recording.stack(thread.stack).filter(|stack| stack.id != 0);
            ThreadStack {
                tid: thread.tid,
                name: thread.name.clone(),
                own: stack.as_ref().map(|stack| places.of_stack(stack)),
                frames: stack.map_or_else(Vec::new, |it| places.frames(&it, FRAMES_SHOWN)),
            }
        })
        .collect()
}

fn struck_at(thread: &ThreadStack) -> Option<String> {
    let innermost = thread.frames.first()?;
    Some(match &thread.own {
        Some(own) if own != innermost => {
            format!(
                "Python was at {}, called at {}",
                innermost.describe(),
                own.describe()
            )
        }
        _ => format!("Python was at {}", innermost.describe()),
    })
}
