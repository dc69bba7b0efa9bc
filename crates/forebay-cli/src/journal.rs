//! The log: to standard error or a file, each line with the seconds since the start.

use std::fs::OpenOptions;
use std::io::Write;
use std::time::Instant;

use env_logger::{Builder, Logger, Target, WriteStyle};
use log::{LevelFilter, Log, Metadata, Record};

use crate::failure::Failure;
use crate::options::Forebay;

/// A fault of `--log`.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a level; levels are off, error, warn, info, debug and trace, or by module as in warn,forebay_live=debug"
)]
pub(crate) struct LevelError(String);

/// The log, without a line for each killed reader: the kernel no longer knows the request that is
/// answered then (ENOENT), and the `fuser` crate reports that as an error.
struct Journal(Logger);

impl Journal {
    fn is_of_a_killed_reader(record: &Record<'_>) -> bool {
        record.target() == "fuser::reply" && record.args().to_string().contains("(os error 2)")
    }
}

impl Log for Journal {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        self.0.enabled(metadata)
    }

    fn log(&self, record: &Record<'_>) {
        if self.0.matches(record) && !Journal::is_of_a_killed_reader(record) {
            self.0.log(record);
        }
    }

    fn flush(&self) {
        self.0.flush();
    }
}

/// Checks levels. The logger takes an unknown word for a module, and logs everything of it.
pub(crate) fn levels(text: &str) -> Result<String, LevelError> {
    for part in text.split(',') {
        let level = part.rsplit_once('=').map_or(part, |(_module, level)| level);
        level.trim().parse::<LevelFilter>().map_err(|_| LevelError(part.to_owned()))?;
    }
    Ok(text.to_owned())
}

/// Starts the log with these options.
pub(crate) fn start(options: &Forebay) -> Result<(), Failure> {
    let begin = Instant::now();
    let mut builder = Builder::new();
    builder.parse_filters(&options.log).write_style(WriteStyle::Never).format(move |out, record| {
        let seconds = begin.elapsed().as_secs_f64();
        writeln!(out, "{seconds:10.3} {:<5} {}: {}", record.level(), record.target(), record.args())
    });
    if let Some(file) = &options.log_file {
        let log = OpenOptions::new().create(true).append(true).open(file);
        let log = log.map_err(|error| Failure::input(format!("cannot log to {}: {error}", file.display())))?;
        builder.target(Target::Pipe(Box::new(log)));
    }
    let logger = builder.build();
    let most = logger.filter();
    log::set_boxed_logger(Box::new(Journal(logger)))
        .map_err(|error| Failure::run(format!("cannot start the log: {error}")))?;
    log::set_max_level(most);
    log::debug!("options: {options:?}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn killed_readers_are_no_errors() {
        let is = |target: &str, args: std::fmt::Arguments<'_>| {
            Journal::is_of_a_killed_reader(&Record::builder().target(target).args(args).build())
        };
        let gone = std::io::Error::from_raw_os_error(2);
        let other = std::io::Error::from_raw_os_error(22);
        assert!(is("fuser::reply", format_args!("Failed to send FUSE reply: {gone}")));
        assert!(!is("fuser::reply", format_args!("Failed to send FUSE reply: {other}")));
        assert!(!is("forebay_live", format_args!("{gone}")));
    }

    #[test]
    fn levels_alone_or_by_module() {
        for text in ["off", "INFO", "warn,forebay_live=debug", "a::b=trace, error"] {
            assert_eq!(levels(text), Ok(text.to_owned()));
        }
        for (text, wrong) in [("loud", "loud"), ("warn,forebay_live", "forebay_live"), ("a=b", "a=b"), ("", "")] {
            assert_eq!(levels(text), Err(LevelError(wrong.to_owned())));
        }
    }
}
