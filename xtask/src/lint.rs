//! The repository's own rules, which no other tool checks: short files, names of the field, nothing
//! left to do, a core that knows no clock, thread or hash map, parts of it that know only what they
//! may (`house`), claims that name no policy in their code (`names`), and pages that read well
//! (`prose`).

use std::path::{Path, PathBuf};

use crate::house::House;
use crate::names::Names;
use crate::{prose, root};

/// The most lines that a source file may have.
const LONGEST: usize = 600;

/// Names that say nothing about what a file is for.
const NAMELESS: [&str; 7] = ["utils", "util", "helpers", "helper", "manager", "misc", "common"];

/// Marks of unfinished work. In pieces, so that this list does not find itself.
const UNFINISHED: [&str; 3] = [concat!("todo", "!("), concat!("FIX", "ME"), concat!("TO", "DO")];

/// Names that the core must not use, because it would no longer be deterministic.
const IMPURE: [&str; 6] = ["std::", "extern crate std", "HashMap", "HashSet", "SystemTime", "thread_local!"];

/// Prints everything that breaks the rules; returns whether nothing does.
pub(crate) fn report() -> bool {
    let broken = broken(&root());
    broken.iter().for_each(|rule| println!("{rule}"));
    if broken.is_empty() {
        println!("every file keeps them");
    }
    broken.is_empty()
}

/// Everything under `root` that breaks a rule, a line each.
fn broken(root: &Path) -> Vec<String> {
    let (mut broken, mut house, mut names) = (Vec::new(), House::default(), Names::default());
    for file in files(root) {
        let shown = file.strip_prefix(root).unwrap_or(&file);
        if let Some(name) = nameless(shown) {
            broken.push(format!("{}: `{name}` does not say what it is for", shown.display()));
        }
        let code = file.extension().is_some_and(|extension| extension == "rs");
        if !code && !prose::covers(shown) {
            continue;
        }
        match std::fs::read_to_string(&file) {
            Ok(text) if code => {
                broken.extend(broken_in(shown, &text));
                broken.extend(house.enters(shown, &text));
                names.enters(shown, &text);
            }
            Ok(page) => broken.extend(worded(shown, &page)),
            Err(error) => broken.push(format!("{}: cannot be read: {error}", shown.display())),
        }
    }
    broken.extend(house.circles());
    broken.extend(names.broken());
    broken
}

/// The files of the repository, in order: all but those that are built, hidden or linked.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    let mut files = Vec::new();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_symlink() || name == "target" || name.starts_with('.') {
            continue;
        }
        if path.is_dir() { files.extend(self::files(&path)) } else { files.push(path) }
    }
    files
}

/// The part of a path that is a name for nothing in particular.
fn nameless(path: &Path) -> Option<String> {
    let stems = path.iter().map(|part| Path::new(part).file_stem().unwrap_or_default().to_string_lossy());
    stems.map(|stem| stem.into_owned()).find(|stem| NAMELESS.contains(&stem.as_str()))
}

/// The complaints about a Rust file.
fn broken_in(path: &Path, text: &str) -> Vec<String> {
    let mut broken = Vec::new();
    let lines = text.lines().count();
    if lines > LONGEST {
        broken.push(format!("{}: {lines} lines; a file has at most {LONGEST}", path.display()));
    }
    if !text.starts_with("//!") && !path.ends_with("build.rs") {
        broken.push(format!("{}:1: does not open with what it is for (`//!`)", path.display()));
    }
    for (number, line) in (1..).zip(text.lines()) {
        if let Some(mark) = UNFINISHED.iter().find(|&&mark| line.contains(mark)) {
            broken.push(format!("{}:{number}: unfinished: {mark}", path.display()));
        }
    }
    broken.extend(
        wide_comments(text)
            .map(|number| format!("{}:{number}: a comment of more than {} columns", path.display(), prose::WIDEST)),
    );
    if path.starts_with("crates/forebay-core/src") {
        broken.extend(impure(path, text));
    }
    broken
}

