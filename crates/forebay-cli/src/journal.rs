//! The log: to standard error or a file, a line for each message.
//!
//! Standard error may lead to the journal of systemd, which has a time and a level for each message
//! already: then a line begins with its level, as sd-daemon(3) wants it.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::time::{Instant, SystemTime};

use env_logger::{Builder, Logger, Target, WriteStyle};
use forebay_source::printable;
use log::{Level, LevelFilter, Log, Metadata, Record};
use serde_json::json;

use crate::failure::Failure;
use crate::options::{Forebay, LogFormat};

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
    let to_journal = options.log_file.is_none() && receives(&io::stderr());
    let format = options.log_format;
    let mut builder = Builder::new();
    builder.parse_filters(&options.log).write_style(WriteStyle::Never).format(move |out, record| {
        let line = match format {
            LogFormat::Json => in_json(record, SystemTime::now()),
            LogFormat::Text if to_journal => for_journal(record),
            LogFormat::Text => in_text(record, begin.elapsed().as_secs_f64()),
        };
        writeln!(out, "{line}")
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
    log::debug!("options: {}", without_users(&format!("{options:?}")));
    Ok(())
}

/// The same without user and password of any address in it.
fn without_users(text: &str) -> String {
    let mut parts = text.split("://");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |said, part| {
        let end = part.find(['/', '"', ' ']).unwrap_or(part.len());
        let host = part[..end].rfind('@').map_or(0, |at| at + 1);
        said + "://" + &part[host..]
    })
}

/// Whether what is written to this stream comes into the journal of systemd (systemd.exec(5),
/// `JOURNAL_STREAM`: the stream's device and inode).
pub(crate) fn receives(stream: &impl AsFd) -> bool {
    let Ok(journal) = std::env::var("JOURNAL_STREAM") else { return false };
    rustix::fs::fstat(stream).is_ok_and(|status| journal == format!("{}:{}", status.st_dev, status.st_ino))
}

fn in_text(record: &Record<'_>, seconds: f64) -> String {
    let message = record.args().to_string();
    let lines: Vec<_> = message.lines().map(printable).collect();
    format!("{seconds:10.3} {:<5} {}: {}", record.level(), record.target(), lines.join("\n"))
}

/// Each line of the message begins with the level, since the journal takes it for a message.
fn for_journal(record: &Record<'_>) -> String {
    let level = match record.level() {
        Level::Error => 3,
        Level::Warn => 4,
        Level::Info => 6,
        Level::Debug | Level::Trace => 7,
    };
    let message = format!("{}: {}", record.target(), record.args());
    let lines: Vec<String> = message.lines().map(|line| format!("<{level}>{}", printable(line))).collect();
    lines.join("\n")
}

fn in_json(record: &Record<'_>, now: SystemTime) -> String {
    json!({
        "time": humantime::format_rfc3339_millis(now).to_string(),
        "level": record.level().as_str().to_ascii_lowercase(),
        "target": record.target(),
        "message": record.args().to_string(),
    })
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_told_without_passwords() {
        let said = r#"places: ["http://bob:secret@host:81/a@b", "s3://bucket/x", "web://u@h"], n: 1"#;
        assert_eq!(without_users(said), r#"places: ["http://host:81/a@b", "s3://bucket/x", "web://h"], n: 1"#);
    }

    #[test]
    fn each_form_has_the_message_in_a_line() {
        let record = |args: std::fmt::Arguments<'_>, form: &dyn Fn(&Record<'_>) -> String| {
            form(&Record::builder().target("forebay_live").level(Level::Warn).args(args).build())
        };
        let text = record(format_args!("lost"), &|record| in_text(record, 1.5));
        assert_eq!(text, "     1.500 WARN  forebay_live: lost");
        assert_eq!(record(format_args!("one\ntwo"), &for_journal), "<4>forebay_live: one\n<4>two");
        let json = record(format_args!("one \"two\"\n"), &|record| in_json(record, SystemTime::UNIX_EPOCH));
        assert_eq!(
            json,
            r#"{"time":"1970-01-01T00:00:00.000Z","level":"warn","target":"forebay_live","message":"one \"two\"\n"}"#
        );
    }

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
