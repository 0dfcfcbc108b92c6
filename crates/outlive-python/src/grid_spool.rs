//! `GridSpool`: the cells of an `outlive.Grid`, kept on disk, and the files that are made of them.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use outlive_data::budget::Budget;
use outlive_data::fit::Fit;
use outlive_data::grid::cells::{Drawn, Entry};
use outlive_data::grid::keep::Keep;
use outlive_data::grid::layout::Layout;
use outlive_data::grid::painter::{CellStyle, Painter};
use outlive_data::grid::progress::Silent;
use outlive_data::grid::pyramid::{self, Pyramid, TileFormat};
use outlive_data::grid::sheet::{self, Format};
use outlive_data::grid::spool::{Spool, Spooled};
use outlive_data::grid::style::Style;
use outlive_data::grid::text::Ink;
use outlive_data::picture::{Colour, Picture, bytes_of};
use outlive_data::source::Opened;
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;

use crate::error;
use crate::picture::DECODING;

/// Bytes that a save may have in memory at once.
const SAVING: u64 = 1 << 30;

/// Cells of one size.
#[pyclass(module = "outlive._native")]
pub(crate) struct GridSpool {
    spool: Spool,
    /// Only ever used by whoever has the spool to itself; libjpeg-turbo's state may not be shared.
    painter: Mutex<Painter>,
    background: Colour,
}

#[pymethods]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 hands paths over")]
impl GridSpool {
    #[new]
    fn new(cell: (u32, u32), background: [u8; 3], folder: PathBuf) -> PyResult<Self> {
        let (cell_height, cell_width) = cell;
        let background = Colour(background);
        let style = CellStyle {
            cell_width,
            cell_height,
            caption_height: 0,
            background,
            fit: Fit::Contain,
        };
        let spool = Spool::new(cell_width, cell_height, &folder)
            .map_err(|error| error::of_file(&folder, &error))?;
        Ok(Self {
            spool,
            painter: Mutex::new(Painter::new(style, Budget::new(DECODING))),
            background,
        })
    }

    fn __len__(&self) -> usize {
        usize::try_from(self.spool.len()).unwrap_or(usize::MAX)
    }

    /// Appends a picture of RGB pixels, shrunk if it is larger than a cell.
    fn push(
        &mut self,
        pixels: &[u8],
        size: (u32, u32),
        name: &str,
        caption: Option<&str>,
    ) -> PyResult<()> {
        let (height, width) = size;
        let mut cell = self.room()?;
        let mut copy = memory(Some(pixels.len()))?;
        copy.extend_from_slice(pixels);
        let picture = Picture::new(width, height, copy).ok_or_else(|| {
            PyValueError::new_err(format!("These are not {height} x {width} pixels"))
        })?;
        let drawn = self.painter().paint_picture(picture, &mut cell);
        self.append(&cell, drawn, name, 0, caption)
    }

    /// Appends a cell of a picture file, or one that says why it could not be read.
    fn push_file(&mut self, path: PathBuf, caption: Option<&str>) -> PyResult<()> {
        let opened = Opened::whole(&path);
        let bytes = opened.as_ref().map_or(0, |opened| opened.bytes);
        let mut pixels = self.room()?;
        let opened = opened.map_err(|error| error.to_string());
        let drawn = self.painter().paint(opened, None, &mut pixels);
        self.append(&pixels, drawn, &path.to_string_lossy(), bytes, caption)
    }

    /// Writes all cells that are there as a sheet, as a page in a folder, or as one in an archive. A
    /// page has a title, and an identity that no other grid has.
    fn save(
        &self,
        python: Python<'_>,
        path: PathBuf,
        columns: Option<u64>,
        padding: u32,
        caption_height: u32,
        page: (String, String),
    ) -> PyResult<()> {
        let (title, identity) = page;
        let path = behind_links(path);
        let layout = self.layout(columns, padding, caption_height);
        let page = pyramid::Options {
            format: TileFormat::Jpeg { quality: 90 },
            title,
            max_bytes: SAVING,
            // Cells are only ever appended: with their number it says which cells they are.
            fingerprint: format!("{identity} {}", self.spool.len()),
            keep: Keep::Finished,
        };
        let ending = path.extension().filter(|_| !is_folder(&path));
        python.detach(|| match ending {
            Some(ending) if ending.eq_ignore_ascii_case("zip") => {
                self.save_page(&path, layout, page, Pyramid::in_zip)
            }
            None => self.save_page(&path, layout, page, Pyramid::in_folder),
            Some(_) => self.save_sheet(&path, layout, columns.is_none()),
        })
    }
}

