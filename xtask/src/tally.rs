//! Adds up the output of `cargo test`, and shows it as it comes.
//!
//! Tests run with `--show-output`, because a test that was skipped says so in output that would
//! otherwise be hidden. The output of passing tests is swallowed here again, except those lines.

use std::fmt;

/// The mark of a test that could not run, or not all of it: `SKIPPED: why`, or in a line that
/// stands out (`forebay_testkit::tools::skip`).
const SKIPPED: [&str; 2] = ["SKIPPED:", "=== SKIPPED:"];

/// The sum over all test binaries.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    /// Tests that ran and passed.
    pub(crate) passed: u64,
    /// Tests that failed, and checks that did.
    pub(crate) failed: u64,
    /// Tests that were ignored, or that lacked a part.
    pub(crate) skipped: u64,
    /// The names of the tests that failed.
    pub(crate) failures: Vec<String>,
    /// Tests of the current binary that lacked a part: its result will count them as passed.
    lacking: u64,
    hidden: bool,
}

impl Tally {
    /// Takes a line of output; returns whether it is to be shown.
    pub(crate) fn line(&mut self, line: &str) -> bool {
        if let Some([passed, failed, ignored]) = result(line) {
            self.passed += passed.saturating_sub(self.lacking);
            self.failed += failed;
            self.skipped += ignored + self.lacking;
            self.lacking = 0;
            self.hidden = false;
            return true;
        }
        if let Some(name) = line.strip_prefix("test ").and_then(|rest| rest.trim_end().strip_suffix(" ... FAILED")) {
            self.failures.push(name.to_owned());
        }
        match line.trim_end() {
            "successes:" => self.hidden = true,
            "failures:" => self.hidden = false,
            _ => {}
        }
        if SKIPPED.iter().any(|start| line.starts_with(start)) {
            self.lacking += 1;
            return true;
        }
        !self.hidden
    }
}

impl Tally {
    /// Takes a line of pytest's output; returns whether it is its count.
    pub(crate) fn pytest_line(&mut self, line: &str) -> bool {
        if let Some(name) = line.strip_prefix("FAILED ").or_else(|| line.strip_prefix("ERROR ")) {
            self.failures.push(name.split(" - ").next().unwrap_or(name).to_owned());
        }
        let Some((counts, _)) = line.rsplit_once(" in ") else { return false };
        let mut found = false;
        for count in counts.trim_matches(|c| c == '=' || c == ' ').split(", ") {
            let Some((number, what)) = count.split_once(' ') else { return false };
            let Ok(number) = number.parse::<u64>() else { return false };
            match what {
                "passed" => self.passed += number,
                "failed" | "error" | "errors" => self.failed += number,
                "skipped" => self.skipped += number,
                _ => continue,
            }
            found = true;
        }
        found
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

/// The counts of `test result: ok. 12 passed; 0 failed; 1 ignored; …`.
fn result(line: &str) -> Option<[u64; 3]> {
    let (_verdict, counts) = line.trim().strip_prefix("test result: ")?.split_once(". ")?;
    let count = |what: &str| {
        let number = counts.split(';').find_map(|part| part.trim().strip_suffix(what))?;
        number.trim().parse().ok()
    };
    Some([count("passed")?, count("failed")?, count("ignored")?])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds a whole output; returns the sum and the lines that are shown.
    fn tally(output: &str) -> (String, Vec<&str>) {
        let mut tally = Tally::default();
        let shown = output.lines().filter(|line| tally.line(line)).collect();
        (tally.to_string(), shown)
    }

    #[test]
    fn sums_over_binaries() {
        let (sum, _) = tally(
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
             test result: FAILED. 2 passed; 5 failed; 0 ignored; 0 measured; 7 filtered out; finished in 0.00s",
        );
        assert_eq!(sum, "5 passed, 5 failed, 1 skipped");
    }

    #[test]
    fn a_test_that_lacked_a_part_counts_as_skipped_and_is_heard() {
        let (sum, shown) = tally(
            "running 2 tests\n\
             test a ... ok\n\
             test b ... ok\n\
             \n\
             successes:\n\
             ---- a stdout ----\n\
             chatter\n\
             === SKIPPED: nginx is missing ===\n\
             \n\
             successes:\n    a\n    b\n\
             test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s",
        );
        assert_eq!(sum, "1 passed, 0 failed, 1 skipped");
        assert!(shown.contains(&"=== SKIPPED: nginx is missing ==="), "{shown:?}");
        assert!(!shown.contains(&"chatter"), "{shown:?}");
    }

    #[test]
    fn a_test_may_say_it_in_a_word() {
        let (sum, _) = tally(
            "SKIPPED: there are no traces\nthis line has no SKIPPED: at its beginning\n\
             test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s",
        );
        assert_eq!(sum, "1 passed, 0 failed, 1 skipped");
    }

    #[test]
    fn what_failed_is_shown_in_full() {
        let (_, shown) = tally(
            "successes:\nnoise\nfailures:\n---- b stdout ----\npanicked\ntest result: FAILED. 0 passed; 1 failed; 0 ignored",
        );
        assert_eq!(shown.len(), 4, "{shown:?}");
        assert!(shown.contains(&"panicked"));
    }

    #[test]
    fn what_failed_is_named() {
        let mut tally = Tally::default();
        for line in ["test a::b ... ok", "test c::d ... FAILED", "test e ... ignored"] {
            assert!(tally.line(line));
        }
        assert_eq!(tally.failures, ["c::d"]);
    }

    #[test]
    fn pytest_counts_as_well() {
        let mut tally = Tally::default();
        assert!(!tally.pytest_line("FAILED python/tests/test_a.py::test_b - AssertionError: 5 passed in vain"));
        assert!(!tally.pytest_line("5 apples in a basket") && !tally.pytest_line("....F  [100%]"));
        assert!(tally.pytest_line("1 failed, 22 passed, 2 skipped, 1 warning, 1 error in 6.44s"));
        assert!(tally.pytest_line("=== 3 passed in 1.00s ==="));
        assert_eq!(tally.to_string(), "25 passed, 2 failed, 2 skipped");
        assert_eq!(tally.failures, ["python/tests/test_a.py::test_b"]);
    }

    #[test]
    fn text_that_only_resembles_a_result_is_not_counted() {
        let (sum, _) = tally("test result: fine\nassertion: test result: ok. many passed; 0 failed; 0 ignored");
        assert_eq!(sum, "0 passed, 0 failed, 0 skipped");
    }
}
