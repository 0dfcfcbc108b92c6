//! The scenarios of `tests/python/scenarios`: what their headers say, and which of their lines may
//! be blamed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::options::{Options, size};
use crate::step;
use crate::workspace::root;

const MARK: &str = "# guilty";
/// TensorFlow waits ten seconds at every request that fails, and tries it again.
const PATIENCE_WITH_TENSORFLOW: Duration = Duration::from_mins(3);
const PATIENCE: Duration = Duration::from_mins(2);

/// One way to run out of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Scenario {
    /// Name of the script, without the ending.
    pub(super) name: String,
    /// The script.
    pub(super) path: PathBuf,
    /// Modules it imports.
    pub(super) needs: Vec<String>,
    /// The smallest limit that its libraries and a little work fit into.
    pub(super) smallest: u64,
    /// Lines that may be blamed.
    pub(super) guilty: BTreeSet<u64>,
}

impl Scenario {
    /// The scenarios that the options ask for.
    pub(super) fn wanted(options: &Options) -> Result<Vec<Self>> {
        let folder = root().join("tests/python/scenarios");
        let mut all = Vec::new();
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            let is_script = path.extension().is_some_and(|extension| extension == "py");
            if is_script && !name.starts_with('_') {
                all.push(Self::read(&path)?);
            }
        }
        all.sort_by(|one, other| one.name.cmp(&other.name));
        for wanted in &options.only {
            ensure!(
                all.iter().any(|scenario| scenario.name == *wanted),
                "Unknown scenario `{wanted}`\nhint: they lie in `tests/python/scenarios`"
            );
        }
        all.retain(|scenario| options.wants(&scenario.name));
        Ok(all)
    }

    /// The limits of `asked` that it fits into; only the smallest one if little is wanted.
    pub(super) fn limits(&self, options: &Options) -> Vec<u64> {
        let mut limits = options.limits.clone();
        limits.retain(|limit| *limit >= self.smallest);
        limits.truncate(if options.quick { 1 } else { limits.len() });
        limits
    }

    /// The module it needs and this interpreter lacks.
    pub(super) fn lacking(&self, python: &Path) -> Option<&str> {
        let find = "import importlib.util as u, sys; sys.exit(u.find_spec(sys.argv[1]) is None)";
        self.needs.iter().map(String::as_str).find(|module| {
            let mut asked = Command::new(python);
            !step::succeeds(asked.args(["-c", find, module]))
        })
    }

    /// How long a run may take.
    pub(super) fn patience(&self) -> Duration {
        if self.needs.iter().any(|module| module == "tensorflow") {
            PATIENCE_WITH_TENSORFLOW
        } else {
            PATIENCE
        }
    }

    fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path)
            .with_context(|| format!("Cannot read `{}`", path.display()))?;
        Self::parse(path, &text).with_context(|| format!("In the header of `{}`", path.display()))
    }

    fn parse(path: &Path, text: &str) -> Result<Self> {
        let header = |key: &str| {
            let start = format!("# {key}:");
            text.lines()
                .find_map(|line| line.strip_prefix(&start))
                .map(str::trim)
                .with_context(|| format!("No line `{start}`"))
        };
        let needs = header("needs")?.split(',').map(str::trim);
        let guilty = (1..).zip(text.lines());
        Ok(Self {
            name: path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            path: path.to_path_buf(),
            needs: needs
                .filter(|module| !module.is_empty())
                .map(str::to_owned)
                .collect(),
            smallest: size(header("smallest")?)?,
            guilty: guilty
                .filter(|(_, line)| line.ends_with(MARK))
                .map(|(number, _)| number)
                .collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\"\"\"Asks.\"\"\"\n# needs: torch, numpy\n# smallest: 1GiB\nx = 1\n\
                        y = torch.ones(9)  # guilty\n";

    #[test]
    fn the_header_and_the_guilty_lines_are_read() {
        let scenario = Scenario::parse(Path::new("a/asks.py"), TEXT).unwrap();
        assert_eq!(scenario.name, "asks");
        assert_eq!(scenario.needs, ["torch", "numpy"]);
        assert_eq!(scenario.smallest, 1 << 30);
        assert_eq!(scenario.guilty, BTreeSet::from([5]));
    }

    #[test]
    fn a_limit_that_its_libraries_do_not_fit_into_is_left_out() {
        let scenario = Scenario::parse(Path::new("asks.py"), TEXT).unwrap();
        let mut options = Options::default();
        assert_eq!(scenario.limits(&options), [1 << 30, 2 << 30, 4 << 30]);
        options.quick = true;
        assert_eq!(scenario.limits(&options), [1 << 30]);
    }
}
