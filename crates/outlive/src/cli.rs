//! The arguments of every subcommand.

mod check;
mod grid;
mod grid_serve;

use std::ffi::OsString;

use clap::{Args, Parser, Subcommand, ValueEnum};
use outlive_record::layout::{DEFAULT_BOX_SIZE, MAX_BOX_SIZE, MIN_BOX_SIZE};

pub use self::check::{
    CheckArguments, ExplainArguments, FileArguments, FixArguments, OutputArguments, OutputFormat,
    RemarkArguments, RuleArguments,
};
pub use self::grid::{
    ColumnCount, EffortOption, FitOption, GridArguments, ImageArguments, ImageOrder, LookArguments,
    StorageArguments, TileKind,
};
pub use self::grid_serve::ServeArguments;
use crate::limit::{self, Limit};

/// Says what ended a Python process, with proof, and which lines held its memory.
#[derive(Debug, Parser)]
#[command(name = "outlive", version)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a program with a guard and a black box around its whole process tree
    Run(RunArguments),
    /// Say what ended a run, with proof, and which lines held memory
    Why(WhyArguments),
    /// List the runs that are kept
    List(ListArguments),
    /// Find the patterns that kill kernels in source code, before it runs
    Check(CheckArguments),
    /// Explain a rule of the check, with what it was measured to cost
    Explain(ExplainArguments),
    /// Show any number of images on one sheet, or on a page to zoom into
    Grid(GridArguments),
    /// Serve an editor at standard input and output (Language Server Protocol)
    Lsp(LspArguments),
    /// Set Outlive up for the programs of this Python environment
    Setup(SetupArguments),
    /// Check that everything is in place, and say what is missing
    Doctor(DoctorArguments),
    /// Watch a program that runs already and has loaded the hook itself
    #[command(hide = true)]
    Watch(WatchArguments),
}

/// Arguments of `outlive run`.
#[derive(Debug, Args)]
#[command(
    override_usage = "outlive run [OPTIONS] [--] COMMAND...\n       \
                      outlive run [OPTIONS] SCRIPT.py [ARGUMENTS]...\n       \
                      outlive run [OPTIONS] -m MODULE [ARGUMENTS]...",
    after_help = "The exit code, or the signal, is the program's own. 2: Outlive itself failed; \
                  126: the command cannot be executed; 127: it was not found."
)]
pub struct RunArguments {
    /// Memory the whole tree may use: `8GiB`, `80%` of the tightest limit, or `auto` for the
    /// limits there are
    #[arg(
        long,
        value_name = "LIMIT",
        default_value = "auto",
        value_parser = limit::parse,
        allow_negative_numbers = true,
        conflicts_with = "no_guard"
    )]
    pub limit: Limit,
    /// Grant memory that is far larger than the budget, as for arrays that stay mostly empty;
    /// growth is stopped all the same
    #[arg(long, conflicts_with = "no_guard")]
    pub allow_sparse: bool,
    /// Record only: refuse nothing, stop nothing
    #[arg(long)]
    pub no_guard: bool,
    /// Size of each process's black box, 4MiB to 1GiB
    #[arg(long, value_name = "SIZE", default_value = "32MiB", value_parser = parse_box_size)]
    pub box_size: u64,
    /// Print nothing at all
    #[arg(short, long)]
    pub quiet: bool,
    /// For programs that start others
    #[command(flatten)]
    pub starter: StarterArguments,
    /// The program and its arguments; a Python file, or `-m` and a module
    #[arg(
        value_name = "COMMAND",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub command: Vec<OsString>,
}

/// What a program that starts others, such as a notebook server, asks of `outlive run`.
#[derive(Clone, Copy, Debug, Args)]
pub struct StarterArguments {
    /// End the program when the process that started Outlive is gone
    #[arg(long, hide = true)]
    pub with_parent: bool,
    /// Write a line of JSON that names the run to this descriptor
    #[arg(long, value_name = "NUMBER", hide = true)]
    pub announce_fd: Option<i32>,
    /// The kernel's adjustment of the program's out-of-memory score
    #[arg(
        long,
        value_name = "NUMBER",
        hide = true,
        allow_negative_numbers = true
    )]
    pub oom_score_adj: Option<i32>,
}

/// Arguments of `outlive why`.
#[derive(Debug, Args)]
#[command(
    after_help = "A pid of a child explains that child. What the verdicts mean: \
                        docs/verdicts.md; the shape of the JSON: docs/why-json.md."
)]
pub struct WhyArguments {
    /// The run: `last`, its name or the start of it, the pid of one of its processes, or the path
    /// of a run's folder or of a black box
    #[arg(value_name = "RUN", default_value = "last")]
    pub run: String,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// The same as `--format json`
    #[arg(long, hide = true, conflicts_with = "format")]
    pub json: bool,
}

