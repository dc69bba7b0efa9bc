//! Pages go from partition to partition by what one more gains and one fewer costs (past the paper, which assumes that hits grow with
//! the size): see [`marginal`].

use alloc::vec::Vec;

use super::{Division, left};
use crate::partition::marginal::{self, Aim};
use crate::partition::{Cost, Increment, Scheme, Share};

impl Division {
    /// Steps 3 and 4 by marginal benefit. Says whether a size has changed.
    pub(super) fn trade(&mut self) -> bool {
        let Some(distances) = &self.distances else { return false };
        let aim = if self.settings.cost == Cost::Price { Aim::Cheap } else { Aim::Even };
        let worth = |(device, share): (usize, &Share)| {
            // A lazy partition's size is what it tends to, at whatever pace.
            let held = if self.settings.scheme == Scheme::Lazy { share.counted.frames } else { share.size };
            marginal::worth(distances, (device, share), held, self.frames, aim)
        };
        let worths: Vec<marginal::Worth> = self.shares.iter().enumerate().map(worth).collect();
        // The lottery takes the sooner the less is left, whatever that is.
        let left = if self.settings.scheme == Scheme::Lazy { 1 } else { left(self.frames, self.shares.len()) };
        let may_give = |device: usize| self.shares[device].size > left;
        let pairs: Vec<(usize, usize)> = marginal::pairs(&worths, |device| self.threshold(device), may_give).collect();
        let gaining = |device: usize| pairs.iter().any(|&(consumer, _)| consumer == device);
        for number in 0..self.shares.len() {
            self.shares[number].streak = if gaining(number) { self.shares[number].streak + 1 } else { 0 };
        }
        for &(consumer, supplier) in &pairs {
            let base = match self.settings.increment {
                Increment::PerMille(parts) => self.per_mille(parts.into()),
                Increment::Adaptive => {
                    let (gain, loss) = (worths[consumer].gain, worths[supplier].loss.max(1));
                    self.adapted(u64::try_from((gain - loss.min(gain)).saturating_mul(1000) / loss).unwrap_or(u64::MAX))
                }
            };
            // Waits of the last eight epochs tell what is gained; in these it is not to be more than that was measured for.
            let most = self.shares[supplier].size.saturating_sub(left).min((marginal::part(self.frames) / 8).max(1));
            let pages = self.grown(&self.shares[consumer], base).min(most.into()) as u32;
            self.shares[supplier].size -= pages;
            self.shares[consumer].size += pages;
        }
        !pairs.is_empty()
    }
}
