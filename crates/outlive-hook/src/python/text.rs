//! Python strings as UTF-8, read character by character without asking the interpreter.

use super::Memory;
use super::layout::{FrameLayout, TEXT_LENGTH, TEXT_STATE};

/// Longest text that is kept, in bytes.
pub const MAX_TEXT: usize = 1024;

/// A text of bounded length.
#[derive(Debug)]
pub struct Text {
    bytes: [u8; MAX_TEXT],
    len: usize,
}

impl Text {
    /// No characters yet.
    pub const fn new() -> Self {
        Self {
            bytes: [0; MAX_TEXT],
            len: 0,
        }
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or(&[])
    }

    /// Appends a character if it fits.
    pub fn push(&mut self, character: char) -> bool {
        let mut buffer = [0; 4];
        self.push_bytes(character.encode_utf8(&mut buffer).as_bytes())
    }

    /// Appends bytes if they fit.
    pub fn push_bytes(&mut self, bytes: &[u8]) -> bool {
        let end = self.len.wrapping_add(bytes.len());
        let Some(room) = self.bytes.get_mut(self.len..end) else {
            return false;
        };
        for (place, &byte) in room.iter_mut().zip(bytes) {
            *place = byte;
        }
        self.len = end;
        true
    }
}

impl Default for Text {
    fn default() -> Self {
        Self::new()
    }
}

/// Reads the string object at `object`; what cannot be read or does not fit is left out.
///
/// The state word is `.. ascii:1 compact:1 kind:3 interned:2`, lowest bit last; `kind` is the
/// number of bytes per character.
pub fn read<M: Memory>(memory: &M, layout: &FrameLayout, object: usize, text: &mut Text) {
    let _: Option<()> = try_read(memory, layout, object, text);
}

fn try_read<M: Memory>(
    memory: &M,
    layout: &FrameLayout,
    object: usize,
    text: &mut Text,
) -> Option<()> {
    if object == 0 {
        return None;
    }
    let length = memory.word(object.wrapping_add(TEXT_LENGTH))?;
    let state = memory.half(object.wrapping_add(TEXT_STATE))?;
    let width = ((state >> 2) & 7) as usize;
    let compact = state >> 5 & 1 == 1;
    let ascii = state >> 6 & 1 == 1;
    if !compact {
        return None;
    }
    let data = if ascii {
        layout.ascii_data
    } else {
        layout.compact_data
    };
    let data = object.wrapping_add(data as usize);
    for index in 0..length.min(MAX_TEXT) {
        let place = data.wrapping_add(index.wrapping_mul(width));
        let number = match width {
            1 => u32::from(memory.byte(place)?),
            2 => {
                let high = memory.byte(place.wrapping_add(1))?;
                u32::from(memory.byte(place)?) | u32::from(high) << 8
            }
            4 => memory.half(place)?,
            _ => return None,
        };
        let character = char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER);
        if !text.push(character) {
            break;
        }
    }
    Some(())
}
