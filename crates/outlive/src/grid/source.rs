//! Opens the images of a listing for whoever decodes them.

use std::io;
use std::sync::Arc;

use outlive_data::grid::decoded::Source;
use outlive_data::listing::{Item, Kind, ListedEntries};
use outlive_data::source::Opened;

/// A listing as a source of cells.
#[derive(Debug)]
pub(crate) struct ListedSource(pub(crate) Arc<ListedEntries>);

impl Source for ListedSource {
    fn open(&self, index: u64) -> Result<Opened, String> {
        let item = self.0.listing.item(index);
        let item = item.map_err(|error| error.to_string())?;
        let item = item.ok_or("It is not in the list")?;
        open(&item).map_err(|error| reason(&error))
    }

    fn caption(&self, index: u64) -> Option<String> {
        self.0.label(index)
    }
}

fn open(item: &Item) -> io::Result<Opened> {
    match item.kind {
        Kind::Member { offset, size, .. } => Opened::part(item.file_path(), offset, size),
        Kind::File => Opened::whole(item.file_path()),
    }
}

/// What the system said, without its number.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let end = text.find(" (os error").unwrap_or(text.len());
    text.get(..end).unwrap_or_default().to_owned()
}
