//! Faults: the processor or the kernel refused what the program did.

use crate::case::Case;
use crate::kernel_log::{Fault, FaultKind};
use crate::signal;
use crate::verdict::{Confidence, Verdict, VerdictId};
use crate::words::shorten;

/// A fault this close to the stack pointer is the stack's own.
const NEAR_STACK: u64 = 1 << 20;
/// `si_code` for faults without an address, as general protection gives.
const SI_KERNEL: i32 = 128;
/// `si_code` of memory that the hardware reports as damaged.
const BUS_MCEERR: [i32; 2] = [4, 5];

/// Libraries that everything runs on: a fault inside them is their caller's.
const RUNTIMES: [&str; 7] = [
    "libc.so",
    "libc-",
    "libpthread",
    "libm.so",
    "ld-linux",
    "libstdc++",
    "libpython",
];

/// The stack was used up: the address that faulted lies next to the stack pointer.
pub(super) fn stack_overflow(case: &Case<'_>) -> Option<Verdict> {
    if !case.died_of(signal::SEGV) {
        return None;
    }
    let near = |address: u64, sp: u64| address != 0 && address.abs_diff(sp) < NEAR_STACK;
    let recorded = case
        .fatal
        .as_ref()
        .filter(|fatal| near(fatal.address, fatal.sp));
    let logged = case.logged_fault(&[FaultKind::Segfault]).filter(|fault| {
        fault
            .address
            .zip(fault.sp)
            .is_some_and(|(address, sp)| near(address, sp))
    });
    let distance = recorded
        .map(|fatal| fatal.address.abs_diff(fatal.sp))
        .or_else(|| logged.and_then(|fault| Some(fault.address?.abs_diff(fault.sp?))))?;
    let stack = case.victim.limits.stack.0;
    Some(
        Verdict::new(
            VerdictId::StackOverflow,
            Confidence::Proved,
            format!(
                "{} used up its stack: a recursion that is too deep",
                case.who()
            ),
        )
        .because(case.status_line())
        .because(format!(
            "the faulting address lies {distance} bytes from the stack pointer"
        ))
        .because_all(place(case))
        .because_all(logged.map(log_line))
        .because_all(stack.map(|limit| format!("RLIMIT_STACK: {}", crate::size::Size(limit))))
        .advise("Turn the recursion into a loop, or lower `sys.setrecursionlimit`")
        .advise("Or give it more: `ulimit -s`, `threading.stack_size` for threads"),
    )
}

/// An address that no memory can have.
pub(super) fn general_protection(case: &Case<'_>) -> Option<Verdict> {
    if !case.died_of(signal::SEGV) {
        return None;
    }
    let logged = case.logged_fault(&[FaultKind::GeneralProtection]);
    let recorded = case.fatal.as_ref().is_some_and(|it| it.code == SI_KERNEL);
    if logged.is_none() && !recorded {
        return None;
    }
    Some(fault(
        case,
        VerdictId::GeneralProtectionFault,
        "used an address that no memory can have (general protection fault)",
        logged,
    ))
}

/// A read or write outside mapped memory.
pub(super) fn segmentation(case: &Case<'_>) -> Option<Verdict> {
    if !case.died_of(signal::SEGV) {
        return None;
    }
    let logged = case.logged_fault(&[FaultKind::Segfault]);
    let own = case
        .fatal
        .as_ref()
        .is_some_and(|it| it.code <= 0 && it.sender != 0);
    let verdict = fault(
        case,
        VerdictId::SegmentationFault,
        "touched memory it does not have (segmentation fault)",
        logged,
    );
    Some(if own {
        verdict.because("it sent the signal itself, by `raise` or `kill`")
    } else {
        verdict
    })
}

/// An instruction the processor does not have.
pub(super) fn illegal_instruction(case: &Case<'_>) -> Option<Verdict> {
    let told = case.says(&["Missing required CPU features", "compiled to use AVX"]);
    if !case.died_of(signal::ILL) {
        return None;
    }
    let logged = case.logged_fault(&[FaultKind::InvalidOpcode]);
    let mut verdict = fault(
        case,
        VerdictId::IllegalInstruction,
        "met an instruction that this processor does not have",
        logged,
    );
    verdict.evidence.extend(told.map(crate::words::Word::quote));
    verdict.advice = vec![
        "Install a build for older processors (for Polars: `polars-lts-cpu`)".to_owned(),
        "In a virtual machine, give it the host's processor model: its flags may be hidden"
            .to_owned(),
    ];
    Some(verdict)
}

