//! What a finding is about, where the pointer rests on it.

use lsp_types::{Hover, HoverContents, HoverParams, MarkupContent, Range};
use outlive_check::Finding;

use super::checked::Checked;
use super::client::Client;

/// The messages and the rules' pages of the findings at a place; nothing elsewhere.
pub(super) fn at(checked: &Checked, parameters: &HoverParams, client: &Client) -> Option<Hover> {
    let at = &parameters.text_document_position_params;
    let point = Range::new(at.position, at.position);
    let places = checked.places(client.encoding);
    let point = places.source_range(&at.text_document.uri, point)?;
    let there: Vec<&Finding> = checked
        .findings()
        .iter()
        .filter(|finding| finding.range.contains_inclusive(point.start()))
        .collect();
    let range = places.place(there.first()?.range)?.range;
    let texts: Vec<String> = there.into_iter().map(text).collect();
    Some(Hover {
        contents: HoverContents::Markup(MarkupContent {
            kind: client.markup.clone(),
            value: texts.join("\n\n---\n\n"),
        }),
        range: Some(range),
    })
}

fn text(finding: &Finding) -> String {
    let mut paragraphs = vec![finding.message.clone()];
    if !finding.help.is_empty() {
        paragraphs.push(format!("help: {}", finding.help));
    }
    paragraphs.push("---".to_owned());
    paragraphs.push(demoted(finding.rule.page.trim()));
    paragraphs.join("\n\n")
}

/// A page with smaller headings: it is shown in a small window.
fn demoted(page: &str) -> String {
    let mut is_code = false;
    let lines = page.lines().map(|line| {
        is_code ^= line.starts_with("```");
        if line.starts_with('#') && !is_code {
            format!("###{line}")
        } else {
            line.to_owned()
        }
    });
    lines.collect::<Vec<String>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_are_small_and_comments_stay_what_they_are() {
        let page = "# a\n\n## b\n```python\n# c\n```\n# d";
        assert_eq!(
            demoted(page),
            "#### a\n\n##### b\n```python\n# c\n```\n#### d"
        );
    }
}
