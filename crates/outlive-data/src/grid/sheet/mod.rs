//! Flat sheets: all cells in one picture file, row after row.
//!
//! A sheet is drawn in `NAME.outlive-partial` and gets its name when it is whole, or when it was stopped:
//! then it ends after the last row that was begun, and can be opened. With a fingerprint, a PNG is
//! continued by the next call from where `NAME.outlive-resume` says.

mod bands;
mod codes;
mod deflate;
mod error;
mod filter;
mod format;
mod huffman;
mod jpeg;
mod last_block;
mod png;
mod resume;
mod sign;
mod target;
mod webp;

use std::io::{self, BufWriter, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use fs_err as fs;

use self::bands::Bands;
use self::png::{Point, Settings};
use self::resume::{Known, Record, Seal};
use self::target::{EncodeError, Written};
use super::cells::Cells;
use super::keep::Keep;
use super::layout::Layout;
use super::own_file::{self, Claim, PARTIAL, RESUME, beside};
use super::progress::{End, Outcome, Progress};
use super::style::Style;

pub use self::error::SheetError;
pub(crate) use self::error::mebibytes;
pub use self::format::{Effort, Format};
pub use self::sign::is_sheet;

/// Bytes that are gathered for a write.
const BUFFER: usize = 64 * 1024;

/// How to write a sheet.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which kind of file.
    pub format: Format,
    /// Threads that compress, where the format allows more than one.
    pub threads: usize,
    /// Bytes that may be in memory at once: a row of cells, or the whole sheet for WebP.
    pub max_bytes: u64,
    /// Names the cells and all that decides how they look. With it, a sheet that was interrupted
    /// is continued by the next call with the same one.
    pub fingerprint: Option<String>,
    /// What becomes of the same sheet, if it was interrupted.
    pub keep: Keep,
}

/// A sheet that can be written.
#[derive(Debug)]
pub struct Sheet {
    layout: Layout,
    style: Style,
    output: PathBuf,
    options: Options,
    record: Option<Record>,
    from: Option<Point>,
    /// The picture at the output, if an earlier call was stopped and left it.
    stopped: Option<Seal>,
    /// Whether there was nothing at the output.
    is_new: bool,
}

/// Whether a call was stopped while it wrote this file, and can go on.
pub fn is_unfinished(output: &Path) -> bool {
    own_file::is_plain(output) && own_file::is_plain(&beside(output, RESUME))
}

/// The order in which a sheet asks for its cells, from cell `from` on.
pub fn order(layout: &Layout, from: u64) -> std::ops::Range<u64> {
    from.min(layout.cells)..layout.cells
}

/// Writes a sheet, or goes on with it.
pub fn write(
    layout: Layout,
    style: Style,
    cells: &mut dyn Cells,
    output: &Path,
    options: Options,
    progress: &mut dyn Progress,
) -> Result<Outcome, SheetError> {
    Sheet::prepare(layout, style, output, options)?.write(cells, progress)
}

impl Sheet {
    /// Refuses what cannot be written, and finds what is there already. Writes nothing.
    pub fn prepare(
        layout: Layout,
        style: Style,
        output: &Path,
        options: Options,
    ) -> Result<Self, SheetError> {
        options.format.check(&layout, options.max_bytes)?;
        let record = options.record(&layout, style, output);
        let known = match options.keep {
            Keep::Finished => record.as_ref().and_then(Record::read),
            Keep::Nothing => None,
        };
        let stopped = known
            .and_then(|known| known.stopped)
            .filter(|seal| seal.fits(output));
        let partial = beside(output, PARTIAL);
        // Of a sheet that was stopped in its first row nothing is worth being kept but its name.
        let from = known.map(|known| known.point).filter(|point| {
            (1..=layout.rows()).contains(&point.rows)
                && (Record::fits(point, &partial)
                    || (stopped.is_some() && Record::fits(point, output)))
        });
        Ok(Self {
            layout,
            style,
            output: output.to_owned(),
            options,
            record,
            from,
            stopped,
            is_new: output.symlink_metadata().is_err(),
        })
    }

    /// The cells that will be asked for, in this order.
    pub fn order(&self) -> std::ops::Range<u64> {
        let rows = self.from.map_or(0, |point| point.rows);
        order(&self.layout, rows.saturating_mul(self.layout.columns))
    }

    /// Whether writing it replaces a file that is not the one it goes on with.
    pub fn replaces_another(&self) -> bool {
        !self.is_new && self.stopped.is_none()
    }

