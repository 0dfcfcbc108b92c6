//! `outlive explain`: what a rule is about, what it costs, and what to write instead.

use std::io;

use anyhow::{Result, bail};
use outlive_check::{Rule, rule_named, rules};

use crate::check::nearest;
use crate::cli::{ExplainArguments, Format};
use crate::exit::Ending;
use crate::json;
use crate::printer::{Style, finish_output, rule_pages};

/// Prints the pages of the rules that are asked for, or the table of all.
pub fn run(arguments: &ExplainArguments) -> Result<Ending> {
    let asked = arguments.rule.as_deref().map(named).transpose()?;
    let mut style = Style::for_stream(&io::stdout());
    if arguments.no_color {
        style = style.without_colour();
    }
    let mut out = io::stdout().lock();
    let written = match (arguments.format, &asked) {
        (Format::Json, Some(asked)) => json::write_rules(asked, &mut out),
        (Format::Json, None) => json::write_rules(rules::ALL, &mut out),
        (Format::Text, Some(asked)) => rule_pages::print(asked, &mut out, style),
        (Format::Text, None) => rule_pages::print_table(rules::ALL, &mut out, style),
    };
    finish_output(written)?;
    Ok(Ending::Code(0))
}

/// The rule of a code or a name, or all rules of a cause.
fn named(text: &str) -> Result<Vec<&'static Rule>> {
    if let Some(rule) = rule_named(text) {
        return Ok(vec![rule]);
    }
    let cause = text.trim().replace('-', "_");
    let all = rules::ALL.iter().copied();
    let of_cause: Vec<_> = all
        .filter(|rule| !cause.is_empty() && rule.cause.eq_ignore_ascii_case(&cause))
        .collect();
    if of_cause.is_empty() {
        let alike = nearest::nearest_rules(text);
        let hint = nearest::hint(&alike, "`outlive explain` lists the rules");
        bail!("No rule `{}`\n{hint}", text.escape_debug());
    }
    Ok(of_cause)
}
