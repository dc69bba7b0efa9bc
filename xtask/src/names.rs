//! Policies are named in descriptions alone: no literal in the code of `forebay-repro` is the name
//! of a policy, so that a claim can be tried with another one without a compiler.

use std::collections::BTreeSet;
use std::path::Path;

/// Where the names are, each at the beginning of a line of the registry.
const REGISTRY: &str = "crates/forebay-core/src/presets.rs";

/// Where none of them may be.
const NAMELESS: &str = "crates/forebay-repro/src";

/// What was seen of both.
#[derive(Default)]
pub(crate) struct Names {
    known: BTreeSet<String>,
    literals: Vec<Literal>,
}

/// A string in the code.
struct Literal {
    place: String,
    text: String,
}

impl Names {
    /// Takes note of a file, if it is one of either.
    pub(crate) fn enters(&mut self, path: &Path, text: &str) {
        if path == Path::new(REGISTRY) {
            let first = |line: &str| line.trim().strip_prefix('"')?.split('"').next().map(str::to_owned);
            self.known.extend(text.lines().filter_map(first));
        }
        if path.starts_with(NAMELESS) {
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            let place = |line: usize| format!("{}:{line}", path.display());
            self.literals.extend(strings(code).into_iter().map(|(line, text)| Literal { place: place(line), text }));
        }
    }

    /// The literals that name policies, a line each.
    pub(crate) fn broken(&self) -> Vec<String> {
        if self.known.is_empty() && !self.literals.is_empty() {
            return vec![format!("{REGISTRY}: there are no names of policies at the beginnings of its lines")];
        }
        let named = self.literals.iter().filter(|literal| self.is_policy(&literal.text));
        named.map(|literal| format!("{}: policy `{}` belongs into experiments/", literal.place, literal.text)).collect()
    }

    /// `linux`, `linux+arc`, `eager-lru:threshold=400`.
    fn is_policy(&self, text: &str) -> bool {
        let name = text.split(':').next().unwrap_or_default();
        !text.contains(' ') && name.split('+').all(|name| self.known.contains(name))
    }
}

/// The strings in code, with their lines; comments have none.
fn strings(code: &str) -> Vec<(usize, String)> {
    let (mut strings, mut line, mut rest) = (Vec::new(), 1, code.chars().peekable());
    while let Some(letter) = rest.next() {
        match letter {
            '\n' => line += 1,
            '/' if rest.peek() == Some(&'/') => while rest.next_if(|&letter| letter != '\n').is_some() {},
            // A quotation mark by itself: `'"'`.
            '\'' if rest.peek() == Some(&'"') => {
                rest.next();
            }
            '"' => {
                let (from, mut text) = (line, String::new());
                while let Some(letter) = rest.next().filter(|&letter| letter != '"') {
                    line += usize::from(letter == '\n');
                    text.push(letter);
                    if letter == '\\' {
                        text.extend(rest.next().inspect(|&escaped| line += usize::from(escaped == '\n')));
                    }
                }
                strings.push((from, text));
            }
            _ => {}
        }
    }
    strings
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is found if these names are known.
    fn broken(code: &str) -> Vec<String> {
        let mut names = Names::default();
        let registry =
            "registry! {\n    \"lru\" Lru \"folklore\" \"evicts\"\n    \"arc\" Arc \"FAST\" \"two lists\"\n}";
        names.enters(Path::new(REGISTRY), registry);
        names.enters(&Path::new(NAMELESS).join("a.rs"), code);
        names.broken()
    }

    #[test]
    fn a_policy_in_the_code_is_found() {
        let code = "// \"lru\"\nfn f() {\n    at(\"a \\\" b\", '\"', \"lru\");\n    run(\"lru+arc\", \"arc:x=1\");\n}";
        let found = broken(code);
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!(found[0], "crates/forebay-repro/src/a.rs:3: policy `lru` belongs into experiments/");
        assert!(found[2].contains("a.rs:4: policy `arc:x=1`"));
    }

    #[test]
    fn words_about_policies_and_tests_may_stay() {
        for code in [
            "f(\"lru, fresh\")",
            "f(\"lru: all fresh\")",
            "f(\"lru+other\")",
            "#[cfg(test)]\nmod t { f(\"lru\") }",
            "f(\"\")",
        ] {
            assert_eq!(broken(code), Vec::<String>::new(), "{code}");
        }
    }

    #[test]
    fn the_registry_is_where_names_are() {
        let mut names = Names::default();
        names.enters(Path::new(REGISTRY), &std::fs::read_to_string(crate::root().join(REGISTRY)).unwrap());
        for name in ["auto", "lru", "competitive-em", "eager-lru:threshold=400", "linux+amp"] {
            assert!(names.is_policy(name), "{name}");
        }
        let mut nothing = Names::default();
        nothing.enters(&Path::new(NAMELESS).join("a.rs"), "f(\"x\")");
        assert_eq!(nothing.broken().len(), 1, "without a registry nothing would ever be found");
    }
}
