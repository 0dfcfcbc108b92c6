//! `outlive grid --serve`: the page from a server on this machine.

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;

use anyhow::{Context, Result};
use outlive_data::budget::Budget;
use outlive_data::grid::pyramid::PyramidError;
use outlive_data::listing::Exclusion;

use super::{cell_style, layout, threads, tile_format, title};
use crate::cli::GridArguments;
use crate::env;
use crate::exit::Ending;
use crate::grid::serve::{ServeError, Server, Serving};
use crate::grid::{
    Bar, INTERRUPTED, ListedSource, Stop, entries, listing, tell_problems, told_with_budget,
};
use crate::printer::finish_output;
use crate::say;

/// Serves until Ctrl-C.
pub(super) fn run(arguments: &GridArguments) -> Result<Ending> {
    let stop = Stop::on_signals().context("Cannot listen for Ctrl-C")?;
    let mut bar = Bar::new(arguments.quiet);
    let listed = listing(arguments, Exclusion::default(), &stop, &mut bar);
    bar.clear();
    let Some(listed) = listed? else {
        return Ok(Ending::Code(INTERRUPTED));
    };
    if !arguments.quiet {
        tell_problems(&listed);
    }
    let entries = Arc::new(entries(arguments, None, listed)?);
    let layout = layout(arguments, None, &entries);
    let server = Server::start(Serving {
        title: title(arguments),
        layout,
        style: cell_style(arguments, &layout),
        format: tile_format(arguments),
        source: Arc::new(ListedSource(Arc::clone(&entries))),
        entries,
        budget: Budget::new(arguments.budget),
        threads: threads(arguments),
        cache: arguments.serving.cache,
        folder: std::env::temp_dir(),
        port: arguments.serving.port.unwrap_or(0),
    })
    .map_err(|error| match error {
        ServeError::Sizes(PyramidError::TooMuchMemory { needed, .. }) => {
            told_with_budget(&error, needed)
        }
        other => other.into(),
    })?;
    finish_output(announce(&server))?;
    server.run()?;
    Ok(Ending::Code(0))
}

/// A program that starts this one reads the address and nothing else.
fn announce(server: &Server) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if !out.is_terminal() {
        return writeln!(out, "{}", server.address());
    }
    writeln!(out, "{}  (Ctrl-C ends it)", server.address())?;
    if env::text(env::SSH_CONNECTION).is_some() {
        let port = server.port();
        say(&format!(
            "This is a remote machine\nhint: where your browser is, run \
             `ssh -N -L {port}:127.0.0.1:{port} HOST`"
        ));
    }
    Ok(())
}
