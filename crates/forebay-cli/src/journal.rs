//! The log: to standard error or a file, each line with the seconds since the start.

use std::fs::OpenOptions;
use std::io::Write;
use std::time::Instant;

use env_logger::{Builder, Target, WriteStyle};
use log::LevelFilter;

use crate::failure::Failure;
use crate::options::Forebay;

/// What is wrong with `--log`.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a level; levels are off, error, warn, info, debug and trace, or by module as in warn,forebay_live=debug"
)]
pub(crate) struct LevelError(String);

/// Checks levels, since the logger takes a word that is none for a module of which everything is logged.
pub(crate) fn levels(text: &str) -> Result<String, LevelError> {
    for part in text.split(',') {
        let level = part.rsplit_once('=').map_or(part, |(_module, level)| level);
        level.trim().parse::<LevelFilter>().map_err(|_| LevelError(part.to_owned()))?;
    }
    Ok(text.to_owned())
}

/// Starts logging as the options say.
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
    builder.init();
    log::debug!("options: {options:?}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

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
