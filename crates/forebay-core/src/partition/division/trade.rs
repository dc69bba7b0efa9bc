//! Pages go from partition to partition by what one more gains and one fewer costs (past the paper, which assumes that hits grow with
//! the size): see [`marginal`].
//!
//! In one epoch they go until, by what curves say of the new sizes, it is no longer worth it: as soon as what a device costs is known to have
//! changed, so is where that leads. Waits at the new sizes will be others than foreseen, which the next epoch tells.

use alloc::vec::Vec;

use super::{Division, MEAN, left};
use crate::partition::marginal::{self, Aim, Curve, Worth};
use crate::partition::{Cost, Increment, Scheme, Share, Threshold, noise};

/// What goes at a time is one part in so many of what a loss is measured over.
const PIECES: u32 = 4;

/// What a partition does in an epoch. Nobody does both.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Neither,
    Gets(u32),
    Gives,
}

impl Division {
    /// Steps 3 and 4 by marginal benefit. Says whether a size has changed.
    pub(super) fn trade(&mut self) -> bool {
        // What streams gives first, to all others, the more the longer they wait.
        let freed = self.free_streaming();
        self.give(freed, |_, share| u64::from(!share.streaming) * (1 + u64::from(share.relative)));
        let roles = self.bargain();
        for (share, role) in self.shares.iter_mut().zip(&roles).filter(|(share, _)| !share.streaming) {
            share.streak = if matches!(role, Role::Gets(_)) { share.streak + 1 } else { 0 };
        }
        freed > 0 || roles.iter().any(|&role| role != Role::Neither)
    }

    /// Pages go, a few at a time, from where one is missed least to where one gains most.
    fn bargain(&mut self) -> Vec<Role> {
        let mut roles = alloc::vec![Role::Neither; self.shares.len()];
        let Some(distances) = &self.distances else { return roles };
        let aim = if self.settings.cost == Cost::Price { Aim::Least } else { Aim::Even };
        let lazy = self.settings.scheme == Scheme::Lazy;
        // A lazy partition's size is what it tends to, at whatever pace.
        let held = |share: &Share| if lazy { share.counted.frames } else { share.size };
        let curve = |of: (usize, &Share)| Curve::of(distances, of, held(of.1), self.frames, self.hull);
        let curves: Vec<Curve> = self.shares.iter().enumerate().map(curve).collect();
        let worth = |(curve, share): (&Curve, &Share), size| {
            if share.streaming { Worth::default() } else { curve.worth(size, aim) }
        };
        let mut held: Vec<u32> = self.shares.iter().map(held).collect();
        let mut worths: Vec<Worth> =
            curves.iter().zip(&self.shares).zip(&held).map(|(of, &size)| worth(of, size)).collect();
        // The lottery takes the sooner the less is left, whatever that is.
        let left = if lazy { 1 } else { left(self.frames, self.shares.len()) };
        let most: Vec<u32> = self.shares.iter().map(|share| self.most(share)).collect();
        let piece = marginal::part(self.frames).div_ceil(PIECES);
        // Each goes at most once through all of the cache.
        for _ in 0..self.frames / piece {
            let may_get = |device: usize| match roles[device] {
                Role::Neither => true,
                Role::Gets(pages) => pages < most[device],
                Role::Gives => false,
            };
            let may_give = |device: usize| {
                let share = &self.shares[device];
                share.size > left && !share.streaming && !matches!(roles[device], Role::Gets(_))
            };
            let threshold = |consumer, supplier| self.threshold_over(consumer, supplier);
            let Some((consumer, supplier)) = marginal::pair(&worths, threshold, may_get, may_give) else { break };
            let got = if let Role::Gets(pages) = roles[consumer] { pages } else { 0 };
            let pages = piece.min(most[consumer] - got).min(self.shares[supplier].size - left);
            (roles[consumer], roles[supplier]) = (Role::Gets(got + pages), Role::Gives);
            self.shares[consumer].size += pages;
            self.shares[supplier].size -= pages;
            held[consumer] = held[consumer].saturating_add(pages).min(self.frames);
            held[supplier] = held[supplier].saturating_sub(pages);
            for device in [consumer, supplier] {
                worths[device] = worth((&curves[device], &self.shares[device]), held[device]);
            }
        }
        roles
    }

    /// How much more a consumer must gain than a supplier loses, in thousandths.
    fn threshold_over(&self, consumer: usize, supplier: usize) -> u32 {
        match self.settings.threshold {
            Threshold::Percent(_) => self.threshold(consumer),
            Threshold::Variance => {
                let variance = |device: usize| self.shares[device].variance;
                MEAN.saturating_add(noise::range(self.shares.len(), variance(consumer), variance(supplier)))
            }
        }
    }

    /// How many pages a partition may get in this epoch: I, 2I, 4I… Adaptively, as many as are worth it.
    fn most(&self, share: &Share) -> u32 {
        match self.settings.increment {
            Increment::PerMille(parts) => {
                let next = Share { streak: share.streak + 1, ..*share };
                self.grown(&next, self.per_mille(parts.into())) as u32
            }
            Increment::Adaptive => self.frames,
        }
    }
}
