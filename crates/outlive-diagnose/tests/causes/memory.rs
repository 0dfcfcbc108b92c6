//! Kills for memory, by the kernel and by daemons, and kills that only look like one.

use outlive_diagnose::facts::{Change, EndStatus};
use outlive_diagnose::{Confidence, VerdictId};

use crate::scene::{GIB, MIB, ROOT, SECOND, Scene};

const KILLED: Option<EndStatus> = Some(EndStatus::Signaled(9));

fn oom_lines(pid: u32, constraint: &str, rss_kib: u64) -> [String; 2] {
    let prefix = if constraint == "MEMCG" {
        "Memory cgroup out"
    } else {
        "Out"
    };
    [
        format!(
            "[   90.000001] oom-kill:constraint=CONSTRAINT_{constraint},nodemask=(null),cpuset=/,\
             mems_allowed=0,oom_memcg=/job,task_memcg=/job,task=python,pid={pid},uid=0"
        ),
        format!(
            "[   90.000002] {prefix} of memory: Killed process {pid} (python) total-vm:9kB, \
             anon-rss:{rss_kib}kB, file-rss:0kB, shmem-rss:0kB, UID:0"
        ),
    ]
}

fn logged(scene: Scene, lines: &[String]) -> Scene {
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    scene.logged(&lines)
}

#[test]
fn a_cgroup_kill_is_proved_by_its_counter() {
    let diagnosis = Scene::killed(9)
        .counted(1)
        .expect(VerdictId::OutOfMemoryCgroup, Confidence::Proved);
    assert!(
        diagnosis
            .verdict
            .summary
            .contains("at the 4.0 GiB limit of cgroup v2 /job")
    );
    let counters = "cgroup v2 /job: oom_kill 0 -> 1, oom 0 -> 1, max 3 -> 40";
    assert!(
        diagnosis
            .verdict
            .evidence
            .iter()
            .any(|line| line == counters)
    );
}

#[test]
fn version_one_counts_failures_instead() {
    Scene::killed(9)
        .counted(1)
        .with(|run| {
            run.cgroups[0].version = 1;
            run.cgroups[0].oom = None;
        })
        .expect(VerdictId::OutOfMemoryCgroup, Confidence::Proved);
}

#[test]
fn the_kernel_log_gives_the_last_size() {
    let scene = Scene::killed(9).counted(1);
    let diagnosis = logged(scene, &oom_lines(ROOT, "MEMCG", 4 << 20))
        .expect(VerdictId::OutOfMemoryCgroup, Confidence::Proved);
    assert_eq!(diagnosis.memory.at_end, 4 * GIB);
    assert_eq!(diagnosis.memory.peak, 4 * GIB);
}

#[test]
fn inside_a_container_the_log_has_other_pids() {
    let scene = Scene::killed(9).counted(1);
    logged(scene, &oom_lines(30_842, "MEMCG", 4 << 20))
        .expect(VerdictId::OutOfMemoryCgroup, Confidence::Proved);
}

#[test]
fn a_host_kill_names_the_larger_neighbour() {
    let scene = Scene::killed(9).with(|run| {
        run.cgroups[0].oom_kill = Some(Change {
            before: 0,
            after: 1,
        });
        run.vmstat_oom_kill = Some(Change {
            before: 7,
            after: 8,
        });
        run.machine.available_lowest = GIB / 2;
        run.machine.largest_others = vec![
            (7, "browser".to_owned(), 40 * GIB),
            (8, "editor".to_owned(), 3 * GIB),
        ];
    });
    let diagnosis = scene.expect(VerdictId::OutOfMemoryHost, Confidence::Proved);
    assert!(diagnosis.verdict.advice[0].contains("browser (pid 7) held more"));
    let evidence = diagnosis.verdict.evidence.join("\n");
    assert!(evidence.contains("browser (pid 7)"), "{evidence}");
    assert!(!evidence.contains("editor"), "{evidence}");
    let in_log = logged(
        Scene::killed(9).counted(1),
        &oom_lines(ROOT, "NONE", 4 << 20),
    );
    in_log.expect(VerdictId::OutOfMemoryHost, Confidence::Proved);
}

