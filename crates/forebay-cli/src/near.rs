//! Known words that look like a mistyped one.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command};
use forebay_core::{Policy, UnknownPolicy, presets};

/// A word that looks less like the mistyped one is not meant. As clap has it for options.
const LEAST: f64 = 0.7;

/// The known words that look most like this one, best first, at most three. Dashes and underscores
/// count as the same.
pub(crate) fn near<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let likeness = |word: &str| strsim::jaro(&name.replace('_', "-"), &word.replace('_', "-"));
    let mut near: Vec<(f64, &str)> = known.map(|word| (likeness(word), word)).collect();
    near.retain(|(likeness, _)| *likeness > LEAST);
    near.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    near.into_iter().take(3).map(|(_, word)| word).collect()
}

/// Near words as advice. `None` if there are none.
pub(crate) fn said(near: Vec<String>) -> Option<String> {
    match &near[..] {
        [] => None,
        [one] => Some(format!("a near one is {one}")),
        several => Some(format!("near ones are {}", several.join(", "))),
    }
}

/// [`near`] as advice.
pub(crate) fn advice<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    said(near(name, known).into_iter().map(str::to_owned).collect())
}

/// Parses a policy, and offers the known ones to completions. The answer to a name that is nearly
/// known is short, since the list of all is long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policies;

impl TypedValueParser for Policies {
    type Value = Policy;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<Policy, clap::Error> {
        TypedValueParser::parse_ref(&policy, command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(presets::entries().map(|entry| PossibleValue::new(entry.name).help(entry.line))))
    }
}

fn policy(text: &str) -> Result<Policy, String> {
    text.parse().map_err(|unknown: UnknownPolicy| {
        let near = advice(text, presets::entries().map(|entry| entry.name))
            .filter(|_| unknown.option.is_none() && !text.contains('+'));
        match near {
            Some(near) => format!("unknown policy '{text}'; {near}; `forebay policies` lists all"),
            None => unknown.to_string(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_in_place_of_a_long_list() {
        let known = || ["memory", "memory-group", "kernel-cache"].into_iter();
        assert_eq!(advice("memroy", known()).as_deref(), Some("near ones are memory, memory-group"));
        assert_eq!(advice("kernel_cahce", known()).as_deref(), Some("a near one is kernel-cache"));
        assert_eq!(advice("colour", known()), None);
    }

    #[test]
    fn a_policy_that_is_nearly_known() {
        let error = |text: &str| policy(text).unwrap_err();
        assert!(
            error("autoo").starts_with("unknown policy 'autoo'; a near one is auto; `forebay"),
            "{}",
            error("autoo")
        );
        assert!(error("psychic").starts_with("unknown policy 'psychic'; known are auto, "), "{}", error("psychic"));
        assert!(error("linux:sped=2").contains("has no options") || error("linux:sped=2").contains("no option is"));
        assert_eq!(policy("competitive+arc").unwrap().to_string(), "competitive+arc");
    }
}
