//! How many requests a device serves at once: n together bring as many bytes as n channels would.
//!
//! ```text
//!     together │            ●  ─  ─  ●      n requests at once, each of which takes t, bring n / t
//!              │      ●
//!              │                            it ends when many more bring hardly more
//!              │ ●
//!              └────────────────────────▶ at once
//! ```
//!
//! The time of a single request is no sign of the end. Where processors are busy, all of them take
//! longer, from the first few on, and more of them still bring more together.

/// Requests at once that are tried, at most.
const MOST: usize = 64;
/// After two at once, this many times as many are tried next. With a factor of two a mount, which
/// measures for a short time, would not come far: the storage must end the attempt, not the time.
const STEP: usize = 4;
/// More requests must bring this many times as much, else still more are not tried.
const MORE: f64 = 1.2;

/// Requests of one length, this many at once.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Abreast {
    /// How many.
    pub(super) at_once: usize,
    /// How long each took in the mean, nanoseconds.
    pub(super) each: f64,
}

impl Abreast {
    /// From the times that they took. The first ones are left out, which found the device idle, and
    /// the slowest tenth: a few hiccups say nothing of the rest.
    pub(super) fn of(at_once: usize, times: &[u64]) -> Abreast {
        let mut times = times.get(at_once..).unwrap_or_default().to_vec();
        times.sort_unstable();
        times.truncate((times.len() * 9 / 10).max(1));
        let all: f64 = times.iter().map(|&nanos| nanos as f64).sum();
        Abreast { at_once, each: (all / times.len().max(1) as f64).max(1.0) }
    }

    /// Requests a nanosecond.
    fn together(self) -> f64 {
        self.at_once as f64 / self.each
    }
}

/// How many at once are to be tried next, one first; `None` once more bring hardly more.
pub(super) fn next(tried: &[Abreast]) -> Option<usize> {
    let more = match *tried {
        [.., before, last] => last.together() >= before.together() * MORE,
        _ => true,
    };
    let next = match tried.last().map(|last| last.at_once) {
        None => 1,
        Some(1) => 2,
        Some(last) => (last * STEP).min(MOST.max(last + 1)),
    };
    (more && next <= MOST).then_some(next)
}

/// The channels, from the attempts, one at a time first.
pub(super) fn channels(tried: &[Abreast]) -> u32 {
    let Some((alone, rest)) = tried.split_first() else { return 1 };
    let best = rest.iter().map(|tried| tried.together()).fold(alone.together(), f64::max);
    let most = rest.last().map_or(1, |last| last.at_once) as f64;
    (best / alone.together()).round().clamp(1.0, most) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests at once that are tried if `at_once` of them take `each` milliseconds, and the
    /// channels that the attempts tell.
    fn tried(each: impl Fn(usize) -> f64) -> (usize, u32) {
        let mut tried = Vec::new();
        while let Some(at_once) = next(&tried) {
            tried.push(Abreast { at_once, each: each(at_once) * 1e6 });
        }
        (tried[tried.len() - 1].at_once, channels(&tried))
    }

    #[test]
    fn a_store_has_as_many_as_it_serves_at_once() {
        let store = |channels: usize| move |at_once: usize| 23.0 * (at_once as f64 / channels as f64).max(1.0);
        assert_eq!(tried(store(1)), (2, 1));
        assert_eq!(tried(store(5)), (32, 5));
        assert_eq!(tried(store(20)), (64, 20));
        assert_eq!(tried(store(1000)), (64, 64));
    }

    /// Each request waits for the processor as well, and longer the more there are. Sixteen at once
    /// take more than half as long again as one, which was once taken for the end, and bring nearly
    /// twice as much as eight.
    #[test]
    fn busy_processors_are_not_the_end() {
        let busy = |at_once: usize| (23.0 + 0.8 * at_once as f64).max(1.15 * at_once as f64);
        assert!(busy(16) > 1.5 * busy(1));
        assert_eq!(tried(busy), (64, 21));
    }

    #[test]
    fn a_disk_has_one_and_hiccups_are_not_counted() {
        assert_eq!(tried(|at_once| 8.0 * at_once as f64 * 0.95), (2, 1));
        let times: Vec<u64> = (0..40).map(|nth| if nth % 20 == 0 { 1_000_000_000 } else { 23_000_000 }).collect();
        assert_eq!(Abreast::of(4, &times).each, 23e6);
        assert_eq!(channels(&[]), 1);
    }
}
