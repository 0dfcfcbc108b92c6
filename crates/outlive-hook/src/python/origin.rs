//! Whose code a file is: the user's own, a library's, or that of a loop that hands work to workers;
//! and in whose code a thread is.

use core::ops::ControlFlow;

use super::layout::FrameLayout;
use super::text::{self, Text};
use super::{Memory, walk};

/// Parts of the paths of installed packages.
const PACKAGES: [&[u8]; 2] = [b"/site-packages/", b"/dist-packages/"];
/// A part of the paths of the interpreter's own modules.
const STANDARD: &[u8] = b"/lib/python";
/// How the names of code without a file start that is not the user's.
const NAMELESS: [&[u8]; 3] = [b"<frozen ", b"<outlive>", b"<__array_function__"];
/// Parts of the paths of loops that call the user's code and report what it raises. What is raised
/// in the loop itself ends the worker.
const LOOPS: [&[u8]; 4] = [
    b"/multiprocessing/",
    b"/concurrent/futures/",
    b"/loky/",
    b"/torch/utils/data/_utils/worker.py",
];
/// Those of them that hand work out; the others carry it, and nothing that they call is work.
const GIVERS: [&[u8]; 6] = [
    b"/multiprocessing/pool.py",
    b"/multiprocessing/process.py",
    b"/concurrent/futures/process.py",
    b"/concurrent/futures/thread.py",
    b"/loky/process_executor.py",
    b"/torch/utils/data/_utils/worker.py",
];
/// Functions of them that do nothing but call the work, which may have no frame of its own: part of
/// the path, and end of the name.
const CALLERS: [(&[u8], &[u8]); 5] = [
    (b"/multiprocessing/pool.py", b"mapstar"),
    (b"/multiprocessing/process.py", b".run"),
    (b"/concurrent/futures/process.py", b"_process_chunk"),
    (b"/concurrent/futures/process.py", b"<listcomp>"),
    (b"/concurrent/futures/thread.py", b"_WorkItem.run"),
];
/// Parts of the paths of what loops call between two pieces of work.
const HELPERS: [&[u8]; 8] = [
    b"/threading.py",
    b"/queue.py",
    b"/weakref.py",
    b"/selectors.py",
    b"/traceback.py",
    b"/linecache.py",
    b"/tokenize.py",
    b"/codecs.py",
];
/// Parts of the paths of the code in which a worker's life begins. Below it on the stack of a forked
/// worker is what its parent was doing.
const BIRTHS: [&[u8]; 3] = [
    b"/multiprocessing/process.py",
    b"/multiprocessing/spawn.py",
    b"/multiprocessing/popen_",
];

/// In whose code a thread is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whereabouts {
    /// The user's own, or what that calls.
    Own,
    /// A library's. What is raised there may reach somebody who expects it, or not.
    Library,
    /// A worker's loop, between two pieces of work. What is raised there ends the worker, and may
    /// leave a lock behind that others wait for.
    Loop,
}

/// Whether a file is not the user's own.
pub fn is_library(file: &[u8]) -> bool {
    is_one_of(&PACKAGES, file)
        || contains(file, STANDARD)
        || NAMELESS.iter().any(|start| file.starts_with(start))
}

/// In whose code a thread is.
pub fn whereabouts<M: Memory>(
    memory: &M,
    layout: &FrameLayout,
    thread_state: usize,
) -> Whereabouts {
    let mut trail = Trail::default();
    walk::walk(memory, layout, thread_state, |place| {
        let texts = [layout.file, layout.name];
        let [file, name] = texts.map(|offset| text_at(memory, layout, place.code, offset));
        trail.meet(file.as_bytes(), name.as_bytes())
    });
    trail.end()
}

