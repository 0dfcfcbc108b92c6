//! The small vocabularies of the format: what a stack, an event, an exception or a child record is.
//!
//! Numbers are part of the format and never change their meaning; a reader meets numbers it does
//! not know in files written by a later version and shows them as unknown.

/// Declares a fieldless enum with fixed numbers and the way back from a number.
macro_rules! numbered {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $number:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u32)]
        pub enum $name { $($(#[$vmeta])* $variant = $number,)+ }

        impl $name {
            /// The variant with this number, if this version knows it.
            pub fn from_number(number: u32) -> Option<Self> {
                match number { $($number => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}

numbered! {
    /// What a stack record describes.
    StackKind {
        /// Everything that found no room in the tables; stack 0 is always this one.
        Other = 0,
        /// Python frames, innermost first.
        Python = 1,
        /// A thread without Python frames, named by its thread name, library and creator.
        Native = 2,
        /// Allocations made before the interpreter could be asked for frames.
        StartUp = 3,
    }
}

numbered! {
    /// What happened at an event of the ring.
    EventKind {
        /// Memory was acquired from `malloc` and its family.
        Acquired = 1,
        /// Memory was given back to `free` and its family.
        Released = 2,
        /// Memory was mapped.
        Mapped = 3,
        /// Memory was unmapped.
        Unmapped = 4,
        /// The allocator or the kernel itself said no.
        Failed = 5,
        /// Outlive said no.
        Refused = 6,
        /// Outlive raised an exception to stop growth.
        Stopped = 7,
    }
}

numbered! {
    /// Where an uncaught exception was seen.
    ExceptionKind {
        /// It ended the main thread, and so the program.
        Main = 1,
        /// It ended a thread.
        Thread = 2,
        /// The interpreter could not raise it (`sys.unraisablehook`).
        Unraisable = 3,
    }
}

numbered! {
    /// What a record about a child process says.
    ChildKind {
        /// This process called `fork` at this stack.
        Forked = 1,
        /// This process waited for a child and saw this status.
        Reaped = 2,
    }
}

numbered! {
    /// Whether Python lines can be named, and if not, why.
    Attribution {
        /// No interpreter has been seen yet.
        Pending = 0,
        /// Offsets verified on a known frame; lines are named.
        On = 1,
        /// The frame layout is not the expected one; sizes are recorded, lines are not.
        Mismatch = 2,
        /// This version of Python is not known.
        Unsupported = 3,
    }
}

numbered! {
    /// How the process came to be.
    Origin {
        /// Started by `exec`.
        Exec = 0,
        /// Forked from a recorded process; counts what it allocated since.
        Fork = 1,
    }
}

/// Bits in a stack's flags.
pub mod stack_flag {
    /// Some of the bytes were sampled, so the figures are estimates.
    pub const SAMPLED: u32 = 1;
    /// Some of the bytes are arenas of Python's small-object allocator: the objects inside may
    /// come from other lines too.
    pub const ARENA: u32 = 1 << 1;
    /// Either of these: the figure is not the sum of requests seen one by one.
    pub const ESTIMATE: u32 = SAMPLED | ARENA;
    /// Some of the bytes were mapped with `mmap`.
    pub const MAPPED: u32 = 1 << 2;
    /// Some of the bytes are shared memory.
    pub const SHARED: u32 = 1 << 3;
    /// The stack was deeper than the recorder follows; the outermost frames are missing.
    pub const TRUNCATED: u32 = 1 << 4;
}
