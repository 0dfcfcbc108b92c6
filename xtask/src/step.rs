//! Running commands: one that must succeed, one whose output is wanted, and a list of timed steps.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// Runs a command with its output passed through; an end other than 0 is an error.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command
        .stdin(Stdio::null())
        .status()
        .with_context(|| format!("Cannot start `{}`", shown(command)))?;
    if !status.success() {
        bail!("`{}` failed: {status}", shown(command));
    }
    Ok(())
}

/// Runs a command and gives back what it wrote to standard output; what it wrote to standard error
/// becomes part of the error when it fails.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("Cannot start `{}`", shown(command)))?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        bail!(
            "`{}` failed: {}\n{}",
            shown(command),
            output.status,
            complaint.trim_end()
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Whether a command starts and ends with 0; its output is dropped.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Steps done so far, with the time each took.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    done: Vec<(String, Duration)>,
}

impl Steps {
    /// Does one step: says so, times it, remembers it.
    pub(crate) fn step(&mut self, name: &str, work: impl FnOnce() -> Result<()>) -> Result<()> {
        println!("\n==> {name}");
        let start = Instant::now();
        work().with_context(|| format!("Step `{name}` failed"))?;
        let taken = start.elapsed();
        println!("    {name}: done in {:.1} s", taken.as_secs_f64());
        self.done.push((name.to_owned(), taken));
        Ok(())
    }

    /// Prints all steps and their times.
    pub(crate) fn print_summary(&self) {
        println!();
        for (name, taken) in &self.done {
            println!("{:>8.1} s  {name}", taken.as_secs_f64());
        }
        let total: Duration = self.done.iter().map(|(_, taken)| *taken).sum();
        println!("{:>8.1} s  everything", total.as_secs_f64());
    }
}

fn shown(command: &Command) -> String {
    let mut words = vec![command.get_program().to_string_lossy().into_owned()];
    words.extend(
        command
            .get_args()
            .map(|word| word.to_string_lossy().into_owned()),
    );
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_fails_is_named_with_what_it_said() {
        let error = output(Command::new("sh").args(["-c", "echo no >&2; exit 3"])).unwrap_err();
        let message = format!("{error:#}");
        assert!(
            message.contains("exit status: 3") && message.ends_with("no"),
            "{message}"
        );
    }

    #[test]
    fn a_command_that_does_not_exist_does_not_succeed() {
        assert!(!succeeds(&mut Command::new("no-such-program-here")));
    }

    #[test]
    fn a_failed_step_is_named_and_not_counted() {
        let mut steps = Steps::default();
        let error = steps.step("painting", || bail!("No paint")).unwrap_err();
        assert_eq!(format!("{error:#}"), "Step `painting` failed: No paint");
        assert!(steps.done.is_empty());
    }
}
