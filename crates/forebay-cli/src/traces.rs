//! Opens traces: a file, or a synthetic trace that is made anew each time it is read.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use forebay_trace::generate::{Given, WrongWorkload, kinds, named};
use forebay_trace::{Error, Options, Source};

/// A trace that is in memory, and no file: opened anew for each pass.
#[derive(Clone)]
pub struct MemoryTrace {
    open: Arc<dyn Fn() -> Box<dyn Source> + Send + Sync>,
}

impl MemoryTrace {
    /// A trace that `open` reads from its beginning.
    pub fn new(open: impl Fn() -> Box<dyn Source> + Send + Sync + 'static) -> MemoryTrace {
        MemoryTrace { open: Arc::new(open) }
    }

    /// Opens it from its beginning.
    pub(crate) fn open(&self) -> Box<dyn Source> {
        (self.open)()
    }
}

impl fmt::Debug for MemoryTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryTrace").finish_non_exhaustive()
    }
}

/// Opens a trace from its beginning. `seed` is for a synthetic trace, `options` are for a file.
pub(crate) fn open(trace: &Path, options: &Options, seed: u64) -> Result<Box<dyn Source>, Error> {
    match synthetic(trace) {
        Some((name, parameters)) => {
            let generated = Given::list(parameters).and_then(|given| named(name, &given, seed));
            let wrong = |error: WrongWorkload| Error::Format { path: trace.to_owned(), reason: error.to_string() };
            Ok(Box::new(generated.map_err(wrong)?))
        }
        None => forebay_trace::open(trace, options),
    }
}

/// The name and the parameters of a synthetic trace, if the text is one. A file of that name comes
/// first.
fn synthetic(trace: &Path) -> Option<(&str, &str)> {
    let text = trace.to_str()?;
    let (name, parameters) = text.split_once(':').unwrap_or((text, ""));
    let known = kinds().any(|kind| kind.name == name) && !trace.exists();
    known.then_some((name, parameters))
}

/// The trace's name without its folders.
pub(crate) fn name(trace: &Path) -> String {
    let whole = trace.as_os_str();
    let name = if synthetic(trace).is_some() { whole } else { trace.file_name().unwrap_or(whole) };
    name.to_string_lossy().into_owned()
}
