//! What is wanted of the files under one configuration.

use std::path::Path;

use outlive_check::{Finding, Level, Report, Selection, Settings, Source};

use super::configuration::{Configuration, ConfigurationError};
use super::exclusion::Patterns;
use super::resolver::Overrides;
use crate::supervise::memory::Memory;

/// Settings for a part of the tree of files.
#[derive(Debug)]
pub struct Scope {
    settings: Settings,
    exclude: Patterns,
    exclude_by_option: Patterns,
    per_file: Vec<(Patterns, Selection)>,
}

impl Scope {
    /// A configuration, or none, with what the command line says on top of it.
    pub(super) fn new(
        configuration: &Configuration,
        overrides: &Overrides,
        memory: Memory,
    ) -> Result<Self, ConfigurationError> {
        let folder = configuration.path.parent().unwrap_or(Path::new("/"));
        let place = format!("`{}`", configuration.path.display());
        let per_file = configuration.per_file_ignores.iter();
        let per_file = per_file.map(|(pattern, rules)| {
            let patterns = Patterns::only(folder, std::slice::from_ref(pattern), &place)?;
            let ignored = Selection {
                select: rules.clone(),
                ignore: Vec::new(),
                info: true,
            };
            Ok((patterns, ignored))
        });
        Ok(Self {
            settings: settings(configuration, overrides, memory),
            exclude: Patterns::with_usual(folder, &configuration.exclude, &place)?,
            exclude_by_option: Patterns::only(
                &overrides.folder,
                &overrides.exclude,
                "`--exclude`",
            )?,
            per_file: per_file.collect::<Result<_, ConfigurationError>>()?,
        })
    }

    /// Checks a source that lies, or would lie, at this absolute path.
    pub fn check(&self, source: &Source, path: &Path) -> Report {
        let mut report = outlive_check::check(source, &self.settings);
        report
            .findings
            .retain(|finding| !self.ignores_in(finding, path));
        report
    }

    fn ignores_in(&self, finding: &Finding, path: &Path) -> bool {
        self.per_file.iter().any(|(patterns, ignored)| {
            ignored.wants(finding.rule, Level::Error) && patterns.of_file(path) == Some(true)
        })
    }

    /// What the rules are told.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Whether a walk leaves this entry out.
    pub(super) fn excludes_entry(&self, path: &Path, is_folder: bool) -> bool {
        let by_option = self.exclude_by_option.of_entry(path, is_folder);
        let answer = by_option.or_else(|| self.exclude.of_entry(path, is_folder));
        answer.unwrap_or(false)
    }

    /// Whether a walk from this folder would leave the file out.
    pub fn excludes_below(&self, folder: &Path, path: &Path) -> bool {
        let above = path.ancestors().skip(1);
        let mut between = above.take_while(|above| above.starts_with(folder) && *above != folder);
        self.excludes_entry(path, false) || between.any(|above| self.excludes_entry(above, true))
    }

    /// Whether a walk from far above would leave this file out.
    pub fn excludes_file(&self, path: &Path) -> bool {
        let by_option = self.exclude_by_option.of_file(path);
        let answer = by_option.or_else(|| self.exclude.of_file(path));
        answer.unwrap_or(false)
    }
}

fn settings(configuration: &Configuration, overrides: &Overrides, memory: Memory) -> Settings {
    let wanted = overrides.budget.or(configuration.budget);
    let usable = memory.usable();
    let budget = wanted
        .and_then(|limit| limit.bytes(usable))
        .unwrap_or(usable);
    Settings {
        selection: selection(configuration, overrides),
        budget: (budget > 0).then_some(budget),
        container: memory.limit.map(|limit| outlive_check::Container {
            limit,
            machine: memory.machine,
        }),
    }
}

/// `--select` starts anew; everything else on the command line adds to the configuration.
fn selection(configuration: &Configuration, overrides: &Overrides) -> Selection {
    let mut selection = Selection {
        info: configuration.info || overrides.info,
        ..Selection::default()
    };
    let mut extended = Vec::new();
    if overrides.select.is_empty() {
        selection.select.clone_from(&configuration.select);
        selection.ignore.clone_from(&configuration.ignore);
        extended.clone_from(&configuration.extend_select);
    } else {
        selection.select.clone_from(&overrides.select);
    }
    extended.extend_from_slice(&overrides.extend_select);
    if !extended.is_empty() {
        if selection.select.is_empty() {
            selection.select.push("ALL".to_owned());
        }
        selection.select.append(&mut extended);
    }
    selection.ignore.extend_from_slice(&overrides.ignore);
    selection
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn select_on_the_command_line_starts_anew_and_the_rest_adds() {
        let configuration = Configuration {
            select: words("OL1"),
            extend_select: words("OL401"),
            ignore: words("OL101"),
            ..Configuration::default()
        };
        let of = |overrides: &Overrides| selection(&configuration, overrides);
        let adds = of(&Overrides {
            extend_select: words("OL901"),
            ignore: words("OL102"),
            ..Overrides::default()
        });
        assert_eq!(adds.select, words("OL1 OL401 OL901"));
        assert_eq!(adds.ignore, words("OL101 OL102"));
        let anew = of(&Overrides {
            select: words("OL101"),
            ..Overrides::default()
        });
        assert_eq!(anew.select, words("OL101"));
        assert!(anew.ignore.is_empty());
    }

    #[test]
    fn a_walk_from_inside_an_excluded_folder_leaves_nothing_out_for_it() {
        let (configuration, overrides) = (Configuration::default(), Overrides::default());
        let scope = Scope::new(&configuration, &overrides, Memory::default()).unwrap();
        let file = Path::new("/a/build/b/c.py");
        assert!(scope.excludes_below(Path::new("/a"), file));
        assert!(!scope.excludes_below(Path::new("/a/build"), file));
        assert!(!scope.excludes_below(Path::new("/elsewhere"), file));
        assert!(scope.excludes_below(Path::new("/a"), Path::new("/a/venv/lib/c.py")));
    }

    #[test]
    fn what_extends_no_selection_extends_all_rules() {
        let overrides = Overrides {
            extend_select: words("OL901"),
            ..Overrides::default()
        };
        let selection = selection(&Configuration::default(), &overrides);
        assert_eq!(selection.select, words("ALL OL901"));
    }

    #[test]
    fn the_budget_is_what_is_asked_for_or_what_there_is() {
        let memory = Memory {
            machine: 64 << 30,
            limit: Some(8 << 30),
        };
        let asked = |budget| {
            let overrides = Overrides {
                budget,
                ..Overrides::default()
            };
            settings(&Configuration::default(), &overrides, memory)
        };
        assert_eq!(asked(None).budget, Some(8 << 30));
        let half = asked(Some(crate::limit::Limit::Percent(50)));
        assert_eq!(half.budget, Some(4 << 30));
        assert_eq!(half.container.unwrap().machine, 64 << 30);
        let none = settings(
            &Configuration::default(),
            &Overrides::default(),
            Memory::default(),
        );
        assert_eq!((none.budget, none.container), (None, None));
    }
}
