//! The arguments of `outlive grid`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::grid_serve::ServeArguments;
use super::{Format, parse_size};

/// Arguments of `outlive grid`.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 done, broken images are listed; 1 every image is broken; 2 Outlive \
                  failed, or an argument is wrong; 130 stopped by Ctrl-C, what is done can be \
                  opened. More: docs/grid.md."
)]
pub struct GridArguments {
    /// Files, folders, patterns, tar archives; `-` or `@FILE` for a list of paths
    #[arg(value_name = "PATHS", required = true)]
    pub paths: Vec<OsString>,
    /// Where to: a picture (`.png`, `.jpg`, `.webp`), a page to zoom into (`FOLDER/`), or that
    /// page in one file (`.zip`)
    #[arg(short, long, value_name = "OUTPUT")]
    pub output: Option<PathBuf>,
    /// Replace an output that is there and is not this grid
    #[arg(long)]
    pub overwrite: bool,
    /// Whether a server shows it
    #[command(flatten)]
    pub serving: ServeArguments,
    /// Which images
    #[command(flatten)]
    pub images: ImageArguments,
    /// How it looks
    #[command(flatten)]
    pub look: LookArguments,
    /// How it is stored
    #[command(flatten)]
    pub storage: StorageArguments,
    /// Bytes that may be in memory at once for decoding; an image that needs more is shown as
    /// broken
    #[arg(long, allow_negative_numbers = true, value_name = "SIZE", default_value = "64MiB", value_parser = parse_budget)]
    pub budget: u64,
    /// Threads that decode; without it, one for each processor
    #[arg(long, allow_negative_numbers = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
    /// How to print what came of it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// No progress and no summary; errors only
    #[arg(short, long)]
    pub quiet: bool,
}

/// Which images, in which order.
#[derive(Clone, Copy, Debug, Args)]
pub struct ImageArguments {
    /// The order of the images
    #[arg(long, value_enum, default_value_t = ImageOrder::Name)]
    pub order: ImageOrder,
    /// The last one first
    #[arg(long)]
    pub reverse: bool,
    /// Paths of a list are separated by zero bytes, as `find -print0` writes them
    #[arg(long)]
    pub null: bool,
}

/// How cells and sheet look.
#[derive(Clone, Debug, Args)]
pub struct LookArguments {
    /// Pixels of a cell: `128`, or `160x120`
    #[arg(long, allow_negative_numbers = true, value_name = "SIZE", default_value = "128", value_parser = parse_cell)]
    pub cell: (u32, u32),
    /// Cells in a row; `auto` makes the sheet about square
    #[arg(long, allow_negative_numbers = true, value_name = "N", default_value = "auto", value_parser = parse_columns)]
    pub columns: ColumnCount,
    /// Pixels between cells
    #[arg(long, allow_negative_numbers = true, value_name = "PIXELS", default_value_t = 2, value_parser = clap::value_parser!(u32).range(..=1000))]
    pub padding: u32,
    /// Behind and between images: `#rgb`, `#rrggbb`, or a name such as `white`
    #[arg(long, value_name = "COLOUR", default_value = "white", value_parser = parse_colour)]
    pub background: [u8; 3],
    /// Text below each image: `none`, `name`, `path`, or a file of paths and texts (`.tsv`, `.csv`)
    #[arg(long, value_name = "WHAT", default_value = "none")]
    pub captions: OsString,
    /// How an image gets into its cell
    #[arg(long, value_enum, default_value_t = FitOption::Contain)]
    pub fit: FitOption,
    /// What the page is called; without it, the name of what is shown
    #[arg(long)]
    pub title: Option<String>,
}

/// How pixels are stored.
#[derive(Clone, Copy, Debug, Args)]
pub struct StorageArguments {
    /// Of JPEG and WebP, 1 to 100
    #[arg(long, allow_negative_numbers = true, value_name = "N", default_value_t = 85, value_parser = clap::value_parser!(u8).range(1..=100))]
    pub quality: u8,
    /// Work spent on a smaller PNG: `fast`, or 0 (none) to 9 (most)
    #[arg(long, allow_negative_numbers = true, value_name = "LEVEL", default_value = "fast", value_parser = parse_effort)]
    pub effort: EffortOption,
    /// The kind of the tiles of a page
    #[arg(long, value_enum, default_value_t = TileKind::Jpg)]
    pub tiles: TileKind,
}

/// The orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ImageOrder {
    /// By path, as people read it: `img2` before `img10`
    Name,
    /// By path, byte by byte
    Path,
    /// By time of the last change, oldest first
    Time,
    /// By bytes of the file, smallest first
    Size,
    /// As given
    List,
}

