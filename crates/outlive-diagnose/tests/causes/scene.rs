//! A run written as data: facts as the supervisor stores them, and small boxes as the recorder
//! writes them.

use std::collections::HashMap;
use std::rc::Rc;

use outlive_diagnose::cells::{Cell, Cells};
use outlive_diagnose::facts::{
    CgroupFacts, Change, EndStatus, LogFacts, MachineFacts, ProcessFacts, ProcessId, RunFacts,
};
use outlive_diagnose::notebook::Notebook;
use outlive_diagnose::{
    BlackBoxes, Confidence, Diagnosis, Input, Liveness, SourceFile, SourceText, VerdictId, diagnose,
};
use outlive_record::kind::{Attribution, ExceptionKind};
use outlive_record::layout::MIN_BOX_SIZE;
use outlive_record::read::Recording;
use outlive_record::region::Region;
use outlive_record::timeline::{Sample, TimelineWriter, UNKNOWN};
use outlive_record::write::{BoxWriter, ExceptionFacts, FatalFacts, Identity};

pub(crate) const SECOND: u64 = 1_000_000_000;
pub(crate) const MIB: u64 = 1 << 20;
pub(crate) const GIB: u64 = 1 << 30;

/// The process that is started in every scene.
pub(crate) const ROOT: u32 = 100;

/// Boxes in memory.
#[derive(Default)]
struct Boxes(HashMap<ProcessId, Vec<u8>>);

impl BlackBoxes for Boxes {
    fn open(&self, process: ProcessId) -> Option<Recording<'_>> {
        Recording::read(self.0.get(&process)?).ok()
    }
}

/// Source files that say where they were asked, and the program where a scene has one.
#[derive(Default)]
struct Sources {
    program: Option<Rc<SourceFile>>,
}

impl SourceText for Sources {
    fn file(&self, _: &str, file: &str) -> Option<Rc<SourceFile>> {
        self.program.clone().filter(|_| file == "train.py")
    }

    fn line(&self, _: &str, file: &str, line: u32) -> Option<String> {
        match file {
            "imports.py" => Some("import something".to_owned()),
            _ => (!file.starts_with('<')).then(|| format!("source of {line}")),
        }
    }
}

/// A run under construction.
pub(crate) struct Scene {
    pub(crate) run: RunFacts,
    pub(crate) liveness: Liveness,
    notebook: Option<Notebook>,
    cells: Cells,
    boxes: Boxes,
    sources: Sources,
}

impl Scene {
    /// A run of one Python process that ended like this, in a cgroup of 4 GiB on a machine of 64,
    /// everything readable and no counter moved.
    pub(crate) fn ended(status: EndStatus) -> Self {
        let run = RunFacts {
            root: id(ROOT),
            started_at: 1_000 * SECOND,
            ended_at: Some(1_100 * SECOND),
            started_monotonic: SECOND,
            cgroups: vec![CgroupFacts {
                path: "/job".to_owned(),
                version: 2,
                own: true,
                limit: Some(4 * GIB),
                oom_kill: Some(Change::default()),
                oom: Some(Change::default()),
                max: Some(Change::default()),
                ..CgroupFacts::default()
            }],
            vmstat_oom_kill: Some(Change {
                before: 7,
                after: 7,
            }),
            machine: MachineFacts {
                total: 64 * GIB,
                available_lowest: 50 * GIB,
                ..MachineFacts::default()
            },
            kernel_log: LogFacts {
                readable: true,
                ..LogFacts::default()
            },
            journal: LogFacts {
                readable: true,
                ..LogFacts::default()
            },
            ..RunFacts::default()
        };
        let scene = Self {
            run,
            liveness: Liveness::Ended,
            notebook: None,
            cells: Cells::default(),
            boxes: Boxes::default(),
            sources: Sources::default(),
        };
        scene.process(ROOT, 1, Some(status), 90 * SECOND)
    }

    /// A run whose only process was killed by this signal.
    pub(crate) fn killed(signal: i32) -> Self {
        Self::ended(EndStatus::Signaled(signal))
    }

    /// A run whose only process exited with 1 after this exception.
    pub(crate) fn raised(type_name: &str, message: &str) -> Self {
        let scene = Self::ended(EndStatus::Exited(1));
        scene.with_box(ROOT, |writer| {
            writer.add_exception(&ExceptionFacts {
                kind: ExceptionKind::Main,
                tid: ROOT,
                time: 89 * SECOND,
                thread: b"MainThread",
                type_name: type_name.as_bytes(),
                message: message.as_bytes(),
                traceback: b"/home/a/train.py:3 in <module>\n/home/a/train.py:2 in step",
            });
        })
    }

    /// Adds a process.
    pub(crate) fn process(
        mut self,
        pid: u32,
        parent: u32,
        status: Option<EndStatus>,
        ended_at: u64,
    ) -> Self {
        self.run.processes.push(ProcessFacts {
            id: id(pid),
            parent,
            name: "python".to_owned(),
            seen_at: 2 * SECOND,
            ended_at: status.map(|_| ended_at),
            status,
            last_resident: GIB,
            peak_resident: GIB,
            ..ProcessFacts::default()
        });
        self
    }

    /// Gives a process a box and fills it.
    pub(crate) fn with_box(mut self, pid: u32, fill: impl FnOnce(&BoxWriter)) -> Self {
        let region = Region::leaked(MIN_BOX_SIZE);
        let identity = Identity {
            pid,
            start_ticks: u64::from(pid),
            cwd: b"/home/a",
            ..Identity::default()
        };
        let writer = BoxWriter::create(region, &identity);
        writer.set_python(0x030C_0100, Attribution::On);
        fill(&writer);
        self.boxes.0.insert(id(pid), region.to_bytes());
        self.of(pid, |process| {
            process.black_box = Some(format!("{pid}-{pid}.box"));
        })
    }

