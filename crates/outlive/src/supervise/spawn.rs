//! Starting the program and ending like it: the few system calls for which there is no safe
//! interface. Everything here is small and decides nothing.
#![expect(
    unsafe_code,
    reason = "signal masks, dispositions and one ioctl have no safe interface"
)]

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Signal, getppid, set_parent_process_death_signal};

/// Whether SIGPIPE was ignored when this process started. Rust's start-up code ignores it before
/// `main`, so only a constructor can still see what was inherited.
static PIPE_WAS_IGNORED: AtomicBool = AtomicBool::new(false);

// The section holds pointers to functions, which the loader calls once, before `main`, with
// arguments that this one does not take.
#[unsafe(link_section = ".init_array")]
#[used]
static REMEMBER_PIPE: extern "C" fn() = remember_pipe;

extern "C" fn remember_pipe() {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: a null new action only asks; `action` is as large as the kernel's answer.
    let result = unsafe { libc::sigaction(libc::SIGPIPE, ptr::null(), action.as_mut_ptr()) };
    if result == 0 {
        // SAFETY: zeroed, and filled by the call above; every bit pattern is a valid sigaction.
        let action = unsafe { action.assume_init() };
        PIPE_WAS_IGNORED.store(action.sa_sigaction == libc::SIG_IGN, Ordering::Relaxed);
    }
}

/// Starts the program with the signal mask and dispositions this process was started with, and
/// tied to its life: when the calling thread dies, so does the program. `caught` are signals with
/// a handler by now; those of `ignored` were ignored before.
pub(super) fn program(command: &mut Command, caught: Vec<i32>, ignored: u64) -> io::Result<Child> {
    let mask = own_mask();
    let ignore_pipe = PIPE_WAS_IGNORED.load(Ordering::Relaxed);
    let disposition = move |signal: i32| {
        if ignored >> (signal - 1) & 1 == 1 {
            libc::SIG_IGN
        } else {
            libc::SIG_DFL
        }
    };
    let supervisor = rustix::process::getpid();
    let prepare = move || {
        for signal in &caught {
            // SAFETY: async-signal-safe, and neither disposition is a function of ours.
            unsafe { libc::signal(*signal, disposition(*signal)) };
        }
        set_parent_process_death_signal(Some(Signal::KILL))?;
        if getppid() != Some(supervisor) {
            // The supervisor died before the line above: nobody would send the signal.
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        if ignore_pipe {
            // SAFETY: async-signal-safe, and no handler is installed.
            unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
        }
        set_mask(&mask)
    };
    // SAFETY: between fork and exec the closure makes only system calls; it neither allocates
    // nor takes locks.
    unsafe { command.pre_exec(prepare) };
    command.spawn()
}

/// Has the program start with this adjustment of its out-of-memory score, as far as it may.
pub(super) fn with_oom_score(command: &mut Command, adjustment: i32) {
    let text = adjustment.to_string();
    let write = move || {
        // SAFETY: a NUL-ended path; between fork and exec this is one system call.
        let file = unsafe { libc::open(c"/proc/self/oom_score_adj".as_ptr(), libc::O_WRONLY) };
        if file >= 0 {
            // A program that may not raise its score runs all the same.
            // SAFETY: the text is owned by the closure and as long as its length says.
            unsafe { libc::write(file, text.as_ptr().cast(), text.len()) };
            // SAFETY: opened above, and used by nobody else.
            unsafe { libc::close(file) };
        }
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes only system calls.
    unsafe { command.pre_exec(write) };
}

/// Has a process start with no signal blocked, whatever this one inherited.
pub fn with_no_signal_blocked(command: &mut Command) {
    let mut nothing = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: `nothing` is a whole signal set.
    unsafe { libc::sigemptyset(nothing.as_mut_ptr()) };
    // SAFETY: zeroed, and filled by the call above.
    let nothing = unsafe { nothing.assume_init() };
    // SAFETY: between fork and exec the closure makes one system call.
    unsafe { command.pre_exec(move || set_mask(&nothing)) };
}

/// Takes over a descriptor that this process was started with, so that nobody inherits it.
pub fn take_descriptor(number: i32) -> Option<File> {
    // SAFETY: asks about a number and changes nothing.
    let is_open = unsafe { libc::fcntl(number, libc::F_GETFD) } >= 0;
    // Those below are the program's.
    (is_open && number > libc::STDERR_FILENO).then(|| {
        // SAFETY: it is open, and whoever started us named it for this use alone.
        unsafe { File::from_raw_fd(number) }
    })
}

/// Starts the witness: every signal blocked from its first instruction on.
pub(super) fn blocked(command: &mut Command) -> io::Result<Child> {
    let mut everything = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: `everything` is a whole signal set.
    unsafe { libc::sigfillset(everything.as_mut_ptr()) };
    // SAFETY: zeroed, and filled by the call above.
    let everything = unsafe { everything.assume_init() };
    // SAFETY: between fork and exec the closure makes one system call.
    unsafe { command.pre_exec(move || set_mask(&everything)) };
    command.spawn()
}

/// Forgets a signal that is pending because it is blocked.
pub(super) fn discard_pending(signal: i32) {
    // Ignoring a signal discards it even while it is blocked (POSIX, "Signal Actions").
    for disposition in [libc::SIG_IGN, libc::SIG_DFL] {
        // SAFETY: neither disposition is a function of ours that could be called.
        unsafe { libc::signal(signal, disposition) };
    }
}

/// Ends this process by a signal, without a core dump of its own. Returns only if the signal
/// does not end processes.
pub fn die_of(signal: i32) {
    let none = rustix::process::Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    // The program has dumped its core; ours would say nothing about it.
    let _ = rustix::process::setrlimit(rustix::process::Resource::Core, none);
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: `set` is a whole signal set.
    unsafe { libc::sigemptyset(set.as_mut_ptr()) };
    // SAFETY: `set` was initialised by the call above; a number out of range is refused.
    unsafe { libc::sigaddset(set.as_mut_ptr(), signal) };
    // SAFETY: the default disposition is no function of ours.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
    // SAFETY: `set` is initialised; a null old set is not written.
    unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, set.as_ptr(), ptr::null_mut()) };
    // SAFETY: no pointers; the disposition is the default one.
    unsafe { libc::raise(signal) };
}

