//! `outlive._native`: what Python code can ask of a black box, and of the hook in its process.
//! Wrappers only: one file a wrapped type, no decision about memory or death is taken here.

mod c_library;
mod error;
mod exception;
mod grid_spool;
mod identity;
mod ledger;
mod native_exit;
mod picture;
mod png_writer;
mod recording;
mod sample;
mod stack;
mod text;
mod totals;

use pyo3::prelude::*;

/// The extension module; `outlive` re-exports its names.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(recording::read, module)?)?;
    module.add_function(wrap_pyfunction!(ledger::ledger, module)?)?;
    module.add_function(wrap_pyfunction!(c_library::hook_namespace, module)?)?;
    module.add_function(wrap_pyfunction!(c_library::trim, module)?)?;
    module.add_function(wrap_pyfunction!(c_library::advise_huge_pages, module)?)?;
    module.add_class::<native_exit::NativeExit>()?;
    module.add_class::<png_writer::PngWriter>()?;
    module.add_class::<grid_spool::GridSpool>()?;
    module.add_function(wrap_pyfunction!(picture::decode, module)?)?;
    module.add_function(wrap_pyfunction!(text::text_coverage, module)?)?;
    module.add_class::<recording::Recording>()?;
    module.add_class::<identity::Identity>()?;
    module.add_class::<totals::Totals>()?;
    module.add_class::<stack::Stack>()?;
    module.add_class::<stack::Frame>()?;
    module.add_class::<sample::Sample>()?;
    module.add_class::<exception::UncaughtException>()?;
    error::add_to(module)
}
