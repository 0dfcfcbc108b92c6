//! The arguments of `outlive grid --serve`.

use clap::Args;

use super::parse_size;

/// A page of 4K pixels needs 4 MiB of tiles. With less than a few of those, what was made would be
/// gone before it is asked for again.
const SMALLEST_CACHE: u64 = 16 << 20;

/// What is served, and where.
#[derive(Clone, Copy, Debug, Args)]
pub struct ServeArguments {
    /// Show the page to zoom into from a server on this machine, until Ctrl-C: images are read
    /// when they are looked at, and nothing is written
    #[arg(long, conflicts_with_all = ["output", "overwrite"])]
    pub serve: bool,
    /// With `--serve`: the port; without it, any that is free
    #[arg(long, value_name = "N", requires = "serve")]
    pub port: Option<u16>,
    /// With `--serve`: tiles that are kept in memory
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "64MiB",
        value_parser = parse_cache,
        requires = "serve"
    )]
    pub cache: u64,
}

fn parse_cache(text: &str) -> Result<u64, String> {
    let size = parse_size(text).ok_or("not a size, such as `64MiB`")?;
    if size < SMALLEST_CACHE {
        return Err(format!("{text} is below {}MiB", SMALLEST_CACHE >> 20));
    }
    Ok(size)
}
