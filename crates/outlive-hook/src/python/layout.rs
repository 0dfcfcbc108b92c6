//! Where CPython keeps frames, code objects and texts, from 3.9 to 3.14.
//!
//! From 3.13 on the interpreter says it itself (`_Py_DebugOffsets`, the first bytes of
//! `_PyRuntime`); before that, a row per version, taken from its headers. Either way the layout is
//! tried on real frames before it is believed.

use crate::sys::interpreter;
use crate::sys::peek::Checked;

use super::Memory;

/// How to get from a thread state to its innermost frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstFrame {
    /// The thread state points to it.
    Direct {
        /// Offset of the pointer.
        offset: u32,
    },
    /// The thread state points to a C frame that points to it.
    ThroughCFrame {
        /// Offset of the pointer to the C frame.
        c_frame: u32,
        /// Offset in the C frame.
        current: u32,
    },
}

/// What a frame stores about its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// A 32-bit index, in units of this many bytes.
    Index {
        /// Bytes per unit.
        unit: u32,
    },
    /// A pointer into the code object.
    Pointer,
}

/// The offsets, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameLayout {
    /// Minor version of Python.
    pub minor: u32,
    /// Thread state → innermost frame.
    pub first: FirstFrame,
    /// Frame → next outer frame.
    pub previous: u32,
    /// Frame → code object (possibly tagged in the low bits).
    pub code: u32,
    /// Frame → position.
    pub position: u32,
    /// How to read it.
    pub position_kind: Position,
    /// Frame → owner byte; frames owned by the C stack are skipped.
    pub owner: Option<u32>,
    /// Code → file.
    pub file: u32,
    /// Code → name (qualified where there is one).
    pub name: u32,
    /// Code → first line.
    pub first_line: u32,
    /// Code → line table.
    pub table: u32,
    /// Code → first instruction, inside the object.
    pub instructions: u32,
    /// Thread state → native thread id, from 3.11 on.
    pub native_id: Option<u32>,
    /// Text → data, when all characters are ASCII.
    pub ascii_data: u32,
    /// Text → data, when compact but not ASCII.
    pub compact_data: u32,
}

/// Object → type.
pub const OBJECT_TYPE: usize = 8;
/// Text → number of characters.
pub const TEXT_LENGTH: usize = 16;
/// Text → its hash, −1 when nobody asked for it yet.
pub const TEXT_HASH: usize = 24;
/// Text → state bits.
pub const TEXT_STATE: usize = 32;
/// Bytes → length.
pub const BYTES_LENGTH: usize = 16;
/// Bytes → data.
pub const BYTES_DATA: usize = 32;

impl FrameLayout {
    /// The layout of the interpreter in this process, if its version is known.
    pub fn of_this_process() -> Option<Self> {
        let version = interpreter::version_hex();
        if version >> 24 != 3 {
            return None;
        }
        let minor = (version >> 16) & 0xFF;
        match minor {
            9 => Some(PYTHON_3_9),
            10 => Some(PYTHON_3_10),
            11 => Some(PYTHON_3_11),
            12 => Some(PYTHON_3_12),
            13 => Self::from_debug_offsets(minor, &DEBUG_OFFSETS_3_13),
            14 => Self::from_debug_offsets(minor, &DEBUG_OFFSETS_3_14),
            _ => None,
        }
    }

    /// Builds the layout from what the interpreter publishes. Free-threaded builds are left out:
    /// their threads may run private copies of the instructions.
    fn from_debug_offsets(minor: u32, places: &DebugOffsets) -> Option<Self> {
        let runtime = interpreter::runtime_address()?;
        let read = |place: u32| -> Option<u32> {
            u32::try_from(Checked.word(runtime.checked_add(place as usize)?)?).ok()
        };
        let cookie = Checked.word(runtime)?;
        if cookie != usize::from_le_bytes(*b"xdebugpy") || read(places.free_threaded)? != 0 {
            return None;
        }
        let ascii_data = read(places.ascii_size)?;
        Some(Self {
            minor,
            first: FirstFrame::Direct {
                offset: read(places.current_frame)?,
            },
            previous: read(places.previous)?,
            code: read(places.executable)?,
            position: read(places.instruction)?,
            position_kind: Position::Pointer,
            owner: Some(read(places.owner)?),
            file: read(places.file)?,
            name: read(places.name)?,
            first_line: read(places.first_line)?,
            table: read(places.table)?,
            instructions: read(places.instructions)?,
            native_id: Some(read(places.native_id)?),
            ascii_data,
            compact_data: ascii_data.checked_add(16)?,
        })
    }
}

const PYTHON_3_9: FrameLayout = FrameLayout {
    minor: 9,
    first: FirstFrame::Direct { offset: 24 },
    previous: 24,
    code: 32,
    position: 104,
    position_kind: Position::Index { unit: 1 },
    owner: None,
    file: 104,
    name: 112,
    first_line: 40,
    table: 120,
    instructions: 0,
    native_id: None,
    ascii_data: 48,
    compact_data: 72,
};

const PYTHON_3_10: FrameLayout = FrameLayout {
    minor: 10,
    position: 96,
    position_kind: Position::Index { unit: 2 },
    ..PYTHON_3_9
};

const PYTHON_3_11: FrameLayout = FrameLayout {
    minor: 11,
    first: FirstFrame::ThroughCFrame {
        c_frame: 56,
        current: 8,
    },
    previous: 48,
    code: 32,
    position: 56,
    position_kind: Position::Pointer,
    owner: Some(69),
    file: 112,
    name: 128,
    first_line: 72,
    table: 136,
    instructions: 184,
    native_id: Some(160),
    ascii_data: 48,
    compact_data: 72,
};

const PYTHON_3_12: FrameLayout = FrameLayout {
    minor: 12,
    first: FirstFrame::ThroughCFrame {
        c_frame: 56,
        current: 0,
    },
    previous: 8,
    code: 0,
    position: 56,
    owner: Some(70),
    first_line: 68,
    instructions: 192,
    native_id: Some(144),
    ascii_data: 40,
    compact_data: 56,
    ..PYTHON_3_11
};

/// Where in `_Py_DebugOffsets` the figures stand.
struct DebugOffsets {
    free_threaded: u32,
    current_frame: u32,
    native_id: u32,
    previous: u32,
    executable: u32,
    instruction: u32,
    owner: u32,
    file: u32,
    name: u32,
    table: u32,
    first_line: u32,
    instructions: u32,
    ascii_size: u32,
}

const DEBUG_OFFSETS_3_13: DebugOffsets = DebugOffsets {
    free_threaded: 16,
    current_frame: 184,
    native_id: 200,
    previous: 232,
    executable: 240,
    instruction: 248,
    owner: 264,
    file: 280,
    name: 296,
    table: 304,
    first_line: 312,
    instructions: 344,
    ascii_size: 560,
};

const DEBUG_OFFSETS_3_14: DebugOffsets = DebugOffsets {
    free_threaded: 16,
    current_frame: 208,
    native_id: 224,
    previous: 256,
    executable: 264,
    instruction: 272,
    owner: 288,
    file: 320,
    name: 336,
    table: 344,
    first_line: 352,
    instructions: 384,
    ascii_size: 640,
};
