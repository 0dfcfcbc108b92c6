//! Where a benchmark plays: the interpreter with the frameworks and the peers, the built tool, and
//! a scratch folder that is emptied for every run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::options::Options;
use super::tool::Tool;
use crate::build;
use crate::python::Environment;
use crate::workspace::{cache_directory, root, target_directory};

/// Everything a run needs that is not the workload.
#[derive(Debug)]
pub(crate) struct Stage {
    /// The interpreter.
    pub(crate) python: PathBuf,
    /// The `outlive` tool, with the hook library beside it.
    pub(crate) outlive: PathBuf,
    /// `benches/` of the repository.
    pub(crate) benches: PathBuf,
    scratch: PathBuf,
}

impl Stage {
    /// Makes the environment and builds the tool, unless the options name them.
    pub(crate) fn prepare(options: &Options) -> Result<Self> {
        let benches = root().join("benches");
        let python = match &options.python {
            Some(python) => python.clone(),
            None => cached_python(&benches)?,
        };
        let outlive = match &options.outlive {
            Some(outlive) => {
                let hook = outlive.with_file_name(build::HOOK_NAME);
                ensure!(
                    hook.exists(),
                    "No hook library beside `{}`",
                    outlive.display()
                );
                outlive.clone()
            }
            None if options.tools.contains(&Tool::Outlive) => build::build()?.outlive,
            None => PathBuf::new(),
        };
        let scratch = target_directory().join(format!("bench-{}", std::process::id()));
        Ok(Self {
            python,
            outlive,
            benches,
            scratch,
        })
    }

    /// An empty folder, the same one every time: whatever the last run left is gone.
    pub(crate) fn fresh_folder(&self) -> Result<PathBuf> {
        self.clear()?;
        fs::create_dir_all(&self.scratch)
            .with_context(|| format!("Cannot make `{}`", self.scratch.display()))?;
        Ok(self.scratch.clone())
    }

    /// That folder as the last run left it.
    pub(crate) fn folder(&self) -> &Path {
        &self.scratch
    }

    /// The interpreter on one of our scripts, in the environment every measured program gets: the
    /// same hash seed, so that the same work is done; one numeric thread, since idle ones spin and
    /// make processor time a matter of luck; a heap that is not given back and taken again, which
    /// costs one run five times the page faults of the next; nothing preloaded.
    pub(crate) fn script(&self, name: &str) -> Command {
        let mut command = Command::new(&self.python);
        command.arg(self.benches.join(name));
        self.dress(&mut command);
        command
    }

    /// Gives a command that environment.
    pub(crate) fn dress(&self, command: &mut Command) {
        command
            .env("PYTHONHASHSEED", "0")
            .env("TF_CPP_MIN_LOG_LEVEL", "3")
            .env("OMP_NUM_THREADS", "1")
            .env("OPENBLAS_NUM_THREADS", "1")
            .env("MALLOC_TRIM_THRESHOLD_", "4294967296")
            .env("MALLOC_MMAP_THRESHOLD_", "33554432")
            .env("OUTLIVE_HOME", self.scratch.join("outlive"))
            .env_remove("LD_PRELOAD")
            .env_remove("PYTHONPATH")
            .env_remove("PYTHONHOME");
    }

    fn clear(&self) -> Result<()> {
        if self.scratch.exists() {
            fs::remove_dir_all(&self.scratch)
                .with_context(|| format!("Cannot clear `{}`", self.scratch.display()))?;
        }
        Ok(())
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // A folder that cannot be removed is ignored by git and costs only space.
        let _ = self.clear();
    }
}

fn cached_python(benches: &Path) -> Result<PathBuf> {
    let root = cache_directory().join("bench-venv");
    let environment = Environment::with_requirements(&root, &benches.join("requirements.txt"))?;
    Ok(PathBuf::from(environment.python().get_program()))
}
