//! Which files are checked: those that are named, and what a walk finds in the folders that are.

use std::collections::HashSet;
use std::fs::FileType;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ignore::{DirEntry, WalkBuilder, WalkState};

use super::configuration::ConfigurationError;
use super::gap::{Gap, GapKind};
use super::paths::Base;
use super::read::reason;
use super::resolver::Resolver;

/// Endings of Python's own files and of notebooks.
const ENDINGS: [&str; 4] = ["py", "ipynb", "pyi", "pyw"];

/// A file to check.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target {
    /// As it is shown.
    pub shown: PathBuf,
    /// As it is opened.
    pub path: PathBuf,
    /// As configurations are found for it.
    pub absolute: PathBuf,
    /// Whether it was asked for by name.
    pub is_named: bool,
}

/// What a walk found.
#[derive(Debug, Default)]
pub struct Walk {
    /// The files, in order, each once.
    pub targets: Vec<Target>,
    /// What could not be looked into.
    pub gaps: Vec<Gap>,
}

/// How a walk is made.
#[derive(Clone, Copy, Debug)]
pub struct WalkOptions {
    /// Whether what git ignores is left out.
    pub respect_gitignore: bool,
    /// Whether what is excluded is left out even if it is named.
    pub force_exclude: bool,
    /// How many threads look.
    pub threads: usize,
}

impl Target {
    /// A file that was asked for.
    pub fn named(path: PathBuf, base: &Base) -> Self {
        Self {
            is_named: true,
            ..Self::met(path, base)
        }
    }

    /// A file that a walk came to.
    pub fn met(path: PathBuf, base: &Base) -> Self {
        Self {
            shown: base.shown(&path),
            absolute: base.absolute(&path),
            path,
            is_named: false,
        }
    }
}

/// Finds the files under these paths.
pub fn walk(
    paths: &[PathBuf],
    base: &Base,
    resolver: &Resolver,
    options: WalkOptions,
) -> Result<Walk, ConfigurationError> {
    let mut walk = Walk::default();
    let mut folders = Vec::new();
    let mut links = Vec::new();
    for path in paths {
        match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => folders.push(path),
            Ok(_) => walk.name(Target::named(path.clone(), base), resolver, options)?,
            Err(error) => walk.gaps.push(Gap {
                path: base.shown(path),
                position: None,
                kind: GapKind::Failed,
                message: format!("Cannot be read: {}", reason(&error)),
            }),
        }
    }
    if let Some((first, rest)) = folders.split_first() {
        let mut builder = WalkBuilder::new(first);
        for folder in rest {
            builder.add(folder);
        }
        builder
            .standard_filters(options.respect_gitignore)
            .hidden(false)
            .require_git(false)
            .threads(options.threads);
        links = walk.descend(&builder, base, resolver)?;
    }
    // What was asked for by name must be readable.
    for gap in &mut walk.gaps {
        if paths.iter().any(|path| base.shown(path) == gap.path) {
            gap.kind = GapKind::Failed;
        }
    }
    walk.put_in_order(links);
    Ok(walk)
}

impl Walk {
    fn name(
        &mut self,
        target: Target,
        resolver: &Resolver,
        options: WalkOptions,
    ) -> Result<(), ConfigurationError> {
        let is_excluded = options.force_exclude
            && resolver
                .of_file(&target.absolute)?
                .excludes_file(&target.absolute);
        if !is_excluded {
            self.targets.push(target);
        }
        Ok(())
    }

    /// Looks into folders; gives the links to files that it found.
    fn descend(
        &mut self,
        builder: &WalkBuilder,
        base: &Base,
        resolver: &Resolver,
    ) -> Result<Vec<Target>, ConfigurationError> {
        let found = Mutex::new((&mut *self, Ok(Vec::new())));
        builder.build_parallel().run(|| {
            Box::new(|entry| {
                let seen = look(entry, base, resolver);
                let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                let (walk, links) = &mut *found;
                match seen {
                    Ok(Seen::Nothing) => {}
                    Ok(Seen::Left) => return WalkState::Skip,
                    Ok(Seen::File(target)) => walk.targets.push(target),
                    Ok(Seen::Link(link)) => links.iter_mut().for_each(|all| all.push(link.clone())),
                    Ok(Seen::Gap(gap)) => walk.gaps.push(gap),
                    Err(error) => {
                        *links = Err(error);
                        return WalkState::Quit;
                    }
                }
                WalkState::Continue
            })
        });
        let (_, links) = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        links
    }

    /// Threads find in any order, and a file may be found twice: under two names on the command
    /// line, or through a link.
    fn put_in_order(&mut self, links: Vec<Target>) {
        self.targets.sort_by_key(|target| !target.is_named);
        let mut seen = HashSet::new();
        self.targets
            .retain(|target| seen.insert(target.absolute.clone()));
        self.targets.extend(links.into_iter().filter(|link| {
            let end = std::fs::canonicalize(&link.path);
            end.is_ok_and(|end| seen.insert(end))
        }));
        self.targets.sort();
        self.gaps.sort_by(|one, other| one.path.cmp(&other.path));
    }
}

/// What one step of a walk comes to.
enum Seen {
    Nothing,
    /// It is left out, with all that is in it.
    Left,
    File(Target),
    /// A link to a file.
    Link(Target),
    Gap(Gap),
}

fn look(
    entry: Result<DirEntry, ignore::Error>,
    base: &Base,
    resolver: &Resolver,
) -> Result<Seen, ConfigurationError> {
    let entry = match entry {
        Ok(entry) => entry,
        Err(error) => return Ok(gap(&error, base)),
    };
    let kind = entry.file_type();
    let is_folder = kind.is_some_and(|kind| kind.is_dir());
    let is_link = entry.path_is_symlink();
    let is_file = !is_folder && has_ending(entry.path()) && is_readable(entry.path(), kind);
    if entry.depth() == 0 || !(is_folder || is_file) {
        return Ok(Seen::Nothing);
    }
    let target = Target::met(entry.into_path(), base);
    let scope = resolver.of_file(&target.absolute)?;
    Ok(if scope.excludes_entry(&target.absolute, is_folder) {
        Seen::Left
    } else if is_link {
        Seen::Link(target)
    } else if is_file {
        Seen::File(target)
    } else {
        Seen::Nothing
    })
}

fn gap(error: &ignore::Error, base: &Base) -> Seen {
    let mut inner = error;
    let mut path = PathBuf::new();
    loop {
        inner = match inner {
            ignore::Error::WithPath { path: at, err } => {
                path.clone_from(at);
                err
            }
            ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => err,
            _ => break,
        };
    }
    Seen::Gap(Gap {
        path: base.shown(&path),
        position: None,
        kind: GapKind::Unreadable,
        message: match inner {
            ignore::Error::Io(error) => format!("Cannot be read: {}", reason(error)),
            other => format!("Cannot be read: {other}"),
        },
    })
}

fn has_ending(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| ENDINGS.contains(&ending))
}

/// Whether it is a file, or a link to one. Anything else is none of ours.
fn is_readable(path: &Path, kind: Option<FileType>) -> bool {
    match kind {
        Some(kind) if kind.is_symlink() => {
            std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file())
        }
        Some(kind) => kind.is_file(),
        None => false,
    }
}
