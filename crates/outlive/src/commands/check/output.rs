//! Where the findings go, and in which form.

use std::io::{self, BufWriter, Write};

use super::is_standard_input;
use crate::check::Outcome;
use crate::check::report::{github, gitlab, json, junit, sarif};
use crate::cli::{CheckArguments, OutputFormat};
use crate::printer::{Style, check_summary, findings};
use crate::say;

/// Prints to standard output, or to a file; beside fixed text that came from standard input, to
/// standard error.
pub(super) fn print(outcome: &Outcome, arguments: &CheckArguments) -> io::Result<()> {
    let plain = arguments.output.no_color;
    let style = |style: Style| if plain { style.without_colour() } else { style };
    let is_text_beside = arguments.fixes.fix && is_standard_input(&arguments.paths);
    if let Some(path) = &arguments.output.output_file {
        let mut file = BufWriter::new(fs_err::File::create(path)?);
        write(outcome, arguments, &mut file, Style::PLAIN)?;
        file.flush()
    } else if is_text_beside && !arguments.fixes.diff {
        let style = style(Style::for_stream(&io::stderr()));
        write(outcome, arguments, &mut io::stderr().lock(), style)
    } else {
        let style = style(Style::for_stream(&io::stdout()));
        let mut out = BufWriter::new(io::stdout().lock());
        write(outcome, arguments, &mut out, style)?;
        out.flush()
    }
}

fn write(
    outcome: &Outcome,
    arguments: &CheckArguments,
    out: &mut dyn Write,
    style: Style,
) -> io::Result<()> {
    let output = &arguments.output;
    if arguments.fixes.diff {
        return write_differences(outcome, arguments, out);
    }
    match output.output_format {
        OutputFormat::Json => json::write(outcome, out),
        OutputFormat::Github => github::write(outcome, out),
        OutputFormat::Gitlab => gitlab::write(outcome, out),
        OutputFormat::Sarif => sarif::write(outcome, out),
        OutputFormat::Junit => junit::write(outcome, out),
        OutputFormat::Full | OutputFormat::Concise => {
            write_text(outcome, arguments, out, style)?;
            if output.remarks.quiet {
                return Ok(());
            }
            writeln!(out, "{}", check_summary::summary(outcome))
        }
    }
}

fn write_text(
    outcome: &Outcome,
    arguments: &CheckArguments,
    out: &mut dyn Write,
    style: Style,
) -> io::Result<()> {
    let output = &arguments.output;
    if output.statistics {
        return check_summary::print_statistics(&outcome.findings, out, style);
    }
    let mut all = outcome.findings.iter();
    if output.output_format == OutputFormat::Concise {
        return all.try_for_each(|found| findings::print_line(found, out, style));
    }
    all.try_for_each(|found| findings::print_full(found, out, style))
}

/// The diff alone is on standard output, so that it can be kept and applied.
fn write_differences(
    outcome: &Outcome,
    arguments: &CheckArguments,
    out: &mut dyn Write,
) -> io::Result<()> {
    for difference in &outcome.differences {
        out.write_all(difference.as_bytes())?;
    }
    if !arguments.output.remarks.quiet {
        say(&check_summary::would_fix(outcome));
    }
    Ok(())
}
