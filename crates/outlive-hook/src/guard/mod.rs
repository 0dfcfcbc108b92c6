//! The guard: a large request that does not fit gets no memory, and growth that does not fit is
//! stopped, while the process can still be told.
//!
//! The decision costs an addition and a comparison on two words that the whole tree shares (the
//! run's ledger). Only a request that seems not to fit is looked at closely: then the room is
//! measured, the C library gives back what it keeps, others get a moment to free theirs, and if
//! the request may be refused at all ([`refusal`]) the answer is no.
//!
//! Reading order: [`ask`] → [`refusal`] → [`measure`] → [`sources`], [`fresh`]; growth by small
//! pieces: [`acquired`] → [`stop`], [`watchdog`], [`growth`].

pub mod batches;
pub mod callers;
pub mod facts;
pub mod fresh;
pub mod growth;
pub mod history;
pub mod holders;
pub mod measure;
pub mod moment;
pub mod one_call;
pub mod refusal;
pub mod region;
pub mod rivals;
pub mod sources;
pub mod stop;
pub mod watchdog;

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use core::sync::atomic::{AtomicU32, AtomicU64};

use outlive_record::ledger::{Ledger, Slot};

use crate::arena::{self, Arena};
use crate::recorder;
use crate::spin::SpinLock;
use crate::sys::thread::{Entered, Thread, thread_id};
use crate::sys::{clock, interpreter, ledger, process};
use fresh::{Fresh, FreshTable};
use growth::GrowthTable;
use history::History;

/// Smaller requests are never refused.
pub const LARGE: usize = 1 << 20;
/// Larger ones no machine has, and every allocator refuses them by itself.
const ABSURD: usize = 1 << 60;

/// What the guard keeps for this process; zeroed in a forked child, as all of the arena.
#[derive(Debug)]
#[repr(C)]
pub struct GuardState {
    /// Number of its slot plus one; [`NO_SLOT`] when all are taken.
    slot: AtomicU64,
    /// Held by the thread that measures.
    measuring: SpinLock,
    fresh_lock: SpinLock,
    fresh: FreshTable,
    /// Threads by growth.
    pub growers: GrowthTable,
    /// The growth of all of them together.
    history: History,
    /// Not zero while the watchdog runs.
    pub watchdog: AtomicU32,
    /// Not zero once a framework was seen to reserve pools.
    has_pools: AtomicU32,
    /// Not zero once the watchdog is to stay.
    pub is_watched: AtomicU32,
    /// The last refusal and the last stop.
    pub last: facts::Last,
    /// When stops happened.
    pub stops: stop::Stops,
    /// Where the last one happened.
    stopped_at: one_call::StoppedAt,
    /// Batches that were refused.
    batches: batches::Batches,
}

/// From so many untouched bytes on, other processes will want to know.
const TO_BE_ASKED: u64 = 32 << 20;
const NO_SLOT: u64 = u64::MAX;
/// Another thread is looking for a slot.
const CLAIMING: u64 = u64::MAX - 1;

impl GuardState {
    /// The slot of this process.
    fn slot<'a>(&self, ledger: &'a Ledger) -> Option<Slot<'a>> {
        match self.slot.load(Acquire) {
            0 => self.claim(ledger),
            CLAIMING => self.claimed(ledger),
            NO_SLOT => None,
            number => Some(ledger.slot(number.wrapping_sub(1))),
        }
    }

    /// Waits for the thread that looks for a slot: a microsecond.
    #[cold]
    fn claimed<'a>(&self, ledger: &'a Ledger) -> Option<Slot<'a>> {
        let mut turn = 0_u32;
        while self.slot.load(Acquire) == CLAIMING && turn < 10_000 {
            clock::yield_now();
            turn = turn.wrapping_add(1);
        }
        match self.slot.load(Acquire) {
            0 | CLAIMING | NO_SLOT => None,
            number => Some(ledger.slot(number.wrapping_sub(1))),
        }
    }

    #[cold]
    fn claim<'a>(&self, ledger: &'a Ledger) -> Option<Slot<'a>> {
        let first = self.slot.compare_exchange(0, CLAIMING, Acquire, Relaxed);
        if first.is_err() {
            return self.claimed(ledger);
        }
        let number = ledger.claim(process::pid(), process::start_ticks());
        let kept = number.map_or(NO_SLOT, |number| number.wrapping_add(1));
        self.slot.store(kept, Release);
        number.map(|number| ledger.slot(number))
    }
}

/// What a request is for, as far as that can be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To be filled: what is not touched yet counts as used.
    Data,
    /// An arena of Python's small objects. If it were refused, Python would take single objects
    /// from `malloc` and be no wiser.
    Arena,
    /// What a library cannot do without: it was refused a region, and would abort. To be filled.
    Need,
    /// A library's own pool, which may never be filled; refused only if it is very large, since
    /// such libraries are not prepared for it.
    Pool,
}

