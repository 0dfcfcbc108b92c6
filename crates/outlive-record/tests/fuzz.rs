//! Damages boxes without end and reads them. Two seconds in an ordinary test run;
//! `OUTLIVE_FUZZ_SECONDS=600 cargo test --release -p outlive-record --test fuzz -- --nocapture`
//! for a long one. Files in `OUTLIVE_FUZZ_CORPUS` (a folder of boxes) are damaged as well. A file
//! that breaks the reader is named by its seed: `OUTLIVE_FUZZ_SEED` does the same damage again.

mod support;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use support::damage::{Chance, damage};
use support::memory::highest_during;
use support::{sample_box, whole};

/// Room for the structures of one answer; see `hostile.rs`.
const FIXED: usize = 64 << 10;
/// A tool answers in half a second; reading is a part of that.
const SLOWEST: Duration = Duration::from_secs(2);

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// The boxes to damage: one that has everything, and those in the corpus.
fn originals() -> Vec<Vec<u8>> {
    let mut originals = vec![sample_box::bytes()];
    if let Some(folder) = std::env::var_os("OUTLIVE_FUZZ_CORPUS") {
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        let mut paths: Vec<_> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .collect();
        paths.sort();
        originals.extend(paths.iter().filter_map(|path| std::fs::read(path).ok()));
    }
    originals
}

/// Damages one box and reads it; says what went wrong.
fn attempt(originals: &[Vec<u8>], seed: u64) -> Result<(), String> {
    let mut chance = Chance(seed);
    let mut file = originals[chance.below(originals.len())].clone();
    damage(&mut file, &mut chance);
    let start = Instant::now();
    let mut highest = 0;
    catch_unwind(AssertUnwindSafe(|| {
        highest = highest_during(|| drop(whole::read(&file)));
    }))
    .map_err(|_| "the reader panicked".to_owned())?;
    if highest > file.len() + FIXED {
        return Err(format!("{highest} bytes for a file of {}", file.len()));
    }
    let taken = start.elapsed();
    if taken > SLOWEST {
        return Err(format!("reading took {taken:?}"));
    }
    Ok(())
}

#[test]
fn damaged_boxes_never_break_the_reader() {
    let originals = originals();
    let first = number("OUTLIVE_FUZZ_SEED").unwrap_or(1);
    let seconds = number("OUTLIVE_FUZZ_SECONDS").unwrap_or(2);
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut seed = first;
    while seed == first || Instant::now() < end {
        if let Err(problem) = attempt(&originals, seed) {
            panic!("OUTLIVE_FUZZ_SEED={seed}: {problem}");
        }
        seed += 1;
    }
    println!(
        "{} damaged files in {seconds} s, of {} originals",
        seed - first,
        originals.len()
    );
}
