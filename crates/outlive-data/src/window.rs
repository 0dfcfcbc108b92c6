//! A file of which a part is in memory, while it is gone through from its start to its end.

use std::io::{ErrorKind, Read};

/// What is in memory, and where the rest comes from.
pub(crate) struct Window<'file> {
    /// All of it may be filled; it keeps its size.
    buffer: &'file mut Vec<u8>,
    filled: usize,
    source: &'file mut dyn Read,
    /// Nothing follows what is here.
    is_last: bool,
}

impl<'file> Window<'file> {
    /// Reads the first `size` bytes, or all there are. `None` if that fails.
    pub(crate) fn new(
        size: usize,
        buffer: &'file mut Vec<u8>,
        source: &'file mut dyn Read,
    ) -> Option<Self> {
        buffer.resize(size, 0);
        let mut window = Self {
            buffer,
            filled: 0,
            source,
            is_last: false,
        };
        window.fill()?;
        Some(window)
    }

    /// The part that is in memory.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.buffer.get(..self.filled).unwrap_or_default()
    }

    /// Sees to it that `ahead` bytes from `at` on are in memory, or all that are left, and says
    /// where `at` is then: what lies before it may be gone. `None` if reading fails.
    pub(crate) fn advance(&mut self, at: usize, ahead: usize) -> Option<usize> {
        if self.is_last || at + ahead <= self.filled {
            return Some(at);
        }
        self.buffer.copy_within(at..self.filled, 0);
        self.filled -= at;
        self.fill()?;
        Some(0)
    }

    fn fill(&mut self) -> Option<()> {
        while let Some(room @ [_, ..]) = self.buffer.get_mut(self.filled..) {
            match self.source.read(room) {
                Ok(0) => {
                    self.is_last = true;
                    break;
                }
                Ok(count) => self.filled += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_bytes_pass_by_in_order() {
        let file: Vec<u8> = (0..1000_u32).map(|n| n as u8).collect();
        let (mut buffer, mut source) = (Vec::new(), &file[..]);
        let mut window = Window::new(64, &mut buffer, &mut source).unwrap();
        let mut at = 0;
        for taken in 0..1000 {
            at = window.advance(at, 8.min(1000 - taken)).unwrap();
            let rest = &window.bytes()[at..];
            assert!(rest.len() >= 8.min(1000 - taken));
            assert_eq!(rest[0], taken as u8);
            at += 1;
        }
        assert_eq!(window.advance(at, 8), Some(at), "the end");
        assert_eq!(window.bytes().len(), at);
    }
}