/// An integer division by zero in native code.
pub(super) fn divide(case: &Case<'_>) -> Option<Verdict> {
    if !case.died_of(signal::FPE) {
        return None;
    }
    let logged = case.logged_fault(&[FaultKind::DivideError]);
    Some(fault(
        case,
        VerdictId::DivideError,
        "divided an integer by zero in native code",
        logged,
    ))
}

/// A mapped page that could not be filled; `/dev/shm` was looked at before.
pub(super) fn bus(case: &Case<'_>) -> Option<Verdict> {
    if !case.died_of(signal::BUS) {
        return None;
    }
    let damaged = case
        .fatal
        .as_ref()
        .is_some_and(|fatal| BUS_MCEERR.contains(&fatal.code));
    let hardware = case.log.memory_failures.first();
    let summary = if damaged || hardware.is_some() {
        format!(
            "{} read memory that the hardware reports as damaged",
            case.who()
        )
    } else {
        format!(
            "{} touched a mapped page that could not be filled (bus error)",
            case.who()
        )
    };
    let verdict = Verdict::new(VerdictId::BusError, Confidence::Proved, summary)
        .because(case.status_line())
        .because_all(place(case))
        .because_all(hardware.map(|line| format!("kernel log: {}", shorten(line))));
    Some(if damaged || hardware.is_some() {
        verdict.advise("Have the machine's memory checked (`edac-util`, `memtest86+`)")
    } else {
        verdict
            .advise("A mapped file was cut short, or its disk or network file system failed")
            .advise("Copy the data to a local disk, and write new files beside old ones")
    })
}

fn fault(case: &Case<'_>, id: VerdictId, what: &str, logged: Option<&Fault>) -> Verdict {
    let library = library(case, logged);
    let inside = match &library {
        Some(name) => format!(", inside {name}"),
        None => String::new(),
    };
    let verdict = Verdict::new(
        id,
        Confidence::Proved,
        format!("{} {what}{inside}", case.who()),
    )
    .because(case.status_line())
    .because_all(place(case))
    .because_all(logged.map(log_line));
    let runtime = |name: &String| RUNTIMES.iter().any(|runtime| name.starts_with(runtime));
    match library {
        Some(name) if !runtime(&name) => verdict
            .advise(format!(
                "A defect in native code: upgrade the package that brings {name}"
            ))
            .advise("If it started with a new package, import that one first, or alone"),
        // The C library only does what it is told.
        _ => verdict
            .advise("A defect in the native code that was called there: upgrade or isolate it"),
    }
}

/// The library that was running, by its file name.
fn library(case: &Case<'_>, logged: Option<&Fault>) -> Option<String> {
    let recorded = case.fatal.as_ref().map(|fatal| fatal.library.as_str());
    recorded
        .filter(|name| !name.is_empty())
        .or_else(|| logged.and_then(|fault| fault.library.as_deref()))
        // Code made at run time lies in `/dev/zero` or `[anon]`, which are no libraries.
        .filter(|path| !path.ends_with("dev/zero") && !path.starts_with('['))
        .map(|path| path.rsplit('/').next().unwrap_or(path).to_owned())
}

/// What the black box knows about the place of the fault.
fn place(case: &Case<'_>) -> Option<String> {
    let fatal = case.fatal.as_ref()?;
    let library = if fatal.library.is_empty() {
        String::new()
    } else {
        format!(", in {} at {:#x}", fatal.library, fatal.library_offset)
    };
    let thread = if fatal.thread.is_empty() {
        String::new()
    } else {
        format!(", thread {}", fatal.thread)
    };
    Some(format!(
        "black box: {} at address {:#x}{library}{thread}",
        signal::name(fatal.signal),
        fatal.address
    ))
}

fn log_line(fault: &Fault) -> String {
    format!("kernel log: {}", shorten(&fault.line))
}
