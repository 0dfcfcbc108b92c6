//! The specification of the verdicts and causes: evidence in, verdict out, one test a row of
//! `docs/verdicts.md`, and one for each way to a cause of `docs/causes.md`.

#![expect(clippy::unwrap_used, reason = "a panic is how a test reports failure")]

mod causes_elsewhere;
mod causes_found;
mod causes_recorded;
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
