//! How many pages a consumer gets at a time: the base increment I, and its exponential growth (SAC §3.1); past the paper an increment that
//! adapts to how far devices are apart (§5.5 and §7 wish for one).

use super::{Division, MEAN};
use crate::partition::{Increment, Share};

/// I of the paper, in thousandths of the cache.
pub(super) const PAPERS_INCREMENT: u64 = 2;

impl Division {
    /// "The increase in cache size grows exponentially." More than the cache there is not.
    pub(super) fn grown(&self, share: &Share, base: u64) -> u64 {
        (base << share.streak.saturating_sub(1).min(31)).min(u64::from(self.frames))
    }

    /// I, at least one page.
    pub(super) fn increment(&self, share: &Share) -> u64 {
        match self.settings.increment {
            Increment::PerMille(parts) => self.per_mille(parts.into()),
            // Small as long as devices are alike, as the paper's if one waits twice as long as those that supply, and up to eight
            // times that: half of the devices that wait twice as long are as far off as a single one, though nearer to the mean
            // (SAC §5.5). Of the last epochs, since in one of them alone waits differ by chance.
            Increment::Adaptive => {
                let shares = || self.shares.iter().filter(|share| !share.streaming).map(|share| share.recent.cost);
                let all = mean(shares());
                let supplying = mean(shares().filter(|&cost| u128::from(cost) <= all)).max(1);
                let excess = u128::from(share.recent.cost).saturating_sub(supplying) * 1000 / supplying;
                self.adapted(u64::try_from(excess).unwrap_or(u64::MAX))
            }
        }
    }

    /// I for so many thousandths more than with others.
    pub(super) fn adapted(&self, excess: u64) -> u64 {
        (u64::from(self.frames) * PAPERS_INCREMENT * excess.min(8_000) / 1_000_000).max(1)
    }

    pub(super) fn per_mille(&self, parts: u64) -> u64 {
        (u64::from(self.frames) * parts / 1000).max(1)
    }

    /// The adaptive increment overshoots no more than the paper's own assumption does, that hits grow with the size: with `h` of them
    /// and `m` misses, a size of s, and r times the mean to wait, s · m/h · (1 - 1/r) pages more are enough. One at least.
    pub(super) fn enough(&self, share: &Share) -> u64 {
        let (hits, misses) = share.last();
        if self.settings.increment != Increment::Adaptive || hits == 0 {
            return u64::MAX;
        }
        let excess = u128::from(share.relative.saturating_sub(MEAN));
        let pages = u128::from(share.size) * u128::from(misses) * excess
            / (u128::from(hits) * u128::from(share.relative.max(1)));
        u64::try_from(pages).unwrap_or(u64::MAX).max(1)
    }
}

/// The mean of costs.
fn mean(costs: impl Iterator<Item = u64> + Clone) -> u128 {
    let sum: u128 = costs.clone().map(u128::from).sum();
    sum / (costs.count() as u128).max(1)
}
