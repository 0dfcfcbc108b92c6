//! The pages of rules and their table.

use std::io::{self, Write};

use outlive_check::{Applicability, Rule};

use super::{Style, Tone, wrap};

/// Prints pages: Markdown as it is, on a terminal with its headings made bold.
pub(crate) fn print(rules: &[&Rule], out: &mut dyn Write, style: Style) -> io::Result<()> {
    for (index, rule) in rules.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        print_page(rule.page, out, style)?;
    }
    Ok(())
}

fn print_page(page: &str, out: &mut dyn Write, style: Style) -> io::Result<()> {
    let mut in_code = false;
    for line in page.lines() {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        if !style.colour {
            writeln!(out, "{line}")?;
        } else if is_fence {
            // The indent says the same.
        } else if in_code {
            writeln!(out, "    {line}")?;
        } else if line.starts_with('#') {
            let heading = line.trim_start_matches('#').trim();
            writeln!(out, "{}", style.paint(Tone::Strong, heading))?;
        } else if line.starts_with('|') {
            writeln!(out, "{line}")?;
        } else {
            print_paragraph(line, out, style)?;
        }
    }
    Ok(())
}

/// What follows the first line of a list item hangs below it.
fn print_paragraph(line: &str, out: &mut dyn Write, style: Style) -> io::Result<()> {
    let is_item = line.trim_start().starts_with("- ");
    for part in wrap(line, style.width) {
        let part = if is_item { &part } else { part.trim_start() };
        writeln!(out, "{part}")?;
    }
    Ok(())
}

/// Prints a row a rule.
pub(crate) fn print_table(rules: &[&Rule], out: &mut dyn Write, style: Style) -> io::Result<()> {
    let name = rules.iter().map(|rule| rule.name.len()).max().unwrap_or(0);
    let row = |code: &str, rule: &str, level: &str, fix: &str, summary: &str| {
        format!("{code:<5}  {rule:<name$}  {level:<7}  {fix:<6}  {summary}")
    };
    let head = row("code", "name", "level", "fix", "what happens");
    writeln!(out, "{}", style.paint(Tone::Faint, &head))?;
    for rule in rules {
        let fix = rule.fix().map_or("", Applicability::word);
        let line = row(rule.code, rule.name, rule.level.word(), fix, rule.summary);
        writeln!(out, "{line}")?;
    }
    Ok(())
}
