//! A rule: its names, its page, and the function that finds it.

use crate::model::File;
use crate::{Finding, Level};

/// A pattern that Outlive knows.
#[derive(Debug)]
pub struct Rule {
    /// `OL101`.
    pub code: &'static str,
    /// The bad pattern; reads well after "allow …".
    pub name: &'static str,
    /// The cause of the catalogue that it leads to; empty for a rule about comments.
    pub cause: &'static str,
    /// The highest level that it reports.
    pub level: Level,
    /// One line for lists.
    pub summary: &'static str,
    /// The page that `outlive explain` prints.
    pub page: &'static str,
    /// Finds it.
    pub find: fn(&File<'_>, &mut Vec<Finding>),
}

impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        self.code == other.code
    }
}

impl Eq for Rule {}

/// The rule of this code or name; `-` and `_` are the same, and case does not matter.
pub fn rule_named(text: &str) -> Option<&'static Rule> {
    let plain = text.trim().replace('-', "_");
    crate::rules::ALL.iter().copied().find(|rule| {
        rule.code.eq_ignore_ascii_case(&plain) || rule.name.eq_ignore_ascii_case(&plain)
    })
}