    /// Draws all cells of [`Sheet::order`].
    pub fn write(
        self,
        cells: &mut dyn Cells,
        progress: &mut dyn Progress,
    ) -> Result<Outcome, SheetError> {
        let partial = beside(&self.output, PARTIAL);
        // What another process writes is not removed below.
        let (file, claim) = self.open(&partial).map_err(SheetError::write(&partial))?;
        let is_new = self.is_new || self.output.symlink_metadata().is_err();
        let ended = self.write_partial((file, &partial), cells, progress);
        if !matches!(ended, Ok((_, Written::Picture(_)))) && !self.can_go_on() {
            // It may not be there, and what matters is the error that is reported.
            let _ = fs::remove_file(&partial);
        }
        let (outcome, written) = ended?;
        if let Written::Picture(end) = written {
            self.give_name(&partial, end, is_new)?;
        }
        drop(claim);
        Ok(outcome)
    }

    /// Puts the picture where it belongs. Whether that was free decides if something may be replaced.
    fn give_name(&self, partial: &Path, end: End, is_new: bool) -> Result<(), SheetError> {
        let record = self.record.as_ref();
        if let (Some(record), End::Stopped) = (record, end)
            && let Some(Known { point, .. }) = record.read()
        {
            // Before it gets its name: afterwards a kill would leave a picture that nobody knows.
            let sealed = Seal::of(partial).and_then(|seal| {
                let stopped = Some(seal);
                record.write(Known { point, stopped })
            });
            sealed.map_err(SheetError::write(partial))?;
        }
        own_file::keep_permissions(partial, &self.output);
        let named = if is_new {
            own_file::rename_to_new(partial, &self.output)
        } else {
            fs::rename(partial, &self.output)
        };
        named.map_err(SheetError::write(&self.output))?;
        if let (Some(record), End::Complete) = (record, end) {
            record.remove();
        }
        Ok(())
    }

    /// Whether the unfinished file is of use to a later call.
    fn can_go_on(&self) -> bool {
        let known = self.record.as_ref().and_then(Record::read);
        known.is_some_and(|known| known.point.rows > 0)
    }

    fn write_partial(
        &self,
        (file, partial): (fs::File, &Path),
        cells: &mut dyn Cells,
        progress: &mut dyn Progress,
    ) -> Result<(Outcome, Written), SheetError> {
        let max_bytes = self.options.max_bytes;
        let mut bands = Bands::new(self.layout, self.style, max_bytes, cells, progress)?;
        let mut target = BufWriter::with_capacity(BUFFER, file);
        let written = self.encode(&mut target, &mut bands);
        let written = written.map_err(|error| match error {
            EncodeError::Target(source) => SheetError::write(partial)(source),
            EncodeError::Other(error) => error,
        })?;
        Ok((self.outcome(&bands, written), written))
    }

    fn encode(
        &self,
        target: &mut BufWriter<fs::File>,
        bands: &mut Bands<'_>,
    ) -> Result<Written, EncodeError> {
        let layout = &self.layout;
        match self.options.format {
            Format::Png(effort) => {
                let threads = self.options.threads;
                let settings = Settings { effort, threads };
                let stopped = self.stopped;
                let mut keep = |point| match &self.record {
                    Some(record) => record.write(Known { point, stopped }),
                    None => Ok(()),
                };
                png::write(target, bands, layout, settings, self.from, &mut keep)
            }
            Format::Jpeg { quality } => jpeg::write(target, bands, layout, quality),
            Format::WebP { quality } => webp::write(target, bands, layout, quality),
        }
    }

    fn outcome(&self, bands: &Bands<'_>, written: Written) -> Outcome {
        Outcome {
            drawn: bands.tally.drawn,
            kept: self.order().start,
            broken: self.from.map_or(0, |point| point.broken) + bands.tally.broken,
            end: match written {
                Written::Picture(end) => end,
                Written::Nothing => End::Stopped,
            },
        }
    }

    /// The unfinished file, at the place where it goes on.
    fn open(&self, partial: &Path) -> io::Result<(fs::File, Claim)> {
        let Some(point) = self.from else {
            let created = own_file::create(partial)?;
            if let Some(record) = self.record.as_ref().filter(|_| self.stopped.is_none()) {
                record.remove();
            }
            return Ok(created);
        };
        let (mut file, claim) = if Record::fits(&point, partial) {
            own_file::open(partial)?
        } else {
            // Claimed under the old name, so that nobody takes it for left over under the new one.
            let opened = own_file::open(&self.output)?;
            // Refuses if another process has begun under this name since the look.
            let _claimed = own_file::create(partial)?;
            fs::rename(&self.output, partial)?;
            opened
        };
        file.set_len(point.offset)?;
        png::restore_height(&mut file, &self.layout)?;
        file.seek(SeekFrom::Start(point.offset))?;
        Ok((file, claim))
    }
}

impl Options {
    /// The record beside a sheet, if it can be continued.
    fn record(&self, layout: &Layout, style: Style, output: &Path) -> Option<Record> {
        let fingerprint = self.fingerprint.as_ref()?;
        let Format::Png(effort) = self.format else {
            return None;
        };
        let what = format!("{layout:?} {style:?} {effort:?} {fingerprint}");
        Some(Record::new(output, what))
    }
}
