//! Writes what a page needs besides tiles, after the last of them: the files of cells, the lists
//! of broken ones, and the page itself. Entries are asked for in order, a thousand at a time.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::facts::Facts;
use super::geometry::Geometry;
use super::page;
use super::script::{BrokenScript, CHUNK, CellsScript, Summary, broken_row};
use super::store::Store;
use crate::grid::cells::Entries;

/// Publishes all of it and gives the number of broken cells. `scratch` is a folder for a file
/// without a name.
pub(super) fn publish(
    store: &mut dyn Store,
    mut summary: Summary<'_>,
    facts: &Facts,
    entries: &dyn Entries,
    scratch: &Path,
) -> io::Result<u64> {
    let mut broken = Broken {
        script: BrokenScript::default(),
        table: BufWriter::new(tempfile::tempfile_in(scratch)?),
    };
    let Geometry { cells, .. } = summary.geometry;
    for chunk in 0..cells.div_ceil(CHUNK) {
        let script = cells_script(chunk, cells, facts, entries, &mut broken)?;
        store.put(&format!("cells/{chunk}.js"), script.as_bytes())?;
    }
    let Broken { script, table } = broken;
    summary.broken = script.total();
    store.put("broken.js", script.finish().as_bytes())?;
    let mut table = table.into_inner().map_err(io::IntoInnerError::into_error)?;
    store.put_file("broken.tsv", &mut table)?;
    for (name, content) in page::FILES {
        store.put(name, content)?;
    }
    store.put("grid.dzi", summary.descriptor().as_bytes())?;
    store.put("grid.js", summary.script().as_bytes())?;
    Ok(script.total())
}

struct Broken {
    script: BrokenScript,
    table: BufWriter<File>,
}

fn cells_script(
    chunk: u64,
    cells: u64,
    facts: &Facts,
    entries: &dyn Entries,
    broken: &mut Broken,
) -> io::Result<String> {
    let first = chunk * CHUNK;
    let count = (cells - first).min(CHUNK) as usize;
    let mut script = CellsScript::new(chunk);
    for (index, fact) in (first..).zip(facts.read(first, count)?) {
        let entry = entries.entry(index);
        script.push_fact(&entry, &fact);
        if let Some(problem) = &fact.problem {
            broken.script.push(index, &entry.name, problem);
            let row = broken_row(index, &entry.name, problem);
            broken.table.write_all(row.as_bytes())?;
        }
    }
    Ok(script.finish())
}
