//! Causes that lie in the tree or beside it, in an exception, or in a GPU.

use outlive_diagnose::facts::EndStatus;
use outlive_diagnose::{Cause, CauseId, Confidence, Sureness, VerdictId};
use outlive_record::kind::{EventKind, ExceptionKind};
use outlive_record::write::{BoxWriter, ExceptionFacts};

use crate::causes_recorded::{KEPT, first, hold};
use crate::guarded::{guarded, line, raise};
use crate::scene::{GIB, MIB, ROOT, SECOND, Scene, id};
use crate::stopped::stop;

/// A worker that Outlive struck, whose exception its parent raised again.
fn in_worker(text: &str, fill: impl FnOnce(&BoxWriter)) -> Vec<Cause> {
    let scene = Scene::ended(EndStatus::Exited(1))
        .with_box(ROOT, |writer| {
            raise(
                writer,
                "outlive.OutOfHeadroom",
                "Caught OutOfHeadroom in DataLoader worker process 0.",
            );
        })
        .process(101, ROOT, Some(EndStatus::Exited(0)), 89 * SECOND)
        .with_box(101, fill)
        .of(101, |worker| {
            worker.argv = [
                "python",
                "-c",
                "from multiprocessing.spawn import spawn_main",
            ]
            .map(str::to_owned)
            .to_vec();
        })
        .with(guarded(1, 1))
        .program(text);
    let diagnosis = scene.diagnose();
    assert_eq!(diagnosis.shown, Some(id(101)));
    diagnosis.causes
}

#[test]
fn growth_in_a_worker_is_the_workers() {
    let causes = in_worker(KEPT, |writer| {
        hold(writer, line(writer, 4), GIB, 20 * MIB);
        stop(writer, 88 * SECOND, line(writer, 4));
    });
    assert_eq!(
        (first(&causes).0, first(&causes).1),
        (CauseId::WorkerKilled, Sureness::High)
    );
}

#[test]
fn one_large_request_of_a_worker_is_told_before_its_being_a_worker() {
    let scene = Scene::killed(9)
        .counted(1)
        .with_box(ROOT, |_| {})
        .process(101, ROOT, Some(EndStatus::Signaled(9)), 89 * SECOND)
        .with_box(101, |writer| {
            let asked = line(writer, 2);
            hold(writer, asked, 3 * GIB, 3 * GIB);
            let kind = EventKind::Mapped;
            writer.add_event(kind, 88 * SECOND, 101, 3 * GIB, 0, asked, 3 << 30);
        })
        .of(101, |worker| {
            worker.argv = vec!["multiprocessing.spawn".to_owned()];
        })
        .program("def step():\n    return everything()\n");
    let causes = scene.diagnose().causes;
    let found: Vec<_> = causes.iter().map(|it| (it.id, it.sureness)).collect();
    assert_eq!(
        found,
        [
            (CauseId::OversizedTensor, Sureness::Medium),
            (CauseId::WorkerKilled, Sureness::Medium)
        ]
    );
}

#[test]
fn others_that_have_more_are_named() {
    let scene = Scene::killed(9)
        .counted(1)
        .logged(&[
            "Out of memory: Killed process 100 (python) total-vm:1kB, anon-rss:1048576kB, \
             file-rss:0kB, shmem-rss:0kB",
        ])
        .with_box(ROOT, |writer| hold(writer, line(writer, 4), GIB, MIB))
        .with(|run| {
            run.cgroups[0].limit = None;
            run.machine.available_lowest = 0;
            run.machine.largest_others = vec![(7, "postgres".to_owned(), 50 * GIB)];
        })
        .program(KEPT);
    let causes = scene
        .expect(VerdictId::OutOfMemoryHost, Confidence::Proved)
        .causes;
    assert_eq!(first(&causes).0, CauseId::ContendedMemory);
    assert!(causes[0].evidence[1].contains("postgres (pid 7) had 50.0 GiB"));
}

fn thread_died(type_name: &'static str, message: &'static str) -> Vec<Cause> {
    let scene = Scene::ended(EndStatus::Exited(1)).with_box(ROOT, |writer| {
        writer.add_exception(&ExceptionFacts {
            kind: ExceptionKind::Thread,
            tid: ROOT,
            time: 80 * SECOND,
            thread: b"loader",
            type_name: type_name.as_bytes(),
            message: message.as_bytes(),
            traceback: b"train.py:4 in load",
        });
        raise(writer, "RuntimeError", "nothing in the queue");
    });
    scene.program(KEPT).diagnose().causes
}

#[test]
fn exceptions_in_threads_and_damaged_records_are_causes_too() {
    let causes = thread_died("ValueError", "no such shard");
    assert_eq!(
        (first(&causes).0, first(&causes).2),
        (CauseId::UncaughtInThread, Some(4))
    );
    let causes = thread_died(
        "PIL.UnidentifiedImageError",
        "cannot identify image file '/data/7.jpg'",
    );
    assert_eq!(
        (first(&causes).0, first(&causes).1),
        (CauseId::CorruptRecord, Sureness::High)
    );
    assert!(causes[0].evidence[0].contains("/data/7.jpg"));
    let causes = Scene::raised(
        "PIL.UnidentifiedImageError",
        "Caught UnidentifiedImageError in DataLoader worker process 0.\nOriginal Traceback (most \
         recent call last):\n  File \"/home/a/data.py\", line 12, in __getitem__\n    image = \
         Image.open(path)\n  File \"/v/lib/python3.12/site-packages/PIL/Image.py\", line 9, in \
         open\nPIL.UnidentifiedImageError: cannot identify image file '/data/7.jpg'",
    )
    .diagnose()
    .causes;
    let line = causes[0]
        .line
        .as_ref()
        .map(outlive_diagnose::place::Line::describe);
    assert_eq!(line.as_deref(), Some("/home/a/data.py:12 in __getitem__"));
}

#[test]
fn memory_of_a_gpu_that_is_there_in_pieces_is_told() {
    let message = |unused: &str| {
        format!(
            "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 16.00 \
             GiB of which 1.00 GiB is free. Of the allocated memory 9.00 GiB is allocated by \
             PyTorch, and {unused} is reserved by PyTorch but unallocated."
        )
    };
    let causes = |unused: &str| {
        let scene = Scene::raised("torch.OutOfMemoryError", &message(unused));
        scene
            .expect(VerdictId::GpuOutOfMemory, Confidence::Proved)
            .causes
    };
    assert_eq!(first(&causes("5.00 GiB")).0, CauseId::FragmentedCache);
    assert!(causes("100.00 MiB").is_empty());
    let giant = "CUDA out of memory. Tried to allocate 90.00 GiB. GPU 0 has a total capacity of \
                 16.00 GiB of which 1.00 GiB is free.";
    let causes = Scene::raised("torch.OutOfMemoryError", giant)
        .diagnose()
        .causes;
    assert_eq!(
        (first(&causes).0, first(&causes).1),
        (CauseId::OversizedTensor, Sureness::High)
    );
}

#[test]
fn nothing_is_said_of_ends_that_memory_has_nothing_to_do_with() {
    for scene in [
        Scene::killed(11),
        Scene::killed(9),
        Scene::raised("ValueError", "no"),
        Scene::ended(EndStatus::Exited(0)),
    ] {
        let causes = scene.program(KEPT).diagnose().causes;
        assert!(causes.is_empty(), "{causes:#?}");
    }
}
