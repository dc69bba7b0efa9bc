//! Forebay's log as Python's: logger `forebay`, to which programs add handlers.
//!
//! A thread of its own passes lines on. Threads of the engine never wait for Python's lock, which a
//! caller may hold while it waits for them.

use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};

use log::{Level, LevelFilter, Log, Metadata, Record};
use parking_lot::Mutex;
use pyo3::prelude::*;

use crate::ending;

/// The logger's name.
const NAME: &str = "forebay";

/// A line and its level, as Python counts levels.
struct Line {
    level: u8,
    words: String,
}

struct Journal {
    lines: Mutex<Sender<Line>>,
    /// A forked child has no thread that takes lines.
    process: u32,
}

/// Starts it, once in a process.
pub(crate) fn start() {
    static STARTED: OnceLock<()> = OnceLock::new();
    STARTED.get_or_init(|| {
        let (lines, taken) = channel::<Line>();
        let thread = std::thread::Builder::new().name("forebay-log".into());
        let started = thread.spawn(move || {
            for line in taken {
                if ending::call(|py| tell(py, &line)).is_none() {
                    return;
                }
            }
        });
        let journal = Journal { lines: Mutex::new(lines), process: std::process::id() };
        // Another logger may be there, or no thread; reads go on without a log.
        if started.is_ok() && log::set_boxed_logger(Box::new(journal)).is_ok() {
            log::set_max_level(LevelFilter::Warn);
        }
    });
}

fn tell(py: Python<'_>, line: &Line) {
    let told = py.import("logging").and_then(|logging| {
        let logger = logging.call_method1("getLogger", (NAME,))?;
        logger.call_method1("log", (line.level, "%s", &line.words))
    });
    if let Err(error) = told {
        error.write_unraisable(py, None);
    }
}

impl Log for Journal {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with(NAME) && self.process == std::process::id()
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            let level = if record.level() == Level::Error { 40 } else { 30 };
            let _ = self.lines.lock().send(Line { level, words: record.args().to_string() });
        }
    }

    fn flush(&self) {}
}
