//! Variables of the environment that are meant for Forebay, and that no option has.

use std::ffi::OsString;

use clap::Command;

use super::Finding;
use crate::near;
use crate::options::{PREFIX, definitions};

/// Variables that belong to no option.
const OTHERS: [&str; 4] = ["FOREBAY_TOKEN", "FOREBAY_CONFIG", "FOREBAY_CONTEXTS", "FOREBAY_CONTEXT_LIBRARY"];

/// A finding for each variable that looks mistyped.
pub(super) fn findings(variables: impl Iterator<Item = (OsString, OsString)>) -> Vec<Finding> {
    let mut known = OTHERS.map(str::to_owned).to_vec();
    collect(&definitions(), &mut known);
    let names = variables.filter_map(|(name, _)| name.into_string().ok());
    let unknown = names.filter(|name| name.starts_with(PREFIX) && !known.contains(name));
    unknown.filter_map(|name| finding(&name, &known)).collect()
}

/// The variables of a command's options, and of the commands below it.
fn collect(command: &Command, known: &mut Vec<String>) {
    known.extend(command.get_arguments().filter_map(|arg| Some(arg.get_env()?.to_str()?.to_owned())));
    command.get_subcommands().for_each(|below| collect(below, known));
}

/// `None` if no known variable is like it: it may be for another program.
fn finding(name: &str, known: &[String]) -> Option<Finding> {
    let bare = |name: &str| name.strip_prefix(PREFIX).unwrap_or(name).to_owned();
    let mut all: Vec<String> = known.iter().map(|name| bare(name)).collect();
    all.sort();
    all.dedup();
    let near = near::near(&bare(name), all.iter().map(String::as_str));
    let advice = near::said(near.into_iter().map(|near| format!("{PREFIX}{near}")).collect())?;
    Some(Finding::warning("environment", format!("no option has the variable {name}"), advice))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistyped_variables_are_told() {
        let found = |name: &str| findings([(name.into(), "1".into())].into_iter());
        let one = found("FOREBAY_MEMROY");
        assert!(
            one.len() == 1 && one[0].advice.as_deref().is_some_and(|said| said.contains("FOREBAY_MEMORY")),
            "{one:?}"
        );
        for name in ["FOREBAY_MEMORY", "FOREBAY_TOKEN", "FOREBAY_SIM_POLICY", "HOME", "FOREBAY_XQJZ"] {
            assert_eq!(found(name), [], "{name}");
        }
    }
}
