//! What a block more would save and a block fewer cost, in words that anybody understands: of each second, for how much of it readers wait
//! no longer, or longer. And how sizes changed, and why.
//!
//! The division itself compares pages by what its aim makes of waits ([`marginal`]); here they are waits.

use super::Division;
use crate::partition::marginal::{Aim, Curve};
use crate::partition::{Benefit, Cost, Scheme};
use crate::types::Instant;

/// What one block is worth to a partition, nanoseconds of waiting in each second.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct Prospect {
    /// What the next one would save. Of a loop that does not fit yet: its part of what saves as many as are needed.
    pub gain: u64,
    /// What giving one up would cost.
    pub loss: u64,
}

/// Why a partition got or gave blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum Cause {
    /// Readers of its device wait longer, or less long, than those of others (SAC §3.1).
    #[default]
    Wait,
    /// A block saves more, or less, there than elsewhere.
    Worth,
    /// Its accesses stream through without reuse.
    Streams,
}

/// How the size of a partition changed last.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct Change {
    /// By so many blocks.
    pub blocks: i64,
    /// At the end of this epoch, the first being 1.
    pub epoch: u64,
    /// Why.
    pub cause: Cause,
}

impl Division {
    /// The epoch that is under way began, and will have taken until now when its last request is over.
    pub(crate) fn lasted(&mut self, now: Instant) {
        let took = now.since(core::mem::replace(&mut self.epoch_began, now));
        self.lasted = super::super::share::aged(self.lasted, super::MEMORY).saturating_add(took);
    }

    /// What a block is worth to the partition of a device that holds `frames` now; `None` if nobody measures that, or nothing is known yet.
    pub fn prospect(&self, device: usize, frames: u32) -> Option<Prospect> {
        let distances = self.distances.as_ref().filter(|_| self.settings.cost == Cost::Wait)?;
        let share = self.shares.get(device).filter(|_| self.lasted > 0)?;
        let size = if self.settings.scheme == Scheme::Lazy { frames } else { share.size };
        let worth = Curve::of(distances, (device, share), size, self.frames, self.hull).worth(size, Aim::Least);
        // Of the last epochs' waits, over the last epochs' time.
        let a_second = |waited: u128| {
            let nanoseconds = waited.saturating_mul(1_000_000_000) / u128::from(self.lasted);
            u64::try_from(nanoseconds).unwrap_or(u64::MAX)
        };
        Some(Prospect { gain: a_second(worth.gain), loss: a_second(worth.loss) })
    }

    /// Notes what has become of sizes at the end of an epoch.
    pub(super) fn note_changes(&mut self) {
        let by_worth = self.settings.scheme == Scheme::Worth || self.settings.benefit != Benefit::Linear;
        let cause = if by_worth { Cause::Worth } else { Cause::Wait };
        for share in &mut self.shares {
            let blocks = i64::from(share.size) - i64::from(core::mem::replace(&mut share.before, share.size));
            let cause = if share.streaming && blocks < 0 { Cause::Streams } else { cause };
            if blocks != 0 {
                share.change = Some(Change { blocks, epoch: self.epochs, cause });
            }
        }
    }
}
