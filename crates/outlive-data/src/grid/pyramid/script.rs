//! The data files of a page. They are scripts that call a function with one literal, since a page
//! that was opened as a file may load scripts but not data.

use std::fmt::Write;

use super::facts::Fact;
use super::geometry::Geometry;
use super::tile::TileFormat;
use crate::grid::cells::Entry;

/// Cells in one file of cells.
pub const CHUNK: u64 = 1000;
/// Broken cells that the page lists; all of them are in the table.
pub const MOST_BROKEN: usize = 10_000;

/// What a page knows of its grid at once.
#[derive(Clone, Debug)]
pub struct Summary<'a> {
    /// Sizes.
    pub geometry: Geometry,
    /// How tiles are stored.
    pub format: TileFormat,
    /// What the page is called.
    pub title: &'a str,
    /// How many cells are broken.
    pub broken: u64,
    /// Whether all cells are drawn.
    pub complete: bool,
    /// Whether tiles may still get better.
    pub live: bool,
}

impl Summary<'_> {
    /// `grid.js`.
    pub fn script(&self) -> String {
        let Geometry {
            cells,
            columns,
            rows,
            pitch,
            cell_width,
            tile,
            width,
            height,
            ..
        } = self.geometry;
        let mut title = String::new();
        push_string(&mut title, self.title);
        format!(
            "outliveGrid({{\"version\":1,\"title\":{title},\"cells\":{cells},\
             \"columns\":{columns},\"rows\":{rows},\"pitch\":{pitch},\"cell\":{cell_width},\
             \"width\":{width},\"height\":{height},\"tileSize\":{tile},\"format\":\"{}\",\
             \"chunk\":{CHUNK},\"broken\":{},\"complete\":{},\"live\":{}}});\n",
            self.format.ending(),
            self.broken,
            self.complete,
            self.live
        )
    }

    /// `grid.dzi`.
    pub fn descriptor(&self) -> String {
        let Geometry {
            tile,
            width,
            height,
            ..
        } = self.geometry;
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <Image xmlns=\"http://schemas.microsoft.com/deepzoom/2008\" Format=\"{}\" \
             Overlap=\"0\" TileSize=\"{tile}\"><Size Width=\"{width}\" Height=\"{height}\"/>\
             </Image>\n",
            self.format.ending()
        )
    }
}

/// A file of cells, as it grows.
#[derive(Debug)]
pub struct CellsScript {
    text: String,
    is_empty: bool,
}

impl CellsScript {
    /// File `chunk`, which starts with cell `chunk * CHUNK`.
    pub fn new(chunk: u64) -> Self {
        Self {
            text: format!("outliveCells({chunk},["),
            is_empty: true,
        }
    }

    /// Appends a cell. Its size is 0 if it is not known.
    pub fn push(&mut self, entry: &Entry<'_>, size: (u32, u32), problem: Option<&str>) {
        if !self.is_empty {
            self.text.push_str(",\n");
        }
        self.is_empty = false;
        self.text.push('[');
        push_string(&mut self.text, &entry.name);
        // Writing to a string cannot fail.
        let _ = write!(self.text, ",{},{},{},", entry.bytes, size.0, size.1);
        push_optional(&mut self.text, entry.caption.as_deref());
        self.text.push(',');
        push_optional(&mut self.text, problem);
        self.text.push(',');
        push_string(&mut self.text, &entry.link);
        self.text.push(']');
    }

    pub(super) fn push_fact(&mut self, entry: &Entry<'_>, fact: &Fact) {
        self.push(entry, (fact.width, fact.height), fact.problem.as_deref());
    }

    /// The whole file.
    pub fn finish(mut self) -> String {
        self.text.push_str("]);\n");
        self.text
    }
}

/// The list of broken cells, as it grows, and its longer sister.
#[derive(Debug, Default)]
pub struct BrokenScript {
    text: String,
    listed: usize,
    total: u64,
}

impl BrokenScript {
    /// Appends a cell; only the first ones are listed.
    pub fn push(&mut self, index: u64, name: &str, problem: &str) {
        self.total += 1;
        if self.listed >= MOST_BROKEN {
            return;
        }
        if self.listed > 0 {
            self.text.push_str(",\n");
        }
        self.listed += 1;
        // Writing to a string cannot fail.
        let _ = write!(self.text, "[{index},");
        push_string(&mut self.text, name);
        self.text.push(',');
        push_string(&mut self.text, problem);
        self.text.push(']');
    }

