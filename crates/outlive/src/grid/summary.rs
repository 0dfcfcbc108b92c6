//! What came of a grid, for people and for programs.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use outlive_data::decode::JPEG_DECODER_NAME;
use outlive_data::grid::progress::{End, Outcome};
use outlive_data::listing::Listing;
use outlive_diagnose::size::{Size, Span};
use serde_json::json;

use crate::cli::Format;
use crate::printer::thousands;
use crate::printer::visible::visible;
use crate::say;

/// Problems of the listing that are told one by one.
const TOLD: usize = 5;

/// All that is said at the end.
#[derive(Debug)]
pub(crate) struct Summary {
    pub(crate) outcome: Outcome,
    pub(crate) images: u64,
    pub(crate) elapsed: Duration,
    /// What to open.
    pub(crate) output: PathBuf,
    /// Pixels of the whole.
    pub(crate) width: u64,
    pub(crate) height: u64,
    /// The first broken images of this call, with their problems.
    pub(crate) broken: Vec<(String, String)>,
    /// Where all of them are; none in an archive, which has its own.
    pub(crate) broken_list: Option<PathBuf>,
    /// What to do to go on, after a stop.
    pub(crate) way_on: &'static str,
    /// Paths that could not be listed.
    pub(crate) unlisted: u64,
}

impl Summary {
    /// Writes it to standard output.
    pub(crate) fn print(&self, format: Format) -> io::Result<()> {
        let mut out = io::stdout().lock();
        match format {
            Format::Json => writeln!(out, "{:#}", self.json()),
            Format::Text => self
                .lines()
                .iter()
                .try_for_each(|line| writeln!(out, "{line}")),
        }
    }

    fn bytes(&self) -> Option<u64> {
        let metadata = std::fs::metadata(&self.output).ok()?;
        let is_whole = self.output.file_name() != Some("index.html".as_ref());
        is_whole.then_some(metadata.len())
    }

    fn lines(&self) -> Vec<String> {
        let Outcome { broken, end, .. } = self.outcome;
        let mut parts = Vec::new();
        match end {
            End::Complete => parts.push(counted(self.images, "image")),
            End::Stopped => {
                let done = thousands(self.outcome.drawn + self.outcome.kept);
                parts.push(format!(
                    "Stopped after {done} of {}",
                    counted(self.images, "image")
                ));
            }
        }
        if broken > 0 {
            parts.push(format!("{} broken", thousands(broken)));
        }
        parts.push(Span(self.elapsed.as_nanos() as u64).to_string());
        let pixels = format!("{} × {}", thousands(self.width), thousands(self.height));
        let shown = visible(&self.output.display().to_string());
        let exists = self.output.exists();
        if exists && end == End::Complete {
            parts.push(format!("{shown} {pixels}"));
        } else if exists {
            parts.push(format!("{shown} can be opened"));
        }
        parts.extend(self.bytes().map(|bytes| Size(bytes).to_string()));
        let mut lines = vec![parts.join(", ")];
        let one = |(name, problem): &(String, String)| {
            format!("  broken: {}: {}", visible(name), visible(problem))
        };
        lines.extend(self.broken.iter().map(one));
        if broken > 0 {
            let list = match &self.broken_list {
                Some(list) => visible(&list.display().to_string()),
                None => format!("`broken.tsv` in {shown}"),
            };
            lines.push(format!("  all broken images: {list}"));
        }
        if end == End::Stopped {
            lines.push(self.way_on.to_owned());
        }
        if !cfg!(feature = "turbo") {
            lines.push(format!("  JPEG was decoded by {JPEG_DECODER_NAME}: slower"));
        }
        lines
    }

    fn json(&self) -> serde_json::Value {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let list = self.broken_list.as_deref();
        let list = list.filter(|_| self.outcome.broken > 0);
        json!({
            "version": 1,
            "output": text(&self.output),
            "complete": self.outcome.end == End::Complete,
            "images": self.images,
            "drawn": self.outcome.drawn,
            "kept": self.outcome.kept,
            "broken": self.outcome.broken,
            "broken_list": list.map(text),
            "unlisted": self.unlisted,
            "seconds": self.elapsed.as_secs_f64(),
            "width": self.width,
            "height": self.height,
            "jpeg_decoder": JPEG_DECODER_NAME,
            "bytes": self.bytes(),
        })
    }
}

fn counted(number: u64, word: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {word}{plural}", thousands(number))
}

/// Says on standard error what could not be listed.
pub(crate) fn tell_problems(listing: &Listing) {
    let problems = listing.problems();
    for problem in problems.first().iter().take(TOLD) {
        let path = String::from_utf8_lossy(&problem.path);
        say(&format!("`{}`: {}", visible(&path), problem.reason));
    }
    let more = problems.count().saturating_sub(TOLD as u64);
    if more > 0 {
        say(&format!(
            "{} more could not be listed",
            counted(more, "path")
        ));
    }
}
