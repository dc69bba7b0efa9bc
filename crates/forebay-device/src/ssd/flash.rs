//! The places of a flash drive's pages, and the garbage that it collects: a page-mapped translation
//! layer with greedy cleaning. `docs/notes/2026-11-28-disks.md` compares it with the closed form.
//!
//! ```text
//!  host page ─┐                ┌── block: valid ▓▓░▓░░▓░ invalid      victim: the fewest valid pages
//!             ├─▶ open block ──┤                                        │
//!  copies  ───┘   (a log)      └── block ▓▓▓▓▓▓▓▓                       └─▶ its valid pages are copied,
//!                                                                           it is erased and is free
//! ```
//!
//! A page is never overwritten in place: it goes to the open block, and its old place holds
//! garbage. Once no block is free, the one with the fewest valid pages is emptied. Pages written
//! per page that the host writes are the *write amplification*. For uniform random writes it is
//! known in closed form: Peter Desnoyers, "Analytic modeling of SSD write performance" (SYSTOR
//! 2012), and Werner Bux and Ilias Iliadis, "Performance of greedy garbage collection in
//! flash-based solid-state drives" (Performance Evaluation 67, 2010).
//!
//! Left out: several open blocks, hot and cold pages apart, trimmed pages, wear levelling, and
//! blocks that a drive keeps free for bursts.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::random::Random;

/// A translation layer as it is written in a description.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// Over-provisioning: flash beyond the drive's capacity, as a share of it.
    pub spare: f64,
    /// The state of the drive before its first request.
    #[serde(default)]
    pub state: State,
    /// Milliseconds that a read waits at the longest for a die that is being written.
    #[serde(default)]
    pub program_ms: f64,
}

/// The past of a drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Nothing: no page is written.
    Empty,
    /// Every page was written once, in order.
    Sequential,
    /// The same, then twice as many pages at random places: the steady state that data sheets mean.
    #[default]
    Random,
}

/// Pages of a block. A drive's blocks have thousands, and are cleaned a little worse.
const BLOCK: u32 = 256;

/// Pages that are followed at the most: 512 blocks. Of a larger drive a sample is followed.
const FOLLOWED: u64 = 1 << 17;

/// Pages of the host over which the amplification is averaged: those of some blocks, since a block
/// is cleaned as a whole.
const WINDOW: u32 = 32 * BLOCK;

impl Description {
    /// The fault in it, if any.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        if !(0.01..=10.0).contains(&self.spare) {
            return Err("`flash.spare` must be 0.01 to 10");
        }
        if !(0.0..=1e6).contains(&self.program_ms) {
            return Err("`flash.program_ms` must be 0 to 1,000,000 ms");
        }
        Ok(())
    }
}

/// A place of the flash, or of the host, that holds nothing.
const NOWHERE: u32 = u32::MAX;

/// The translation layer of a small drive.
#[derive(Clone, Debug)]
pub(crate) struct Flash {
    /// Pages of a block.
    block: u32,
    /// The place of each of the host's pages.
    place: Vec<u32>,
    /// The host's page at each place, if it is valid.
    page: Vec<u32>,
    /// Valid pages of each block.
    valid: Vec<u32>,
    /// Full blocks by valid pages: the victim is the first one.
    full: BTreeSet<Full>,
    /// Empty blocks, the next one last.
    free: Vec<u32>,
    /// The next place of the open block, and the end of that block.
    next: u32,
    end: u32,
}

/// A full block, in the order in which blocks are cleaned.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Full {
    valid: u32,
    number: u32,
}

impl Flash {
    /// A drive of `pages` pages and the spare share more, with one block beyond: the one that is
    /// being filled. Of a whole drive that block is nothing.
    pub(crate) fn new(pages: u32, block: u32, spare: f64) -> Flash {
        let blocks = (f64::from(pages) * (1.0 + spare) / f64::from(block)).ceil() as u32 + 1;
        // With less than one block of spare, cleaning would gain nothing.
        let blocks = blocks.max(pages.div_ceil(block) + 2);
        Flash {
            block,
            place: vec![NOWHERE; pages as usize],
            page: vec![NOWHERE; (blocks * block) as usize],
            valid: vec![0; blocks as usize],
            full: BTreeSet::new(),
            free: (1..blocks).rev().collect(),
            next: 0,
            end: block,
        }
    }

    /// The host writes `page`; returns how many pages were copied for it.
    pub(crate) fn write(&mut self, page: u32) -> u32 {
        let copied = if self.next == self.end { self.open() } else { 0 };
        self.forget(page);
        self.put(page);
        copied
    }

