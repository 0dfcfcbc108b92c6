//! Comments that silence a finding: `# outlive: ignore[rule]` and `# noqa: CODE`.
//!
//! Such a comment counts on the first and on the last line of the statement in which a finding
//! begins or ends, and on the lines where it begins and ends itself; `# outlive: …` also alone on
//! the line above. `# outlive: ignore-file` counts above the first statement.

mod addition;
mod comment;
mod removal;

use ruff_text_size::{Ranged, TextRange, TextSize};

pub use self::addition::silencing_edits;
use self::comment::{Directive, Meaning, Reach, directives};
use crate::front::{Tree, ast};
use crate::rules::unused_suppression;
use crate::{Finding, Settings, Source};

/// The comments of a file.
#[derive(Debug, Default)]
pub(crate) struct Suppressions {
    all: Vec<Suppression>,
    /// The statements as they are written, without their blocks.
    statements: Vec<TextRange>,
    /// Where there are errors, rules may not have seen everything.
    has_errors: bool,
}

/// A directive at its place.
#[derive(Debug)]
struct Suppression {
    directive: Directive,
    comment: TextRange,
    line: Line,
    /// The line that it speaks of from above, if it stands alone.
    below: Option<Line>,
    /// Whether it stands where it has to.
    is_in_place: bool,
    /// Whether it silenced something; and which of its names did.
    is_used: bool,
    used: Vec<usize>,
}

/// A line of a cell or a script.
type Line = (Option<u32>, u32);

impl Suppressions {
    /// Reads them.
    pub(crate) fn read(source: &Source, tree: &Tree) -> Self {
        let text = source.text();
        if !["outlive", "noqa", "NOQA", "NoQA"]
            .iter()
            .any(|word| text.contains(word))
        {
            return Self::default();
        }
        let head = head_end(source, tree);
        let mut all: Vec<Suppression> = Vec::new();
        for comment in tree.comments() {
            for directive in directives(&text[comment], comment.start()) {
                let line = source.line(comment.start());
                let stands_alone = stands_alone(text, comment);
                let is_shared = directive.reach == Reach::Shared;
                all.push(Suppression {
                    is_in_place: directive.reach != Reach::File || comment.start() < head,
                    below: (stands_alone && !is_shared).then_some((line.0, line.1 + 1)),
                    directive,
                    comment,
                    line,
                    is_used: false,
                    used: Vec::new(),
                });
            }
        }
        pass_on(&mut all);
        let statements = if all.is_empty() {
            Vec::new()
        } else {
            tree.logical_lines()
        };
        Self {
            all,
            statements,
            has_errors: tree.errors().next().is_some(),
        }
    }

    /// Whether one of them silences this finding; remembers which.
    pub(crate) fn covers(&mut self, source: &Source, finding: &Finding) -> bool {
        if self.all.is_empty() {
            return false;
        }
        let (beside, below) = self.lines_of(source, finding.range);
        let mut is_covered = false;
        for suppression in &mut self.all {
            let reaches = match (suppression.directive.reach, suppression.below) {
                (Reach::File, _) => suppression.is_in_place,
                (_, Some(line)) => below.contains(&line),
                (_, None) => beside.contains(&suppression.line),
            };
            let names = suppression.directive.names_rule(finding.rule);
            if let Some(names) = names.filter(|_| reaches) {
                suppression.is_used = true;
                suppression.used.extend(names);
                is_covered = true;
            }
        }
        is_covered
    }

    /// A finding for each that silenced nothing, and for each name that no rule has.
    pub(crate) fn unused(&self, source: &Source, settings: &Settings) -> Vec<Finding> {
        let mut found = Vec::new();
        for suppression in &self.all {
            let names = suppression.directive.names.iter().flatten();
            let unknown = names.filter(|name| name.meaning == Meaning::Unknown);
            found.extend(unknown.map(|name| unused_suppression::unknown(name.range, &name.text)));
            if !self.has_errors {
                found.extend(suppression.finding(source, settings));
            }
        }
        found
    }

