//! Which images the arguments ask for.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use outlive_data::grid::cells::Entries;
use outlive_data::listing::{
    Captions, Columns, Details, Direction, Exclusion, Input, Labels, ListedEntries, Listing,
    ListingError, Options, Order, Origin, Place, Separator,
};

use super::progress::Bar;
use super::stop::Stop;
use super::told;
use crate::cli::{GridArguments, ImageOrder};
use crate::printer::visible::visible;
use crate::say;

/// Images among which one should have a caption, if any has.
const CAPTIONS_LOOKED_FOR: u64 = 1000;

/// Lists all images; `None` if it was stopped.
pub(crate) fn listing(
    arguments: &GridArguments,
    excluded: Exclusion,
    stop: &Stop,
    bar: &mut Bar,
) -> Result<Option<Listing>> {
    let inputs = inputs(arguments)?;
    let images = arguments.images;
    let options = Options {
        order: match images.order {
            ImageOrder::Name => Order::Name,
            ImageOrder::Path => Order::Path,
            ImageOrder::Time => Order::Time,
            ImageOrder::Size => Order::Size,
            ImageOrder::List => Order::List,
        },
        direction: if images.reverse {
            Direction::Reverse
        } else {
            Direction::Forward
        },
        // A page shows sizes, and a grid that goes on must notice an image that was changed.
        details: Details::All,
        excluded,
        folder: &std::env::temp_dir(),
        observer: &mut |found| {
            bar.listed(found);
            if stop.is_wanted() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        },
    };
    match Listing::new(inputs, options) {
        Err(ListingError::Stopped) => Ok(None),
        made => {
            let listing = made.map_err(told)?;
            check(&listing)?;
            Ok(Some(listing))
        }
    }
}

/// What was named must be there: a wrong argument shows before hours of work.
fn check(listing: &Listing) -> Result<()> {
    let problems = listing.problems().first();
    let named = problems
        .iter()
        .find(|problem| problem.origin == Origin::Named);
    if let Some(problem) = named {
        let path = visible(&String::from_utf8_lossy(&problem.path));
        bail!("`{path}`: {}", problem.reason);
    }
    if listing.is_empty() {
        if let Some(problem) = problems.first() {
            let path = visible(&String::from_utf8_lossy(&problem.path));
            bail!("No images found\n`{path}`: {}", problem.reason);
        }
        bail!(
            "No images found\nhint: in folders, images are known by their ending, such as `.jpg`"
        );
    }
    Ok(())
}

fn inputs(arguments: &GridArguments) -> Result<Vec<Input>> {
    let separator = if arguments.images.null {
        Separator::Zero
    } else {
        Separator::Detect
    };
    let is_list = |path: &&OsString| path.as_os_str() == "-";
    if arguments.paths.iter().filter(is_list).count() > 1 {
        bail!("Standard input (`-`) can be read once");
    }
    let inputs = arguments.paths.iter().map(|path| {
        if path == "-" {
            return Ok(Input::List {
                name: "-".to_owned(),
                reader: Box::new(io::stdin()),
                separator,
            });
        }
        let Some(file) = path
            .as_bytes()
            .strip_prefix(b"@")
            .filter(|_| !Path::new(path).exists())
        else {
            return Ok(Input::Path(path.clone()));
        };
        let file = Path::new(OsStr::from_bytes(file));
        Ok(Input::List {
            name: file.display().to_string(),
            reader: Box::new(opened(file)?),
            separator,
        })
    });
    inputs.collect()
}

/// A file that an argument names.
fn opened(path: &Path) -> Result<File> {
    File::open(path).map_err(|error| {
        let text = error.to_string();
        let reason = text.split(" (os error").next().unwrap_or_default();
        let path = visible(&path.display().to_string());
        anyhow!("`{path}`: {reason}")
    })
}

/// How images are called, linked and captioned.
pub(crate) fn entries(
    arguments: &GridArguments,
    page: Option<PathBuf>,
    listing: Listing,
) -> Result<ListedEntries> {
    let current = std::env::current_dir().context("Cannot tell the current folder")?;
    let entries = ListedEntries {
        listing: Arc::new(listing),
        place: Place {
            base: base(&arguments.paths),
            current,
            page,
        },
        labels: labels(&arguments.look.captions)?,
    };
    if !arguments.quiet {
        tell_captions(&entries, &arguments.look.captions);
    }
    Ok(entries)
}

/// Captions that belong to nothing are rather those of paths that were written in another way.
fn tell_captions(entries: &ListedEntries, file: &OsStr) {
    let looked_at = entries.listing.len().min(CAPTIONS_LOOKED_FOR);
    let is_missing = |index| entries.label(index).is_none();
    if matches!(entries.labels, Labels::Captions(_)) && (0..looked_at).all(is_missing) {
        let name = entries.entry(0).name;
        say(&format!(
            "`{}` has no caption for any of the first {looked_at} images\n\
             hint: its paths should look like `{}`",
            Path::new(file).display(),
            visible(&name)
        ));
    }
}

/// Names are shown without what all of them begin with: the one folder that was named.
fn base(paths: &[OsString]) -> Vec<u8> {
    match paths {
        [path] if Path::new(path).is_dir() => path.clone().into_vec(),
        _ => Vec::new(),
    }
}

fn labels(captions: &OsStr) -> Result<Labels> {
    let file = Path::new(captions);
    let columns = match (captions.to_str(), file.extension().and_then(OsStr::to_str)) {
        (Some("none"), _) => return Ok(Labels::Nothing),
        (Some("name"), _) => return Ok(Labels::Name),
        (Some("path"), _) => return Ok(Labels::Path),
        (_, Some("tsv" | "txt")) => Columns::Tabs,
        (_, Some("csv")) => Columns::Commas,
        _ => bail!(
            "`--captions {}` is neither `none`, `name` nor `path`, nor a `.tsv` or `.csv` file",
            file.display()
        ),
    };
    let captions = Captions::read(opened(file)?, columns, &std::env::temp_dir());
    let captions = captions.map_err(told);
    let captions = captions.with_context(|| format!("`{}`", file.display()))?;
    Ok(Labels::Captions(captions))
}
