//! What the memory costs that a block takes which is fetched ahead in vain.
//!
//! It is not free because the disk is there anyway: while the block waits for somebody, a page that was read is elsewhere, and may be missed. The
//! eviction history tells how many are: of the last h that went, so many were missed after all, and a page more would have kept one more of
//! them. By Little's law the block waits for as long as it takes to fetch as many as are waiting; no longer than it takes to fill memory anew.
//!
//! ```text
//!     misses for it  =  misses of the history / h, per block filled  ×  min(waiting / share of fetched ahead, memory), blocks filled
//! ```
//!
//! Each of them is a switch. So where a switch is worth the transfer of D blocks, a block in vain costs its own and that of D times this.

use super::ceiling::ONE_MISS;

/// Looked at anew whenever one part in so many of memory was filled.
const OFTEN: u64 = 16;

/// Losses are in parts of a miss of which one has so many.
pub(super) const ONE_LOSS: u64 = 1 << 16;

/// What is counted for it. Half is forgotten whenever the rent is set.
#[derive(Clone, Debug, Default)]
pub(super) struct Rent {
    /// h, and all pages.
    history: u64,
    memory: u64,
    /// Misses on what was given up, in parts of [`ONE_MISS`].
    missed: u64,
    /// Blocks fetched ahead, and all.
    fetched: u64,
    filled: u64,
    /// Until the rent is set again.
    left: u64,
    loss: u64,
}

impl Rent {
    pub(super) fn new(history: u32, memory: u32) -> Rent {
        let (history, memory) = (u64::from(history.max(1)), u64::from(memory));
        Rent { history, memory, left: memory / OFTEN, ..Rent::default() }
    }

    /// A block is missed that had been read and given up.
    pub(super) fn missed(&mut self, weight: u64) {
        self.missed = self.missed.saturating_add(weight);
    }

    /// A page is filled with a block that nobody asked for yet.
    pub(super) fn fetches(&mut self) {
        self.fetched += 1;
    }

    /// A page is filled, whoever wants it, while so many are `waiting`.
    pub(super) fn fills(&mut self, waiting: u32) {
        self.filled += 1;
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            let stay = (u64::from(waiting) * self.filled / self.fetched.max(1)).min(self.memory);
            let missed = u128::from(self.missed) * u128::from(ONE_LOSS / ONE_MISS);
            let loss = missed * u128::from(stay) / (u128::from(self.filled) * u128::from(self.history));
            self.loss = u64::try_from(loss).unwrap_or(u64::MAX);
            (self.missed, self.fetched, self.filled) = (self.missed / 2, self.fetched / 2, self.filled / 2);
            self.left = self.memory / OFTEN;
        }
    }

    /// How many misses a block fetched in vain makes, in parts of [`ONE_LOSS`].
    pub(super) fn loss(&self) -> u64 {
        self.loss
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Memory of 1600 pages, a history of 100: it is looked at after 100.
    fn loss(missed: u64, ahead: u64, waiting: u32) -> f64 {
        let mut rent = Rent::new(100, 1600);
        (0..missed).for_each(|_| rent.missed(ONE_MISS));
        (0..ahead).for_each(|_| rent.fetches());
        (0..100).for_each(|_| rent.fills(waiting));
        rent.loss() as f64 / ONE_LOSS as f64
    }

    /// Of 100 pages filled half were fetched ahead, and 40 wait: each stays while 80 are filled. Ten misses were of the last hundred that
    /// went, 0.001 a page and page filled: 0.08.
    #[test]
    fn a_page_costs_what_is_missed_while_it_waits() {
        assert!((loss(10, 50, 40) - 0.08).abs() < 0.001, "{}", loss(10, 50, 40));
        assert_eq!(loss(0, 50, 40), 0.0, "nobody misses what goes");
        assert_eq!(loss(10, 50, 0), 0.0, "it is read at once");
        assert!(
            (loss(10, 0, 1600) - 1.6).abs() < 0.001,
            "no longer than memory takes to be filled: {}",
            loss(10, 0, 1600)
        );
    }

    #[test]
    fn no_number_is_too_large() {
        let mut rent = Rent::new(1, u32::MAX);
        rent.left = 1;
        (0..3).for_each(|_| rent.missed(u64::MAX / 2));
        rent.fills(u32::MAX);
        assert!(rent.loss() > ONE_LOSS);
    }

    #[test]
    fn what_was_is_forgotten() {
        let mut rent = Rent::new(100, 1600);
        (0..1000).for_each(|_| rent.missed(ONE_MISS));
        for _ in 0..30 {
            (0..50).for_each(|_| rent.fetches());
            (0..100).for_each(|_| rent.fills(40));
        }
        assert_eq!(rent.loss(), 0);
    }
}