/// The lines of comments that are too wide. Tables, code and pictures, which stand in fences or are
/// indented, may be wider.
fn wide_comments(text: &str) -> impl Iterator<Item = usize> {
    let mut fenced = false;
    (1..).zip(text.lines()).filter_map(move |(number, line)| {
        let Some(comment) = line.trim_start().strip_prefix("//") else {
            fenced = false;
            return None;
        };
        let comment = comment.trim_start_matches(['/', '!']);
        let comment = comment.strip_prefix(' ').unwrap_or(comment);
        fenced ^= comment.starts_with("```");
        let free = fenced || comment.starts_with('|') || comment.starts_with("    ");
        (!free && line.chars().count() > prose::WIDEST).then_some(number)
    })
}

/// Sentences and lines of a page that break the rule of how pages are written.
fn worded(path: &Path, page: &str) -> Vec<String> {
    let complaints = prose::broken_in(page).into_iter();
    complaints.map(|(number, wrong)| format!("{}:{number}: {wrong}", path.display())).collect()
}

/// The forbidden names in the core's code. Tests may use them: the code after the first
/// `#[cfg(test)]` is theirs.
fn impure(path: &Path, text: &str) -> Vec<String> {
    let code = (1..).zip(text.lines()).take_while(|(_, line)| line.trim() != "#[cfg(test)]");
    let code = code.map(|(number, line)| (number, line.split("//").next().unwrap_or_default()));
    code.filter_map(|(number, line): (usize, &str)| {
        let found = IMPURE.iter().find(|&&word| line.contains(word))?;
        Some(format!("{}:{number}: the core must not know `{found}`", path.display()))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_keeps_its_rules() {
        assert_eq!(broken(&root()), Vec::<String>::new());
    }

    /// The complaints about a repository of one file.
    fn found(path: &str, text: &str) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, text).unwrap();
        broken(folder.path())
    }

    #[test]
    fn each_rule_finds_what_breaks_it() {
        for (path, text, expected) in [
            ("crates/a/src/utils.rs", "//! x".into(), "`utils` does not say"),
            ("crates/common/src/lib.rs", "//! x".into(), "`common` does not say"),
            ("crates/a/src/long.rs", format!("//! x{}", "\n".repeat(LONGEST + 1)), "lines; a file has at most"),
            ("crates/a/src/bare.rs", "fn main() {}".into(), "does not open with"),
            ("crates/a/src/a.rs", format!("//! x\n// {}: later", UNFINISHED[1]), "a.rs:2: unfinished"),
            ("crates/forebay-core/src/a.rs", "//! x\nuse std::time::Instant;".into(), "must not know `std::`"),
            (
                "crates/a/src/a.rs",
                format!("//! x\n/// A {}\nfn f() {{}}", "block ".repeat(17)),
                "a.rs:2: a comment of more than 100",
            ),
            (
                "docs/a.md",
                "A block waits.\n\nWhat is late is late.".into(),
                "a.md:3: a sentence without a named subject",
            ),
            ("README.md", format!("A {}", "block ".repeat(17)), "README.md:1: 104 characters"),
            ("crates/forebay-core/src/b/c.rs", "//! x\ntype Map = HashMap<u8, u8>;".into(), "must not know `HashMap`"),
        ] {
            let broken = found(path, &text);
            assert!(broken.len() == 1 && broken[0].contains(expected), "{path}: {broken:?}");
        }
    }

    /// A picture and a table may be as wide as they are.
    const WIDE: &str = "//! ```text\n//! ──────────────────────────────────────────────────────────────────────────\
        ─────────────────────────────────\n//! ```\n//! | a table of one column, which is as long as a table's column is now and \
        then, in a comment |\n";

    #[test]
    fn what_only_looks_like_it_is_left_alone() {
        for (path, text) in [
            (
                "crates/forebay-core/src/a.rs",
                "//! Not a HashMap, since std:: has one\n#[cfg(test)]\nmod t { use std::vec; }",
            ),
            ("crates/forebay-live/src/a.rs", "//! x\nuse std::time::Instant;"),
            ("crates/a/src/a.rs", WIDE),
            ("crates/a/src/commonplace.rs", "//! x"),
            ("target/debug/utils.rs", "todo"),
            ("docs/cli.md", "What it reads."),
            ("docs/notes/2026-11-26-a.md", "What was tried."),
            ("docs/a.txt", "What it reads."),
        ] {
            assert_eq!(found(path, text), Vec::<String>::new(), "{path}");
        }
    }
}