    /// Counts further broken cells that are not listed.
    pub fn leave_out(&mut self, cells: u64) {
        self.total += cells;
    }

    /// How many cells are broken.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// `broken.js`.
    pub fn finish(&self) -> String {
        let Self { text, total, .. } = self;
        format!("outliveBroken({{\"total\":{total},\"cells\":[{text}]}});\n")
    }
}

/// A line of `broken.tsv`.
pub fn broken_row(index: u64, name: &str, problem: &str) -> String {
    format!("{index}\t{}\t{}\n", tabular(name), tabular(problem))
}

fn tabular(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\t' => escaped.push_str("\\t"),
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\\' => escaped.push_str("\\\\"),
            // A name must not give orders to the terminal that shows the table.
            letter if letter.is_control() => {
                // Writing to a string cannot fail.
                let _ = write!(escaped, "\\x{:02x}", u32::from(letter));
            }
            letter => escaped.push(letter),
        }
    }
    escaped
}

fn push_optional(script: &mut String, text: Option<&str>) {
    match text {
        Some(text) => push_string(script, text),
        None => script.push_str("null"),
    }
}

/// A literal of JSON that is also one of JavaScript, and that cannot end the script it stands in.
fn push_string(script: &mut String, text: &str) {
    script.push('"');
    for letter in text.chars() {
        match letter {
            '"' => script.push_str("\\\""),
            '\\' => script.push_str("\\\\"),
            '<' | '>' | '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' => {
                // Writing to a string cannot fail.
                let _ = write!(script, "\\u{:04x}", u32::from(letter));
            }
            letter => script.push(letter),
        }
    }
    script.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "a\"b\\c\nd\t</script><!--\u{2028}\u{2029}\u{0}\u{fffd}é'`${x}";

    fn argument(script: &str) -> serde_json::Value {
        let (_, rest) = script.split_once('(').unwrap();
        let (inside, _) = rest.rsplit_once(')').unwrap();
        serde_json::from_str(&format!("[{inside}]")).unwrap()
    }

    #[test]
    fn hostile_names_stay_names() {
        let mut script = CellsScript::new(3);
        let entry = Entry {
            name: HOSTILE.into(),
            link: HOSTILE.into(),
            bytes: u64::MAX,
            caption: Some(HOSTILE.into()),
        };
        script.push(&entry, (1, 2), Some(HOSTILE));
        script.push(&Entry::default(), (0, 0), None);
        let script = script.finish();
        for forbidden in ['<', '>', '\u{2028}', '\u{2029}', '\0', '\t'] {
            assert!(!script.contains(forbidden));
        }
        assert!(script.starts_with("outliveCells(3,["));
        let value = argument(&script);
        let first = serde_json::json!([HOSTILE, u64::MAX, 1, 2, HOSTILE, HOSTILE, HOSTILE]);
        assert_eq!(value[1][0], first);
        assert_eq!(
            value[1][1],
            serde_json::json!(["", 0, 0, 0, null, null, ""])
        );
    }

    #[test]
    fn the_list_of_broken_cells_ends_but_the_count_does_not() {
        let mut script = BrokenScript::default();
        assert_eq!(
            script.finish(),
            "outliveBroken({\"total\":0,\"cells\":[]});\n"
        );
        for index in 0..10_050 {
            script.push(index, HOSTILE, "cut");
        }
        let value = argument(&script.finish());
        assert_eq!(value[0]["total"], 10_050);
        assert_eq!(value[0]["cells"].as_array().unwrap().len(), 10_000);
        assert_eq!(value[0]["cells"][7], serde_json::json!([7, HOSTILE, "cut"]));
    }

    #[test]
    fn a_row_of_the_table_is_one_line() {
        assert_eq!(
            broken_row(5, "a\tb\nc\\d", "e\r"),
            "5\ta\\tb\\nc\\\\d\te\\r\n"
        );
        assert_eq!(
            broken_row(5, "\u{1b}[2J\u{9b}é", ""),
            "5\t\\x1b[2J\\x9bé\t\n"
        );
    }
}
