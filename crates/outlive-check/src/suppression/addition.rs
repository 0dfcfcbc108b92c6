//! Edits that put a comment into a text which silences a finding.

use ruff_text_size::{TextRange, TextSize};

use super::comment::{Reach, directives};
use crate::front::Tree;
use crate::{Edit, Finding, Source};

/// For each finding the edit that silences it: `# outlive: ignore[rule]` at the end of its
/// statement, or one more name in the comment that is there. `None` for a finding about such a
/// comment, and for one that is in no statement.
pub fn silencing_edits(source: &Source, findings: &[Finding]) -> Vec<Option<Edit>> {
    if findings.is_empty() {
        return Vec::new();
    }
    let tree = Tree::parse(source);
    let statements = tree.logical_lines();
    let comments: Vec<TextRange> = tree.comments().collect();
    let edit = |finding: &Finding| {
        let is_about_comments = finding.rule.cause.is_empty();
        if is_about_comments {
            return None;
        }
        let start = finding.range.start();
        let before = statements.partition_point(|one| one.start() <= start);
        let statement = statements.get(before.checked_sub(1)?)?;
        let end = Some(statement.end()).filter(|end| *end >= start)?;
        let last = comments.partition_point(|comment| comment.end() <= end);
        let last = comments.get(last.wrapping_sub(1));
        let comment = last.filter(|comment| comment.end() == end);
        Some(addition(source.text(), end, comment.copied(), finding))
    };
    findings.iter().map(edit).collect()
}

/// Adds to the end of a statement, which includes its comment.
fn addition(text: &str, end: TextSize, comment: Option<TextRange>, finding: &Finding) -> Edit {
    let name = finding.rule.name;
    let directives = comment.map(|range| directives(&text[range], range.start()));
    let mut names = directives
        .into_iter()
        .flatten()
        .filter(|directive| directive.reach == Reach::Statement)
        .filter_map(|directive| directive.names?.pop());
    if let Some(last) = names.next() {
        return Edit {
            range: TextRange::empty(last.range.end()),
            content: format!(", {name}"),
        };
    }
    let before = text[..end.to_usize()].trim_end_matches([' ', '\t', '\u{c}']);
    Edit {
        range: TextRange::new(TextSize::of(before), end),
        content: format!("  # outlive: ignore[{name}]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Settings, check};

    const HEAD: &str = "import torch\nmodel = torch.nn.Linear(4, 1)\nlosses = []\n";

    /// All that is found, except comments that silence nothing.
    fn found(source: &Source) -> Vec<Finding> {
        let mut settings = Settings::default();
        settings.selection.ignore.push("OL9".to_owned());
        let report = check(source, &settings);
        assert_eq!(report.problems, [], "{}", source.text());
        report.findings
    }

    /// A loop with this last statement, and the statement after its finding was silenced.
    fn silenced(statement: &str) -> String {
        let head = format!("{HEAD}for batch in loader:\n    ");
        let source = Source::script("a.py", &format!("{head}{statement}")).unwrap();
        let findings = found(&source);
        assert_eq!(findings.len(), 1, "{statement}");
        let edits = silencing_edits(&source, &findings);
        let edits: Vec<Edit> = edits.into_iter().flatten().collect();
        let text = String::from_utf8(source.edited(&edits)).unwrap();
        assert_eq!(found(&Source::script("a.py", &text).unwrap()), [], "{text}");
        text.strip_prefix(&head).unwrap().to_owned()
    }

    #[test]
    fn a_comment_goes_to_the_end_of_the_statement() {
        const COMMENT: &str = "# outlive: ignore[retained_graph_append]";
        for (before, after) in [
            (
                "losses.append(model(batch))",
                "losses.append(model(batch))  ",
            ),
            (
                "losses.append(model(batch)) \t",
                "losses.append(model(batch))  ",
            ),
            (
                "losses.append(\n model(batch)\n )",
                "losses.append(\n model(batch)\n )  ",
            ),
            (
                "losses.append(\\\n model(batch))",
                "losses.append(\\\n model(batch))  ",
            ),
            (
                "losses.append(model(batch)); '''\n'''",
                "losses.append(model(batch)); '''\n'''  ",
            ),
            (
                "losses.append(model(batch)) # why",
                "losses.append(model(batch)) # why  ",
            ),
            (
                "losses.append(model(batch)) # noqa: E1",
                "losses.append(model(batch)) # noqa: E1  ",
            ),
        ] {
            assert_eq!(silenced(before), format!("{after}{COMMENT}"));
            assert_eq!(
                silenced(&format!("{before}\r\nx = 1\n")),
                format!("{after}{COMMENT}\r\nx = 1\n")
            );
        }
    }

    #[test]
    fn a_list_that_is_there_gets_one_more_name() {
        assert_eq!(
            silenced("losses.append(model(batch))  # outlive: ignore[OL504] so"),
            "losses.append(model(batch))  # outlive: ignore[OL504, retained_graph_append] so"
        );
    }

    #[test]
    fn a_finding_about_a_comment_is_not_silenced_by_another() {
        let source = Source::script("a.py", "x = 1  # outlive: ignore[OL101]\n").unwrap();
        let findings = check(&source, &Settings::default()).findings;
        assert_eq!(silencing_edits(&source, &findings), [None]);
    }
}
