//! Devices whose accesses stream through without reuse have next to no cache (past the paper; SAC §3.1: "streaming accesses that do not
//! fit in the cache are problematic as the algorithm does not currently detect this type of access").

use alloc::vec::Vec;

use super::increment::PAPERS_INCREMENT;
use super::{Division, left};
use crate::partition::{Increment, Share};

/// Of a device without reuse fewer references than this are reuse, in thousandths; from the second on it has some again.
const STREAMING: (u32, u32) = (31, 62);

impl Division {
    /// Which devices have none. Says whether one has begun to stream, or to have reuse again.
    pub(super) fn look_for_reuse(&mut self) -> bool {
        let Some(distances) = &mut self.distances else { return false };
        distances.epoch(super::MEMORY);
        if !self.settings.reuse {
            return false;
        }
        let streams = |(number, share): (usize, &Share)| {
            // Until enough is known it stays what it was.
            let least = if share.streaming { STREAMING.1 } else { STREAMING.0 };
            distances.reuse(number, share.size).map_or(share.streaming, |reuse| reuse < least)
        };
        let mut streaming: Vec<bool> = self.shares.iter().enumerate().map(streams).collect();
        // If all of them do, nobody is there to have the pages.
        if streaming.iter().all(|&streaming| streaming) {
            streaming.fill(false);
        }
        let mut any = false;
        for (share, streaming) in self.shares.iter_mut().zip(streaming) {
            if share.streaming != streaming {
                share.streaming = streaming;
                share.streak = 0;
                any = true;
            }
        }
        any
    }

    /// Takes pages from the partitions whose devices have no reuse: I, 2I, 4I…, until next to nothing remains. Says how many.
    pub(super) fn free_streaming(&mut self) -> u64 {
        let left = left(self.frames, self.shares.len());
        let mut freed = 0;
        for number in 0..self.shares.len() {
            let share = self.shares[number];
            if share.streaming {
                self.shares[number].streak += 1;
                let base = match self.settings.increment {
                    Increment::PerMille(parts) => self.per_mille(parts.into()),
                    Increment::Adaptive => self.per_mille(PAPERS_INCREMENT),
                };
                let pages = self.grown(&self.shares[number], base).min(share.size.saturating_sub(left).into());
                self.shares[number].size -= pages as u32;
                freed += pages;
            }
        }
        freed
    }
}
