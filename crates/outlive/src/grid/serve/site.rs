//! Answers requests: from an address to what it stands for.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use outlive_data::grid::cells::{Entries, Entry};
use outlive_data::grid::decoded::Source;
use outlive_data::grid::pyramid::{
    BrokenScript, CHUNK, CellsScript, Geometry, Summary, Tile, TileFormat,
};

use super::image::image;
use super::request::{Request, Then};
use super::response::{Body, Response};
use super::route::{Route, Unknown};
use super::studio::Studio;
use super::token::Token;

/// All that is served.
pub(super) struct Site {
    pub(super) token: Token,
    pub(super) title: String,
    pub(super) geometry: Geometry,
    pub(super) format: TileFormat,
    pub(super) entries: Arc<dyn Entries + Send + Sync>,
    pub(super) source: Arc<dyn Source>,
    pub(super) studio: Arc<Studio>,
}

impl Site {
    /// The answer to a request, and what becomes of the connection: it ends for whoever does not
    /// know the token, so that answers nobody reads cannot pile up on it.
    pub(super) fn answer(&self, request: &Request) -> (Response, Then) {
        let route = Route::of(&request.path, &self.token, self.format.ending());
        let answer = match route {
            Ok(route) => self.serve(route, request),
            Err(Unknown::Forbidden) => {
                let advice = Body::Fixed(b"Use the whole address that was printed\n");
                let refused = Response::fine("text/plain", advice).with_status("403 Forbidden");
                return (refused, Then::Close);
            }
            Err(Unknown::Missing) => Ok(missing()),
        };
        let answer = answer.unwrap_or_else(|_| Response::empty("500 Internal Server Error"));
        (answer, request.then)
    }

    fn serve(&self, route: Route, request: &Request) -> io::Result<Response> {
        let text = match route {
            Route::Fixed(name, content) => {
                return Ok(Response::fine(kind(name), Body::Fixed(content)));
            }
            Route::NoSlash => {
                let moved = Response::empty("308 Permanent Redirect");
                return Ok(moved.with("Location", &format!("/{}/", self.token.text())));
            }
            Route::Tile(tile) => return Ok(self.tile(tile)),
            Route::Image(index) => return self.image(index, request.range.as_deref()),
            Route::Cells(chunk) if chunk >= self.geometry.cells.div_ceil(CHUNK) => {
                return Ok(missing());
            }
            Route::Cells(chunk) => self.cells(chunk)?,
            Route::Grid => self.grid(),
            Route::Broken => self.broken()?,
            Route::Progress => self.progress(),
        };
        Ok(Response::fine(kind("x.js"), Body::Text(text)))
    }

    fn grid(&self) -> String {
        Summary {
            geometry: self.geometry,
            format: self.format,
            title: &self.title,
            broken: self.studio.known.broken(),
            complete: self.studio.known.count() == self.geometry.cells,
            live: true,
        }
        .script()
    }

    fn cells(&self, chunk: u64) -> io::Result<String> {
        let first = chunk * CHUNK;
        let count = (self.geometry.cells - first).min(CHUNK) as usize;
        let mut script = CellsScript::new(chunk);
        for (index, fact) in (first..).zip(self.studio.known.facts(first, count)?) {
            let entry = Entry {
                link: format!("image/{index}").into(),
                ..self.entries.entry(index)
            };
            script.push(&entry, (fact.width, fact.height), fact.problem.as_deref());
        }
        Ok(script.finish())
    }

    fn broken(&self) -> io::Result<String> {
        let mut script = BrokenScript::default();
        for (index, problem) in self.studio.known.first_broken()? {
            script.push(index, &self.entries.entry(index).name, &problem);
        }
        let total = self.studio.known.broken();
        script.leave_out(total.saturating_sub(script.total()));
        Ok(script.finish())
    }

    fn progress(&self) -> String {
        let known = self.studio.known.count();
        let generation = self.studio.generation.number(Instant::now());
        format!(
            "outliveProgress({{\"known\":{known},\"cells\":{},\"generation\":{generation}}});\n",
            self.geometry.cells
        )
    }

    fn tile(&self, tile: Tile) -> Response {
        if !self.geometry.has(tile) {
            return missing();
        }
        match self.studio.tile(tile) {
            Ok(bytes) => {
                let kind = match self.format {
                    TileFormat::Jpeg { .. } => "image/jpeg",
                    TileFormat::Png => "image/png",
                };
                Response::fine(kind, Body::Tile(bytes))
            }
            Err(_) => Response::empty("500 Internal Server Error"),
        }
    }

    /// A file that is gone, or that may not be read, is missing.
    fn image(&self, index: u64, range: Option<&str>) -> io::Result<Response> {
        if index >= self.geometry.cells {
            return Ok(missing());
        }
        match self.source.open(index) {
            Ok(opened) => image(opened, &self.entries.entry(index).name, range),
            Err(_) => Ok(missing()),
        }
    }
}

fn missing() -> Response {
    Response::empty("404 Not Found")
}

fn kind(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        _ => "text/plain; charset=utf-8",
    }
}
