//! Fatal signals: our handler stays in front, the program's own runs behind it.
//!
//! The program may install and query handlers as it likes; it sees only its own (`sigaction` is
//! interposed for these signals). After the record is written, its handler runs; where it has none,
//! the default action is restored and the fault happens again, so that the kernel logs it, dumps
//! core and sets the wait status as if we had not been there.

#![expect(
    unsafe_code,
    reason = "installs signal handlers and calls the program's"
)]

use crate::kernel;
use core::ffi::{c_int, c_void};
use core::mem::{transmute, zeroed};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, AtomicUsize};

use super::process;
use super::real::rare;
use crate::fatal::{self, Fault};

/// The signals that end a process by its own fault.
const FATAL: [c_int; 5] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGILL,
    libc::SIGFPE,
    libc::SIGABRT,
];

/// What the program asked for.
#[derive(Debug)]
struct Wanted {
    handler: AtomicUsize,
    flags: AtomicI32,
    mask: AtomicU64,
}

static WANTED: [Wanted; FATAL.len()] = [const {
    Wanted {
        handler: AtomicUsize::new(0),
        flags: AtomicI32::new(0),
        mask: AtomicU64::new(0),
    }
}; FATAL.len()];
static INSTALLED: AtomicBool = AtomicBool::new(false);
/// The process whose handlers `WANTED` describes.
static OWNER: AtomicU32 = AtomicU32::new(0);

/// Puts our handler in front. Called in the constructor.
pub fn install() {
    for signal in FATAL {
        let ours = our_action(libc::SA_ONSTACK);
        // SAFETY: as above.
        let mut before: libc::sigaction = unsafe { zeroed() };
        // SAFETY: two live actions.
        if unsafe { real_sigaction(signal, &raw const ours, &raw mut before) } == 0
            && let Some(wanted) = wanted(signal)
        {
            remember(wanted, &before);
            follow(signal, &before);
        }
    }
    belong_to_this_process();
    INSTALLED.store(true, Release);
}

/// Our handler, on the signal stack or not.
fn our_action(on_stack: c_int) -> libc::sigaction {
    // SAFETY: zero is a valid action (default, no flags, empty mask).
    let mut ours: libc::sigaction = unsafe { zeroed() };
    ours.sa_sigaction = on_fatal as *const () as usize;
    ours.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER | on_stack;
    ours
}

/// Sets what the kernel has. A handler of the program runs on the stack it asked for, since it may
/// need more than ours has; a signal it ignores is ignored by the kernel, also after `exec`.
fn follow(signal: c_int, action: &libc::sigaction) {
    let on_stack = match action.sa_sigaction {
        libc::SIG_DFL => libc::SA_ONSTACK,
        _ => action.sa_flags & libc::SA_ONSTACK,
    };
    let ours = our_action(on_stack);
    let chosen = if action.sa_sigaction == libc::SIG_IGN {
        action
    } else {
        &ours
    };
    // SAFETY: a live action.
    unsafe { real_sigaction(signal, core::ptr::from_ref(chosen), core::ptr::null_mut()) };
}

/// After a `fork`, the child's handlers are its own.
pub fn belong_to_this_process() {
    OWNER.store(process::pid(), Relaxed);
}

/// Our `sigaction`: for fatal signals it changes what runs behind our handler.
///
/// # Safety
///
/// The contract of `sigaction`.
pub unsafe fn sigaction(
    signal: c_int,
    action: *const libc::sigaction,
    before: *mut libc::sigaction,
) -> c_int {
    let Some(wanted) = wanted(signal).filter(|_| is_watched(signal)) else {
        // SAFETY: promised by the caller.
        return unsafe { real_sigaction(signal, action, before) };
    };
    // SAFETY: zero is a valid action.
    let mut current: libc::sigaction = unsafe { zeroed() };
    current.sa_sigaction = wanted.handler.load(Relaxed);
    current.sa_flags = wanted.flags.load(Relaxed);
    set_mask(&mut current, wanted.mask.load(Relaxed));
    if !action.is_null() {
        // SAFETY: a non-null action is valid by the contract.
        let action = unsafe { &*action };
        remember(wanted, action);
        follow(signal, action);
    }
    if !before.is_null() {
        // SAFETY: as above.
        unsafe { *before = current };
    }
    0
}

/// Our `signal`: the handler before, or `SIG_ERR`.
///
/// # Safety
///
/// The contract of `signal`.
pub unsafe fn set_handler(signal: c_int, handler: usize) -> usize {
    // SAFETY: zero is a valid action.
    let mut action: libc::sigaction = unsafe { zeroed() };
    action.sa_sigaction = handler;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: as above.
    let mut before: libc::sigaction = unsafe { zeroed() };
    // SAFETY: two live actions.
    match unsafe { sigaction(signal, &raw const action, &raw mut before) } {
        0 => before.sa_sigaction,
        _ => libc::SIG_ERR,
    }
}

/// The C library's own `sigaction`; -1 where there is none.
///
/// # Safety
///
/// As for `sigaction`.
pub(super) unsafe fn real_sigaction(
    signal: c_int,
    action: *const libc::sigaction,
    before: *mut libc::sigaction,
) -> c_int {
    type Sigaction =
        unsafe extern "C" fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int;
    let address = rare::SIGACTION.address();
    if address.is_null() {
        return -1;
    }
    // SAFETY: the C library's function of this name has this signature.
    let function: Sigaction = unsafe { transmute(address) };
    // SAFETY: promised by the caller.
    unsafe { function(signal, action, before) }
}

fn wanted(signal: c_int) -> Option<&'static Wanted> {
    let index = FATAL.iter().position(|&fatal| fatal == signal)?;
    WANTED.get(index)
}