/// Empty memory for so many bytes, or Python's error: an allocation that fails elsewhere would end
/// the process.
fn memory(bytes: Option<usize>) -> PyResult<Vec<u8>> {
    let mut found = Vec::new();
    let reserved = bytes.is_some_and(|bytes| found.try_reserve_exact(bytes).is_ok());
    if reserved {
        Ok(found)
    } else {
        Err(PyMemoryError::new_err("There is no memory for a cell"))
    }
}

/// Whether it is one, or is called one.
fn is_folder(path: &Path) -> bool {
    path.as_os_str().as_bytes().ends_with(b"/") || path.is_dir()
}

/// What a link stands for, so that the link stays when its file is replaced.
fn behind_links(path: PathBuf) -> PathBuf {
    if path.is_symlink() {
        path.canonicalize().unwrap_or(path)
    } else {
        path
    }
}

/// A folder or an archive.
type Place = fn(&Layout, Style, &Path, pyramid::Options) -> Result<Pyramid, pyramid::PyramidError>;

impl GridSpool {
    fn painter(&mut self) -> &mut Painter {
        self.painter
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Memory for the pixels of a cell: what draws it later takes no more.
    fn room(&self) -> PyResult<Vec<u8>> {
        let (across, down) = (self.spool.cell_width(), self.spool.cell_height());
        memory(bytes_of(across, down).and_then(|bytes| usize::try_from(bytes).ok()))
    }

    fn append(
        &mut self,
        pixels: &[u8],
        drawn: Drawn,
        name: &str,
        bytes: u64,
        caption: Option<&str>,
    ) -> PyResult<()> {
        let entry = Entry {
            name: name.into(),
            link: "".into(),
            bytes,
            caption: caption.map(Into::into),
        };
        let spooled = Spooled { entry, drawn };
        self.spool
            .push(pixels, &spooled)
            .map_err(|error| error::of_spool(&error))?;
        Ok(())
    }

    fn layout(&self, columns: Option<u64>, padding: u32, caption_height: u32) -> Layout {
        let layout = Layout {
            cells: self.spool.len(),
            columns: 1,
            cell_width: self.spool.cell_width(),
            cell_height: self.spool.cell_height(),
            caption_height,
            padding,
        };
        let square = || Layout::square_columns(layout.cells, layout.pitch_x(), layout.pitch_y());
        let columns = columns.map_or_else(square, |columns| columns.min(layout.cells.max(1)));
        Layout { columns, ..layout }
    }

    fn style(&self) -> Style {
        Style {
            background: self.background,
        }
    }

    fn ink(&self) -> Ink {
        Ink {
            letters: self.background.contrast(),
            ground: None,
        }
    }

    fn save_sheet(&self, path: &Path, mut layout: Layout, is_free: bool) -> PyResult<()> {
        let format = Format::of_name(&path.to_string_lossy(), 90).ok_or_else(|| {
            PyValueError::new_err(format!(
                "No grid can be written as `{}`\n\
                 hint: end it with .png, .jpg, .webp or .zip, or with / if it is a folder",
                path.display()
            ))
        })?;
        if is_free {
            layout.columns = format.columns(&layout, SAVING);
        }
        let options = sheet::Options {
            format,
            threads: 1,
            max_bytes: SAVING,
            fingerprint: None,
            keep: Keep::Finished,
        };
        let mut cells = self.spool.reader(layout.caption_height, self.ink());
        sheet::write(layout, self.style(), &mut cells, path, options, &mut Silent)
            .map_err(|error| error::of_sheet(&error))?;
        Ok(())
    }

    fn save_page(
        &self,
        path: &Path,
        layout: Layout,
        options: pyramid::Options,
        place: Place,
    ) -> PyResult<()> {
        let mut cells = self.spool.reader(layout.caption_height, self.ink());
        place(&layout, self.style(), path, options)
            .and_then(|page| page.write(&mut cells, &self.spool, &mut Silent))
            .map_err(|error| error::of_page(&error))?;
        Ok(())
    }
}
