//! What is said of a rule's fixes is what its cases show.

use std::path::Path;

use outlive_check::{Applicability, rules};

#[test]
fn a_rule_has_the_fixes_that_its_cases_show() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    for rule in rules::ALL {
        let path = folder.join(format!("{}.md", rule.name));
        let cases = std::fs::read_to_string(&path).unwrap_or_default();
        let fences = cases
            .lines()
            .filter_map(|line| line.strip_prefix("```python "));
        let words: Vec<&str> = fences.flat_map(str::split_whitespace).collect();
        let shown = if words.contains(&"fixed") {
            Some(Applicability::Safe)
        } else if words.contains(&"fixed-unsafe") {
            Some(Applicability::Unsafe)
        } else {
            None
        };
        assert_eq!(
            rule.fix(),
            shown,
            "{}: adapt `rules/fixable.rs`, or the cases",
            rule.name
        );
    }
}
