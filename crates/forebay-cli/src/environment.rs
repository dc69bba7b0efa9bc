//! Variables of the environment that are meant for Forebay, and that no option has.

use std::ffi::OsString;

use clap::Command;

use crate::near;
use crate::options::{PREFIX, definitions};

/// Variables that belong to no option.
const OTHERS: [&str; 4] = ["FOREBAY_TOKEN", "FOREBAY_CONFIG", "FOREBAY_CONTEXTS", "FOREBAY_CONTEXT_LIBRARY"];

/// A variable that no option has, and whose name is nearly that of one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Mistyped {
    pub(crate) name: String,
    /// The near ones, as advice.
    pub(crate) advice: String,
}

/// The variables that look mistyped.
pub(crate) fn mistyped(variables: impl Iterator<Item = (OsString, OsString)>) -> Vec<Mistyped> {
    let names = variables.filter_map(|(name, _)| name.into_string().ok());
    let mut ours = names.filter(|name| name.starts_with(PREFIX)).peekable();
    if ours.peek().is_none() {
        return Vec::new();
    }
    let mut known = OTHERS.map(str::to_owned).to_vec();
    collect(&definitions(), &mut known);
    ours.filter(|name| !known.contains(name)).filter_map(|name| of(name, &known)).collect()
}

/// Warns of this process's variables that look mistyped.
pub(crate) fn warn() {
    for Mistyped { name, advice } in mistyped(std::env::vars_os()) {
        log::warn!("no option has the variable {name}, so it counts for nothing; {advice}");
    }
}

/// The variables of a command's options, and of the commands below it.
fn collect(command: &Command, known: &mut Vec<String>) {
    known.extend(command.get_arguments().filter_map(|arg| Some(arg.get_env()?.to_str()?.to_owned())));
    command.get_subcommands().for_each(|below| collect(below, known));
}

/// `None` if no known variable is so much like it: it may be for another program.
fn of(name: String, known: &[String]) -> Option<Mistyped> {
    // One slip, or two in a long name.
    let slips = if name.len() - PREFIX.len() < 8 { 1 } else { 2 };
    let mut near: Vec<&String> =
        known.iter().filter(|known| strsim::damerau_levenshtein(&name, known) <= slips).collect();
    near.sort();
    near.dedup();
    let advice = near::said(near.into_iter().take(3).cloned().collect())?;
    Some(Mistyped { name, advice })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistyped_variables_are_told() {
        let found = |name: &str| mistyped([(name.into(), "1".into())].into_iter());
        let one = found("FOREBAY_MEMROY");
        assert!(one.len() == 1 && one[0].advice.contains("FOREBAY_MEMORY"), "{one:?}");
        for name in ["FOREBAY_MEMORY", "FOREBAY_TOKEN", "FOREBAY_SIM_POLICY", "HOME", "FOREBAY_TRACES"] {
            assert_eq!(found(name), [], "{name}");
        }
    }
}
