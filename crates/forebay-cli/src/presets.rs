//! Policies by name, `PREFETCH+REPLACEMENT`, either of which may be left out.

use std::str::FromStr;

/// A name that policies are made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// The name.
    pub(crate) name: &'static str,
    /// Which question it answers: `prefetch` or `replacement`.
    pub(crate) axis: &'static str,
    /// Where it is from.
    pub(crate) paper: &'static str,
    /// What it does, in a line.
    pub(crate) line: &'static str,
}

const fn entry(axis: &'static str, name: &'static str, paper: &'static str, line: &'static str) -> Entry {
    Entry { name, axis, paper, line }
}

const ENTRIES: &[Entry] = &[
    entry("prefetch", "none", "-", "fetches only what is asked for"),
    entry("prefetch", "one-block", "Smith 1978", "one block lookahead"),
    entry("prefetch", "fixed", "Smith 1982 (RA in SCM)", "the next 4 blocks after every access"),
    entry("prefetch", "linux", "CPEM §2.2", "windows of 16, 18, 32 pages, the next one issued from the ahead window"),
    entry("prefetch", "aggressive", "CP §3.2", "Linux with windows up to 256 pages"),
    entry("prefetch", "competitive", "CP §2", "as much as the device transfers in the time of one switch"),
    entry("replacement", "lru", "folklore", "evicts the block whose last use is longest ago"),
];

/// Every name, prefetchers first.
pub(crate) fn entries() -> impl Iterator<Item = &'static Entry> {
    ENTRIES.iter()
}

/// A policy by name.
#[derive(Clone, Debug)]
pub(crate) struct Policy;

/// A name that no policy has.
#[derive(Debug, thiserror::Error)]
#[error("unknown policy '{name}'; known are {}", names())]
pub(crate) struct UnknownPolicy {
    name: String,
}

fn names() -> String {
    entries().map(|entry| entry.name).collect::<Vec<_>>().join(", ")
}

impl FromStr for Policy {
    type Err = UnknownPolicy;

    fn from_str(text: &str) -> Result<Policy, UnknownPolicy> {
        let mut axes: Vec<&str> = Vec::new();
        for part in text.split('+') {
            match entries().find(|entry| entry.name == part) {
                Some(entry) if !axes.contains(&entry.axis) => axes.push(entry.axis),
                _ => return Err(UnknownPolicy { name: text.into() }),
            }
        }
        Ok(Policy)
    }
}
