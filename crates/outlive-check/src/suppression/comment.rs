//! One comment as a list of directives: `# outlive: ignore[rule]  # noqa: OL101, E501`.

use ruff_text_size::{TextRange, TextSize};

use crate::{Rule, rule_named};

/// What a part of a comment asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Directive {
    /// From its `#` to the next, or to the end.
    pub(crate) range: TextRange,
    /// What it silences.
    pub(crate) reach: Reach,
    /// What it names; `None` if it means all rules.
    pub(crate) names: Option<Vec<Name>>,
}

/// How far a directive reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// `# outlive: ignore`: its statement, or the one below.
    Statement,
    /// `# outlive: ignore-file`.
    File,
    /// `# noqa`, which belongs to other tools too: its statement.
    Shared,
}

/// A rule as it is named in a comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    /// Where.
    pub(crate) range: TextRange,
    /// The word.
    pub(crate) text: String,
    /// What it means.
    pub(crate) meaning: Meaning,
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// One rule.
    Rule(&'static Rule),
    /// The start of codes of ours, as `# noqa` allows: `OL1`.
    Family,
    /// No rule that we know.
    Unknown,
    /// Something of another tool.
    Foreign,
}

impl Directive {
    /// Whether it speaks of a rule, and with which of its names.
    pub(crate) fn names_rule(&self, rule: &Rule) -> Option<Vec<usize>> {
        let Some(names) = &self.names else {
            return Some(Vec::new());
        };
        let is_meant = |name: &Name| match name.meaning {
            Meaning::Rule(named) => named == rule,
            Meaning::Family => rule.code.starts_with(&name.text),
            Meaning::Unknown | Meaning::Foreign => false,
        };
        let meant = names.iter().enumerate().filter(|(_, name)| is_meant(name));
        let meant: Vec<usize> = meant.map(|(index, _)| index).collect();
        (!meant.is_empty()).then_some(meant)
    }
}

/// Reads a comment that begins at this offset.
pub(crate) fn directives(comment: &str, start: TextSize) -> Vec<Directive> {
    let starts: Vec<usize> = comment.match_indices('#').map(|(at, _)| at).collect();
    let ends = starts.iter().copied().skip(1).chain([comment.len()]);
    let parts = starts.iter().copied().zip(ends);
    parts
        .filter_map(|(from, to)| {
            let words = Words {
                text: comment.get(..to)?,
                at: from + 1,
                start,
            };
            let range = TextRange::new(words.offset(from), words.offset(to));
            directive(words, range)
        })
        .collect()
}

fn directive(mut words: Words<'_>, range: TextRange) -> Option<Directive> {
    let (reach, names) = if words.take_word("noqa") {
        let has_codes = words.take_sign(':');
        let codes = words.codes();
        (Reach::Shared, has_codes.then_some(codes))
    } else {
        let is_ours = words.take_word("outlive") && words.take_sign(':');
        let reach = match is_ours && words.take_word("ignore") {
            false => return None,
            true if words.take_word("-file") => Reach::File,
            true => Reach::Statement,
        };
        let has_list = words.take_sign('[');
        (reach, has_list.then(|| words.list()))
    };
    Some(Directive {
        range,
        reach,
        names,
    })
}

/// The words of a part of a comment.
struct Words<'a> {
    text: &'a str,
    at: usize,
    /// Where the comment begins.
    start: TextSize,
}