    /// Puts a time line into the box of a process: (seconds, resident, use of the cgroup).
    pub(crate) fn with_samples(mut self, pid: u32, samples: &[(u64, u64, u64)]) -> Self {
        let bytes = self.boxes.0.get_mut(&id(pid)).unwrap();
        let mut timeline = TimelineWriter::new(MIN_BOX_SIZE);
        for &(seconds, resident, cgroup_use) in samples {
            let sample = Sample {
                time: seconds * SECOND,
                resident,
                cgroup_use,
                cgroup_limit: 4 * GIB,
                proportional: UNKNOWN,
                available: UNKNOWN,
                swapped: UNKNOWN,
            };
            timeline.push(&sample, |offset, part| {
                bytes[offset as usize..offset as usize + part.len()].copy_from_slice(part);
            });
        }
        self
    }

    /// Cuts the box of a process to this length.
    pub(crate) fn cut_box(mut self, pid: u32, length: usize) -> Self {
        self.boxes.0.get_mut(&id(pid)).unwrap().truncate(length);
        self
    }

    /// Changes the facts of a process.
    pub(crate) fn of(mut self, pid: u32, change: impl FnOnce(&mut ProcessFacts)) -> Self {
        change(
            self.run
                .processes
                .iter_mut()
                .find(|it| it.id.pid == pid)
                .unwrap(),
        );
        self
    }

    /// Changes the facts of the run.
    pub(crate) fn with(mut self, change: impl FnOnce(&mut RunFacts)) -> Self {
        change(&mut self.run);
        self
    }

    /// Moves the counters as a kill by the kernel at the cgroup's limit does.
    pub(crate) fn counted(self, kills: u64) -> Self {
        self.with(|run| {
            let change = Some(Change {
                before: 0,
                after: kills,
            });
            run.cgroups[0].oom_kill = change;
            run.cgroups[0].oom = change;
            run.cgroups[0].max = Some(Change {
                before: 3,
                after: 40,
            });
            run.vmstat_oom_kill = Some(Change {
                before: 7,
                after: 7 + kills,
            });
        })
    }

    /// Adds lines to the kernel log.
    pub(crate) fn logged(self, lines: &[&str]) -> Self {
        self.with(|run| {
            run.kernel_log
                .lines
                .extend(lines.iter().map(|&line| line.to_owned()));
        })
    }

    /// Adds lines to the journal.
    pub(crate) fn journal(self, lines: &[&str]) -> Self {
        self.with(|run| {
            run.journal
                .lines
                .extend(lines.iter().map(|&line| line.to_owned()));
        })
    }

    /// The root's last words on standard error.
    pub(crate) fn said(self, text: &str) -> Self {
        self.with_box(ROOT, |writer| writer.add_stderr(text.as_bytes()))
    }

    /// The root met a fatal signal.
    pub(crate) fn fatal(self, facts: &FatalFacts<'_>) -> Self {
        self.with_box(ROOT, |writer| {
            let record = writer.add_fatal(facts, None).unwrap();
            writer.finish_fatal(record);
        })
    }

    /// The root is a notebook's kernel in which these cells ran: (file, count, source, seconds).
    pub(crate) fn notebook(mut self, cells: &[(&str, u64, &str, u64)]) -> Self {
        self.notebook = Some(Notebook {
            pid: ROOT,
            kernel_id: None,
            session: None,
        });
        let cell = |&(file, count, source, seconds): &(&str, u64, &str, u64)| Cell {
            file: file.to_owned(),
            count,
            id: None,
            source: source.to_owned(),
            time: seconds * SECOND,
        };
        self.cells = Cells::new(cells.iter().map(cell).collect());
        self
    }

    /// What stands in `train.py`.
    pub(crate) fn program(mut self, text: &str) -> Self {
        self.sources.program = Some(Rc::new(SourceFile {
            text: text.to_owned(),
            is_later: false,
        }));
        self
    }

    /// What stands in `train.py`, which was changed after the run had started.
    pub(crate) fn changed_program(self, text: &str) -> Self {
        let mut scene = self.program(text);
        let program = scene.sources.program.as_mut().map(Rc::make_mut);
        program.unwrap().is_later = true;
        scene
    }

    /// Still going.
    pub(crate) fn while_it_is(mut self, liveness: Liveness) -> Self {
        self.liveness = liveness;
        self.run.ended_at = None;
        self
    }

    /// The diagnosis.
    pub(crate) fn diagnose(&self) -> Diagnosis {
        diagnose(&Input {
            run: &self.run,
            boxes: &self.boxes,
            sources: &self.sources,
            notebook: self.notebook.as_ref(),
            cells: &self.cells,
            liveness: self.liveness,
        })
    }

    /// Expects this verdict, with evidence, and gives the diagnosis for more.
    pub(crate) fn expect(&self, verdict: VerdictId, confidence: Confidence) -> Diagnosis {
        let diagnosis = self.diagnose();
        let found = &diagnosis.verdict;
        assert_eq!(
            (found.id, found.confidence),
            (verdict, confidence),
            "{found:#?}"
        );
        assert!(!found.evidence.is_empty(), "{found:#?}");
        let claims_memory = found.summary.to_lowercase().contains("out of memory");
        assert!(!claims_memory || found.id.is_kernel_kill(), "{found:#?}");
        diagnosis
    }
}

/// A process's name for good.
pub(crate) fn id(pid: u32) -> ProcessId {
    ProcessId {
        pid,
        start_ticks: u64::from(pid),
    }
}
