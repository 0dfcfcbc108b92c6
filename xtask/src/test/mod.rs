//! `cargo xtask test`: every check there is, cheapest first, from nothing but Rust and Python.
//! What it installs goes to `.cache`, and is used again as long as the requirements are the same.

mod interpreters;
mod packages;

use std::process::Command;

use anyhow::{Result, bail};

use crate::python::Environment;
use crate::step::{self, Steps};
use crate::turbo::Turbo;
use crate::wheel::Wheel;
use crate::workspace::{cache_directory, cargo, root};
use crate::{build, tidy, wheel};

/// How much is tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// All of it.
    Everything,
    /// What needs no framework: no large downloads, no pytest.
    Quick,
}

/// Runs the checks and prints what each took.
pub(crate) fn main(extent: Extent) -> Result<()> {
    let mut steps = Steps::default();
    let outcome = checks(&mut steps, extent);
    steps.print_summary();
    outcome
}

fn checks(steps: &mut Steps, extent: Extent) -> Result<()> {
    rust_checks(steps)?;
    let wheel = packaging_checks(steps)?;
    if extent == Extent::Everything {
        python_tests(steps, &wheel)?;
    }
    Ok(())
}

fn rust_checks(steps: &mut Steps) -> Result<()> {
    steps.step("cargo fmt", || {
        step::run(cargo().args(["fmt", "--all", "--check"]))
    })?;
    steps.step("tidy", tidy::main)?;
    let turbo = Turbo::ensure();
    steps.step("clippy", || {
        clippy(&["--workspace"], Some(&turbo))?;
        clippy(&["--package", "outlive-data"], None)
    })?;
    // Tests of the command line tool run the real library against real processes.
    steps.step("build", || build::build().map(drop))?;
    steps.step("rust tests", || {
        rust_tests(&["--workspace"], Some(&turbo))?;
        // The decoder that takes over where libjpeg-turbo cannot be built.
        rust_tests(&["--package", "outlive-data"], None)
    })?;
    steps.step("doc tests", || {
        step::run(cargo().args(["test", "--quiet", "--workspace", "--doc"]))
    })?;
    steps.step("cargo doc", || {
        let mut command = cargo();
        command.args(["doc", "--quiet", "--workspace", "--no-deps"]);
        step::run(command.env("RUSTDOCFLAGS", "-D warnings"))
    })
}

/// The packages that may be built with libjpeg-turbo.
const WITH_TURBO: [&str; 2] = ["outlive", "outlive-python"];

fn clippy(packages: &[&str], turbo: Option<&Turbo>) -> Result<()> {
    let mut command = cargo();
    command.arg("clippy").args(packages).arg("--all-targets");
    if let Some(turbo) = turbo {
        turbo.apply(&mut command, &WITH_TURBO);
    }
    step::run(command.args(["--", "-D", "warnings"]))
}

/// One process a test where nextest is installed, which keeps tests that signal apart.
fn rust_tests(packages: &[&str], turbo: Option<&Turbo>) -> Result<()> {
    let mut command = cargo();
    if step::succeeds(cargo().args(["nextest", "--version"])) {
        command.args(["nextest", "run"]).args(packages);
    } else {
        command.arg("test").args(packages);
        command.args(["--lib", "--bins", "--tests"]);
    }
    if let Some(turbo) = turbo {
        turbo.apply(&mut command, &WITH_TURBO);
    }
    step::run(&mut command)
}

fn packaging_checks(steps: &mut Steps) -> Result<Wheel> {
    let mut built = None;
    steps.step("wheel", || {
        let wheel = wheel::build()?;
        println!("    {} ({})", wheel.path.display(), wheel.tag);
        built = Some(wheel);
        Ok(())
    })?;
    let Some(wheel) = built else {
        bail!("No wheel was built")
    };
    steps.step("wheel in a fresh environment", || try_wheel(&wheel))?;
    steps.step("ruff and mypy", lint_python)?;
    Ok(wheel)
}

/// The wheel alone, without an index: it must bring everything it needs.
fn try_wheel(wheel: &Wheel) -> Result<()> {
    let fresh = Environment::create(&cache_directory().join("wheel-only"))?;
    fresh.pip(&["install", "--quiet", "--no-index"], &wheel.path)?;
    let wanted = format!("outlive {}", env!("CARGO_PKG_VERSION"));
    let script = "import outlive; print('outlive', outlive.__version__)";
    let answers = [
        step::output(fresh.program("outlive").arg("--version"))?,
        step::output(fresh.python().args(["-m", "outlive", "--version"]))?,
        step::output(fresh.python().args(["-c", script]))?,
    ];
    for answer in answers {
        if answer.trim_end() != wanted {
            bail!(
                "The wheel says `{}`, expected `{wanted}`",
                answer.trim_end()
            );
        }
    }
    Ok(())
}

fn lint_python() -> Result<()> {
    let requirements = root().join("tests/requirements-lint.txt");
    let tools = Environment::with_requirements(&cache_directory().join("lint"), &requirements)?;
    let run = |words: &[&str]| {
        let Some((program, words)) = words.split_first() else {
            return Ok(());
        };
        step::run(tools.program(program).current_dir(root()).args(words))
    };
    run(&["ruff", "check", "."])?;
    run(&["ruff", "format", "--check", "."])?;
    run(&["mypy", "--strict", "python"])
}

/// An environment with all frameworks and a wheel of what is here.
pub(crate) fn frameworks() -> Result<Environment> {
    frameworks_with(&wheel::build()?)
}

fn frameworks_with(wheel: &Wheel) -> Result<Environment> {
    let requirements = root().join("tests/requirements.txt");
    let place = cache_directory().join("frameworks");
    let environment = Environment::with_requirements(&place, &requirements)?;
    let words = ["install", "--quiet", "--no-index", "--no-deps"];
    environment.pip(&[&words[..], &["--force-reinstall"]].concat(), &wheel.path)?;
    Ok(environment)
}

fn python_tests(steps: &mut Steps, wheel: &Wheel) -> Result<()> {
    steps.step("Debian packages", || {
        packages::ensure();
        Ok(())
    })?;
    let mut pythons = None;
    steps.step("interpreters", || {
        let found = interpreters::find();
        found.place(&build::products())?;
        pythons = Some(found);
        Ok(())
    })?;
    let mut frameworks = None;
    steps.step("frameworks", || {
        frameworks = Some(frameworks_with(wheel)?);
        Ok(())
    })?;
    let (Some(frameworks), Some(pythons)) = (frameworks, pythons) else {
        bail!("No environment to test in")
    };
    steps.step("pytest", || {
        let mut command: Command = frameworks.python();
        pythons.export(&mut command);
        command.env("OUTLIVE_TEST_WHEEL", &wheel.path);
        step::run(
            command
                .current_dir(root())
                .args(["-m", "pytest", "tests/python"]),
        )
    })
}
