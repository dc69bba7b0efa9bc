//! Failures, as one line on standard error and an exit code.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use forebay_source::printable;
use forebay_source::uri::OpenError;

use crate::config;
use crate::journal;

/// The reason why the command did not do what it was asked to.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The command line makes no sense. Also how clap hands over `--help`, which is no failure.
    #[error("{}", in_one_line(.0))]
    Usage(#[from] clap::Error),
    /// The configuration file makes no sense.
    #[error(transparent)]
    Config(#[from] config::Error),
    /// A source cannot be reached; nothing was done.
    #[error(transparent)]
    Source(forebay_source::Error),
    /// An input is not as it must be; nothing was done.
    #[error("{0}")]
    Input(String),
    /// Nothing can be mounted there.
    #[error(transparent)]
    Mount(#[from] forebay_fuse::MountError),
    /// The command ran and failed.
    #[error("{0}")]
    Run(String),
    /// A program that the command started failed with this exit code, and has printed the reason.
    #[error("a program that it started failed")]
    Said(u8),
    /// A program could not be started: the exit code, and the reason.
    #[error("{1}")]
    Start(u8, String),
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Failure {
        match error {
            OpenError::Source(error) => Failure::Source(error),
            error => Failure::input(error),
        }
    }
}

impl Failure {
    /// A given value is wrong. The line says what failed, on what, and what to do.
    pub(crate) fn input(line: impl ToString) -> Failure {
        Failure::Input(line.to_string())
    }

    /// The command failed while it ran.
    pub(crate) fn run(line: impl ToString) -> Failure {
        Failure::Run(line.to_string())
    }

    /// 1: it ran and failed. 2: bad input.
    fn code(&self) -> u8 {
        match self {
            Failure::Usage(_) | Failure::Config(_) | Failure::Source(_) | Failure::Input(_) | Failure::Mount(_) => 2,
            Failure::Run(_) => 1,
            &Failure::Said(code) | &Failure::Start(code, _) => code,
        }
    }

    /// The system's number for it, if it is about a source or the mount point.
    pub(crate) fn errno(&self) -> Option<i32> {
        match self {
            Failure::Source(error) => Some(error.errno()),
            Failure::Mount(error) => Some(error.errno()),
            _ => None,
        }
    }

    /// Prints the failure and returns the exit code. Help and version go to standard output and are
    /// a success.
    pub(crate) fn report(&self) -> ExitCode {
        self.report_as(self.code())
    }

    /// The same with a code of the caller's.
    pub(crate) fn report_as(&self, code: u8) -> ExitCode {
        if let Failure::Usage(error) = self
            && is_help(error)
        {
            // If the output is closed, there is no reader left to tell.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(code));
        }
        if let Failure::Said(code) = *self {
            return ExitCode::from(code);
        }
        if journal::receives(&std::io::stderr()) {
            let _ = write!(std::io::stderr(), "<3>");
        }
        let (bold, plain) = if coloured(&std::io::stderr()) { ("\x1b[1;31m", "\x1b[0m") } else { ("", "") };
        let _ = writeln!(std::io::stderr(), "{bold}error:{plain} {}", printable(&self.to_string().replace('\n', "; ")));
        ExitCode::from(code)
    }
}

/// Whether this is the text of `--help` or `--version`, or the help for a command line without
/// arguments.
fn is_help(error: &clap::Error) -> bool {
    use clap::error::ErrorKind::*;
    matches!(error.kind(), DisplayHelp | DisplayVersion | DisplayHelpOnMissingArgumentOrSubcommand)
}

/// Whether the stream gets colours: only a terminal does, and not if `NO_COLOR` is set.
pub(crate) fn coloured(stream: &impl IsTerminal) -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    stream.is_terminal() && !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Advice for an unknown command whose likely meaning has another name.
fn instead(error: &clap::Error) -> Option<&'static str> {
    use clap::error::{ContextKind, ContextValue, ErrorKind};
    let given = error.get(ContextKind::InvalidSubcommand).filter(|_| error.kind() == ErrorKind::InvalidSubcommand);
    match given {
        Some(ContextValue::String(name)) if matches!(name.as_str(), "umount" | "unmount") => {
            Some("there is no such command: `umount /mnt/data` ends a mount, for its user `fusermount3 -u /mnt/data`")
        }
        _ => of_mount(error),
    }
}

/// `-o` is mount(8)'s.
fn of_mount(error: &clap::Error) -> Option<&'static str> {
    use clap::error::{ContextKind, ContextValue, ErrorKind};
    let given = error.get(ContextKind::InvalidArg).filter(|_| error.kind() == ErrorKind::UnknownArgument);
    match given {
        Some(ContextValue::String(name)) if name == "-o" => Some(
            "unexpected argument '-o'; give options by name, as in --allow-other, or use `mount -t forebay -o allow-other`",
        ),
        _ => None,
    }
}

/// clap's message without its ornaments: the reason, the hints, and where help is.
pub(crate) fn in_one_line(error: &clap::Error) -> String {
    if let Some(hint) = instead(error) {
        return hint.to_owned();
    }
    let text = error.render().to_string();
    let mut line = String::new();
    for part in text.lines().map(str::trim).filter(|part| !part.is_empty()) {
        if part.starts_with("For more information") {
            continue;
        }
        let part = part.strip_prefix("error: ").unwrap_or(part);
        let part = part.strip_prefix("Usage: ").map_or_else(|| part.to_owned(), |usage| format!("usage: {usage}"));
        if !line.is_empty() {
            line.push_str(if line.ends_with(':') { " " } else { "; " });
        }
        line.push_str(&part);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::definitions;

    fn line(args: &[&str]) -> String {
        in_one_line(&definitions().try_get_matches_from(["forebay"].iter().chain(args)).unwrap_err())
    }

    #[test]
    fn clap_speaks_in_one_line() {
        assert_eq!(
            line(&["stats"]),
            "the following required arguments were not provided: <MOUNTPOINT>; usage: forebay stats <MOUNTPOINT>"
        );
        let policy = line(&["mount", "a", "b", "--policy", "psychic"]);
        assert!(
            policy.starts_with(
                "invalid value 'psychic' for '--policy <NAME>': unknown policy 'psychic'; known are auto, none, "
            ),
            "{policy}"
        );
        let memory = line(&["mount", "a", "b", "--memory", "much"]);
        assert!(memory.contains("'much'") && memory.contains("512MiB"), "{memory}");
        for name in ["umount", "unmount"] {
            let command = line(&[name, "/mnt"]);
            assert!(command.contains("fusermount3 -u") && !command.contains("similar"), "{command}");
        }
        let option = line(&["mount", "-o", "allow_other", "a", "b"]);
        assert!(option.contains("--allow-other") && option.contains("mount -t forebay -o"), "{option}");
        let command = line(&["munt"]);
        assert!(command.contains("unrecognized subcommand 'munt'") && command.contains("'mount'"), "{command}");
    }
}