fn remember(wanted: &Wanted, action: &libc::sigaction) {
    wanted.flags.store(action.sa_flags, Relaxed);
    let mask = core::ptr::from_ref(&action.sa_mask).cast::<u64>();
    // SAFETY: a signal set is at least 64 bits long.
    wanted.mask.store(unsafe { mask.read_unaligned() }, Relaxed);
    wanted.handler.store(action.sa_sigaction, Release);
}

fn set_mask(action: &mut libc::sigaction, mask: u64) {
    let place = core::ptr::from_mut(&mut action.sa_mask).cast::<u64>();
    // SAFETY: as in `remember`.
    unsafe { place.write_unaligned(mask) };
}

/// The handler itself.
unsafe extern "C" fn on_fatal(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let errno = super::c_library::errno();
    // SAFETY: the kernel hands a valid siginfo to a handler with SA_SIGINFO.
    let code = unsafe { (*info).si_code };
    let sent = code <= 0;
    // SAFETY: the field lies inside the structure; it is only meaningful for sent signals.
    let sender = unsafe { (*info).si_pid() as u32 };
    // SAFETY: as above, for faults.
    let address = unsafe { (*info).si_addr() as u64 };
    if signal == libc::SIGBUS && !sent && fatal::is_in_box(address) && fatal::give_up_box() {
        // The write that faulted is tried again, and goes nowhere.
        super::c_library::set_errno(errno);
        return;
    }
    let (ip, sp) = registers(context);
    fatal::record(&Fault {
        signal,
        code,
        address: if sent { 0 } else { address },
        ip,
        sp,
        sender: if sent { sender } else { 0 },
        handled: has_handler(signal),
    });
    super::c_library::set_errno(errno);
    // SAFETY: the arguments of this very call.
    unsafe { chain(signal, info, context, sent) };
}

unsafe fn chain(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void, sent: bool) {
    let Some(wanted) = wanted(signal) else { return };
    let handler = wanted.handler.load(Acquire);
    let flags = wanted.flags.load(Relaxed);
    if handler == libc::SIG_IGN && sent {
        return;
    }
    if handler == libc::SIG_DFL || handler == libc::SIG_IGN {
        die(signal, sent);
        return;
    }
    if flags & libc::SA_RESETHAND != 0 {
        wanted.handler.store(libc::SIG_DFL, Release);
    }
    block_as_asked(signal, flags, wanted.mask.load(Relaxed));
    if flags & libc::SA_SIGINFO == 0 {
        // SAFETY: the program installed this as a handler of one argument.
        let function: unsafe extern "C" fn(c_int) = unsafe { transmute(handler) };
        // SAFETY: as the kernel would call it.
        unsafe { function(signal) };
    } else {
        type Handler = unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);
        // SAFETY: the program installed this as a handler of three arguments.
        let function: Handler = unsafe { transmute(handler) };
        // SAFETY: as the kernel would call it.
        unsafe { function(signal, info, context) };
    }
}

/// Whether the program has a handler of its own.
fn has_handler(signal: c_int) -> bool {
    wanted(signal).is_some_and(|wanted| {
        let handler = wanted.handler.load(Acquire);
        handler != libc::SIG_DFL && handler != libc::SIG_IGN
    })
}

/// Blocks what the kernel would have blocked for the program's handler, above all the signal
/// itself: a handler that faults must die of it, not start again. The kernel restores the mask
/// when our handler returns.
fn block_as_asked(signal: c_int, flags: c_int, mask: u64) {
    let own = if flags & libc::SA_NODEFER == 0 {
        1_u64
            .checked_shl(signal.wrapping_sub(1) as u32)
            .unwrap_or(0)
    } else {
        0
    };
    let blocked = mask | own;
    // SAFETY: a live mask of the kernel's size.
    unsafe {
        kernel!(
            libc::SYS_rt_sigprocmask,
            libc::SIG_BLOCK,
            &raw const blocked,
            core::ptr::null_mut::<u64>(),
            size_of::<u64>()
        )
    };
}

/// Restores the default action. A fault happens again when we return; a sent signal is sent again.
fn die(signal: c_int, sent: bool) {
    // SAFETY: zero is the default action.
    let action: libc::sigaction = unsafe { zeroed() };
    // SAFETY: a live action.
    unsafe { real_sigaction(signal, &raw const action, core::ptr::null_mut()) };
    if sent {
        // SAFETY: a raw system call on ourselves.
        unsafe { kernel!(libc::SYS_tgkill, process::pid(), process::tid(), signal) };
    }
}

#[cfg(target_arch = "x86_64")]
fn registers(context: *mut c_void) -> (u64, u64) {
    if context.is_null() {
        return (0, 0);
    }
    // SAFETY: the kernel hands a valid context to a handler with SA_SIGINFO.
    let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let register = |index: c_int| {
        registers
            .get(index as usize)
            .map_or(0, |&value| value as u64)
    };
    (register(libc::REG_RIP), register(libc::REG_RSP))
}

#[cfg(target_arch = "aarch64")]
fn registers(context: *mut c_void) -> (u64, u64) {
    if context.is_null() {
        return (0, 0);
    }
    // SAFETY: the kernel hands a valid context to a handler with SA_SIGINFO.
    let machine = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext };
    (machine.pc, machine.sp)
}

/// Whether we stand in front of this signal. Not in a child of `vfork`, which shares our memory but
/// has handlers of its own: what it resets before `exec` must not be reset in its parent.
pub fn is_watched(signal: c_int) -> bool {
    wanted(signal).is_some() && INSTALLED.load(Acquire) && OWNER.load(Relaxed) == process::pid()
}
