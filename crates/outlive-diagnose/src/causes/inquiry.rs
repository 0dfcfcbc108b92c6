//! What is known when the question is why: the request that did not fit, the lines that grew, with
//! their callers, and the program they stand in.

use outlive_check::{Container, Selection, Settings, Surroundings};
use outlive_record::read::ExceptionRecord;

use super::program::Program;
use super::suspect::{Request, Suspect};
use crate::diagnosis::Input;
use crate::facts::ProcessFacts;
use crate::holdings::Holdings;
use crate::interventions::{Deed, Intervention};
use crate::memory::Memory;
use crate::place::Line;
use crate::places::Places;
use crate::seen::Seen;
use crate::thread_exceptions::ThreadException;
use crate::traceback;
use crate::tree::Tree;
use crate::verdict::Verdict;

/// A line grew if it acquired memory within this time before the end, nanoseconds.
const LATELY: u64 = 5_000_000_000;
/// Files that are checked at most.
const FILES: usize = 8;

/// What the question starts from.
#[derive(Clone, Copy)]
pub(crate) struct Known<'a> {
    pub(crate) input: &'a Input<'a>,
    pub(crate) tree: &'a Tree,
    pub(crate) verdict: &'a Verdict,
    /// The process whose memory is explained.
    pub(crate) held: &'a Seen<'a>,
    pub(crate) holdings: &'a Holdings,
    /// What Outlive did that led to the end.
    pub(crate) decisive: Option<&'a Intervention>,
    /// Uncaught exceptions of the process that ended.
    pub(crate) exceptions: &'a [ExceptionRecord],
    /// What ended threads.
    pub(crate) threads: &'a [ThreadException],
}

/// The same, looked at from the program's side.
pub(crate) struct Inquiry<'a> {
    pub(crate) known: Known<'a>,
    /// The request that did not fit, if there was one that matters by its size.
    pub(crate) request: Option<Request>,
    /// Lines of the user's that held memory, largest first.
    pub(crate) suspects: Vec<Suspect>,
    /// Where growth was stopped.
    pub(crate) stopped: Option<Suspect>,
    /// The line that acquired memory last.
    pub(crate) latest: Option<Suspect>,
    files: Vec<(String, Program)>,
    notebook: Option<Program>,
}

impl<'a> Inquiry<'a> {
    pub(crate) fn new(known: Known<'a>, places: &mut Places<'_>) -> Self {
        let suspects = Suspect::of_holders(&known, places);
        let mut inquiry = Self {
            request: Request::of(&known, places),
            stopped: known
                .decisive
                .filter(|it| it.deed == Deed::Stopped)
                .and_then(|it| Suspect::of_stack(it.stack, it.time, places))
                .map(|it| it.with_size_of(&suspects)),
            latest: Suspect::latest(&known, places),
            suspects,
            known,
            files: Vec::new(),
            notebook: None,
        };
        inquiry.read_programs();
        inquiry
    }

