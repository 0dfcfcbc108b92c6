//! `outlive grid`: any number of images on one sheet, or on a page to zoom into.

mod serve;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use outlive_data::budget::Budget;
use outlive_data::fit::Fit;
use outlive_data::grid::decoded::DecodedCells;
use outlive_data::grid::keep::Keep;
use outlive_data::grid::layout::Layout;
use outlive_data::grid::painter;
use outlive_data::grid::progress::{End, Outcome};
use outlive_data::grid::pyramid::{self, Pyramid, PyramidError, TileFormat};
use outlive_data::grid::sheet::{self, Sheet, SheetError};
use outlive_data::grid::style::Style;
use outlive_data::listing::{Exclusion, Labels, ListedEntries};
use outlive_data::picture::Colour;

use crate::cli::{ColumnCount, FitOption, GridArguments, TileKind};
use crate::exit::{Ending, FAILED};
use crate::grid::{
    Bar, BrokenList, Destination, INTERRUPTED, ListedSource, Stop, Summary, Watcher, entries,
    give_large_blocks_back, listing, tell_problems, told, told_with_budget,
};
use crate::printer::finish_output;
use crate::say;

/// Makes the grid that is asked for, and says what came of it.
pub fn run(arguments: &GridArguments) -> Result<Ending> {
    give_large_blocks_back();
    if arguments.serving.serve {
        return serve::run(arguments);
    }
    let Some(output) = arguments.output.as_deref() else {
        bail!(
            "No output\n\
             hint: `-o sheet.png` makes one picture, `-o page/` a page to zoom into, `--serve` shows \
             one at once"
        );
    };
    let destination = Destination::of(output, arguments.storage)?;
    destination.check_folder()?;
    destination.refuse_inputs(&arguments.paths)?;
    let stop = Stop::on_signals().context("Cannot listen for Ctrl-C")?;
    let mut bar = Bar::new(arguments.quiet);
    let listed = listing(
        arguments,
        Exclusion::of(destination.path()),
        &stop,
        &mut bar,
    );
    bar.clear();
    let Some(listed) = listed? else {
        say("Stopped before anything was drawn");
        return Ok(Ending::Code(INTERRUPTED));
    };
    if arguments.overwrite {
        destination.refuse_found(&listed)?;
    }
    if !arguments.quiet {
        tell_problems(&listed);
    }
    let entries = Arc::new(entries(arguments, destination.folder_of_page()?, listed)?);
    let grid = Grid {
        arguments,
        layout: layout(arguments, Some(&destination), &entries),
        destination,
        entries,
        stop,
    };
    let drawn = grid.draw(&mut bar);
    bar.clear();
    let summary = drawn?;
    if !arguments.quiet {
        finish_output(summary.print(arguments.format))?;
    }
    Ok(ending(&summary))
}

fn ending(summary: &Summary) -> Ending {
    Ending::Code(match summary.outcome.end {
        End::Stopped => INTERRUPTED,
        End::Complete if summary.outcome.broken >= summary.images => FAILED,
        End::Complete => 0,
    })
}

/// Everything that is known before the first cell is drawn.
struct Grid<'a> {
    arguments: &'a GridArguments,
    destination: Destination,
    layout: Layout,
    entries: Arc<ListedEntries>,
    stop: Stop,
}

/// What a renderer leaves.
struct Rendered {
    outcome: Outcome,
    size: (u64, u64),
    broken: Vec<(String, String)>,
    broken_list: Option<PathBuf>,
    way_on: &'static str,
}

