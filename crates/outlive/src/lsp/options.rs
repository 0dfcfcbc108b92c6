//! What the editor wants: `initializationOptions`, and its settings when they change.

use std::path::Path;

use outlive_check::Selection;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::check::Overrides;
use crate::limit::{self, Limit};

/// The section of an editor's settings that is ours.
pub(super) const SECTION: &str = "outlive";

/// The editor's settings. What it does not say, the project's configuration says.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Options {
    select: Vec<String>,
    ignore: Vec<String>,
    info: bool,
    budget: Option<String>,
    /// The editor's own, in the same section: where the server is, and what to log.
    path: IgnoredAny,
    trace: IgnoredAny,
}

/// Reads the settings; none at all are fine. An error is a line for the user.
pub(super) fn read(value: &Value, folder: &Path) -> Result<Overrides, String> {
    let own = value.get(SECTION).unwrap_or(value);
    let options: Option<Options> = Deserialize::deserialize(own)
        .map_err(|error| format!("Cannot use the editor's settings: {error}"))?;
    let options = options.unwrap_or_default();
    let selection = Selection {
        select: options.select,
        ignore: options.ignore,
        info: options.info,
    };
    if let Some(unknown) = selection.unknown().next() {
        return Err(format!("Unknown rule `{unknown}` in the editor's settings"));
    }
    // An editor cannot leave a setting out, but empty.
    let wanted = options.budget.filter(|text| !text.is_empty());
    Ok(Overrides {
        budget: wanted.as_deref().map(budget).transpose()?,
        select: selection.select,
        ignore: selection.ignore,
        info: selection.info,
        folder: folder.to_owned(),
        ..Overrides::default()
    })
}

fn budget(text: &str) -> Result<Limit, String> {
    limit::parse(text)
        .map_err(|reason| format!("`budget` of the editor's settings is `{text}`: {reason}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn reading(value: &Value) -> Result<Overrides, String> {
        read(value, Path::new("/"))
    }

    #[test]
    fn settings_come_with_their_section_or_without() {
        let plain = json!({ "select": ["OL1"], "info": true, "budget": "4GiB" });
        for value in [json!({ "outlive": plain }), plain] {
            let overrides = reading(&value).unwrap();
            assert_eq!(overrides.select, ["OL1"]);
            assert!(overrides.info);
            assert_eq!(overrides.budget, Some(Limit::Bytes(4 << 30)));
        }
        let empty = json!({ "select": [], "budget": "", "path": "outlive", "trace": {} });
        for nothing in [json!(null), json!({}), json!({ "outlive": null }), empty] {
            let overrides = reading(&nothing).unwrap();
            assert!(overrides.select.is_empty() && overrides.budget.is_none());
        }
    }

    #[test]
    fn settings_that_make_no_sense_are_told() {
        for (value, reason) in [
            (json!({ "selekt": [] }), "unknown field `selekt`"),
            (json!({ "select": "OL1" }), "invalid type"),
            (json!({ "ignore": ["OLX"] }), "Unknown rule `OLX`"),
            (
                json!({ "budget": "much" }),
                "`budget` of the editor's settings is `much`",
            ),
        ] {
            let error = reading(&value).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
    }
}