/// Arguments of `outlive list`.
#[derive(Debug, Args)]
#[command(
    after_help = "50 runs are kept (OUTLIVE_KEEP_RUNS), of 4 GiB together \
                        (OUTLIVE_KEEP_BYTES). The newest 20 that ended badly stay longest."
)]
pub struct ListArguments {
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// Arguments of `outlive lsp`.
#[derive(Clone, Copy, Debug, Args)]
pub struct LspArguments {
    /// Always so; many editors say it
    #[arg(long, hide = true)]
    pub stdio: bool,
}

/// Arguments of `outlive setup`.
#[derive(Debug, Args)]
pub struct SetupArguments {
    /// For what
    pub target: Target,
    /// Take back what an earlier set-up wrote
    #[arg(long)]
    pub undo: bool,
    /// Only say what would be written
    #[arg(long)]
    pub dry_run: bool,
}

/// Arguments of `outlive doctor`.
#[derive(Debug, Args)]
pub struct DoctorArguments {
    /// What to check
    pub target: Target,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// What Outlive can be set up for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Target {
    /// All Python kernels of this environment
    Jupyter,
}

/// Arguments of `outlive watch`.
#[derive(Debug, Args)]
pub struct WatchArguments {
    /// The program
    pub pid: u32,
    /// As of `outlive run`
    #[arg(long, default_value = "auto", value_parser = limit::parse, allow_negative_numbers = true)]
    pub limit: Limit,
    /// As of `outlive run`
    #[arg(long)]
    pub allow_sparse: bool,
    /// As of `outlive run`
    #[arg(long)]
    pub no_guard: bool,
    /// As of `outlive run`
    #[arg(long, default_value = "32MiB", value_parser = parse_box_size)]
    pub box_size: u64,
    /// Stay in this process instead of going on in one that is nobody's child
    #[arg(long)]
    pub stay: bool,
}

/// How to print a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Text,
    /// For programs; the shape is documented and stable
    Json,
}

/// Reads a size such as `64MiB`, in the range the format allows.
fn parse_box_size(text: &str) -> Result<u64, String> {
    let size = parse_size(text)
        .ok_or_else(|| format!("not a size, such as `{}MiB`", DEFAULT_BOX_SIZE >> 20))?;
    if size < MIN_BOX_SIZE {
        return Err(format!("{text} is below {}MiB", MIN_BOX_SIZE >> 20));
    }
    if size > MAX_BOX_SIZE {
        return Err(format!("{text} is above {}GiB", MAX_BOX_SIZE >> 30));
    }
    Ok(size)
}

/// Reads a number of bytes with an optional unit; units are powers of 1024 with `i`, of 1000
/// without, and single letters mean the former, as with `ls -h`.
pub(crate) fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text
        .find(|character: char| !character.is_ascii_digit() && character != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "t" | "tib" => 1 << 40,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ => return None,
    };
    let Some((whole, part)) = number.split_once('.') else {
        return number.parse::<u64>().ok()?.checked_mul(factor);
    };
    // `1.5GiB`, as sizes are printed; digits on both sides.
    let whole = whole.parse::<u64>().ok()?.checked_mul(factor)?;
    part.parse::<u64>().ok()?;
    let part: f64 = format!("0.{part}").parse().ok()?;
    whole.checked_add((part * factor as f64).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_units() {
        let read = |text| parse_size(text);
        assert_eq!(read("64MiB"), Some(64 << 20));
        assert_eq!(read("1g"), Some(1 << 30));
        assert_eq!(read("5 MB"), Some(5_000_000));
        assert_eq!(read("4096"), Some(4096));
        assert_eq!(read("MiB"), None);
        assert_eq!(read("1.5GiB"), Some(3 << 29));
        assert_eq!(read("0.1 MB"), Some(100_000));
        for wrong in [".5GiB", "1.GiB", "1.2.3", "1,5GiB", "-1", "."] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        assert_eq!(read("99999999999TiB"), None);
    }

    #[test]
    fn box_sizes_stay_in_the_range_of_the_format() {
        assert_eq!(parse_box_size("1"), Err("1 is below 4MiB".to_owned()));
        assert_eq!(parse_box_size("1TiB"), Err("1TiB is above 1GiB".to_owned()));
        assert_eq!(parse_box_size("64MiB"), Ok(64 << 20));
        assert!(parse_box_size("big").is_err());
    }
}