impl Grid<'_> {
    fn draw(&self, bar: &mut Bar) -> Result<Summary> {
        let rendered = match &self.destination {
            Destination::Sheet(path, format) => self.draw_sheet(path, *format, bar)?,
            Destination::Folder(_) | Destination::Zip(_) => self.draw_page(bar)?,
        };
        let (width, height) = rendered.size;
        Ok(Summary {
            outcome: rendered.outcome,
            images: self.layout.cells,
            elapsed: bar.elapsed(),
            output: self.destination.to_open(),
            width,
            height,
            broken: rendered.broken,
            broken_list: rendered.broken_list,
            way_on: rendered.way_on,
            unlisted: self.entries.listing.problems().count(),
        })
    }

    fn draw_sheet(&self, path: &Path, format: sheet::Format, bar: &mut Bar) -> Result<Rendered> {
        let options = sheet::Options {
            format,
            threads: threads(self.arguments),
            max_bytes: self.arguments.budget,
            fingerprint: Some(self.fingerprint()),
            keep: keep(self.arguments),
        };
        let sheet =
            Sheet::prepare(self.layout, self.style(), path, options).map_err(
                |error| match error {
                    SheetError::TooMuchMemory { needed, .. } => told_with_budget(&error, needed),
                    other => told(other),
                },
            )?;
        let order = sheet.order();
        if sheet.replaces_another() && !self.arguments.overwrite {
            self.destination.refuse_existing()?;
        }
        let list = BrokenList::new(path, order.start);
        let broken_list = list.path().to_owned();
        let mut watcher = Watcher::new(bar, Arc::clone(&self.entries), Some(list), order.start);
        let mut cells = self.cells(order)?;
        let outcome = sheet.write(&mut cells, &mut watcher).map_err(told)?;
        if let Some(list) = &mut watcher.list {
            let finished = list.finish();
            finished.with_context(|| format!("Cannot write `{}`", broken_list.display()))?;
        }
        Ok(Rendered {
            outcome,
            size: (self.layout.sheet_width(), self.layout.sheet_height()),
            broken: watcher.first,
            broken_list: Some(broken_list),
            way_on: match format {
                sheet::Format::Png(_) => way_on(self.arguments),
                _ => {
                    "The same command with `--overwrite` begins again; only a PNG or a page goes on"
                }
            },
        })
    }

    fn draw_page(&self, bar: &mut Bar) -> Result<Rendered> {
        let path = self.destination.path();
        let options = pyramid::Options {
            format: tile_format(self.arguments),
            title: title(self.arguments),
            max_bytes: self.arguments.budget,
            fingerprint: self.fingerprint(),
            keep: keep(self.arguments),
        };
        let is_zip = matches!(self.destination, Destination::Zip(_));
        let pyramid = if is_zip {
            if !self.arguments.overwrite {
                self.destination.refuse_existing()?;
            }
            Pyramid::in_zip(&self.layout, self.style(), path, options)
        } else {
            Pyramid::in_folder(&self.layout, self.style(), path, options)
        };
        let pyramid = pyramid.map_err(|error| match error {
            PyramidError::TooMuchMemory { needed, .. } => told_with_budget(&error, needed),
            other => told(other),
        })?;
        if pyramid.replaces_another() && !self.arguments.overwrite {
            bail!(
                "`{}` holds another grid\nhint: `--overwrite` replaces it",
                path.display()
            );
        }
        let geometry = *pyramid.geometry();
        let kept = pyramid.cells_kept();
        let mut watcher = Watcher::new(bar, Arc::clone(&self.entries), None, kept);
        let mut cells = self.cells(pyramid.order())?;
        let outcome = pyramid
            .write(&mut cells, &*self.entries, &mut watcher)
            .map_err(told)?;
        Ok(Rendered {
            outcome,
            size: (geometry.width, geometry.height),
            broken: watcher.first,
            broken_list: (!is_zip).then(|| path.join("broken.tsv")),
            way_on: if is_zip {
                "The same command with `--overwrite` begins again; only a PNG or a page in a folder \
                 goes on"
            } else {
                way_on(self.arguments)
            },
        })
    }

    fn cells(&self, order: impl Iterator<Item = u64> + Send + 'static) -> Result<DecodedCells> {
        let style = cell_style(self.arguments, &self.layout);
        let source = Arc::new(ListedSource(Arc::clone(&self.entries)));
        let budget = Budget::new(self.arguments.budget);
        let stop = self.stop.flag();
        DecodedCells::start(order, source, style, threads(self.arguments), budget, stop)
            .context("Cannot start threads")
    }

    fn style(&self) -> Style {
        Style {
            background: Colour(self.arguments.look.background),
        }
    }

    /// Says which grid it is, beside what the renderers know themselves.
    fn fingerprint(&self) -> String {
        let labels = match &self.entries.labels {
            Labels::Nothing => "none".to_owned(),
            Labels::Name => "name".to_owned(),
            Labels::Path => "path".to_owned(),
            Labels::Captions(captions) => format!("{:032x}", captions.fingerprint().value()),
        };
        let images = self.entries.listing.fingerprint().value();
        format!("1 {images:032x} {labels} {:?}", self.arguments.look.fit)
    }
}

/// Where cells lie. Without a destination a server shows them.
fn layout(
    arguments: &GridArguments,
    destination: Option<&Destination>,
    entries: &ListedEntries,
) -> Layout {
    let look = &arguments.look;
    let (cell_width, cell_height) = look.cell;
    let mut layout = Layout {
        cells: entries.listing.len(),
        columns: 1,
        cell_width,
        cell_height,
        caption_height: match entries.labels {
            Labels::Nothing => 0,
            _ => (cell_height / 8).clamp(12, 24),
        },
        padding: look.padding,
    };
    layout.columns = match look.columns {
        ColumnCount::Fixed(columns) => columns.min(layout.cells),
        ColumnCount::Auto => match destination {
            Some(Destination::Sheet(_, format)) => format.columns(&layout, arguments.budget),
            // The cells of a page lie in squares.
            Some(Destination::Folder(_) | Destination::Zip(_)) | None => {
                Layout::square_columns(layout.cells, 1, 1)
            }
        },
    };
    layout
}

fn cell_style(arguments: &GridArguments, layout: &Layout) -> painter::CellStyle {
    painter::CellStyle {
        cell_width: layout.cell_width,
        cell_height: layout.cell_height,
        caption_height: layout.caption_height,
        background: Colour(arguments.look.background),
        fit: match arguments.look.fit {
            FitOption::Contain => Fit::Contain,
            FitOption::Cover => Fit::Cover,
        },
    }
}

fn tile_format(arguments: &GridArguments) -> TileFormat {
    match arguments.storage.tiles {
        TileKind::Jpg => TileFormat::Jpeg {
            quality: arguments.storage.quality,
        },
        TileKind::Png => TileFormat::Png,
    }
}

/// Who asks for everything anew gets it: an image that was broken may be whole now.
fn keep(arguments: &GridArguments) -> Keep {
    if arguments.overwrite {
        Keep::Nothing
    } else {
        Keep::Finished
    }
}

fn way_on(arguments: &GridArguments) -> &'static str {
    match keep(arguments) {
        Keep::Finished => "The same command goes on from here",
        Keep::Nothing => "The same command without `--overwrite` goes on from here",
    }
}

fn threads(arguments: &GridArguments) -> usize {
    let given = arguments.threads.map(usize::from);
    given.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}

fn title(arguments: &GridArguments) -> String {
    let title = arguments.look.title.clone();
    title.unwrap_or_else(|| match arguments.paths.as_slice() {
        [path] if path != "-" => {
            let path = Path::new(path);
            let absolute = path.canonicalize().unwrap_or_else(|_| path.to_owned());
            let name = absolute.file_name().unwrap_or(absolute.as_os_str());
            name.to_string_lossy().into_owned()
        }
        _ => "Images".to_owned(),
    })
}
