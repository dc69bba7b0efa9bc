//! The Python module `forebay._forebay`: the parts of the package `forebay` that are Rust.
//!
//! ```text
//!   python/forebay/…   what people call: names, defaults, documentation
//!        │
//!   forebay._forebay   this crate: between Python's values and Rust's
//!        │
//!   forebay_cli::embedded   the command's own options and words, without the command
//! ```
//!
//! No function here waits or copies much while it holds Python's lock. A forked child gets an
//! error, never a hang: the engine's threads are its parent's.

mod arrow;
mod cache;
mod ending;
mod failure;
mod file;
mod gather;
mod guest;
mod journal;
mod own;
mod simulate;
mod target;
mod traces;
mod view;
mod wait;

use pyo3::prelude::*;

/// The module.
#[pymodule(gil_used = false)]
fn _forebay(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(options, module)?)?;
    module.add_function(wrap_pyfunction!(ending::end, module)?)?;
    module.add_function(wrap_pyfunction!(simulate::simulate, module)?)?;
    module.add_function(wrap_pyfunction!(simulate::simulate_own, module)?)?;
    module.add_function(wrap_pyfunction!(arrow::stream_of_rows, module)?)?;
    module.add_class::<traces::Trace>()?;
    module.add_class::<cache::Cache>()?;
    module.add_class::<file::File>()?;
    Ok(())
}

/// The options of a command, without their dashes.
#[pyfunction]
fn options(command: &str) -> Vec<String> {
    forebay_cli::embedded::options_of(command)
}
