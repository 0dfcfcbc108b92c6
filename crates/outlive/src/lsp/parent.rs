//! The editor's process: when it is gone, so is the server's reason to be.

use std::os::fd::OwnedFd;
use std::thread;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// Calls `gone` when a process has ended. One that cannot be seen from here, such as that of an
/// editor outside of our container, is not watched: then the closed input tells.
pub(super) fn watch(process: u32, gone: impl FnOnce() + Send + 'static) {
    let Some(process) = i32::try_from(process).ok().and_then(Pid::from_raw) else {
        return;
    };
    let Ok(process) = pidfd_open(process, PidfdFlags::empty()) else {
        return;
    };
    let watching = thread::Builder::new().name("parent".to_owned());
    // Without the thread, too, the closed input tells.
    let _ = watching.spawn(move || {
        if wait(&process).is_ok() {
            gone();
        }
    });
}

fn wait(process: &OwnedFd) -> Result<(), Errno> {
    loop {
        match poll(&mut [PollFd::new(process, PollFlags::IN)], None) {
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
}
