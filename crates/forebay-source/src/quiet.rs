//! Lines of the log that would come by the thousand: one a minute for each kind.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// How long a kind is not told again.
const QUIET: Duration = Duration::from_secs(60);

/// Kinds that are kept apart; all beyond are one kind.
const KINDS: usize = 100;

/// What was told of each kind.
pub struct Quiet {
    began: Instant,
    kinds: Mutex<HashMap<String, Said>>,
}

struct Said {
    at: Duration,
    /// How often it has happened since.
    more: u64,
}

impl Default for Quiet {
    fn default() -> Quiet {
        Quiet { began: Instant::now(), kinds: Mutex::default() }
    }
}

impl Quiet {
    /// If a line of this kind is due: how often it was not told since the last line. Else it is
    /// counted. How many more there were after the last line of all is never told.
    pub fn due(&self, kind: &str) -> Option<u64> {
        self.due_at(kind, self.began.elapsed())
    }

    /// [`due`](Quiet::due), by a clock of the caller's.
    pub fn due_at(&self, kind: &str, now: Duration) -> Option<u64> {
        let mut kinds = self.kinds.lock();
        let full = kinds.len() >= KINDS && !kinds.contains_key(kind);
        let kind = if full { "other" } else { kind };
        let mut more = 0;
        if let Some(said) = kinds.get_mut(kind) {
            if now.saturating_sub(said.at) < QUIET {
                said.more += 1;
                return None;
            }
            more = said.more;
        }
        kinds.insert(kind.to_owned(), Said { at: now, more: 0 });
        Some(more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_a_minute_for_each_kind() {
        let quiet = Quiet::default();
        let due = |kind, second| quiet.due_at(kind, Duration::from_secs(second));
        assert_eq!((due("a", 0), due("a", 1), due("a", 59)), (Some(0), None, None));
        assert_eq!(due("b", 59), Some(0));
        assert_eq!((due("a", 60), due("a", 61), due("a", 180)), (Some(2), None, Some(1)));
        assert_eq!(due("a", 100), None, "a clock that went back");
    }

    #[test]
    fn kinds_are_bounded() {
        let quiet = Quiet::default();
        let lines = (0..1000).filter_map(|kind: i32| quiet.due_at(&kind.to_string(), Duration::ZERO));
        assert_eq!(lines.count(), KINDS + 1);
        assert_eq!(quiet.due_at("2000", QUIET), Some(1000 - KINDS as u64 - 1));
    }
}
