//! Look-ups that were given up a moment ago. A kernel whose look-up of a name that it knew has
//! failed looks it up once more at once, and whoever waits would wait for twice the patience.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::source::Error;

/// For how long a failure stands for the next one. The kernel's second look-up follows within
/// microseconds.
const MOMENT: Duration = Duration::from_millis(100);

/// More are forgotten at once: so many names at a time nobody waits for.
const MOST: usize = 1024;

/// What was given up a moment ago.
#[derive(Default)]
pub(super) struct JustGivenUp {
    failures: Mutex<Vec<Failure>>,
}

struct Failure {
    path: PathBuf,
    at: Instant,
    error: Error,
}

impl JustGivenUp {
    /// A look-up has failed. Only what the patience ran out for is remembered.
    pub(super) fn hear(&self, path: &Path, error: &Error) {
        if !matches!(error, Error::GivenUp { .. }) {
            return;
        }
        let at = Instant::now();
        let mut failures = self.failures.lock();
        failures.retain(|failure| at.duration_since(failure.at) < MOMENT && failure.path != path);
        if failures.len() < MOST {
            failures.push(Failure { path: path.to_path_buf(), at, error: error.clone() });
        }
    }

    /// How the look-up of a name has failed a moment ago, if it has.
    pub(super) fn of(&self, path: &Path) -> Option<Error> {
        let failures = self.failures.lock();
        let its = failures.iter().find(|failure| failure.path == path && failure.at.elapsed() < MOMENT)?;
        Some(its.error.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_stands_for_the_next_look_up_and_no_later_one() {
        let just = JustGivenUp::default();
        let (path, other) = (Path::new("a/b"), Path::new("a/c"));
        just.hear(path, &Error::NotFound("a/b".into()));
        assert!(just.of(path).is_none(), "the patience had not run out");
        just.hear(path, &Error::GivenUp { name: "a/b".into(), reason: "no answer".into(), after: MOMENT });
        assert!(just.of(path).is_some() && just.of(other).is_none());
        just.failures.lock()[0].at -= MOMENT;
        assert!(just.of(path).is_none(), "a moment later it is asked for again");
    }
}