#[test]
fn without_a_cgroup_counter_the_machines_makes_it_likely() {
    let scene = || {
        Scene::killed(9).with(|run| {
            run.cgroups.clear();
            run.vmstat_oom_kill = Some(Change {
                before: 7,
                after: 8,
            });
        })
    };
    scene()
        .with(|run| run.machine.available_lowest = GIB)
        .expect(VerdictId::OutOfMemoryHost, Confidence::Likely);
    // Memory was there: somebody else was killed meanwhile.
    scene().expect(VerdictId::KilledFromOutside, Confidence::Unproved);
}

#[test]
fn a_group_kill_takes_everything() {
    let scene = Scene::killed(9).counted(1).with(|run| {
        run.cgroups[0].oom_group_kill = Some(Change {
            before: 0,
            after: 1,
        });
    });
    scene.expect(VerdictId::OutOfMemoryGroupKill, Confidence::Proved);
}

#[test]
fn a_slurm_job_is_named() {
    let scene = Scene::killed(9).counted(1).with(|run| {
        run.cgroups[0].path = "/slurm/uid_5/job_77/step_0".to_owned();
        run.environment
            .push(("SLURM_JOB_ID".to_owned(), "77".to_owned()));
    });
    let diagnosis = scene.expect(VerdictId::SlurmOutOfMemory, Confidence::Proved);
    assert!(diagnosis.verdict.summary.contains("Slurm job 77"));
}

#[test]
fn a_kill_in_another_cgroup_at_that_very_moment_proves_nothing() {
    // The counter of the machine moved, ours did not; name and time fit, the pid does not.
    let scene = Scene::killed(9).counted(0).with(|run| {
        run.vmstat_oom_kill = Some(Change {
            before: 4,
            after: 5,
        });
    });
    logged(scene, &oom_lines(ROOT + 4000, "MEMCG", 300 << 10))
        .expect(VerdictId::KilledFromOutside, Confidence::Unproved);
}

#[test]
fn the_same_kill_of_a_stranger_proves_nothing() {
    let mut lines = oom_lines(555, "MEMCG", 4 << 20);
    for line in &mut lines {
        *line = line
            .replace("(python)", "(other)")
            .replace("task=python", "task=other");
    }
    let diagnosis = logged(Scene::killed(9).counted(1), &lines)
        .expect(VerdictId::KilledFromOutside, Confidence::Unproved);
    assert!(
        diagnosis
            .verdict
            .ruled_out
            .iter()
            .any(|line| line.contains("killed other (pid 555)"))
    );
}

#[test]
fn a_kill_in_a_cgroup_below_is_not_ours() {
    Scene::killed(9)
        .counted(1)
        .with(|run| run.cgroups[0].oom_kill_local = Some(Change::default()))
        .expect(VerdictId::KilledFromOutside, Confidence::Unproved);
}

#[test]
fn a_small_process_in_a_roomy_cgroup_may_not_be_the_one_that_was_counted() {
    Scene::killed(9)
        .counted(1)
        .of(ROOT, |process| {
            process.peak_resident = 20 * MIB;
            process.last_resident = 20 * MIB;
        })
        .expect(VerdictId::OutOfMemoryCgroup, Confidence::Likely);
}

#[test]
fn one_count_for_several_kills_goes_to_the_one_in_the_log() {
    let scene = Scene::ended(EndStatus::Exited(1))
        .process(101, ROOT, KILLED, 80 * SECOND)
        .process(102, ROOT, KILLED, 80 * SECOND + 1)
        .counted(1);
    let diagnosis = logged(scene, &oom_lines(101, "MEMCG", 4 << 20))
        .expect(VerdictId::OutOfMemoryCgroup, Confidence::Proved);
    assert_eq!(diagnosis.first_death.unwrap().facts.id.pid, 101);
}

