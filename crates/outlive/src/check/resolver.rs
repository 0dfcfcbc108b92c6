//! Which configuration holds where: the nearest one above a file.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::configuration::{Configuration, ConfigurationError, require_rules};
use super::scope::Scope;
use crate::cli::{FileArguments, RuleArguments};
use crate::limit::Limit;
use crate::supervise::memory::Memory;

/// What the command line, or an editor, says on top of every configuration.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// In place of the configured selection.
    pub select: Vec<String>,
    /// As well.
    pub extend_select: Vec<String>,
    /// Taken away.
    pub ignore: Vec<String>,
    /// Findings of level info too.
    pub info: bool,
    /// What sizes are compared with.
    pub budget: Option<Limit>,
    /// Patterns of what is left out, relative to `folder`.
    pub exclude: Vec<String>,
    /// Where `exclude` was written; absolute.
    pub folder: PathBuf,
}

impl Overrides {
    /// From the arguments of the command.
    pub fn of_arguments(rules: &RuleArguments, files: &FileArguments, folder: &Path) -> Self {
        Self {
            select: rules.select.clone(),
            extend_select: rules.extend_select.clone(),
            ignore: rules.ignore.clone(),
            info: rules.info,
            budget: rules.budget,
            exclude: files.exclude.clone(),
            folder: folder.to_owned(),
        }
    }
}

/// Finds configurations, and remembers them by folder.
#[derive(Debug)]
pub struct Resolver {
    overrides: Overrides,
    memory: Memory,
    default: Arc<Scope>,
    known: Mutex<Known>,
}

/// What was read.
#[derive(Debug, Default)]
struct Known {
    scopes: HashMap<PathBuf, Arc<Scope>>,
    configurations: BTreeSet<PathBuf>,
}

impl Resolver {
    /// Fails where the overrides make no sense.
    pub fn new(overrides: Overrides, memory: Memory) -> Result<Self, ConfigurationError> {
        require_rules(&overrides.select, "`--select`")?;
        require_rules(&overrides.extend_select, "`--extend-select`")?;
        require_rules(&overrides.ignore, "`--ignore`")?;
        let default = Scope::new(&Configuration::default(), &overrides, memory)?;
        Ok(Self {
            overrides,
            memory,
            default: Arc::new(default),
            known: Mutex::default(),
        })
    }

    /// What holds where there is no configuration, or none that can be read.
    pub fn without_configuration(&self) -> Arc<Scope> {
        Arc::clone(&self.default)
    }

    /// What holds for a file; its path must be absolute.
    pub fn of_file(&self, path: &Path) -> Result<Arc<Scope>, ConfigurationError> {
        match path.parent() {
            Some(folder) => self.of_folder(folder),
            None => Ok(Arc::clone(&self.default)),
        }
    }

    /// What holds for the files of a folder; its path must be absolute.
    pub fn of_folder(&self, folder: &Path) -> Result<Arc<Scope>, ConfigurationError> {
        if let Some(scope) = self.known().scopes.get(folder) {
            return Ok(Arc::clone(scope));
        }
        let scope = match Configuration::of_folder(folder)? {
            Some(configuration) => {
                let scope = Scope::new(&configuration, &self.overrides, self.memory)?;
                self.known().configurations.insert(configuration.path);
                Arc::new(scope)
            }
            None => match folder.parent() {
                Some(above) => self.of_folder(above)?,
                None => Arc::clone(&self.default),
            },
        };
        let mut known = self.known();
        // Two threads may have read it at once; all share the first.
        let kept = known.scopes.entry(folder.to_owned()).or_insert(scope);
        Ok(Arc::clone(kept))
    }

    /// Forgets what was read, so that a changed configuration is seen.
    pub fn forget(&self) {
        *self.known() = Known::default();
    }

    /// The configuration files that were used.
    pub fn configurations(&self) -> Vec<PathBuf> {
        self.known().configurations.iter().cloned().collect()
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        // A map of finished entries is whole whoever panicked.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