/// Pools up to this size are not refused.
const LARGE_POOL: u64 = 64 << 20;

impl Purpose {
    fn may_refuse(self, size: u64) -> bool {
        match self {
            Self::Data => true,
            Self::Arena | Self::Need => false,
            Self::Pool => size > LARGE_POOL,
        }
    }
}

/// The answer to a large request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Answer {
    /// The guard has no say in it.
    Passed,
    /// Granted: so many bytes were reserved for this purpose.
    Granted(u64, Purpose),
    /// No.
    Refused,
}

/// Asks for a request of `size` bytes, of which `fresh` are new to the process.
#[inline]
pub fn ask(size: usize, fresh: usize, caller: usize, purpose: Purpose) -> Answer {
    if !(LARGE..ABSURD).contains(&size) {
        return Answer::Passed;
    }
    match ledger::current() {
        Some(ledger) => decide(ledger, fresh as u64, caller, purpose),
        None => Answer::Passed,
    }
}

fn decide(ledger: &Ledger, size: u64, caller: usize, purpose: Purpose) -> Answer {
    let Some(entered) = Entered::try_enter().filter(|_| recorder::is_enabled()) else {
        return Answer::Passed;
    };
    let Some((arena, black_box)) = arena::recording() else {
        return Answer::Passed;
    };
    recorder::know_thread(arena, entered.thread);
    if entered.thread.is_sparse() || ledger.allows_sparse() {
        return Answer::Passed;
    }
    // Told already: this is no new refusal.
    if arena.guard.batches.refuses(caller) {
        return Answer::Refused;
    }
    // Pools are not part of what the ledger says is used: where there are some, they are looked at.
    let has_pools = arena.guard.has_pools.load(Relaxed) != 0;
    let is_pool = has_pools && callers::pools(caller, size);
    if !is_pool && reserve(&arena.guard, ledger, size) {
        return Answer::Granted(size, purpose);
    }
    let request = refusal::Request {
        size,
        caller,
        purpose,
    };
    refusal::reconsider(&entered, arena, black_box, ledger, &request)
}

/// Asks for address space that nobody is promised memory for, as libraries take it ahead of need.
pub fn ask_region(size: usize, caller: usize) -> Answer {
    let ledger = ledger::current().filter(|ledger| !ledger.allows_sparse());
    let verdict = ledger.and_then(|ledger| {
        let entered = Entered::try_enter()?;
        let (arena, _) = arena::recording()?;
        Some(region::judge(&entered, arena, ledger, size, caller))
    });
    match verdict {
        Some(region::Verdict::Refused) => Answer::Refused,
        Some(region::Verdict::Needed) => ask(size, size, caller, Purpose::Need),
        Some(region::Verdict::Passed) | None => Answer::Passed,
    }
}

/// Whether the end of the heap stays where it is: a library was refused a region, and tries the
/// heap for it.
pub fn refuses_heap() -> bool {
    let entered = Entered::try_enter();
    entered.is_some_and(|entered| entered.thread.attempts() > 0)
}

/// Whether an arena of Python's small objects is refused.
pub fn refuses_arena() -> bool {
    let Some(ledger) = ledger::current() else {
        return false;
    };
    let entered = Entered::try_enter().filter(|entered| !entered.thread.is_handling());
    let (Some(entered), Some((arena, _))) = (entered, arena::existing()) else {
        return false;
    };
    one_call::refuses_arena(&entered, arena, ledger)
}

/// Whether a small request is refused: at the last moment, or because it stands for a larger one
/// that was refused (`is_denied`).
pub fn refuses_small(size: usize, caller: usize, is_denied: bool, is_python: bool) -> bool {
    let Some(ledger) = ledger::current().filter(|_| is_denied || is_python) else {
        return false;
    };
    let entered = Entered::try_enter().filter(|entered| !entered.thread.is_handling());
    let (Some(entered), Some((arena, black_box))) = (entered, arena::existing()) else {
        return false;
    };
    if !one_call::refuses(arena, ledger, is_denied, is_python, caller) {
        return false;
    }
    one_call::refuse_object(&entered, arena, black_box, ledger, size, caller);
    true
}

/// Reserves bytes: first in this process's slot, so that whoever measures from now on sees them.
fn reserve(state: &GuardState, ledger: &Ledger, size: u64) -> bool {
    let slot = state.slot(ledger);
    if let Some(slot) = &slot {
        slot.in_flight().fetch_add(size as i64, SeqCst);
    }
    let fits = ledger.reserve(size);
    if let (Some(slot), false) = (&slot, fits) {
        slot.in_flight().fetch_sub(size as i64, SeqCst);
    }
    fits
}

