//! Look-ups of known names that were given up. If the look-up of a name that it knew fails, a
//! kernel looks the name up once more at once. The reader would wait for twice the patience.

use std::path::Path;
use std::time::{Duration, Instant};

use forebay_source::Error;
use parking_lot::Mutex;

use super::nodes::Place;

/// For how long a failure is kept. The kernel's second look-up follows within microseconds.
const MOMENT: Duration = Duration::from_millis(100);

/// Failures that are kept at most; readers of more names at a time wait twice.
const MOST: usize = 1024;

/// The failures, each of which answers one second look-up.
#[derive(Default)]
pub(super) struct GivenUp(Mutex<Vec<Failure>>);

struct Failure {
    place: Place,
    at: Instant,
    error: Error,
}

impl GivenUp {
    /// Keeps the error of a failed look-up of a name that the kernel knew.
    pub(super) fn keep(&self, place: Place, error: &Error) {
        let mut failures = self.0.lock();
        failures.retain(|failure| failure.at.elapsed() < MOMENT);
        if failures.len() < MOST {
            failures.push(Failure { place, at: Instant::now(), error: error.clone() });
        }
    }

    /// Takes the failure that is kept for that name, if there is one.
    pub(super) fn take(&self, branch: usize, path: &Path) -> Option<Error> {
        let mut failures = self.0.lock();
        if failures.is_empty() {
            return None;
        }
        failures.retain(|failure| failure.at.elapsed() < MOMENT);
        let its = |failure: &Failure| failure.place.branch == branch && *failure.place.path == *path;
        let at = failures.iter().position(its)?;
        Some(failures.swap_remove(at).error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(branch: usize) -> Place {
        Place { branch, path: Path::new("a/b").into() }
    }

    #[test]
    fn a_failure_is_taken_once_and_only_for_its_name() {
        let given_up = GivenUp::default();
        let error = Error::GivenUp { name: "a/b".into(), reason: "no answer".into(), after: MOMENT };
        given_up.keep(place(0), &error);
        assert!(given_up.take(1, Path::new("a/b")).is_none() && given_up.take(0, Path::new("a/c")).is_none());
        given_up.0.lock()[0].at -= MOMENT;
        assert!(given_up.take(0, Path::new("a/b")).is_none(), "a moment later the name is asked for");
    }

    #[test]
    fn failures_are_bounded() {
        let given_up = GivenUp::default();
        for branch in 0..2 * MOST {
            given_up.keep(place(branch), &Error::CalledOff);
        }
        assert!(given_up.0.lock().len() <= MOST);
    }
}