    /// The lines on which a comment may stand, and those above which it may.
    fn lines_of(&self, source: &Source, range: TextRange) -> (Vec<Line>, Vec<Line>) {
        let end = source.text()[..range.end().to_usize()].trim_end().len();
        let end = TextSize::new(end as u32).max(range.start());
        let first = self.statement(range.start());
        let last = self.statement(end);
        let beside = [
            range.start(),
            end,
            first.start(),
            first.end(),
            last.start(),
            last.end(),
        ];
        let below = [range.start(), first.start()];
        (
            beside.map(|offset| source.line(offset)).to_vec(),
            below.map(|offset| source.line(offset)).to_vec(),
        )
    }

    /// The statement of an offset.
    fn statement(&self, offset: TextSize) -> TextRange {
        let after = self.statements.partition_point(|one| one.start() <= offset);
        let before = self.statements.get(after.wrapping_sub(1));
        let around = before.filter(|range| range.end() >= offset);
        around.copied().unwrap_or(TextRange::empty(offset))
    }
}

impl Suppression {
    /// What to say of it if it silences nothing, in part or as a whole.
    fn finding(&self, source: &Source, settings: &Settings) -> Option<Finding> {
        if !self.is_in_place {
            return Some(unused_suppression::misplaced(self.shown(source)));
        }
        let Some(names) = &self.directive.names else {
            // Other tools look at `# noqa` as well.
            let is_ours = self.directive.reach != Reach::Shared;
            let removal = removal::whole(source, self.comment, self.directive.range);
            return (is_ours && !self.is_used)
                .then(|| unused_suppression::unused(source, self.shown(source), &[], removal));
        };
        let is_unused = |(index, name): &(usize, &comment::Name)| match name.meaning {
            Meaning::Rule(rule) => {
                unused_suppression::is_certain(rule, settings) && !self.used.contains(index)
            }
            Meaning::Family | Meaning::Unknown | Meaning::Foreign => false,
        };
        let unused: Vec<usize> = names
            .iter()
            .enumerate()
            .filter(is_unused)
            .map(|one| one.0)
            .collect();
        if unused.is_empty() && !names.is_empty() {
            return None;
        }
        let removal = if unused.len() == names.len() {
            removal::whole(source, self.comment, self.directive.range)
        } else {
            removal::names(names, &unused)
        };
        let is_shared = self.directive.reach == Reach::Shared;
        let words: Vec<&str> = unused
            .iter()
            .filter_map(|at| Some(names.get(*at)?.text.as_str()))
            .collect();
        // `# noqa:` without a code is not ours.
        (!names.is_empty() || !is_shared)
            .then(|| unused_suppression::unused(source, self.shown(source), &words, removal))
    }

    /// What to underline: the directive without blanks behind it.
    fn shown(&self, source: &Source) -> TextRange {
        let range = self.directive.range;
        let text = source.text()[range].trim_end();
        TextRange::at(range.start(), TextSize::of(text))
    }
}

/// A comment above another that stands alone too speaks of what that one speaks of.
fn pass_on(all: &mut [Suppression]) {
    let mut next: Option<(Line, Line)> = None;
    for suppression in all.iter_mut().rev() {
        if let (Some(below), Some((line, target))) = (suppression.below, next)
            && below == line
        {
            suppression.below = Some(target);
        }
        next = suppression.below.map(|below| (suppression.line, below));
    }
}

/// Where the first statement begins that is more than a text about the file.
fn head_end(source: &Source, tree: &Tree) -> TextSize {
    let is_text = |statement: &&ast::Stmt| match statement {
        ast::Stmt::Expr(expression) => expression.value.is_string_literal_expr(),
        _ => false,
    };
    let mut statements = tree.body().iter().skip_while(is_text);
    let first = statements.next().map(Ranged::start);
    let first_cell = source.cells().first().map(|cell| cell.range.end());
    let end = TextSize::of(source.text());
    first.unwrap_or(end).min(first_cell.unwrap_or(end))
}

/// Whether a comment has its line for itself.
fn stands_alone(text: &str, comment: TextRange) -> bool {
    let before = &text[..comment.start().to_usize()];
    let before = before.trim_end_matches([' ', '\t', '\u{c}']);
    before.is_empty() || before.ends_with(['\n', '\r'])
}