impl Answer {
    /// Whether it is no.
    pub fn is_refused(self) -> bool {
        self == Self::Refused
    }

    /// The request was made: the block is there, or the allocator or the kernel said no.
    pub fn settle(self, address: usize, size: usize, caller: usize) {
        let (Self::Granted(reserved, purpose), Some(ledger)) = (self, ledger::current()) else {
            return;
        };
        let Some((arena, _)) = arena::existing() else {
            return;
        };
        let state = &arena.guard;
        let slot = state.slot(ledger);
        if address == 0 || !matches!(purpose, Purpose::Data | Purpose::Need) {
            // Not there, or filled soon, or never: the next measurement sees it.
        } else if let (Some(slot), Some(_held)) =
            (&slot, state.fresh_lock.lock_patiently(thread_id()))
        {
            let change = state.fresh.insert(Fresh {
                address: address as u64,
                size: size as u64,
                caller: caller as u64,
            });
            measure::apply(slot, change);
        }
        if let Some(slot) = slot {
            slot.in_flight().fetch_sub(reserved as i64, SeqCst);
            // Others cannot see what of it is touched: somebody has to answer them.
            if ledger.processes() > 1 && (slot.promised() > TO_BE_ASKED || stop::is_close(ledger)) {
                stop::watch(arena);
            }
        }
    }
}

/// A large block or mapping is about to be given back.
pub fn leaving(address: usize) {
    let (Some(ledger), Some((arena, _))) = (ledger::current(), arena::existing()) else {
        return;
    };
    let state = &arena.guard;
    let Some(slot) = state.slot(ledger) else {
        return;
    };
    if let Some(_held) = state.fresh_lock.lock_patiently(thread_id()) {
        measure::apply(&slot, state.fresh.remove(address as u64));
    }
}

/// Memory was acquired: a request of `size` bytes, which counts for `bytes`. Large ones were asked
/// for before.
#[inline]
pub fn acquired(entered: &Entered, arena: &Arena, size: u64, bytes: u64) {
    if size < LARGE as u64 {
        grew(entered, arena, bytes);
    } else if ledger::current().is_some() {
        count(entered, arena, bytes);
    }
}

/// Memory was acquired that nobody asked the guard for.
#[inline]
pub fn grew(entered: &Entered, arena: &Arena, bytes: u64) {
    let Some(ledger) = ledger::current() else {
        return;
    };
    count(entered, arena, bytes);
    // What was published last may leave room for more than this: another process measures all the
    // time, and this one would grow unseen.
    if !ledger.grant(bytes) || stop::is_short(ledger) {
        stop::pressed(entered, arena, ledger);
    }
}

#[inline]
fn count(entered: &Entered, arena: &Arena, bytes: u64) {
    let thread = entered.thread;
    if !thread.is_python() {
        know_python(arena, thread);
    }
    count_growth(arena, thread, bytes as i64);
}

/// Notes Python's state of a thread, once it has one.
fn know_python(arena: &Arena, thread: &Thread) {
    let state = interpreter::this_thread_state();
    if state != 0 {
        thread.set_python();
        arena.guard.growers.mark_python(thread.grower(), state);
    }
}

/// Counts growth, or with a minus sign its opposite, on a thread.
#[inline]
pub fn count_growth(arena: &Arena, thread: &Thread, bytes: i64) {
    arena.guard.growers.add(thread.grower(), bytes);
}

/// What this process had resident when it last looked.
pub fn own_resident(arena: &Arena, ledger: &Ledger) -> u64 {
    arena.guard.slot(ledger).map_or(0, |slot| slot.resident())
}

/// A process that ran already takes its place: until now the supervisor counted it from outside.
pub fn join() {
    if let Some(((arena, _), ledger)) = arena::recording().zip(ledger::current())
        && arena.guard.slot(ledger).is_some()
    {
        ledger.forget_foreign(sources::Own::read().resident);
        measure::measure(&arena.guard, ledger, 0);
    }
}

/// Lowers the budget while a block of this process runs; `None` or 0 ends it.
pub fn tighten(arena: &Arena, ledger: &Ledger, limit: Option<u64>) {
    if let Some(slot) = arena.guard.slot(ledger) {
        slot.set_block_limit(limit);
        ledger.distrust();
    }
}

/// A thread is seen for the first time in this process.
pub fn meet(arena: &Arena, thread: &Thread) {
    if ledger::current().is_some() {
        let place = arena.guard.growers.enter(process::thread_handle());
        thread.set_grower(place);
    }
}
