//! The trace that is replayed: a file, or a synthetic one that is made anew each time it is read.

use std::path::Path;

use forebay_trace::generate::{kinds, named};
use forebay_trace::{Error, Source};

use crate::options::Sim;

/// Opens the trace from its beginning.
pub(super) fn open(sim: &Sim) -> Result<Box<dyn Source>, Error> {
    match synthetic(&sim.trace) {
        Some((name, parameters)) => {
            let wrong = |reason: String| Error::Format { path: sim.trace.clone(), reason };
            let split = |parameter| str::split_once(parameter, '=').ok_or_else(|| wrong(said(parameter)));
            let parameters = parameters.split(',').filter(|text| !text.is_empty()).map(split);
            let parameters: Vec<(&str, &str)> = parameters.collect::<Result<_, _>>()?;
            let generated = named(name, &parameters, sim.seed).map_err(|error| wrong(error.to_string()))?;
            Ok(Box::new(generated))
        }
        None => forebay_trace::open(&sim.trace, &sim.reading.options()),
    }
}

fn said(parameter: &str) -> String {
    format!("`{parameter}` is no parameter; they look like objects=1000")
}

/// The name and the parameters of a synthetic trace, if that is what the text says. A file of that name comes first.
fn synthetic(trace: &Path) -> Option<(&str, &str)> {
    let text = trace.to_str()?;
    let (name, parameters) = text.split_once(':').unwrap_or((text, ""));
    let known = kinds().any(|kind| kind.name == name) && !trace.exists();
    known.then_some((name, parameters))
}

/// The trace's name without its folders.
pub(super) fn name(sim: &Sim) -> String {
    let whole = sim.trace.as_os_str();
    let name = if synthetic(&sim.trace).is_some() { whole } else { sim.trace.file_name().unwrap_or(whole) };
    name.to_string_lossy().into_owned()
}