    /// Closes the open block and opens a free one. The last free block is filled with the victim's
    /// valid pages first; returns how many they were. A page is left for the host: the full blocks
    /// have a block more than the host has pages, so one of them holds garbage.
    fn open(&mut self) -> u32 {
        self.close();
        let free = self.free.pop().expect("a cleaned block is free again");
        (self.next, self.end) = (free * self.block, (free + 1) * self.block);
        if !self.free.is_empty() {
            return 0;
        }
        let victim = self.full.pop_first().expect("all blocks but the open one are full").number;
        let copied = self.valid[victim as usize];
        for place in victim * self.block..(victim + 1) * self.block {
            let page = std::mem::replace(&mut self.page[place as usize], NOWHERE);
            if page != NOWHERE {
                self.put(page);
            }
        }
        self.valid[victim as usize] = 0;
        self.free.push(victim);
        copied
    }

    fn close(&mut self) {
        let number = self.end / self.block - 1;
        self.full.insert(Full { valid: self.valid[number as usize], number });
    }

    /// The place of `page` holds garbage from now on.
    fn forget(&mut self, page: u32) {
        let place = self.place[page as usize];
        if place == NOWHERE {
            return;
        }
        self.page[place as usize] = NOWHERE;
        let number = place / self.block;
        let valid = self.valid[number as usize];
        self.valid[number as usize] = valid - 1;
        if self.full.remove(&Full { valid, number }) {
            self.full.insert(Full { valid: valid - 1, number });
        }
    }

    fn put(&mut self, page: u32) {
        self.place[page as usize] = self.next;
        self.page[self.next as usize] = page;
        self.valid[(self.next / self.block) as usize] += 1;
        self.next += 1;
    }
}

/// The garbage of a drive of any size. Of each `group` pages one is followed, chosen by chance:
/// random writes stay random, and pages that are written or overwritten together stay together.
#[derive(Clone, Debug)]
pub(crate) struct Garbage {
    description: Description,
    /// Pages of a group, and groups. The last one is made whole.
    group: u64,
    groups: u64,
    seed: u64,
    /// Made at the first write.
    flash: Option<Flash>,
    /// Pages that the host wrote, and pages that were copied, since the window began.
    written: u32,
    copied: u32,
    /// Pages copied per page that the host writes, over the last window.
    ratio: f64,
}

impl Garbage {
    /// That of a drive of `pages`, in the state of `description`.
    pub(crate) fn new(description: Description, pages: u64, seed: u64) -> Garbage {
        let group = pages.div_ceil(FOLLOWED).max(1);
        let groups = pages.div_ceil(group).max(1);
        Garbage { description, group, groups, seed, flash: None, written: 0, copied: 0, ratio: 0.0 }
    }

    /// The host writes pages `first..end`: pages that the drive writes for each of them.
    pub(crate) fn write(&mut self, first: u64, end: u64) -> f64 {
        if self.flash.is_none() {
            self.begin();
        }
        // A page beyond the drive's end is one from its start, and no request writes a page twice.
        let end = end.min(first.saturating_add(self.groups * self.group));
        if first < end {
            for group in first / self.group..=(end - 1) / self.group {
                let followed = group % self.groups;
                if (first..end).contains(&(group * self.group).saturating_add(self.chosen(followed))) {
                    self.follow(followed);
                }
            }
        }
        1.0 + self.ratio
    }

    /// The page of a group that is followed: a constant one would be blind to writes in steps.
    fn chosen(&self, group: u64) -> u64 {
        Random::new(self.seed ^ group.wrapping_mul(0x9e37_79b9_7f4a_7c15)).below(self.group)
    }

    fn follow(&mut self, page: u64) {
        let Some(flash) = &mut self.flash else { return };
        self.copied += flash.write(page as u32);
        self.written += 1;
        if self.written == WINDOW {
            self.ratio = f64::from(self.copied) / f64::from(self.written);
            (self.written, self.copied) = (0, 0);
        }
    }

    /// Brings the drive into its first state.
    fn begin(&mut self) {
        let pages = self.groups as u32;
        self.flash = Some(Flash::new(pages, BLOCK, self.description.spare));
        if self.description.state == State::Empty {
            return;
        }
        (0..pages).for_each(|page| self.follow(page.into()));
        if self.description.state == State::Random {
            let mut random = Random::new(self.seed);
            (0..2 * pages).for_each(|_| self.follow(random.below(pages.into())));
        }
    }
}

#[cfg(test)]
mod tests;
