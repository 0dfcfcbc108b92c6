//! What the caller wants to be told, and what is known of the machine.

use crate::{Level, Rule};

/// What to report, and against which machine.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Which rules.
    pub selection: Selection,
    /// Bytes the program may use: what sizes are compared with. `None`: sizes that would fit into
    /// 16 GiB are not reported.
    pub budget: Option<u64>,
    /// A container's limit that is below the machine's memory, if there is one: TensorFlow sizes
    /// its buffers by the machine.
    pub container: Option<Container>,
}

/// A container that may use less than the machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Container {
    /// Its limit.
    pub limit: u64,
    /// What the machine has.
    pub machine: u64,
}

/// Assumed where no budget is given.
const ASSUMED_BUDGET: u64 = 16 << 30;

impl Settings {
    /// Bytes to compare sizes with.
    pub fn budget(&self) -> u64 {
        self.budget.unwrap_or(ASSUMED_BUDGET)
    }
}

/// Which rules are wanted.
///
/// A rule's findings of level info are reported only if the rule was selected by its own code or
/// name (or a prefix of its code longer than `OL`), not by `ALL` or by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Codes, prefixes of codes, names, causes, or `ALL`; empty means all rules.
    pub select: Vec<String>,
    /// The same, taken away again.
    pub ignore: Vec<String>,
    /// Report findings of level info too.
    pub info: bool,
}

impl Selection {
    /// Whether a finding of this rule and level is wanted. The longest match of a code decides
    /// between `select` and `ignore`; at the same length `ignore` does.
    pub fn wants(&self, rule: &Rule, level: Level) -> bool {
        let selected = if self.select.is_empty() {
            Some(0)
        } else {
            specificity(&self.select, rule)
        };
        let ignored = specificity(&self.ignore, rule);
        let Some(selected) = selected else {
            return false;
        };
        if ignored.is_some_and(|ignored| ignored >= selected) {
            return false;
        }
        level > Level::Info || self.info || selected > 0
    }

    /// The selectors that no rule answers to, so that a typing error is told.
    pub fn unknown(&self) -> impl Iterator<Item = &str> {
        let all = self.select.iter().chain(&self.ignore);
        all.filter(|selector| {
            !crate::rules::ALL
                .iter()
                .any(|rule| weight(selector, rule).is_some())
        })
        .map(String::as_str)
    }
}

fn specificity(selectors: &[String], rule: &Rule) -> Option<usize> {
    selectors
        .iter()
        .filter_map(|selector| weight(selector, rule))
        .max()
}

/// How closely a selector names the rule: 0 for `ALL` and `OL`, more for more of its code.
fn weight(selector: &str, rule: &Rule) -> Option<usize> {
    let plain = selector.trim().replace('-', "_");
    if plain.eq_ignore_ascii_case("all") {
        return Some(0);
    }
    if plain.eq_ignore_ascii_case(rule.name) {
        return Some(usize::MAX);
    }
    if plain.eq_ignore_ascii_case(rule.cause) {
        return Some(rule.code.len() - 1);
    }
    let is_prefix = plain.len() >= 2
        && rule
            .code
            .get(..plain.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(&plain));
    is_prefix.then_some(if plain.len() == 2 { 0 } else { plain.len() })
}
