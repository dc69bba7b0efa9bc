//! Pages go from partition to partition by what one more gains and one fewer costs (past the paper, which assumes that hits grow with
//! the size): see [`marginal`].

use alloc::vec::Vec;

use super::{Division, left};
use crate::partition::marginal::{self, Aim};
use crate::partition::{Benefit, Cost, Increment, Scheme, Share};

impl Division {
    /// Steps 3 and 4 by marginal benefit. Says whether a size has changed.
    pub(super) fn trade(&mut self) -> bool {
        // What streams gives first, to all others, the more the longer they wait.
        let freed = self.free_streaming();
        self.give(freed, |_, share| u64::from(!share.streaming) * (1 + u64::from(share.relative)));
        let Some(distances) = &self.distances else { return false };
        let least = self.settings.cost == Cost::Price || self.settings.benefit == Benefit::Waits;
        let aim = if least { Aim::Least } else { Aim::Even };
        let worth = |(device, share): (usize, &Share)| {
            if share.streaming {
                return marginal::Worth::default();
            }
            // A lazy partition's size is what it tends to, at whatever pace.
            let held = if self.settings.scheme == Scheme::Lazy { share.counted.frames } else { share.size };
            marginal::worth(distances, (device, share), held, self.frames, (aim, self.hull))
        };
        let worths: Vec<marginal::Worth> = self.shares.iter().enumerate().map(worth).collect();
        // The lottery takes the sooner the less is left, whatever that is.
        let left = if self.settings.scheme == Scheme::Lazy { 1 } else { left(self.frames, self.shares.len()) };
        let may_give = |device: usize| self.shares[device].size > left && !self.shares[device].streaming;
        let pairs: Vec<(usize, usize)> = marginal::pairs(&worths, |device| self.threshold(device), may_give).collect();
        let gaining = |device: usize| pairs.iter().any(|&(consumer, _)| consumer == device);
        for (number, share) in self.shares.iter_mut().enumerate().filter(|(_, share)| !share.streaming) {
            share.streak = if gaining(number) { share.streak + 1 } else { 0 };
        }
        for &(consumer, supplier) in &pairs {
            let base = match self.settings.increment {
                Increment::PerMille(parts) => self.per_mille(parts.into()),
                Increment::Adaptive => {
                    let (gain, loss) = (worths[consumer].gain, worths[supplier].loss.max(1));
                    self.adapted(u64::try_from((gain - loss.min(gain)).saturating_mul(1000) / loss).unwrap_or(u64::MAX))
                }
            };
            // Waits of the last epochs tell what is gained; in these it is not to be more than that was measured for.
            let measured = (marginal::part(self.frames) / self.memory() as u32).max(1);
            let most = self.shares[supplier].size.saturating_sub(left).min(measured);
            let pages = self.grown(&self.shares[consumer], base).min(most.into()) as u32;
            self.shares[supplier].size -= pages;
            self.shares[consumer].size += pages;
        }
        freed > 0 || !pairs.is_empty()
    }
}