/// A child that was waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reaped {
    pub(super) pid: u32,
    /// The wait status.
    pub(super) status: i32,
    /// Highest resident size of it, or of a child that it waited for, whichever is more, bytes.
    pub(super) peak_resident: u64,
}

/// Waits for a child that has ended, if there is one.
pub(super) fn reap() -> Option<Reaped> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: both pointers are to whole values of ours that the kernel fills.
    let pid = unsafe { libc::wait4(-1, &raw mut status, libc::WNOHANG, usage.as_mut_ptr()) };
    // SAFETY: zeroed, and filled by the call above; every bit pattern is a valid rusage.
    let usage = unsafe { usage.assume_init() };
    (pid > 0).then_some(Reaped {
        pid: pid as u32,
        status,
        // The kernel counts it in KiB.
        peak_resident: (usage.ru_maxrss as u64) << 10,
    })
}

/// What the kernel tells about a process that was already waited for (Linux 6.15):
/// `struct pidfd_info` of `linux/pidfd.h`, first published size.
#[repr(C)]
#[derive(Default)]
struct PidfdInfo {
    mask: u64,
    cgroup_id: u64,
    pid: u32,
    tgid: u32,
    ppid: u32,
    credentials: [u32; 8],
    exit_code: i32,
}

const PIDFD_INFO_EXIT: u64 = 1 << 3;
/// `_IOWR(0xFF, 11, struct pidfd_info)`.
const PIDFD_GET_INFO: libc::Ioctl =
    3 << 30 | (size_of::<PidfdInfo>() as libc::Ioctl) << 16 | 0xFF << 8 | 0x0B;

/// The wait status of a process that ended and was waited for by its parent, where the kernel
/// keeps it.
pub(super) fn exit_status(pidfd: BorrowedFd<'_>) -> Option<i32> {
    let mut info = PidfdInfo {
        mask: PIDFD_INFO_EXIT,
        ..PidfdInfo::default()
    };
    // SAFETY: the request number states the size of `info`, which the kernel reads and fills.
    let result = unsafe { libc::ioctl(pidfd.as_raw_fd(), PIDFD_GET_INFO, &raw mut info) };
    (result == 0 && info.mask & PIDFD_INFO_EXIT != 0).then_some(info.exit_code)
}

fn own_mask() -> libc::sigset_t {
    let mut mask = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: a null new set only asks; `mask` is a whole signal set.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, ptr::null(), mask.as_mut_ptr()) };
    // SAFETY: zeroed, which is the empty set, and filled by the call above.
    unsafe { mask.assume_init() }
}

fn set_mask(mask: &libc::sigset_t) -> io::Result<()> {
    // SAFETY: `mask` is a whole signal set; a null old set is not written.
    let result = unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, mask, ptr::null_mut()) };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(result))
    }
}
