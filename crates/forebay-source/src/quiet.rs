//! Lines of the log that would come by the thousand: one a minute for each kind.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// How long a kind is not told again.
const QUIET: Duration = Duration::from_secs(60);

/// Kinds that are kept apart; all beyond are one kind.
const KINDS: usize = 100;

/// The lines so far, by kind.
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
    /// If a line of this kind is due: the words for its end, which say how often it was not told
    /// since the last one. Else it is counted, and never told if no line follows.
    pub fn due(&self, kind: &str) -> Option<String> {
        self.due_at(kind, self.began.elapsed()).map(again)
    }

    /// [`due`](Quiet::due) by a clock of the caller's, and the number alone.
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

fn again(more: u64) -> String {
    if more > 0 { format!("; {more} more times since the last line") } else { String::new() }
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
    fn a_line_says_how_often_it_was_not_told() {
        assert_eq!((again(0), again(2)), (String::new(), "; 2 more times since the last line".into()));
    }

    #[test]
    fn kinds_are_bounded() {
        let quiet = Quiet::default();
        let lines = (0..1000).filter_map(|kind: i32| quiet.due_at(&kind.to_string(), Duration::ZERO));
        assert_eq!(lines.count(), KINDS + 1);
        assert_eq!(quiet.due_at("2000", QUIET), Some(1000 - KINDS as u64 - 1));
    }
}
