//! The cost of the memory that a block takes if it is prefetched in vain.
//!
//! That memory is not free: while the block waits for a reader, a page that was read has no room,
//! and may be missed. The eviction history tells how often: some of the last h evicted pages were
//! missed after all, and a page more would have kept one more of them. By Little's law the block
//! waits for as long as it takes to fetch as many as are waiting; no longer than it takes to fill
//! memory anew.
//!
//! ```text
//!     misses for it  =  misses of the history / h, per block filled  ×  min(waiting / share of fetched ahead, memory), blocks filled
//! ```
//!
//! Each of these misses is a switch. So if a switch is worth the transfer of D blocks, a block in
//! vain costs its own transfer and D times this.
//!
//! The cost of a page also says how many pages all streams should have: the economic order quantity
//! (Harris 1913), whose setup is a switch and whose holding cost is the rent. Each of n streams
//! gets x / n blocks by a switch, and holds as many again that are being read:
//!
//! ```text
//!     switches  =  fetched ahead · n / x        misses  =  2x · misses of the history / h        fewest at  x  =  √(n · fetched ahead · h / 2 misses)
//! ```
//!
//! CPEM's ceiling does not see the switches. It caps the depth, so that there are fewer prefetch
//! misses, but neither of its two miss rates says that pieces are too short.

/// Looked at anew whenever one part in this many of memory was filled.
const OFTEN: u64 = 16;

/// The parts of a miss in which losses are counted.
pub(super) const ONE_LOSS: u64 = 1 << 16;

/// A miss, in parts, so that halves of few are not lost.
const ONE_MISS: u64 = 256;

/// The counts that the rent is set by. They are halved whenever it is set.
#[derive(Clone, Debug, Default)]
pub(super) struct Rent {
    /// h, and all pages.
    history: u64,
    memory: u64,
    /// Misses on read blocks that were given up, in parts of [`ONE_MISS`].
    missed: u64,
    /// Blocks fetched ahead, and all.
    fetched: u64,
    filled: u64,
    /// Until the rent is set again.
    left: u64,
    loss: u64,
    /// x² of one stream; zero before anything is known.
    order: u64,
}

impl Rent {
    pub(super) fn new(history: u32, memory: u32) -> Rent {
        let (history, memory) = (u64::from(history.max(1)), u64::from(memory));
        Rent { history, memory, left: memory / OFTEN, ..Rent::default() }
    }

    /// A block is missed that had been read and given up.
    pub(super) fn missed(&mut self) {
        self.missed = self.missed.saturating_add(ONE_MISS);
    }

    /// A page is filled with a block that no reader has asked for yet.
    pub(super) fn fetches(&mut self) {
        self.fetched += 1;
    }

    /// A page is filled, on demand or ahead, while `waiting` blocks wait. Returns whether the rent
    /// was set.
    pub(super) fn fills(&mut self, waiting: u32) -> bool {
        self.filled += 1;
        self.left = self.left.saturating_sub(1);
        let due = self.left == 0;
        if due {
            let stay = (u64::from(waiting) * self.filled / self.fetched.max(1)).min(self.memory);
            let missed = u128::from(self.missed) * u128::from(ONE_LOSS / ONE_MISS);
            let loss = missed * u128::from(stay) / (u128::from(self.filled) * u128::from(self.history));
            self.loss = u64::try_from(loss).unwrap_or(u64::MAX);
            let kept = u128::from(self.fetched) * u128::from(self.history) * u128::from(ONE_MISS);
            self.order = u64::try_from(kept / (2 * u128::from(self.missed.max(1)))).unwrap_or(u64::MAX);
            (self.missed, self.fetched, self.filled) = (self.missed / 2, self.fetched / 2, self.filled / 2);
            self.left = self.memory / OFTEN;
        }
        due
    }

    /// How many misses a block fetched in vain makes, in parts of [`ONE_LOSS`].
    pub(super) fn loss(&self) -> u64 {
        self.loss
    }

    /// How many blocks `streams` should have ahead, so that switches and misses are fewest; at most
    /// half of memory, since as many are being read.
    pub(super) fn order(&self, streams: u32) -> u32 {
        self.fewest(streams).min(self.memory / 2) as u32
    }

    /// The same for streams that have several pieces under way each: only one of these is being
    /// read, and needs less.
    pub(super) fn order_of_few(&self, streams: u32) -> u32 {
        self.fewest(streams).min(self.memory / 4 * 3) as u32
    }

    fn fewest(&self, streams: u32) -> u64 {
        self.order.saturating_mul(streams.into()).isqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Memory of 1600 pages, a history of 100: it is looked at after 100.
    fn loss(missed: u64, ahead: u64, waiting: u32) -> f64 {
        let mut rent = Rent::new(100, 1600);
        (0..missed).for_each(|_| rent.missed());
        (0..ahead).for_each(|_| rent.fetches());
        (0..100).for_each(|_| _ = rent.fills(waiting));
        rent.loss() as f64 / ONE_LOSS as f64
    }

    /// Half of 100 pages filled were fetched ahead, and 40 wait: each stays while 80 are filled.
    /// Ten of the last hundred that went were missed, 0.001 a page and page filled: 0.08.
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

    /// 400 blocks are fetched ahead, and ten of each hundred that went are missed. With x ahead
    /// there are 400 · n / x switches, and the 2x pages that it takes make 2x · 10 / 100 misses: no
    /// other x has fewer of both together.
    #[test]
    fn the_order_has_the_fewest_switches_and_misses() {
        let mut rent = Rent::new(100, 6400);
        (0..10).for_each(|_| rent.missed());
        (0..400).for_each(|_| rent.fetches());
        assert_eq!(rent.order(4), 0, "nothing is known yet");
        (0..400).for_each(|_| _ = rent.fills(40));
        for streams in [1, 4, 16] {
            let cost = |x: u32| 400.0 * f64::from(streams) / f64::from(x) + f64::from(2 * x) * 10.0 / 100.0;
            let best = (1..3200).min_by(|&a, &b| cost(a).total_cmp(&cost(b))).expect("some");
            assert!(rent.order(streams).abs_diff(best) <= 1, "{} is not {best}", rent.order(streams));
        }
        assert_eq!(rent.order(u32::MAX), 3200, "half of memory is the most");
    }

    #[test]
    fn what_nobody_misses_is_for_what_is_ahead() {
        let mut rent = Rent::new(100, 1600);
        rent.fetches();
        (0..100).for_each(|_| _ = rent.fills(1));
        assert_eq!(rent.order(100), 800);
    }

    #[test]
    fn no_number_is_too_large() {
        let mut rent = Rent::new(1, u32::MAX);
        rent.left = 1;
        rent.missed = u64::MAX - 1;
        rent.missed();
        assert!(rent.fills(u32::MAX));
        assert!(rent.loss() > ONE_LOSS && rent.order(u32::MAX) <= u32::MAX / 2);
    }

    #[test]
    fn what_was_is_forgotten() {
        let mut rent = Rent::new(100, 1600);
        (0..1000).for_each(|_| rent.missed());
        for _ in 0..30 {
            (0..50).for_each(|_| rent.fetches());
            (0..100).for_each(|_| _ = rent.fills(40));
        }
        assert_eq!(rent.loss(), 0);
    }
}