/// Whether a thread waits for another, in the standard library's `threading`.
pub fn is_waiting<M: Memory>(memory: &M, layout: &FrameLayout, thread_state: usize) -> bool {
    let mut is_waiting = false;
    walk::walk(memory, layout, thread_state, |place| {
        let file = text_at(memory, layout, place.code, layout.file);
        is_waiting = is_library(file.as_bytes()) && file.as_bytes().ends_with(b"/threading.py");
        ControlFlow::Break(())
    });
    is_waiting
}

/// Whether a thread is one of those that a pool has for itself, and whose end nobody would notice.
/// Those of `concurrent.futures` break their pool when they fail, and say so.
pub fn is_of_pool<M: Memory>(memory: &M, layout: &FrameLayout, thread_state: usize) -> bool {
    let mut is_found = false;
    walk::walk(memory, layout, thread_state, |place| {
        let file = text_at(memory, layout, place.code, layout.file);
        let file = file.as_bytes();
        is_found = is_library(file) && contains(file, b"/multiprocessing/pool.py");
        if is_found {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    is_found
}

fn text_at<M: Memory>(memory: &M, layout: &FrameLayout, code: usize, offset: u32) -> Text {
    let object = memory.word(code.wrapping_add(offset as usize));
    let mut text = Text::new();
    text::read(memory, layout, object.unwrap_or(0), &mut text);
    text
}

/// What the frames of a thread told so far, innermost first.
#[derive(Debug, Default)]
struct Trail {
    /// A library that does not belong to the loops.
    in_library: bool,
    /// In a loop, and if so, whether that is inside a call of its work.
    in_loop: Option<bool>,
    is_own: bool,
}

impl Trail {
    fn meet(&mut self, file: &[u8], name: &[u8]) -> ControlFlow<()> {
        // What a user calls `multiprocessing` is the user's own.
        if !is_library(file) {
            self.is_own = true;
            return ControlFlow::Break(());
        }
        if self.in_loop.is_some() && is_one_of(&BIRTHS, file) {
            return ControlFlow::Break(());
        }
        if is_one_of(&LOOPS, file) {
            let is_called = self.in_library && is_one_of(&GIVERS, file);
            self.in_loop.get_or_insert(is_called || calls(file, name));
        } else {
            self.in_library |= !is_helper(file);
        }
        ControlFlow::Continue(())
    }

    /// Code of the user below a loop waits for it, as for the results of a pool; a worker's loop has
    /// none.
    fn end(&self) -> Whereabouts {
        match (self.in_loop, self.is_own) {
            (None, true) => Whereabouts::Own,
            (Some(false), false) => Whereabouts::Loop,
            _ => Whereabouts::Library,
        }
    }
}

fn calls(file: &[u8], name: &[u8]) -> bool {
    let mut callers = CALLERS.iter();
    callers.any(|(part, end)| contains(file, part) && name.ends_with(end))
}

fn is_helper(file: &[u8]) -> bool {
    is_one_of(&HELPERS, file) || NAMELESS.iter().any(|start| file.starts_with(start))
}

fn is_one_of(parts: &[&[u8]], file: &[u8]) -> bool {
    parts.iter().any(|part| contains(file, part))
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    (0..text.len()).any(|start| text.get(start..).is_some_and(|rest| rest.starts_with(part)))
}

#[cfg(test)]
mod tests {
    use super::Whereabouts::{Library, Loop, Own};
    use super::{Trail, Whereabouts, is_library};

    fn whereabouts(frames: &[(&str, &str)]) -> Whereabouts {
        let mut trail = Trail::default();
        let mut frames = frames.iter();
        let _ = frames.try_for_each(|(file, name)| trail.meet(file.as_bytes(), name.as_bytes()));
        trail.end()
    }

    type Frame = (&'static str, &'static str);
    const QUEUE: Frame = ("/usr/lib/python3.11/multiprocessing/queues.py", "Queue.get");
    const POOL: Frame = (
        "/usr/lib/python3.11/concurrent/futures/process.py",
        "_process_worker",
    );
    const CHUNK: Frame = (POOL.0, "_process_chunk.<locals>.<listcomp>");
    const MANAGER: Frame = (POOL.0, "_ExecutorManagerThread.run");
    const BIRTH: Frame = (
        "/usr/lib/python3.11/multiprocessing/process.py",
        "BaseProcess._bootstrap",
    );
    const TARGET: Frame = (BIRTH.0, "BaseProcess.run");
    const THREAD: Frame = ("/usr/lib/python3.11/threading.py", "Thread.run");
    const TASK: Frame = (
        "/usr/lib/python3.11/concurrent/futures/thread.py",
        "_WorkItem.run",
    );
    const IDLE: Frame = (TASK.0, "_worker");
    const WORKER: Frame = (
        "/v/lib/python3.11/site-packages/torch/utils/data/_utils/worker.py",
        "_worker_loop",
    );
    const COLLATE: Frame = (
        "/v/lib/python3.11/site-packages/torch/utils/data/_utils/collate.py",
        "collate",
    );
    const TRACEBACK: Frame = ("/usr/lib/python3.11/traceback.py", "format_exception");
    const CSV: Frame = ("/usr/lib/python3.11/csv.py", "DictReader.__next__");
    const TRAIN: Frame = ("/home/a/train.py", "train");

    #[test]
    fn work_of_a_process_is_told_from_the_loop_that_hands_it_out() {
        for (frames, place) in [
            (&[CSV, TRAIN][..], Own),
            (&[TRAIN, POOL, BIRTH, TRAIN], Own),
            (&[TRAIN, CHUNK, POOL, BIRTH, TRAIN], Own),
            (&[QUEUE, POOL, BIRTH, BIRTH, TRAIN], Loop),
            (&[POOL, BIRTH, TRAIN], Loop),
            (&[TRACEBACK, POOL, BIRTH, TRAIN], Loop),
            (&[CHUNK, POOL, BIRTH, TRAIN], Library),
            (&[CSV, CHUNK, POOL, BIRTH, TRAIN], Library),
            (&[TARGET, BIRTH, TRAIN], Library),
            (&[QUEUE, WORKER, TARGET, BIRTH, TRAIN], Loop),
            (&[COLLATE, WORKER, TARGET, BIRTH, TRAIN], Library),
            (&[COLLATE, QUEUE, POOL, BIRTH, TRAIN], Loop),
            (&[CSV], Library),
            (&[], Library),
        ] {
            assert_eq!(whereabouts(frames), place, "{frames:?}");
        }
    }

    #[test]
    fn threads_of_a_pool_are_in_its_loop_but_for_their_tasks_and_who_waits_is_not() {
        for (frames, place) in [
            (&[THREAD, POOL, TRAIN][..], Library),
            (&[QUEUE, MANAGER, THREAD], Loop),
            (&[THREAD, MANAGER, THREAD], Loop),
            (&[IDLE, THREAD, THREAD], Loop),
            (&[TASK, IDLE, THREAD], Library),
            (&[CSV, TASK, IDLE, THREAD], Library),
            (&[TRAIN, TASK, IDLE, THREAD], Own),
        ] {
            assert_eq!(whereabouts(frames), place, "{frames:?}");
        }
    }

    #[test]
    fn folders_of_the_user_may_be_called_as_modules_are() {
        let own = ("/home/a/multiprocessing/train.py", "train");
        assert_eq!(whereabouts(&[CSV, own]), Own);
    }

    #[test]
    fn cells_and_command_lines_are_the_users_own() {
        for own in [
            "/home/a/train.py",
            "<stdin>",
            "<ipython-input-3-1>",
            "<string>",
            "",
        ] {
            assert!(!is_library(own.as_bytes()), "{own}");
        }
        for library in [
            "/v/lib/python3.11/site-packages/torch/nn/a.py",
            "/usr/lib/python3/dist-packages/numpy/a.py",
            "/usr/lib/python3.11/json/decoder.py",
            "<frozen importlib._bootstrap>",
        ] {
            assert!(is_library(library.as_bytes()), "{library}");
        }
    }
}