#[test]
fn a_dataloader_worker_is_explained_not_its_parent() {
    let scene = Scene::raised(
        "ConnectionResetError",
        "[Errno 104] Connection reset by peer",
    )
    .process(101, ROOT, KILLED, 89 * SECOND)
    .process(102, ROOT, Some(EndStatus::Signaled(15)), 89 * SECOND + 5)
    .counted(1);
    let diagnosis = scene.expect(VerdictId::OutOfMemoryCgroup, Confidence::Proved);
    assert_eq!(diagnosis.first_death.unwrap().facts.id.pid, 101);
    let roles: Vec<&str> = diagnosis
        .processes
        .iter()
        .map(|it| it.role.as_str())
        .collect();
    assert_eq!(roles, ["secondary", "first", "secondary"]);
}

#[test]
fn memory_that_was_short_without_counters_is_said_so() {
    let scene = Scene::killed(9).with(|run| run.cgroups[0].oom_kill = None);
    let blind = scene
        .with(|run| run.vmstat_oom_kill = None)
        .with_box(ROOT, |_| {})
        .with_samples(ROOT, &[(88, 3 * GIB, 4 * GIB - MIB)]);
    let diagnosis = blind.expect(VerdictId::OutOfMemoryCgroup, Confidence::Unproved);
    let sample = "last sample, 2.0 s before the end: 4.0 GiB of 4.0 GiB in use".to_owned();
    assert!(diagnosis.verdict.evidence.contains(&sample));
    let counted = Scene::killed(9)
        .with_box(ROOT, |_| {})
        .with_samples(ROOT, &[(88, 3 * GIB, 4 * GIB - MIB)]);
    let diagnosis = counted.expect(VerdictId::KilledFromOutside, Confidence::Unproved);
    assert!(
        diagnosis
            .verdict
            .evidence
            .iter()
            .any(|line| line.contains("nearly gone"))
    );
}

#[test]
fn a_sample_from_before_the_end_does_not_argue_with_proof() {
    let diagnosis = Scene::killed(9)
        .counted(1)
        .with_box(ROOT, |_| {})
        .with_samples(ROOT, &[(88, 3 * GIB, 3 * GIB)])
        .expect(VerdictId::OutOfMemoryCgroup, Confidence::Proved);
    let evidence = diagnosis.verdict.evidence.join("\n");
    assert!(!evidence.contains("last sample"), "{evidence}");
}

#[test]
fn systemd_oomd_leaves_a_mark() {
    let mark = ("user.oomd_kill".to_owned(), "1".to_owned());
    Scene::killed(9)
        .with(|run| run.cgroups[0].oomd_marks.push(mark))
        .expect(VerdictId::KilledBySystemdOomd, Confidence::Proved);
    Scene::killed(9)
        .journal(&["host systemd[1]: job.scope: systemd-oomd killed 3 process(es) in this unit."])
        .expect(VerdictId::KilledBySystemdOomd, Confidence::Likely);
}

#[test]
fn earlyoom_names_its_victim() {
    let line = "h earlyoom[9]: sending SIGTERM to process 100 uid 0 \"python\": oom_score 800";
    Scene::killed(15)
        .journal(&[line])
        .expect(VerdictId::KilledByEarlyoom, Confidence::Proved);
    let other = line.replace("100", "999");
    Scene::killed(15)
        .journal(&[&other])
        .expect(VerdictId::KilledByEarlyoom, Confidence::Likely);
    let stranger = other.replace("python", "browser");
    Scene::killed(15)
        .journal(&[&stranger])
        .expect(VerdictId::Terminated, Confidence::Proved);
}

#[test]
fn ray_and_dask_speak_through_the_parent() {
    let ray =
        "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.";
    let dask = "distributed.nanny - WARNING - Worker exceeded 95% memory budget. Restarting...";
    for (words, verdict) in [
        (ray, VerdictId::KilledByRay),
        (dask, VerdictId::KilledByDask),
    ] {
        Scene::ended(EndStatus::Exited(1))
            .said(words)
            .process(101, ROOT, KILLED, 80 * SECOND)
            .expect(verdict, Confidence::Proved);
    }
}
