//! `outlive lsp`: the language server.

use anyhow::Result;

use crate::exit::Ending;
use crate::lsp;

/// Serves the editor that started this process.
pub fn run() -> Result<Ending> {
    lsp::serve().map(Ending::Code)
}
