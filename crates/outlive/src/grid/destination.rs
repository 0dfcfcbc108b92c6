//! Where a grid goes: what the name of the output says, and whether it may be written there.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use outlive_data::grid::sheet;
use outlive_data::listing::Listing;

use super::told;
use crate::cli::{EffortOption, StorageArguments};

/// A kind of output and its place.
#[derive(Clone, Debug)]
pub(crate) enum Destination {
    /// One picture.
    Sheet(PathBuf, sheet::Format),
    /// A page in a folder.
    Folder(PathBuf),
    /// A page in one file.
    Zip(PathBuf),
}

impl Destination {
    /// What a name asks for.
    pub(crate) fn of(output: &Path, storage: StorageArguments) -> Result<Self> {
        let shown = output.display();
        let is_slashed = output.as_os_str().as_encoded_bytes().ends_with(b"/");
        if is_slashed || output.is_dir() {
            return Ok(Self::Folder(output.to_owned()));
        }
        let name = output.file_name().unwrap_or_default().to_string_lossy();
        let ending = output.extension().unwrap_or_default();
        if ending.eq_ignore_ascii_case("zip") {
            return Ok(Self::Zip(output.to_owned()));
        }
        let Some(mut format) = sheet::Format::of_name(&name, storage.quality) else {
            bail!(
                "`{shown}` is no kind of output\n\
                 hint: a sheet is `.png`, `.jpg` or `.webp`, a page is `{shown}/` or `{shown}.zip`"
            );
        };
        if let (sheet::Format::Png(effort), EffortOption::Level(level)) =
            (&mut format, storage.effort)
        {
            *effort = sheet::Effort::Level(level);
        }
        Ok(Self::Sheet(output.to_owned(), format))
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Sheet(path, _) | Self::Folder(path) | Self::Zip(path) => path,
        }
    }

    /// What to open.
    pub(crate) fn to_open(&self) -> PathBuf {
        match self {
            Self::Sheet(path, _) | Self::Zip(path) => path.clone(),
            Self::Folder(path) => path.join("index.html"),
        }
    }

    /// Refuses to replace a file.
    pub(crate) fn refuse_existing(&self) -> Result<()> {
        let path = self.path();
        if path.symlink_metadata().is_ok() {
            if sheet::is_unfinished(path) {
                bail!(
                    "`{}` is an unfinished grid of other images, or with another look\n\
                     hint: the command that began it goes on; `--overwrite` begins this one",
                    path.display()
                );
            }
            bail!(
                "`{}` exists\nhint: `--overwrite` replaces it",
                path.display()
            );
        }
        Ok(())
    }

    /// Refuses to write over what was named as an input, under whatever name.
    pub(crate) fn refuse_inputs(&self, inputs: &[OsString]) -> Result<()> {
        let Some(output) = identity(self.path()) else {
            return Ok(());
        };
        let mut inputs = inputs.iter().map(Path::new);
        if inputs.any(|input| identity(input) == Some(output)) {
            bail!(
                "The output `{}` is one of the inputs\nhint: give `--output` another name",
                self.path().display()
            );
        }
        Ok(())
    }

    /// Refuses to write over an image that was found in a folder, unless it is an earlier sheet.
    pub(crate) fn refuse_found(&self, listing: &Listing) -> Result<()> {
        let path = self.path();
        if matches!(self, Self::Folder(_)) || !path.exists() || !self.is_among(listing)? {
            return Ok(());
        }
        if matches!(self, Self::Sheet(..)) && sheet::is_sheet(path)? {
            return Ok(());
        }
        bail!(
            "The output `{}` is one of the images\n\
             hint: give `--output` another name, or remove it first if it is an earlier grid",
            path.display()
        )
    }

    fn is_among(&self, listing: &Listing) -> Result<bool> {
        if listing.has_left_out() {
            return Ok(true);
        }
        let name = self.path().file_name().unwrap_or_default().as_bytes();
        let output = identity(self.path());
        for index in 0..listing.len() {
            let Some(item) = listing.item(index).map_err(told)? else {
                break;
            };
            let is_same = || identity(Path::new(OsStr::from_bytes(&item.path))) == output;
            if item.path.ends_with(name) && is_same() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The folder that a file goes to must be there before hours of work.
    pub(crate) fn check_folder(&self) -> Result<()> {
        if matches!(self, Self::Folder(_)) {
            return Ok(());
        }
        let parent = self
            .path()
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        match parent {
            Some(parent) if !parent.is_dir() => bail!("No folder `{}`", parent.display()),
            _ => Ok(()),
        }
    }

    /// The folder from which links of a page lead; none from an archive, which may be unpacked
    /// anywhere.
    pub(crate) fn folder_of_page(&self) -> Result<Option<PathBuf>> {
        let Self::Folder(path) = self else {
            return Ok(None);
        };
        let absolute = std::path::absolute(path);
        let absolute = absolute.context("Cannot tell the current folder")?;
        // The part that is there already may lead through links.
        let known = absolute.ancestors().find_map(|known| {
            let rest = absolute.strip_prefix(known).ok()?;
            Some(known.canonicalize().ok()?.join(rest))
        });
        Ok(Some(known.unwrap_or(absolute)))
    }
}

/// By what a file is known under all of its names.
fn identity(path: &Path) -> Option<(u64, u64)> {
    let metadata = path.metadata().ok()?;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::TileKind;

    fn of(output: &str) -> Result<Destination> {
        let storage = StorageArguments {
            quality: 85,
            effort: EffortOption::Level(3),
            tiles: TileKind::Jpg,
        };
        Destination::of(Path::new(output), storage)
    }

    #[test]
    fn the_name_says_what_is_made() {
        let effort = sheet::Effort::Level(3);
        assert!(
            matches!(of("a.PNG"), Ok(Destination::Sheet(_, sheet::Format::Png(level))) if level == effort)
        );
        assert!(matches!(
            of("a.jpeg"),
            Ok(Destination::Sheet(_, sheet::Format::Jpeg { quality: 85 }))
        ));
        assert!(matches!(of("a/"), Ok(Destination::Folder(_))));
        assert!(matches!(of("a.png/"), Ok(Destination::Folder(_))));
        assert!(matches!(of("a.zip"), Ok(Destination::Zip(_))));
        for wrong in ["a", "a.gif", "png"] {
            let message = of(wrong).unwrap_err().to_string();
            assert!(message.contains("hint"), "{message}");
        }
    }
}
