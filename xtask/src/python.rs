//! Pythons: the one on the path, and virtual environments made from it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::step;

/// Oldest version the wheel installs on.
const OLDEST: (u32, u32) = (3, 9);

/// The interpreter of the current environment: `$VIRTUAL_ENV` first, then `python3` on the path.
pub(crate) fn current() -> Result<PathBuf> {
    let python = std::env::var_os("VIRTUAL_ENV").map_or_else(
        || PathBuf::from("python3"),
        |root| Path::new(&root).join("bin/python"),
    );
    let script = "import sys; print(sys.version_info[0], sys.version_info[1], sys.executable)";
    let answer = step::output(Command::new(&python).args(["-c", script]))
        .context("No working Python\nhint: put `python3` (3.9 or later) on the PATH")?;
    let mut words = answer.trim_end().splitn(3, ' ');
    let version = (number(words.next()), number(words.next()));
    if version < OLDEST {
        bail!(
            "`{}` is Python {}.{}, needed is 3.9 or later",
            python.display(),
            version.0,
            version.1
        );
    }
    // A shim of a version manager names itself differently from the interpreter it starts.
    Ok(words.next().map_or(python, PathBuf::from))
}

/// A virtual environment.
#[derive(Clone, Debug)]
pub(crate) struct Environment {
    root: PathBuf,
}

impl Environment {
    /// Makes an environment at `root`, in place of whatever is there.
    pub(crate) fn create(root: &Path) -> Result<Self> {
        if root.exists() {
            fs::remove_dir_all(root)
                .with_context(|| format!("Cannot clear `{}`", root.display()))?;
        }
        step::run(Command::new(current()?).args(["-m", "venv"]).arg(root))?;
        Ok(Self {
            root: root.to_path_buf(),
        })
    }

    /// The environment at `root` if it holds exactly these requirements; otherwise a new one with
    /// them. The stamp is written last, so that an interrupted installation is done again.
    pub(crate) fn with_requirements(root: &Path, requirements: &Path) -> Result<Self> {
        let stamp = root.join("requirements.installed");
        let python = current()?;
        let wanted = format!(
            "{}\n{}",
            python.display(),
            fs::read_to_string(requirements)
                .with_context(|| format!("Cannot read `{}`", requirements.display()))?
        );
        if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
            println!("    {} is up to date", root.display());
            return Ok(Self {
                root: root.to_path_buf(),
            });
        }
        let environment = Self::create(root)?;
        environment.pip(&["install", "--quiet", "--requirement"], requirements)?;
        fs::write(&stamp, wanted).with_context(|| format!("Cannot write `{}`", stamp.display()))?;
        Ok(environment)
    }

    /// Runs `pip` with these words and a path.
    pub(crate) fn pip(&self, words: &[&str], path: &Path) -> Result<()> {
        step::run(
            self.python()
                .args(["-m", "pip", "--disable-pip-version-check"])
                .args(words)
                .arg(path),
        )
    }

    /// Where its interpreter is.
    pub(crate) fn python_path(&self) -> PathBuf {
        self.root.join("bin/python")
    }

    /// Its interpreter, with the environment's programs first on the path.
    pub(crate) fn python(&self) -> Command {
        self.program("python")
    }

    /// One of its programs, with the environment's programs first on the path.
    pub(crate) fn program(&self, name: &str) -> Command {
        let programs = self.root.join("bin");
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new(programs.join(name));
        command
            .env("PATH", format!("{}:{path}", programs.display()))
            .env("VIRTUAL_ENV", &self.root)
            .env_remove("PYTHONHOME")
            .env_remove("PYTHONPATH");
        command
    }
}

fn number(word: Option<&str>) -> u32 {
    word.and_then(|word| word.parse().ok()).unwrap_or(0)
}
