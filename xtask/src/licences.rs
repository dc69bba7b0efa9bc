//! Whether every dependency comes from crates.io under a licence of the list in `deny.toml`:
//! cargo-deny checks this too, and this is for machines that do not have it.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::root;
use crate::run::cargo;

/// The only registry of dependencies. Members of the workspace have no source.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Prints the violations; returns whether there are none.
pub(crate) fn report() -> bool {
    match violations() {
        Ok((checked, violations)) => {
            violations.iter().for_each(|violation| println!("{violation}"));
            println!("{checked} packages checked against deny.toml");
            violations.is_empty()
        }
        Err(error) => {
            println!("cannot check licences: {error:#}");
            false
        }
    }
}

/// How many packages there are, and the violations.
fn violations() -> Result<(usize, Vec<String>)> {
    let deny = std::fs::read_to_string(root().join("deny.toml")).context("cannot read deny.toml")?;
    let allowed = allowed(&deny)?;
    let output = cargo(&["metadata", "--format-version", "1", "--locked", "--quiet"]).output()?;
    ensure!(output.status.success(), "cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    let metadata: Value = serde_json::from_slice(&output.stdout).context("cargo metadata is not JSON")?;
    let packages = metadata["packages"].as_array().context("cargo metadata names no packages")?;
    let violations = packages.iter().filter_map(|package| violation(package, &allowed)).collect();
    Ok((packages.len(), violations))
}

/// The licences that deny.toml allows.
fn allowed(deny: &str) -> Result<BTreeSet<String>> {
    let deny: toml::Table = deny.parse().context("deny.toml is not TOML")?;
    let list = deny.get("licenses").and_then(|licences| licences.get("allow")).and_then(|allow| allow.as_array());
    let list = list.context("deny.toml has no list licenses.allow")?;
    Ok(list.iter().filter_map(|licence| licence.as_str()).map(str::to_owned).collect())
}

/// The violation of a package, if any.
fn violation(package: &Value, allowed: &BTreeSet<String>) -> Option<String> {
    let name = format!("{} {}", package["name"].as_str()?, package["version"].as_str()?);
    if let Some(source) = package["source"].as_str().filter(|&source| source != REGISTRY) {
        return Some(format!("{name}: comes from {source}"));
    }
    match package["license"].as_str() {
        None => Some(format!("{name}: names no licence")),
        Some(licence) => match satisfies(licence, allowed) {
            Some(true) => None,
            Some(false) => Some(format!("{name}: {licence} is not allowed")),
            None => Some(format!("{name}: {licence} is no SPDX expression")),
        },
    }
}

/// Whether an SPDX expression can be met with the licences of the list; `None` if it is not one.
/// `/` is an old `OR`.
fn satisfies(expression: &str, allowed: &BTreeSet<String>) -> Option<bool> {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words = spaced.split_whitespace().peekable();
    let met = any(&mut words, allowed)?;
    words.next().is_none().then_some(met)
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

/// `all OR all OR …`
fn any(words: &mut Words<'_>, allowed: &BTreeSet<String>) -> Option<bool> {
    let mut met = all(words, allowed)?;
    while words.next_if_eq(&"OR").is_some() {
        met |= all(words, allowed)?;
    }
    Some(met)
}

/// `one AND one AND …`, which binds closer.
fn all(words: &mut Words<'_>, allowed: &BTreeSet<String>) -> Option<bool> {
    let mut met = one(words, allowed)?;
    while words.next_if_eq(&"AND").is_some() {
        met &= one(words, allowed)?;
    }
    Some(met)
}

/// `( any )`, or a licence, possibly `WITH` an exception, which must then be on the list as a
/// whole.
fn one(words: &mut Words<'_>, allowed: &BTreeSet<String>) -> Option<bool> {
    let word = words.next()?;
    if word == "(" {
        let met = any(words, allowed)?;
        return words.next_if_eq(&")").map(|_| met);
    }
    if matches!(word, ")" | "OR" | "AND" | "WITH") {
        return None;
    }
    match words.next_if_eq(&"WITH") {
        Some(_) => Some(allowed.contains(&format!("{word} WITH {}", words.next()?))),
        None => Some(allowed.contains(word)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list() -> BTreeSet<String> {
        allowed("[licenses]\nallow = [\"MIT\", \"Apache-2.0\", \"Apache-2.0 WITH LLVM-exception\"]").unwrap()
    }

    #[test]
    fn expressions() {
        for (expression, expected) in [
            ("MIT", Some(true)),
            ("GPL-3.0", Some(false)),
            ("GPL-3.0 OR MIT", Some(true)),
            ("GPL-3.0 AND MIT", Some(false)),
            ("GPL-3.0 AND MIT OR Apache-2.0", Some(true)),
            ("GPL-3.0 AND (MIT OR Apache-2.0)", Some(false)),
            ("GPL-2.0/MIT", Some(true)),
            ("Apache-2.0 WITH LLVM-exception", Some(true)),
            ("MIT WITH LLVM-exception", Some(false)),
            ("(MIT", None),
            ("MIT OR", None),
            ("MIT Apache-2.0", None),
            ("", None),
        ] {
            assert_eq!(satisfies(expression, &list()), expected, "{expression:?}");
        }
    }

    #[test]
    fn packages() {
        let package = |json: &str| violation(&serde_json::from_str(json).unwrap(), &list());
        assert_eq!(package(r#"{"name": "a", "version": "1", "source": null, "license": "MIT"}"#), None);
        let git = package(r#"{"name": "a", "version": "1", "source": "git+https://x", "license": "MIT"}"#);
        assert_eq!(git.unwrap(), "a 1: comes from git+https://x");
        let none = package(r#"{"name": "a", "version": "1", "license": null}"#);
        assert_eq!(none.unwrap(), "a 1: names no licence");
    }

    #[test]
    fn a_list_that_is_missing_is_an_error() {
        assert!(allowed("[bans]").is_err());
        assert!(allowed("licenses").is_err());
    }
}
