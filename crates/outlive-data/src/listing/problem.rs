//! What is wrong with single paths: a listing goes on without them and says so.

use std::path::Path;

use super::error::ListingError;
use super::shelf::Shelf;

/// How many are held in memory.
const IN_MEMORY: usize = 1_000;

/// A path that gave nothing, or less than it should.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The path, as it was given or found.
    pub path: Vec<u8>,
    /// What is wrong, in one line: capital first, no full stop.
    pub reason: String,
    /// Who brought the path up.
    pub origin: Origin,
}

/// Where a path comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It was given by name, or is a pattern.
    Named,
    /// It was found in a folder, in a list or in an archive.
    Found,
}

/// All problems of a listing: the first thousand in memory, the others in a work file.
#[derive(Debug)]
pub struct Problems {
    first: Vec<Problem>,
    others: Shelf,
}

impl Problems {
    pub(super) fn new(folder: &Path) -> Self {
        Self {
            first: Vec::new(),
            others: Shelf::new(folder),
        }
    }

    pub(super) fn add(&mut self, problem: Problem) -> Result<(), ListingError> {
        if self.first.len() < IN_MEMORY {
            self.first.push(problem);
            return Ok(());
        }
        let mut record = vec![u8::from(problem.origin == Origin::Found)];
        record.extend_from_slice(problem.reason.replace('\0', " ").as_bytes());
        record.push(0);
        record.extend_from_slice(&problem.path);
        self.others.push(&record)
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.first.len() as u64 + self.others.len()
    }

    /// The first of them, a thousand at most.
    pub fn first(&self) -> &[Problem] {
        &self.first
    }

    /// One by its number; `None` beyond the last.
    pub fn problem(&self, index: u64) -> Result<Option<Problem>, ListingError> {
        match self.first.get(index as usize) {
            Some(problem) => Ok(Some(problem.clone())),
            None => self.others.with(index - self.first.len() as u64, decode),
        }
    }
}

fn decode(record: &[u8]) -> Option<Problem> {
    let (&origin, rest) = record.split_first()?;
    let (reason, path) = super::item::split_at_zero(rest)?;
    Some(Problem {
        path: path.to_vec(),
        reason: String::from_utf8_lossy(reason).into_owned(),
        origin: if origin == 0 {
            Origin::Named
        } else {
            Origin::Found
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_problems_can_be_read_and_few_are_in_memory() {
        let mut problems = Problems::new(&std::env::temp_dir());
        let problem = |i: u64| Problem {
            path: format!("x\0{i}").into_bytes(),
            reason: format!("Reason {i}"),
            origin: if i.is_multiple_of(2) {
                Origin::Named
            } else {
                Origin::Found
            },
        };
        (0..2_500).for_each(|i| problems.add(problem(i)).unwrap());
        assert_eq!(problems.count(), 2_500);
        assert_eq!(problems.first().len(), IN_MEMORY);
        for i in [0, 999, 1_000, 2_499] {
            assert_eq!(problems.problem(i).unwrap(), Some(problem(i)));
        }
        assert_eq!(problems.problem(2_500).unwrap(), None);
    }
}
