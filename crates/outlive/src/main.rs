//! The `outlive` command. Everything happens in the library, so that tests can reach it.

use std::process::ExitCode;

fn main() -> ExitCode {
    outlive::main()
}
