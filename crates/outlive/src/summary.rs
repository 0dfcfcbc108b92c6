//! What `outlive run` says at the end: nothing when all went well and nobody watches, one line
//! on a terminal, the whole explanation after a bad end.

use std::io::{self, IsTerminal};

use outlive_diagnose::facts::{EndStatus, RunFacts};
use outlive_diagnose::guarded;
use outlive_diagnose::size::{Size, Span};
use outlive_diagnose::{BlackBoxes, VerdictId};
use outlive_record::kind::ExceptionKind;

use crate::boxes::Shelf;
use crate::commands::why::{self, Explanation, notebook_files};
use crate::peak;
use crate::printer::Style;
use crate::printer::visible::visible;
use crate::say;
use crate::store::StoredRun;
use crate::uncaught;

/// Interrupted from the keyboard: whoever did that knows why it ended.
const SIGINT: i32 = 2;
/// The reader of its output has closed it, as `head` does: no news to anybody.
const SIGPIPE: i32 = 13;
/// How the line after an ordinary error ends.
const MORE: &str = " · more: outlive why";

/// Says it on standard error.
pub(crate) fn print(run: &StoredRun, facts: &RunFacts, status: EndStatus) {
    if status == EndStatus::Signaled(SIGPIPE) {
        return;
    }
    let mut raised = None;
    if needs_explanation(status)
        && let Ok(explanation) = why::explain(run)
    {
        if !is_plain(&explanation, status) {
            // A closed standard error is not a fault.
            let _ = print_whole(&explanation);
            return;
        }
        raised = exception(&explanation);
    }
    // A program that Outlive got in the way of has to hear it, also in a log file.
    let deeds = facts.budget.as_ref().and_then(guarded::interventions);
    if io::stderr().is_terminal() || deeds.is_some() {
        let deeds = deeds.map_or_else(String::new, |deeds| format!(" · Outlive {deeds}"));
        say(&match raised {
            Some(raised) => format!("{}: {raised}{deeds}{MORE}", end(facts, status)),
            None => line(facts, status, dead_thread(run, facts).as_deref(), &deeds),
        });
    }
}

/// `thread loader died: ValueError at thr.py:3`: a program may end well without one of its threads.
fn dead_thread(run: &StoredRun, facts: &RunFacts) -> Option<String> {
    let root = facts.processes.iter().find(|it| it.id == facts.root)?;
    let shelf = Shelf::new(vec![run.directory.join(root.black_box.as_ref()?)]);
    let exceptions = shelf.open(root.id)?.exceptions();
    let died = exceptions
        .iter()
        .find(|exception| exception.kind == Some(ExceptionKind::Thread))?;
    Some(format!(
        "thread {} died: {}",
        visible(&died.thread),
        uncaught::short(died, &notebook_files::cells(&run.directory), &facts.cwd)
    ))
}

const fn needs_explanation(status: EndStatus) -> bool {
    match status {
        EndStatus::Exited(code) => code != 0,
        EndStatus::Signaled(signal) => signal != SIGINT,
    }
}

/// Whether the program merely said "no": its own message is explanation enough.
const fn is_plain(explanation: &Explanation, status: EndStatus) -> bool {
    let is_own_doing = matches!(
        explanation.diagnosis.verdict.id,
        VerdictId::UncaughtException
            | VerdictId::ExitedWithCode
            | VerdictId::FailedAtStart
            | VerdictId::Interrupted
            | VerdictId::Finished
    );
    is_own_doing && matches!(status, EndStatus::Exited(_))
}

fn print_whole(explanation: &Explanation) -> io::Result<()> {
    let stderr = io::stderr();
    let style = Style::for_stream(&stderr);
    let mut text = Vec::new();
    why::print_text(explanation, &mut text, style)?;
    // In one piece: other processes may be writing to the same place.
    let mut out = stderr.lock();
    io::Write::write_all(&mut out, b"\n")?;
    io::Write::write_all(&mut out, &text)
}

/// `ValueError at train.py:12`, for the exception that ended the program.
fn exception(explanation: &Explanation) -> Option<String> {
    let exceptions = explanation.diagnosis.exceptions.iter();
    let main = exceptions
        .rev()
        .find(|exception| exception.kind == Some(ExceptionKind::Main))?;
    Some(uncaught::short(
        main,
        &explanation.cells,
        &explanation.directory,
    ))
}

/// `finished in 12 s, peak 1.2 GiB of 8.0 GiB (cgroup), run 20261115-091530-a1b2`.
fn line(facts: &RunFacts, status: EndStatus, thread: Option<&str>, deeds: &str) -> String {
    let (limit, source) = tightest_limit(facts);
    let more = if needs_explanation(status) || thread.is_some() || !deeds.is_empty() {
        MORE
    } else {
        ""
    };
    format!(
        "{}{}, peak {} of {} ({source}), run {}{deeds}{more}",
        end(facts, status),
        thread.map_or_else(String::new, |thread| format!(", but {thread}")),
        // Pages of files are resident too, and no limit counts them.
        Size(peak::of_tree(facts).min(limit)),
        Size(limit),
        facts.id
    )
}

