//! Which fetched blocks are worth a write.
//!
//! The blocks of a scan are fetched once, so a piece has to be fetched a second time before it is
//! written. That also keeps away what memory holds: it is not fetched again. Only the first
//! sixteenth of a new tier takes everything, for it is of use after a restart. While the tier is
//! full, a piece has to be fetched more often than those that it would replace, as TinyLFU has it
//! (Einziger, Friedman and Manes, ACM Transactions on Storage 2017, §3). So of a data set that is
//! larger than the tier and read round after round, the tier keeps one part, and has it in each
//! round. A fetch ahead of readers that was given up unread does not count.

use super::ghosts::Ghosts;
use super::{Admit, Run};

/// Pieces whose fetches are remembered, for each chunk that the tier holds: 64 bytes. A round over
/// a data set of so many tiers is noticed, or of a sixteenth of that if it is read in single
/// blocks.
const REMEMBERED: u64 = 32;

/// The least fetches of a piece that is written.
const FETCHES: u32 = 2;

/// By how many fetches a piece has to exceed those that it would replace. Of pieces read round
/// after round, one is ahead of another by one fetch until the round ends, and when counts are
/// halved a mean loses up to one.
const AHEAD: u32 = 2;

/// A mean of counts is in sixteenths.
const SIXTEENTHS: u32 = 16;

/// The pieces that a piece is compared with.
#[derive(Clone, Copy, Debug)]
pub(super) enum Compared {
    /// There is room.
    Room,
    /// A segment would be given up, whose pieces were fetched so often in the mean, in sixteenths.
    Victim(u32),
}

#[derive(Clone, Debug)]
pub(super) struct Admission {
    rule: Admit,
    /// How often pieces were fetched.
    ghosts: Ghosts,
}

impl Admission {
    /// For a tier of so many chunks.
    pub(super) fn new(rule: Admit, chunks: u64) -> Admission {
        let remembered = if rule == Admit::All { 0 } else { chunks.saturating_mul(REMEMBERED) };
        Admission { rule, ghosts: Ghosts::new(remembered) }
    }

    /// A piece is fetched, from the tier or from below.
    pub(super) fn fetched(&mut self, run: Run) {
        if self.rule != Admit::All {
            self.ghosts.add(name(run));
        }
    }

    /// A piece that was fetched ahead was given up before it was read.
    pub(super) fn unread(&mut self, run: Run) {
        self.ghosts.take_back(name(run));
    }

    /// How often a piece was fetched lately, 0 to 15.
    pub(super) fn count(&self, run: Run) -> u32 {
        self.ghosts.count(name(run))
    }

    /// How often pieces were fetched in the mean, in sixteenths.
    pub(super) fn mean(&self, pieces: impl Iterator<Item = Run>) -> u32 {
        let (sum, len) = pieces.fold((0, 0), |(sum, len), run| (sum + self.count(run), len + 1));
        sum * SIXTEENTHS / u32::max(len, 1)
    }

    /// Whether a piece is written that has just been fetched.
    pub(super) fn admits(&self, run: Run, compared: Compared) -> bool {
        let count = self.count(run);
        match (self.rule, compared) {
            (Admit::All, _) => true,
            (Admit::Second, _) | (Admit::Often, Compared::Room) => count >= FETCHES,
            (Admit::Often, Compared::Victim(mean)) => {
                count >= FETCHES && count.saturating_sub(AHEAD) * SIXTEENTHS > mean
            }
        }
    }

    pub(super) fn footprint(&self) -> usize {
        self.ghosts.footprint()
    }
}

/// A piece as one number: by its first block, so that the two parts of a chunk which is fetched in
/// two are not one chunk that is fetched twice.
fn name(run: Run) -> u64 {
    run.file.0 ^ u64::from(run.start).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