/// Ways into a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FitOption {
    /// All of it is visible, smaller images keep their size
    Contain,
    /// The cell is full, what stands over is cut off
    Cover,
}

/// Cells in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnCount {
    /// About as many as there are rows.
    Auto,
    /// So many.
    Fixed(u64),
}

/// Work for a PNG.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EffortOption {
    /// The quick way.
    Fast,
    /// As zlib counts.
    Level(u8),
}

/// Kinds of tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TileKind {
    /// Small
    Jpg,
    /// Without loss
    Png,
}

/// Sides of a cell that make sense.
const CELL: std::ops::RangeInclusive<u32> = 1..=8192;

fn parse_cell(text: &str) -> Result<(u32, u32), String> {
    let (width, height) = text.split_once(['x', '×']).unwrap_or((text, text));
    let side = |text: &str| text.trim().parse().ok().filter(|side| CELL.contains(side));
    match (side(width), side(height)) {
        (Some(width), Some(height)) => Ok((width, height)),
        _ => Err("not a size of 1 to 8192 pixels, such as `128` or `160x120`".to_owned()),
    }
}

fn parse_columns(text: &str) -> Result<ColumnCount, String> {
    if text == "auto" {
        return Ok(ColumnCount::Auto);
    }
    match text.parse() {
        Ok(columns) if columns > 0 => Ok(ColumnCount::Fixed(columns)),
        _ => Err("not a number of cells, nor `auto`".to_owned()),
    }
}

fn parse_effort(text: &str) -> Result<EffortOption, String> {
    if text == "fast" {
        return Ok(EffortOption::Fast);
    }
    match text.parse() {
        Ok(level @ 0..=9) => Ok(EffortOption::Level(level)),
        _ => Err("neither `fast` nor 0 to 9".to_owned()),
    }
}

fn parse_budget(text: &str) -> Result<u64, String> {
    let size = parse_size(text).ok_or("not a size, such as `64MiB`")?;
    if size < 1 << 20 {
        return Err(format!("{text} is below 1MiB"));
    }
    Ok(size)
}

fn parse_colour(text: &str) -> Result<[u8; 3], String> {
    let named = match text {
        "black" => Some([0; 3]),
        "white" => Some([255; 3]),
        "grey" | "gray" => Some([128; 3]),
        "red" => Some([255, 0, 0]),
        "green" => Some([0, 128, 0]),
        "blue" => Some([0, 0, 255]),
        _ => text.strip_prefix('#').and_then(from_digits),
    };
    named.ok_or_else(|| {
        "not a colour: `#rgb`, `#rrggbb`, black, white, grey, red, green or blue".to_owned()
    })
}

fn from_digits(digits: &str) -> Option<[u8; 3]> {
    let values: Option<Vec<u8>> = digits
        .chars()
        .map(|digit| digit.to_digit(16).map(|value| value as u8))
        .collect();
    match values?.as_slice() {
        [red, green, blue] => Some([red * 17, green * 17, blue * 17]),
        six if six.len() == 6 => {
            let mut pairs = six
                .chunks(2)
                .map(|pair| pair.iter().fold(0, |all, digit| all * 16 + digit));
            Some([pairs.next()?, pairs.next()?, pairs.next()?])
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_names_or_digits() {
        assert_eq!(parse_colour("#fa0"), Ok([255, 170, 0]));
        assert_eq!(parse_colour("#0A0b0C"), Ok([10, 11, 12]));
        assert_eq!(parse_colour("grey"), Ok([128; 3]));
        for wrong in ["", "#", "#12", "#12345", "#ggg", "mauve", "fff", "#é00"] {
            assert!(parse_colour(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn cells_are_one_side_or_two() {
        assert_eq!(parse_cell("128"), Ok((128, 128)));
        assert_eq!(parse_cell("160x120"), Ok((160, 120)));
        for wrong in ["", "0", "x", "10x", "-1", "9000", "1x2x3", "99999999999"] {
            assert!(parse_cell(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn columns_and_effort_have_a_word_and_numbers() {
        assert_eq!(parse_columns("auto"), Ok(ColumnCount::Auto));
        assert_eq!(parse_columns("12"), Ok(ColumnCount::Fixed(12)));
        assert!(parse_columns("0").is_err());
        assert_eq!(parse_effort("fast"), Ok(EffortOption::Fast));
        assert_eq!(parse_effort("9"), Ok(EffortOption::Level(9)));
        assert!(parse_effort("10").is_err());
        assert!(parse_budget("1KiB").is_err());
    }
}