fn end(facts: &RunFacts, status: EndStatus) -> String {
    let length = Span(
        facts
            .ended_at
            .unwrap_or(facts.started_at)
            .saturating_sub(facts.started_at),
    );
    match status {
        EndStatus::Exited(0) => format!("finished in {length}"),
        EndStatus::Exited(code) => format!("exited with code {code} after {length}"),
        EndStatus::Signaled(SIGINT) => format!("interrupted after {length}"),
        EndStatus::Signaled(signal) => format!("ended by signal {signal} after {length}"),
    }
}

fn tightest_limit(facts: &RunFacts) -> (u64, &'static str) {
    let cgroup = facts.cgroups.iter().filter_map(|cgroup| cgroup.limit).min();
    let asked = facts.budget.as_ref().and_then(|budget| budget.limit);
    [
        (Some(facts.machine.total), "machine"),
        (cgroup, "cgroup"),
        (asked, "--limit"),
    ]
    .into_iter()
    .filter_map(|(limit, source)| Some((limit?, source)))
    .min_by_key(|(limit, _)| *limit)
    .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::FACTS_FILE;
    use outlive_diagnose::facts::{
        BudgetFacts, CgroupFacts, MachineFacts, ProcessFacts, ProcessId,
    };
    use outlive_record::layout::MIN_BOX_SIZE;
    use outlive_record::region::Region;
    use outlive_record::write::{BoxWriter, ExceptionFacts, Identity};

    #[test]
    fn an_exception_is_named_with_the_users_own_line() {
        let home = tempfile::tempdir().unwrap();
        let directory = home.path().to_str().unwrap();
        let region = Region::leaked(MIN_BOX_SIZE);
        let id = ProcessId {
            pid: 4711,
            start_ticks: 99,
        };
        let identity = Identity {
            pid: id.pid,
            start_ticks: id.start_ticks,
            ..Identity::default()
        };
        let traceback = format!(
            "{directory}/train.py:12 in step\n/v/lib/python3.12/site-packages/torch/nn.py:9 in f"
        );
        BoxWriter::create(region, &identity).add_exception(&ExceptionFacts {
            kind: ExceptionKind::Main,
            tid: id.pid,
            time: 1,
            thread: b"MainThread",
            type_name: b"ValueError",
            message: b"shapes do not match",
            traceback: traceback.as_bytes(),
        });
        fs_err::write(home.path().join("4711-99.box"), region.to_bytes()).unwrap();
        let facts = RunFacts {
            cwd: directory.to_owned(),
            ended_at: Some(1),
            root: id,
            processes: vec![ProcessFacts {
                id,
                status: Some(EndStatus::Exited(1)),
                ended_at: Some(1),
                ..ProcessFacts::default()
            }],
            ..RunFacts::default()
        };
        let file = home.path().join(FACTS_FILE);
        fs_err::write(file, serde_json::to_vec(&facts).unwrap()).unwrap();
        let run = StoredRun {
            id: "a".to_owned(),
            directory: home.path().to_owned(),
        };
        let explanation = why::explain(&run).unwrap();
        assert!(is_plain(&explanation, EndStatus::Exited(1)));
        assert_eq!(
            exception(&explanation).as_deref(),
            Some("ValueError at train.py:12")
        );
    }

    #[test]
    fn the_line_says_how_long_how_much_of_what_and_which_run() {
        let mut facts = RunFacts {
            id: "20261115-091530-a1b2".to_owned(),
            started_at: 1_000_000_000,
            ended_at: Some(13_000_000_000),
            peak_memory: 1 << 30,
            machine: MachineFacts {
                total: 16 << 30,
                ..MachineFacts::default()
            },
            ..RunFacts::default()
        };
        assert_eq!(
            line(&facts, EndStatus::Exited(0), None, ""),
            "finished in 12 s, peak 1.0 GiB of 16.0 GiB (machine), run 20261115-091530-a1b2"
        );
        facts.cgroups = vec![CgroupFacts {
            limit: Some(8 << 30),
            ..CgroupFacts::default()
        }];
        assert_eq!(
            line(&facts, EndStatus::Exited(3), None, ""),
            "exited with code 3 after 12 s, peak 1.0 GiB of 8.0 GiB (cgroup), \
             run 20261115-091530-a1b2 · more: outlive why"
        );
        let thread = "thread loader died: ValueError at thr.py:3";
        facts.budget = Some(BudgetFacts {
            limit: Some(4 << 30),
            ..BudgetFacts::default()
        });
        assert_eq!(
            line(
                &facts,
                EndStatus::Exited(0),
                None,
                " · Outlive refused 1 request"
            ),
            "finished in 12 s, peak 1.0 GiB of 4.0 GiB (--limit), run 20261115-091530-a1b2 \
             · Outlive refused 1 request · more: outlive why"
        );
        facts.peak_memory = 5 << 30;
        assert!(
            line(&facts, EndStatus::Exited(0), None, "").contains("peak 4.0 GiB of 4.0 GiB"),
            "what counts against a limit is not above it"
        );
        let line = line(&facts, EndStatus::Exited(0), Some(thread), "");
        assert!(
            line.starts_with("finished in 12 s, but thread loader died: ValueError at thr.py:3, "),
            "{line}"
        );
    }
}
