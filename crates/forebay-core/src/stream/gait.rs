//! Equal steps: a stream whose reader takes as many blocks as last time and leaves out as many
//! (past the papers, which know of none).
//!
//! ```text
//!     ▓▓▓▓░░░▓▓▓▓░░░▓▓▓▓░░░▓▓··░░░····      ▓ read   ░ left out   · expected
//!     run gap run gap      └ walked
//! ```
//!
//! No reader will come for the gaps between the steps of such a stream. They need no memory, and,
//! if reading through one takes longer than going around it, no time of the device either.

/// More equal steps in a row than this are no chance.
const SURE: u8 = 2;

/// How a stream's reader goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Gait {
    /// Blocks of the last whole step.
    run: u32,
    /// Blocks left out behind it.
    gap: u32,
    /// Blocks of the step that is under way.
    walked: u32,
    /// How many steps in a row were alike.
    seen: u8,
}

impl Gait {
    /// The gait of a stream that begins with a read of this many blocks.
    pub(super) fn begun(blocks: u32) -> Gait {
        Gait { walked: blocks, ..Gait::default() }
    }

    /// The stream goes on with `blocks` blocks, `skipped` blocks beyond its position.
    pub(super) fn goes_on(&mut self, skipped: u32, blocks: u32) {
        if skipped == 0 {
            self.walked = self.walked.saturating_add(blocks);
            if self.seen > 0 && self.walked > self.run {
                // A longer step than the last one: steps are not equal any more.
                self.seen = 0;
            }
            return;
        }
        let equal = (self.run, self.gap) == (self.walked, skipped);
        self.seen = if equal { self.seen.saturating_add(1) } else { 1 };
        (self.run, self.gap, self.walked) = (self.walked, skipped, blocks);
    }

    /// Whether steps are equal, so that the next ones are known.
    pub fn is_known(&self) -> bool {
        self.seen > SURE
    }

    /// The end of the gap that `block` lies in, if steps are equal and it lies in one. The stream
    /// is read up to `next`.
    pub fn gap_at(&self, next: u32, block: u32) -> Option<u32> {
        if !self.is_known() {
            return None;
        }
        let step_ends = next.saturating_add(self.run.saturating_sub(self.walked));
        let place = block.checked_sub(step_ends)? % self.run.saturating_add(self.gap);
        (place < self.gap).then(|| block.saturating_add(self.gap - place))
    }

    /// How many blocks a stream spans if `blocks` of them are wanted, gaps included.
    pub fn spans(&self, blocks: u32) -> u32 {
        if !self.is_known() {
            return blocks;
        }
        let (run, span) = (u64::from(self.run.max(1)), u64::from(self.run) + u64::from(self.gap));
        u32::try_from(u64::from(blocks) * span / run).unwrap_or(u32::MAX)
    }
}

/// The fate of blocks that lie in gaps of a file and were fetched all the same: whether another
/// reader came for them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Gaps {
    used: u16,
    unread: u16,
}

impl Gaps {
    /// The fewest blocks that tell something; at eight times as many, both counts are halved.
    const FEW: u16 = 16;

    /// One of them was read, or was given up unread.
    pub fn saw(&mut self, used: bool) {
        *(if used { &mut self.used } else { &mut self.unread }) += 1;
        if self.used + self.unread >= Self::FEW * 8 {
            (self.used, self.unread) = (self.used / 2, self.unread / 2);
        }
    }

    /// Whether it is known that less than one of eight is read.
    pub fn are_left_out(&self) -> bool {
        let all = self.used + self.unread;
        all >= Self::FEW && self.used < all / 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two blocks read, three left out, from block 10 on.
    fn steps(many: u32) -> (Gait, u32) {
        let mut gait = Gait::begun(2);
        (1..many).for_each(|_| gait.goes_on(3, 2));
        (gait, 10 + (many - 1) * 5 + 2)
    }

    #[test]
    fn three_equal_gaps_say_where_the_next_ones_are() {
        assert_eq!(steps(3).0.gap_at(22, 22), None, "two may be chance");
        let (gait, next) = steps(4);
        assert_eq!(next, 27);
        let gaps: alloc::vec::Vec<_> = (27..38).map(|block| gait.gap_at(next, block)).collect();
        let (gap, next_gap) = (Some(30), Some(35));
        assert_eq!(gaps, [gap, gap, gap, None, None, next_gap, next_gap, next_gap, None, None, Some(40)]);
        assert_eq!((gait.spans(2), gait.spans(20)), (5, 50));
    }

    /// A step may come in several reads.
    #[test]
    fn within_a_step_the_rest_of_it_is_no_gap() {
        let mut gait = Gait::begun(1);
        for _ in 0..4 {
            gait.goes_on(0, 1);
            gait.goes_on(6, 1);
        }
        assert!(gait.is_known());
        assert_eq!((gait.gap_at(100, 100), gait.gap_at(100, 101), gait.gap_at(100, 107)), (None, Some(107), None));
    }

    #[test]
    fn gaps_are_left_out_once_hardly_any_is_read_and_no_longer_if_they_are() {
        let mut gaps = Gaps::default();
        (0..15).for_each(|_| gaps.saw(false));
        assert!(!gaps.are_left_out(), "too few to say");
        (0..1000).for_each(|_| gaps.saw(false));
        assert!(gaps.are_left_out());
        (0..20).for_each(|_| gaps.saw(true));
        assert!(!gaps.are_left_out(), "others read them by now");
    }

    #[test]
    fn who_changes_pace_is_no_longer_known() {
        let known = steps(6).0;
        let (mut longer, mut farther, mut sequential) = (known, known, known);
        longer.goes_on(0, 1);
        farther.goes_on(4, 2);
        sequential.goes_on(0, 2);
        assert!(known.is_known() && !longer.is_known() && !farther.is_known() && !sequential.is_known());
        assert_eq!((longer.gap_at(50, 50), longer.spans(7)), (None, 7));
    }
}
