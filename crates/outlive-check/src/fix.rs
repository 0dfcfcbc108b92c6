//! Fixes, made until nothing is left that can be fixed.

use crate::front::Tree;
use crate::{Applicability, Edit, Finding, Fix, Report, Source};

/// One fix may make room for the next, and a pair that undoes each other must end.
const ROUNDS: usize = 10;

/// A source after its fixes.
#[derive(Debug)]
pub struct Fixed {
    /// The source as it is now.
    pub source: Source,
    /// Its bytes, if anything was changed.
    pub bytes: Option<Vec<u8>>,
    /// What is still found in it.
    pub report: Report,
    /// How many fixes were made.
    pub count: usize,
}

/// Makes all fixes that are at least this applicable. What parsed before parses after.
pub fn fix(source: Source, least: Applicability, check: impl Fn(&Source) -> Report) -> Fixed {
    let report = check(&source);
    let mut fixed = Fixed {
        source,
        bytes: None,
        report,
        count: 0,
    };
    for _ in 0..ROUNDS {
        let fixes = compatible(&fixed.report.findings, least);
        let Some((count, bytes, source)) = make(&fixed.source, &fixes) else {
            break;
        };
        fixed.report = check(&source);
        fixed.source = source;
        fixed.bytes = Some(bytes);
        fixed.count += count;
    }
    fixed
}

/// The edits of all fixes that are at least so applicable and do not touch each other, and the
/// number of these fixes. An edit that two fixes need alike (an `import`) is made once.
pub fn combined_edits(findings: &[Finding], least: Applicability) -> (Vec<Edit>, usize) {
    let fixes = compatible(findings, least);
    (edits_of(&fixes), fixes.len())
}

/// The fixes that can be made together: the first of those that touch the same text.
fn compatible(findings: &[Finding], least: Applicability) -> Vec<&Fix> {
    let mut chosen: Vec<&Fix> = Vec::new();
    for fix in findings.iter().filter_map(|finding| finding.fix.as_ref()) {
        let is_wanted = fix.applicability >= least && !fix.edits.is_empty();
        if is_wanted && chosen.iter().all(|other| !collide(fix, other)) {
            chosen.push(fix);
        }
    }
    chosen
}

fn collide(one: &Fix, other: &Fix) -> bool {
    one.edits.iter().any(|edit| {
        let mut others = other.edits.iter().filter(|another| *another != edit);
        others.any(|another| touch(edit, another))
    })
}

/// Whether two edits overlap or meet, so that their order could matter.
fn touch(one: &Edit, other: &Edit) -> bool {
    one.range.intersect(other.range).is_some()
}

/// Makes these fixes, without those that break the syntax; `None` when nothing changes.
fn make(source: &Source, fixes: &[&Fix]) -> Option<(usize, Vec<u8>, Source)> {
    let errors = Tree::parse(source).errors().count();
    let keeps_syntax = |fixes: &[&Fix]| {
        let bytes = source.edited(&edits_of(fixes));
        let next = Source::new(source.path(), &bytes).ok()?;
        let is_sound = Tree::parse(&next).errors().count() <= errors;
        is_sound.then_some((fixes.len(), bytes, next))
    };
    if fixes.is_empty() {
        return None;
    }
    let made = keeps_syntax(fixes).or_else(|| {
        let alone = fixes.iter().copied();
        let sound: Vec<&Fix> = alone.filter(|fix| keeps_syntax(&[fix]).is_some()).collect();
        (!sound.is_empty()).then(|| keeps_syntax(&sound)).flatten()
    })?;
    (made.2.text() != source.text()).then_some(made)
}

fn edits_of(fixes: &[&Fix]) -> Vec<Edit> {
    let mut edits: Vec<Edit> = Vec::new();
    for edit in fixes.iter().flat_map(|fix| &fix.edits) {
        if !edits.contains(edit) {
            edits.push(edit.clone());
        }
    }
    edits
}

#[cfg(test)]
mod tests {
    use ruff_text_size::{TextRange, TextSize};

    use super::*;
    use crate::{Level, rules};

    /// A check that wants each of `words` replaced, wherever it stands.
    fn check_for(words: &'static [(&str, &str)]) -> impl Fn(&Source) -> Report {
        move |source| {
            let found = words.iter().flat_map(|(word, better)| {
                let places = source.text().match_indices(word);
                places.map(|(at, word)| finding(at, word.len(), better))
            });
            Report {
                findings: found.collect(),
                ..Report::default()
            }
        }
    }

    fn finding(at: usize, length: usize, content: &str) -> Finding {
        let range = TextRange::at(TextSize::new(at as u32), TextSize::new(length as u32));
        Finding {
            rule: rules::ALL[0],
            level: Level::Warning,
            range,
            message: String::new(),
            witness: Vec::new(),
            help: String::new(),
            fix: Some(Fix {
                title: String::new(),
                applicability: Applicability::Safe,
                edits: vec![Edit {
                    range,
                    content: content.to_owned(),
                }],
            }),
            bytes: None,
            region: range,
        }
    }

    fn fixed(text: &str, words: &'static [(&str, &str)]) -> (String, usize) {
        let source = Source::new("a.py", text.as_bytes()).unwrap();
        let fixed = fix(source, Applicability::Safe, check_for(words));
        let bytes = fixed.bytes.unwrap_or_else(|| text.as_bytes().to_vec());
        (String::from_utf8(bytes).unwrap(), fixed.count)
    }

    #[test]
    fn fixes_that_touch_each_other_are_made_one_after_the_other() {
        let (text, count) = fixed("ab = 1\n", &[("ab", "b"), ("b =", "c =")]);
        assert_eq!((text.as_str(), count), ("c = 1\n", 2));
    }

    #[test]
    fn a_fix_that_breaks_the_syntax_is_not_made_and_the_others_are() {
        let (text, count) = fixed("a = 1\nb = 2\n", &[("a = 1", "a ="), ("b", "c")]);
        assert_eq!((text.as_str(), count), ("a = 1\nc = 2\n", 1));
        let (text, count) = fixed("x = (\nb = 2\n", &[("b", "c")]);
        assert_eq!((text.as_str(), count), ("x = (\nc = 2\n", 1), "was broken");
    }

    #[test]
    fn fixes_that_undo_each_other_come_to_an_end() {
        let (_, count) = fixed("a = 1\n", &[("a", "b"), ("b", "a")]);
        assert_eq!(count, ROUNDS);
        let (text, count) = fixed("a = 1\n", &[("a", "a")]);
        assert_eq!((text.as_str(), count), ("a = 1\n", 0));
    }
}
