//! `forebay doctor`: whether a mount has what it needs, and else what to do.

mod machine;
mod memory;
mod mount;
mod sources;

use std::io::Write;

use forebay_source::printable;
use serde::Serialize;

use crate::environment::{self, Mistyped};
use crate::failure::{self, Failure};
use crate::options::Doctor;
use crate::output;

/// Advice where the reason says what to do.
const SAME: &str = "see the reason; the same happens to a mount";

/// How a check came out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    /// A mount has it.
    Ok,
    /// A mount works, with a drawback.
    Warning,
    /// A mount fails, or does not do what is asked for.
    Failed,
}

/// A line of the report.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
struct Finding {
    check: String,
    state: State,
    about: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<String>,
}

impl Finding {
    fn ok(check: impl Into<String>, about: impl Into<String>) -> Finding {
        Finding { check: check.into(), state: State::Ok, about: about.into(), advice: None }
    }

    fn warning(check: impl Into<String>, about: impl Into<String>, advice: impl Into<String>) -> Finding {
        Finding { state: State::Warning, advice: Some(advice.into()), ..Finding::ok(check, about) }
    }

    fn failed(check: impl Into<String>, about: impl Into<String>, advice: impl Into<String>) -> Finding {
        Finding { state: State::Failed, ..Finding::warning(check, about, advice) }
    }
}

/// Checks, and reports; a failure if a check failed.
pub(crate) fn run(options: &Doctor) -> Result<(), Failure> {
    let reading = &options.reading;
    let mut findings = vec![configuration(options)];
    findings.extend(environment::mistyped(std::env::vars_os()).into_iter().map(|Mistyped { name, advice }| {
        Finding::warning("environment", format!("no option has the variable {name}"), advice)
    }));
    findings.extend(machine::findings(options.allow_other));
    findings.extend(memory::findings(reading.memory));
    let sources = options.sources.or(&options.places);
    match &options.mount {
        Some(mount) => findings.extend(mount::findings(mount, sources)),
        // The file or the environment is at fault, and nothing is known of the mount.
        None => findings.push(machine::control_socket()),
    }
    for source in sources {
        findings.extend(sources::findings(source, reading));
    }
    if options.json {
        output::json(&findings)?;
    } else {
        output::print(&text(&findings, failure::coloured(&std::io::stdout())))?;
    }
    let failed = findings.iter().filter(|finding| finding.state == State::Failed).count();
    match failed {
        0 => Ok(()),
        1 => Err(Failure::run("a check failed")),
        failed => Err(Failure::run(format!("{failed} checks failed"))),
    }
}

fn configuration(options: &Doctor) -> Finding {
    let check = "configuration";
    match (&options.configuration.file, &options.configuration.fault) {
        (_, Some(fault)) => Finding::failed(check, fault, "correct the file; docs/cli.md lists the keys"),
        (Some(file), None) => Finding::ok(check, format!("{} makes sense", file.display())),
        (None, None) => Finding::ok(check, "the user's own file is absent, or makes sense"),
    }
}

/// A line for each check, and one below it with the advice.
fn text(findings: &[Finding], coloured: bool) -> String {
    let width = findings.iter().map(|finding| finding.check.chars().count()).max().unwrap_or(0);
    let mut text = Vec::new();
    for Finding { check, state, about, advice } in findings {
        let (word, colour) = match state {
            State::Ok => ("ok", "32"),
            State::Warning => ("warning", "33"),
            State::Failed => ("failed", "31"),
        };
        let (begin, end) = if coloured { (format!("\x1b[{colour}m"), "\x1b[0m") } else { (String::new(), "") };
        let (check, about) = (printable(check), about.replace('\n', "; "));
        let about = printable(&about);
        // A vector takes all that is written.
        let _ = writeln!(text, "{begin}{word:<7}{end}  {check:<width$}  {about}");
        if let Some(advice) = advice {
            let _ = writeln!(text, "{:7}  {:width$}  -> {}", "", "", printable(advice));
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_for_each_check_and_its_advice_below() {
        let findings = [Finding::ok("fuse", "there"), Finding::failed("memory group", "too\nsmall", "give less")];
        assert_eq!(
            text(&findings, false),
            "ok       fuse          there\nfailed   memory group  too; small\n                       -> give less\n"
        );
        assert!(text(&findings, true).contains("\x1b[31mfailed \x1b[0m"));
    }
}
