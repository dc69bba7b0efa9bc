//! The rule of names between parts of the core: the papers and the engine know nothing of `auto`,
//! the engine no policy at all, and imports go round in at most one circle.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The sources of the core.
const CORE: &str = "crates/forebay-core/src";

/// A part of the core, and the parts that it must not name.
const STRANGERS: [(&str, &[&str]); 6] = [
    ("engine", &["auto", "papers", "peers", "presets"]),
    ("seams", &["auto", "papers", "peers", "presets", "engine"]),
    ("papers", &["auto", "peers", "presets", "engine", "partition"]),
    ("peers", &["auto", "papers", "presets", "engine", "partition"]),
    ("partition", &["auto", "peers", "presets", "engine"]),
    ("auto", &["peers", "presets", "engine"]),
];

/// The most circles of imports.
const CIRCLES: usize = 1;

/// The names that each part of the core uses.
#[derive(Default)]
pub(crate) struct House {
    named: BTreeMap<String, BTreeSet<String>>,
}

impl House {
    /// Takes note of a file, if it is one of the core's. Returns the names that it must not use, a
    /// line each.
    pub(crate) fn enters(&mut self, path: &Path, text: &str) -> Vec<String> {
        let Ok(inside) = path.strip_prefix(CORE) else { return Vec::new() };
        let part = inside.iter().next().map(|name| Path::new(name).file_stem().unwrap_or_default().to_string_lossy());
        let part = part.unwrap_or_default().into_owned();
        let mut broken = Vec::new();
        for (number, line) in (1..).zip(text.lines()).take_while(|(_, line)| line.trim() != "#[cfg(test)]") {
            for other in named_in(line.split("//").next().unwrap_or_default()) {
                if strangers(&part).contains(&other) {
                    broken.push(format!("{}:{number}: `{part}` must not know `{other}`", path.display()));
                }
                if other != part {
                    self.named.entry(part.clone()).or_default().insert(other.to_owned());
                }
            }
        }
        broken
    }

    /// The circles of imports, if there are too many.
    pub(crate) fn circles(&self) -> Vec<String> {
        let reached: BTreeMap<&str, BTreeSet<&str>> =
            self.named.keys().map(|part| (part.as_str(), self.reached_from(part))).collect();
        let goes_round = |a: &str, b: &str| reached[a].contains(b) && reached.get(b).is_some_and(|of| of.contains(a));
        let mut circles: BTreeSet<Vec<&str>> = BTreeSet::new();
        for &part in reached.keys().filter(|&&part| goes_round(part, part)) {
            circles.insert(reached.keys().copied().filter(|other| goes_round(part, other)).collect());
        }
        match circles.len() > CIRCLES {
            true => circles.iter().map(|circle| format!("{CORE}: imports go round: {}", circle.join(", "))).collect(),
            false => Vec::new(),
        }
    }

    fn reached_from(&self, part: &str) -> BTreeSet<&str> {
        let (mut reached, mut next) = (BTreeSet::new(), vec![part]);
        while let Some(at) = next.pop() {
            let more = self.named.get(at).into_iter().flatten().map(String::as_str);
            next.extend(more.filter(|&other| reached.insert(other)).collect::<Vec<_>>());
        }
        reached
    }
}

fn strangers(part: &str) -> &'static [&'static str] {
    STRANGERS.iter().find(|(known, _)| *known == part).map_or(&[], |(_, strangers)| strangers)
}

/// The parts of the core that a line names, as `crate::part`.
fn named_in(line: &str) -> impl Iterator<Item = &str> {
    line.split("crate::").skip(1).map(|rest| {
        let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(rest.len());
        &rest[..end]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn house(files: &[(&str, &str)]) -> (House, Vec<String>) {
        let mut house = House::default();
        let broken = files.iter().flat_map(|(path, text)| house.enters(&Path::new(CORE).join(path), text)).collect();
        (house, broken)
    }

    #[test]
    fn a_paper_that_knows_auto_is_found() {
        let (_, broken) = house(&[
            ("papers/cp.rs", "//! Of [`auto`](crate::auto).\nuse crate::seams::Plan;"),
            ("papers/scm/mod.rs", "use crate::seams::Plan;\nuse crate::auto::Parts;"),
            ("engine/room.rs", "fn f() { crate::papers::cp::depth(); }"),
            ("auto/mod.rs", "use crate::papers::cp;\n#[cfg(test)]\nuse crate::engine::Setup;"),
        ]);
        assert_eq!(broken.len(), 2, "{broken:?}");
        assert!(broken[0].contains("scm/mod.rs:2: `papers` must not know `auto`"));
        assert!(broken[1].contains("room.rs:1: `engine` must not know `papers`"));
    }

    #[test]
    fn one_circle_is_forgiven_and_two_are_not() {
        let one = [("a.rs", "use crate::b::B;"), ("b.rs", "use crate::c::C;"), ("c/mod.rs", "use crate::a::A;")];
        assert_eq!(house(&one).0.circles(), Vec::<String>::new());
        let two = [&one[..], &[("d.rs", "use crate::e::E; use crate::a::A;"), ("e.rs", "use crate::d::D;")]].concat();
        let circles = house(&two).0.circles();
        assert_eq!(circles.len(), 2, "{circles:?}");
        assert!(circles[0].ends_with("go round: a, b, c") && circles[1].ends_with("go round: d, e"), "{circles:?}");
    }
}
