//! What drawing found out about cells: their sizes and problems. They come in the order of
//! drawing and are wanted in the order of the cells, and there may be millions: so they lie in a
//! file of fixed records, and the texts of problems in another one.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::grid::cells::Drawn;

/// Bytes of a record: width, height, and what became of the cell.
pub(super) const RECORD: usize = 16;
const NOT_DRAWN: u64 = 0;
const FINE: u64 = 1;
/// From here on a record says where its problem is.
const PROBLEMS: u64 = 2;
/// A problem is one line; a longer one is cut.
const LONGEST: usize = 1000;

/// The two files.
#[derive(Debug)]
pub struct Facts {
    records: File,
    problems: File,
    /// Length of the file of problems.
    end: u64,
}

/// What is known of one cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fact {
    /// Whether it was drawn; nothing else is known if not.
    pub is_drawn: bool,
    /// Width of the picture behind it; 0 if it could not be read.
    pub width: u32,
    /// Height of the same.
    pub height: u32,
    /// Why the cell is drawn as broken, in one line.
    pub problem: Option<String>,
}

impl Facts {
    /// Files that are new, or of the same grid.
    pub fn new(records: File, problems: File, cells: u64) -> io::Result<Self> {
        records.set_len(cells * RECORD as u64)?;
        let end = problems.metadata()?.len();
        Ok(Self {
            records,
            problems,
            end,
        })
    }

    /// Keeps what was found out about a cell.
    pub fn write(&mut self, index: u64, drawn: &Drawn) -> io::Result<()> {
        let state = match &drawn.problem {
            None => FINE,
            Some(problem) => PROBLEMS + self.append(problem)?,
        };
        let mut record = [0; RECORD];
        for (place, byte) in record.iter_mut().zip(
            drawn
                .width
                .to_le_bytes()
                .into_iter()
                .chain(drawn.height.to_le_bytes())
                .chain(state.to_le_bytes()),
        ) {
            *place = byte;
        }
        self.records.write_all_at(&record, index * RECORD as u64)
    }

    fn append(&mut self, problem: &str) -> io::Result<u64> {
        let problem = problem.as_bytes();
        let problem = problem.get(..LONGEST).unwrap_or(problem);
        let start = self.end;
        let mut bytes = (problem.len() as u32).to_le_bytes().to_vec();
        bytes.extend_from_slice(problem);
        self.problems.write_all_at(&bytes, start)?;
        self.end += bytes.len() as u64;
        Ok(start)
    }

    /// What is known of `count` cells from `first` on.
    pub fn read(&self, first: u64, count: usize) -> io::Result<Vec<Fact>> {
        let mut bytes = vec![0; count * RECORD];
        self.records
            .read_exact_at(&mut bytes, first * RECORD as u64)?;
        bytes
            .chunks_exact(RECORD)
            .map(|record| self.fact(record))
            .collect()
    }

    fn fact(&self, record: &[u8]) -> io::Result<Fact> {
        let number = |start: usize, end: usize| {
            let bytes = record.get(start..end).unwrap_or_default();
            bytes
                .iter()
                .rev()
                .fold(0, |number, byte| number << 8 | u64::from(*byte))
        };
        let state = number(8, 16);
        Ok(Fact {
            is_drawn: state != NOT_DRAWN,
            width: number(0, 4) as u32,
            height: number(4, 8) as u32,
            problem: match state.checked_sub(PROBLEMS) {
                Some(start) => Some(self.problem(start)?),
                None => None,
            },
        })
    }

    fn problem(&self, start: u64) -> io::Result<String> {
        let mut length = [0; 4];
        self.problems.read_exact_at(&mut length, start)?;
        // A damaged file of an earlier call must not ask for much memory.
        let length = (u32::from_le_bytes(length) as usize).min(LONGEST);
        let mut bytes = vec![0; length];
        self.problems.read_exact_at(&mut bytes, start + 4)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_come_back_in_any_order() {
        let file = || tempfile::tempfile().unwrap();
        let mut facts = Facts::new(file(), file(), 5).unwrap();
        let drawn = |width, problem: Option<&str>| Drawn {
            width,
            height: u32::MAX,
            problem: problem.map(str::to_owned),
        };
        facts.write(4, &drawn(40, Some("Cut off"))).unwrap();
        facts.write(0, &drawn(7, None)).unwrap();
        facts.write(2, &drawn(8, Some(&"é".repeat(1000)))).unwrap();
        facts.write(4, &drawn(41, Some("Zu kurz"))).unwrap();
        let read = facts.read(0, 5).unwrap();
        assert_eq!((read[0].width, read[0].height), (7, u32::MAX));
        assert_eq!(read[0].problem, None);
        assert_eq!(read[1], Fact::default());
        assert!(read[2].problem.as_ref().unwrap().starts_with("ééé"));
        assert_eq!(read[4].problem.as_deref(), Some("Zu kurz"));
        assert!(read[4].is_drawn && !read[3].is_drawn);
    }
}