    pub(crate) fn memory(&self) -> &'a Memory {
        &self.known.held.memory
    }

    /// Whether memory ran short: for the process, or for one of its threads, which it outlived.
    pub(crate) fn is_about_memory(&self) -> bool {
        let threads = self.known.threads.iter();
        let mut threads = threads.filter(|_| self.known.decisive.is_some());
        self.known.verdict.id.is_about_memory() || threads.any(|it| lacks_memory(&it.type_name))
    }

    /// Bytes that could be used in all.
    pub(crate) fn room(&self) -> Option<u64> {
        let decisive = self.known.decisive.map(|it| it.budget);
        let budget = self.known.input.run.budget.as_ref().map(|it| it.at_end);
        let memory = self.memory();
        let machine = Some(memory.machine).filter(|it| *it > 0);
        decisive
            .or(budget)
            .filter(|it| *it > 0)
            .or(memory.limit)
            .or(machine)
    }

    /// The process whose memory is explained.
    pub(crate) fn process(&self) -> &'a ProcessFacts {
        self.known.held.process
    }

    /// When it was too late.
    pub(crate) fn time(&self) -> u64 {
        let end = self.process().ended_at;
        self.known.decisive.map(|it| it.time).or(end).unwrap_or(0)
    }

    /// Lines that grew until the end, largest first: where growth was stopped, and those that
    /// acquired memory shortly before. Without such, all that held some.
    pub(crate) fn growing(&self) -> Vec<&Suspect> {
        let mut growing: Vec<&Suspect> = self.stopped.iter().collect();
        let is_late = |it: &&Suspect| it.last_time.saturating_add(LATELY) >= self.time();
        for suspect in self.suspects.iter().filter(is_late) {
            if !growing.iter().any(|known| known.line.is_at(&suspect.line)) {
                growing.push(suspect);
            }
        }
        if growing.is_empty() {
            growing = self.suspects.iter().collect();
        }
        growing.sort_by_key(|it| std::cmp::Reverse(it.bytes));
        growing
    }

    /// The programs that were read: of a notebook its cells as one.
    pub(crate) fn programs(&self) -> impl Iterator<Item = &Program> {
        let files = self.files.iter().map(|(_, program)| program);
        files.chain(&self.notebook)
    }

    /// The program a line stands in.
    pub(crate) fn program(&self, line: &Line) -> Option<&Program> {
        if self.known.input.cells.has(&line.file) {
            return self.notebook.as_ref();
        }
        let known = self.files.iter().find(|(name, _)| *name == line.file);
        known.map(|(_, program)| program)
    }

    /// What stands around a line.
    pub(crate) fn around(&self, line: &Line) -> Option<Surroundings> {
        self.program(line)?.around(line)
    }

    /// Says which cell a line is in.
    pub(crate) fn marked(&self, mut line: Line) -> Line {
        self.known.input.cells.mark_line(&mut line, self.time());
        line
    }

    fn read_programs(&mut self) {
        let input = self.known.input;
        let settings = self.settings();
        let recording = self.known.held.recording;
        let directory = recording.map_or_else(String::new, |it| it.identity().cwd.into_owned());
        for line in self.lines_in_question() {
            if input.cells.has(&line.file) {
                if self.notebook.is_none() {
                    self.notebook = Program::of_cells(input.cells, &settings);
                }
                continue;
            }
            let is_known = self.files.iter().any(|(name, _)| *name == line.file);
            if is_known || self.files.len() == FILES {
                continue;
            }
            let file = match line.file.as_str() {
                "<string>" => self.argument(),
                name => input.sources.file(&directory, name),
            };
            let program = file.and_then(|file| Program::of_file(&line.file, &file, &settings));
            self.files.extend(program.map(|it| (line.file.clone(), it)));
        }
    }

    /// The user's lines that may have to do with it: the refused one first, then what grew, then
    /// where exceptions came from, each with its callers.
    fn lines_in_question(&self) -> Vec<Line> {
        let request = self.request.iter().flat_map(|it| &it.frames);
        let growing = self.growing();
        let grown = growing.iter().flat_map(|it| &it.frames);
        let latest = self.latest.iter().flat_map(|it| &it.frames);
        let lines = request.chain(grown).chain(latest).cloned();
        let raised = self.raised();
        let users = lines.chain(raised).filter(Line::is_users);
        users.collect()
    }

    /// The lines of uncaught exceptions, innermost first.
    pub(crate) fn raised(&self) -> Vec<Line> {
        let cells = self.known.input.cells;
        let exceptions = self.known.exceptions.iter().rev();
        let lines = exceptions.flat_map(|it| traceback::lines(it, cells).into_iter().rev());
        lines.collect()
    }

    /// The program of `python -c PROGRAM`.
    fn argument(&self) -> Option<std::rc::Rc<crate::SourceFile>> {
        let argv = self.known.held.recording?.identity().argv;
        let place = argv.iter().position(|word| word == "-c")?;
        Some(std::rc::Rc::new(crate::SourceFile {
            text: argv.get(place + 1)?.clone(),
            is_later: false,
        }))
    }

    /// Everything is asked for: what happened is known, so that little is needed to believe it.
    fn settings(&self) -> Settings {
        let memory = self.memory();
        let container = memory.limit.filter(|limit| *limit < memory.machine);
        Settings {
            selection: Selection {
                info: true,
                ..Selection::default()
            },
            budget: self.room(),
            container: container.map(|limit| Container {
                limit,
                machine: memory.machine,
            }),
        }
    }
}

/// Whether an exception is one of those that tell of too little memory.
pub(crate) fn lacks_memory(type_name: &str) -> bool {
    ["MemoryError", "OutOfHeadroom"]
        .iter()
        .any(|name| type_name.ends_with(name))
}
