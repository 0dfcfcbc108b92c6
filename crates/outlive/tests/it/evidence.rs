//! What is on disk when nobody could finish it.

use crate::context::{Companion, Context, python};

#[test]
fn facts_are_whole_when_the_supervisor_itself_is_killed() {
    let context = Context::new();
    let script = "import sys; print('ready', flush=True); sys.stdin.read()";
    let mut program = Companion::start(context.run().args(["--", python(), "-c", script]));
    assert_eq!(program.line(), "ready");
    program.child.kill().unwrap();
    program.child.wait().unwrap();
    assert_eq!(program.line(), "", "the program died with its supervisor");
    let facts = context.facts();
    assert_eq!(facts.command, [python(), "-c", script]);
    assert_eq!(facts.ended_at, None);
    assert_eq!(facts.supervisor.pid, program.child.id());
    assert_eq!(facts.processes.first().unwrap().id, facts.root);
    assert!(facts.machine.total > 0);
}

#[test]
fn counters_and_machine_are_in_the_facts() {
    let context = Context::new();
    context
        .run()
        .args(["--", "true"])
        .env("SLURM_JOB_ID", "4711")
        .output()
        .unwrap();
    let facts = context.facts();
    assert!(facts.machine.available_lowest > 0);
    assert!(facts.machine.available_lowest <= facts.machine.available.before);
    assert!(
        facts
            .vmstat_oom_kill
            .is_some_and(|change| change.after >= change.before)
    );
    assert_eq!(
        facts
            .cgroups
            .iter()
            .filter(|cgroup| cgroup.own)
            .count()
            .min(1),
        1
    );
    assert!(
        facts
            .environment
            .contains(&("SLURM_JOB_ID".to_owned(), "4711".to_owned()))
    );
    assert!(facts.kernel_log.readable || !facts.kernel_log.reason.is_empty());
}

#[test]
fn runs_are_for_their_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let context = Context::new();
    context.run().args(["--", "true"]).output().unwrap();
    let folder = context.run_folders().pop().unwrap();
    let mode = fs_err::metadata(folder).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}
