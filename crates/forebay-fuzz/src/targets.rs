//! The one table of targets.

mod models;
mod records;
mod requests;
mod settings;
mod storage;
mod traces;

use crate::Target;

/// All targets, in the order of their parts of Forebay.
pub fn all() -> Vec<Target> {
    let parts: [&[Target]; 6] =
        [traces::TARGETS, models::TARGETS, storage::TARGETS, requests::TARGETS, records::TARGETS, settings::TARGETS];
    parts.concat()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::corpus;

    #[test]
    fn names_are_unique_and_examples_belong_to_a_target() {
        let targets = all();
        let names: BTreeSet<&str> = targets.iter().map(|target| target.name).collect();
        assert_eq!(names.len(), targets.len());
        for entry in std::fs::read_dir(corpus::folder()).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(names.contains(&*name), "no target has the examples {name}");
        }
        for name in names {
            let examples = corpus::examples(&corpus::folder(), name).unwrap();
            assert!(examples.len() > 1, "{name} has no example");
            assert!(examples.iter().map(Vec::len).sum::<usize>() < 64 << 10, "the examples of {name} are large");
        }
    }
}