impl Words<'_> {
    fn offset(&self, at: usize) -> TextSize {
        self.start + TextSize::new(at as u32)
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip_blank(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    /// Takes a word that does not go on, whatever its case.
    fn take_word(&mut self, word: &str) -> bool {
        self.skip_blank();
        let rest = self.rest();
        let starts = rest.get(..word.len());
        let is_here = starts.is_some_and(|start| start.eq_ignore_ascii_case(word));
        let after = rest.get(word.len()..).and_then(|rest| rest.chars().next());
        let is_whole = !after.is_some_and(|next| next.is_alphanumeric() || next == '_');
        if is_here && is_whole {
            self.at += word.len();
        }
        is_here && is_whole
    }

    fn take_sign(&mut self, sign: char) -> bool {
        self.skip_blank();
        let is_here = self.rest().starts_with(sign);
        self.at += usize::from(is_here);
        is_here
    }

    /// The names up to `]`.
    fn list(&mut self) -> Vec<Name> {
        let mut names = Vec::new();
        let inside = self.rest().split(']').next().unwrap_or_default();
        let mut at = self.at;
        for part in inside.split(',') {
            let word = part.trim();
            let from = at + part.len() - part.trim_start().len();
            if !word.is_empty() {
                let meaning = rule_named(word).map_or(Meaning::Unknown, Meaning::Rule);
                names.push(self.name(from, word, meaning));
            }
            at += part.len() + 1;
        }
        names
    }

    /// The codes of `# noqa`, parted by commas or blanks, up to something that is none.
    fn codes(&self) -> Vec<Name> {
        let mut names = Vec::new();
        let mut at = self.at;
        for word in self.rest().split([',', ' ', '\t']) {
            if is_code(word) {
                names.push(self.name(at, word, meaning_of_code(word)));
            } else if !word.is_empty() {
                break;
            }
            at += word.len() + 1;
        }
        names
    }

    fn name(&self, from: usize, word: &str, meaning: Meaning) -> Name {
        Name {
            range: TextRange::at(self.offset(from), TextSize::of(word)),
            text: word.to_owned(),
            meaning,
        }
    }
}

/// Letters and then digits.
fn is_code(word: &str) -> bool {
    let digits = word.trim_start_matches(|letter: char| letter.is_ascii_uppercase());
    digits.len() < word.len() && digits.chars().all(|digit| digit.is_ascii_digit())
}

fn meaning_of_code(code: &str) -> Meaning {
    let digits = code.strip_prefix("OL");
    match (rule_named(code), digits.map(str::len)) {
        (Some(rule), _) => Meaning::Rule(rule),
        (None, Some(0..=2)) => Meaning::Family,
        (None, Some(3)) => Meaning::Unknown,
        (None, _) => Meaning::Foreign,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each directive as its reach and its names with what they mean.
    fn read(comment: &str) -> Vec<String> {
        let start = TextSize::new(100);
        let show = |directive: Directive| {
            let names = directive.names.map(|names| {
                let names = names.iter().map(|name| {
                    let from = (name.range.start() - start).to_usize();
                    assert_eq!(comment[from..].find(&name.text), Some(0));
                    match name.meaning {
                        Meaning::Rule(rule) => format!("{}={}", name.text, rule.code),
                        Meaning::Family => format!("{}*", name.text),
                        Meaning::Unknown => format!("{}?", name.text),
                        Meaning::Foreign => name.text.clone(),
                    }
                });
                names.collect::<Vec<_>>().join(" ")
            });
            let range = directive.range - start;
            format!("{:?} {names:?} {range:?}", directive.reach)
        };
        directives(comment, start).into_iter().map(show).collect()
    }

    #[test]
    fn directives_are_read_however_they_are_spaced() {
        for (comment, expected) in [
            ("# outlive: ignore", "Statement None 0..17"),
            ("#outlive:ignore  because", "Statement None 0..24"),
            (
                "# outlive: ignore[retained-graph-append, OL101 ,nonsense] so",
                "Statement Some(\"retained-graph-append=OL102 OL101=OL101 nonsense?\") 0..60",
            ),
            (
                "# outlive: ignore [OL101",
                "Statement Some(\"OL101=OL101\") 0..24",
            ),
            ("# outlive: ignore[]", "Statement Some(\"\") 0..19"),
            ("# outlive: ignore-file", "File None 0..22"),
            (
                "# outlive: ignore-file[OL101]",
                "File Some(\"OL101=OL101\") 0..29",
            ),
            ("# noqa", "Shared None 0..6"),
            (
                "# NOQA:OL101,E501 OL9 OL999 OL8888 why OL102",
                "Shared Some(\"OL101=OL101 E501 OL9* OL999? OL8888\") 0..44",
            ),
        ] {
            assert_eq!(read(comment), [expected], "{comment}");
        }
    }

    #[test]
    fn several_directives_share_a_comment() {
        let comment = "# type: ignore # outlive: ignore[OL101]  # noqa: E501";
        let expected = [
            "Statement Some(\"OL101=OL101\") 15..41",
            "Shared Some(\"E501\") 41..53",
        ];
        assert_eq!(read(comment), expected);
    }

    #[test]
    fn other_comments_are_left_alone() {
        for comment in [
            "# outlive",
            "# outlive: ignored",
            "# ruff: noqa",
            "# noqable",
            "# ignore",
            "#",
            "# é",
        ] {
            assert!(read(comment).is_empty(), "{comment}");
        }
    }
}
