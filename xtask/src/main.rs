//! `cargo xtask`: everything a developer does with the repository, without any tool beside Rust
//! and Python. One file a command; `cargo xtask` alone lists them.

#![forbid(unsafe_code)]
#![expect(
    clippy::print_stdout,
    reason = "a developer's tool talks to its developer"
)]

mod bench;
mod build;
mod debian;
mod demo;
mod fuzz;
mod install;
mod python;
mod step;
mod test;
mod tidy;
mod turbo;
mod wheel;
mod workspace;

use std::process::ExitCode;

use anyhow::{Result, bail};

const USAGE: &str = "\
Usage: cargo xtask COMMAND

  build            release CLI and hook library, side by side in target/release
  demo             builds, runs a script that is really killed, and explains its death
  fuzz             reads damaged black boxes for `--minutes N`, 10 unless told
  install          builds the wheel and installs it into the current Python environment
  test [--quick]   every check, cheapest first; --quick leaves out the frameworks and pytest
  tidy             the rules of the house that no compiler checks
  wheel            builds dist/outlive-*.whl
  bench NAME       benchmarks against the same program without Outlive and against its peers
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: &[String]) -> Result<()> {
    let Some((command, rest)) = arguments.split_first() else {
        print!("{USAGE}");
        return Ok(());
    };
    match (command.as_str(), rest) {
        ("bench", rest) => bench::main(rest),
        ("build", []) => build::main(),
        ("demo", []) => demo::main(),
        ("fuzz", rest) => fuzz::main(rest),
        ("install", []) => install::main(),
        ("test", []) => test::main(test::Extent::Everything),
        ("test", [flag]) if flag == "--quick" => test::main(test::Extent::Quick),
        ("tidy", []) => tidy::main(),
        ("wheel", []) => wheel::main(),
        ("help" | "--help" | "-h", _) => {
            print!("{USAGE}");
            Ok(())
        }
        _ => bail!(
            "Unknown command `{}`\nhint: `cargo xtask` lists the commands",
            arguments.join(" ")
        ),
    }
}
