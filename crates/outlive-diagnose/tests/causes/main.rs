//! The specification of the verdicts: evidence in, verdict out, one test a row of `docs/verdicts.md`.

#![expect(clippy::unwrap_used, reason = "a panic is how a test reports failure")]

mod ends;
mod exceptions;
mod faults;
mod guarded;
mod holding;
mod memory;
mod notebook;
mod outside;
mod refused;
mod scene;
mod stopped;
mod untouched;
