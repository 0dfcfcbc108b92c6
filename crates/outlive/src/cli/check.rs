//! The arguments of `outlive check` and `outlive explain`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Format;
use crate::limit::{self, Limit};

/// Arguments of `outlive check`.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 nothing to report; 1 something was reported, or `--diff` has a \
                  change; 2 Outlive failed, or a named path cannot be read. \
                  Configuration, suppression, outputs: docs/check.md."
)]
pub struct CheckArguments {
    /// Files and folders; `-` for standard input
    #[arg(value_name = "PATHS", default_value = ".")]
    pub paths: Vec<PathBuf>,
    /// Which rules
    #[command(flatten)]
    pub rules: RuleArguments,
    /// Which files
    #[command(flatten)]
    pub files: FileArguments,
    /// What to change
    #[command(flatten)]
    pub fixes: FixArguments,
    /// How to print
    #[command(flatten)]
    pub output: OutputArguments,
    /// Check again whenever a file changes, until Ctrl-C
    #[arg(long, conflicts_with_all = ["diff", "fix", "output_file"])]
    pub watch: bool,
}

/// Which rules are wanted, and against which machine.
#[derive(Clone, Debug, Default, Args)]
pub struct RuleArguments {
    /// Only these rules, in place of the configured ones: codes, their beginnings, names or causes
    #[arg(long, value_name = "RULES", value_delimiter = ',')]
    pub select: Vec<String>,
    /// These rules too; their findings of level info are shown
    #[arg(long, value_name = "RULES", value_delimiter = ',')]
    pub extend_select: Vec<String>,
    /// Not these rules
    #[arg(long, value_name = "RULES", value_delimiter = ',')]
    pub ignore: Vec<String>,
    /// Show findings of level info too
    #[arg(long)]
    pub info: bool,
    /// Memory the program may use, such as `8GiB` or `80%`: what sizes are compared with. Without
    /// it, the container's limit or the memory of this machine
    #[arg(long, value_name = "SIZE", value_parser = limit::parse)]
    pub budget: Option<Limit>,
}

/// Which files are looked at.
#[derive(Clone, Debug, Default, Args)]
pub struct FileArguments {
    /// Leave out what these patterns match, written as in `.gitignore`
    #[arg(long, value_name = "PATTERNS", value_delimiter = ',')]
    pub exclude: Vec<String>,
    /// Leave out excluded files even if they are named
    #[arg(long)]
    pub force_exclude: bool,
    /// Look into files that git ignores
    #[arg(long)]
    pub no_respect_gitignore: bool,
    /// Name of what comes from standard input
    #[arg(long, value_name = "NAME")]
    pub stdin_filename: Option<PathBuf>,
}

/// What is changed.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct FixArguments {
    /// Make the safe fixes: those that change no gradient, no result and no data
    #[arg(long)]
    pub fix: bool,
    /// With `--fix` or `--diff`: the fixes that may change a result as well
    #[arg(long)]
    pub unsafe_fixes: bool,
    /// Show what `--fix` would change, and change nothing
    #[arg(long)]
    pub diff: bool,
}

/// How it is printed.
#[derive(Clone, Debug, Args)]
pub struct OutputArguments {
    /// How to print
    #[arg(long, visible_alias = "format", value_enum, default_value_t = OutputFormat::Full)]
    pub output_format: OutputFormat,
    /// Write the findings to this file
    #[arg(short, long, value_name = "FILE")]
    pub output_file: Option<PathBuf>,
    /// Count the findings of each rule in place of showing them
    #[arg(long)]
    pub statistics: bool,
    /// End with 0 whatever is found
    #[arg(long)]
    pub exit_zero: bool,
    /// No colours; so does `NO_COLOR`
    #[arg(long)]
    pub no_color: bool,
    /// What else to say
    #[command(flatten)]
    pub remarks: RemarkArguments,
}

/// What is said beside the findings.
#[derive(Clone, Copy, Debug, Args)]
pub struct RemarkArguments {
    /// Findings only: no summary, no warnings
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Also say which cells were skipped, and every file that is not Python
    #[arg(short, long)]
    pub verbose: bool,
}

/// The shapes of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// The source, what shows it, and what to write
    Full,
    /// A line a finding
    Concise,
    /// For programs; the shape is documented and stable
    Json,
    /// Annotations of GitHub Actions
    Github,
    /// A code quality report of GitLab
    Gitlab,
    /// SARIF 2.1.0
    Sarif,
    /// `JUnit` XML
    Junit,
}

/// Arguments of `outlive explain`.
#[derive(Debug, Args)]
pub struct ExplainArguments {
    /// Code, name or cause; without it, all rules as a table
    #[arg(value_name = "RULE")]
    pub rule: Option<String>,
    /// How to print
    #[arg(long, visible_alias = "output-format", value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// No colours; so does `NO_COLOR`
    #[arg(long)]
    pub no_color: bool,
}
