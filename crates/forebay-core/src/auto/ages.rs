//! How long ago hit blocks were used before: the age at which a block may still come back.
//!
//! Where data are read round after round, each block comes back after a time that has a bound. The
//! rounds may be in another order each time: then no block is hit later than after two rounds. A
//! block that nobody has used for twice as long as that is done with.

/// The low bits of virtual time: only ages are compared.
pub(super) type Moment = u32;

/// The largest age of a hit block lately: in this window and the one before. A window has as many
/// references as the largest age, so that a block that goes on coming back at that age is always
/// seen. It has at least as many references as the cache has frames.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ages {
    /// When this window began.
    began: Moment,
    /// The largest age in it.
    largest: Moment,
    /// The largest age in the window before.
    before: Moment,
}

impl Ages {
    /// Nothing is known before `now`, so that every block may be as old as the cache has frames.
    pub(super) fn new(now: Moment, frames: u32) -> Ages {
        Ages { began: now, largest: frames, before: frames }
    }

    /// A block is hit that was used this long ago.
    pub(super) fn hear(&mut self, age: Moment, now: Moment, frames: u32) {
        self.go_on(now, frames);
        self.largest = self.largest.max(age);
    }

    /// Whether a block that was used this long ago is done with.
    pub(super) fn are_passed_by(&mut self, age: Moment, now: Moment, frames: u32) -> bool {
        self.go_on(now, frames);
        age / 2 > self.largest.max(self.before)
    }

    /// The next window begins when this one is over.
    fn go_on(&mut self, now: Moment, frames: u32) {
        if now.wrapping_sub(self.began) >= self.largest.max(self.before).max(frames) {
            *self = Ages { began: now, largest: 0, before: self.largest };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_done_with_at_twice_the_largest_age_of_two_windows() {
        let mut ages = Ages::new(0, 10);
        assert!(!ages.are_passed_by(21, 1, 10) && ages.are_passed_by(22, 1, 10));
        ages.hear(50, 2, 10);
        assert!(!ages.are_passed_by(101, 51, 10) && ages.are_passed_by(102, 51, 10));
        // The second window begins at 60, the third one at 110.
        ages.hear(20, 60, 10);
        assert!(!ages.are_passed_by(101, 100, 10));
        assert!(ages.are_passed_by(42, 110, 10) && !ages.are_passed_by(41, 110, 10));
    }
}
