//! What a mistyped word was meant to be.

/// The candidates that look most like a word, best first, three at most.
pub fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    /// Below this two words have little in common.
    const ALIKE: f64 = 0.75;
    let plain = word.trim().to_lowercase().replace('-', "_");
    let mut alike: Vec<(f64, &str)> = candidates
        .map(|candidate| {
            let other = candidate.to_lowercase().replace('-', "_");
            (strsim::jaro_winkler(&plain, &other), candidate)
        })
        .filter(|(score, _)| *score >= ALIKE)
        .collect();
    alike.sort_by(|one, other| other.0.total_cmp(&one.0));
    alike.dedup_by_key(|(_, candidate)| *candidate);
    alike
        .into_iter()
        .take(3)
        .map(|(_, candidate)| candidate)
        .collect()
}

/// The rules, by code, name or cause, that look most like a word.
pub fn nearest_rules(word: &str) -> Vec<&'static str> {
    let rules = outlive_check::rules::ALL.iter();
    nearest(
        word,
        rules.flat_map(|rule| [rule.code, rule.name, rule.cause]),
    )
}

/// A hint with the words that may have been meant; another one where nothing is alike.
pub fn hint(alike: &[&str], otherwise: &str) -> String {
    match alike {
        [] => format!("hint: {otherwise}"),
        [only] => format!("hint: did you mean `{only}`?"),
        [first @ .., last] => {
            let first = first.join("`, `");
            format!("hint: did you mean `{first}` or `{last}`?")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{hint, nearest_rules};

    #[test]
    fn a_slip_of_the_finger_finds_its_rule() {
        assert_eq!(
            nearest_rules("retained-graph-apend").first(),
            Some(&"retained_graph_append")
        );
        assert!(nearest_rules("OL10l").contains(&"OL101"));
        assert!(nearest_rules("xyzzy").is_empty());
    }

    #[test]
    fn a_hint_offers_what_is_alike() {
        assert_eq!(
            hint(&["a", "b", "c"], "no"),
            "hint: did you mean `a`, `b` or `c`?"
        );
        assert_eq!(hint(&["a"], "no"), "hint: did you mean `a`?");
        assert_eq!(hint(&[], "see the list"), "hint: see the list");
    }
}
