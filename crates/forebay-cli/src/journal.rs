//! The log: to standard error or a file, each line with the seconds since the start.

use std::fs::OpenOptions;
use std::io::Write;
use std::time::Instant;

use env_logger::{Builder, Target, WriteStyle};

use crate::failure::Failure;
use crate::options::Forebay;

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
