//! Gill and Bathen, "AMP: Adaptive Multi-stream Prefetching in a Shared Cache" (FAST 2007): a
//! degree p and a trigger distance g for each stream, both learnt. (The other AMP is a replacement
//! policy; this one is called `gill`.)
//!
//! Steady streams that share a cache all do best on two conditions. Each reads its prefetched pages
//! just before they would be evicted, p = r · L. And it asks for the next set just early enough to
//! be there in time. So
//!
//! - p grows by the size of a read when a read hits the last page of a set (the pages of one I/O)
//!   and that had no second chance, and with every read that misses;
//! - p falls by one, not below one, when a page comes to the end of the LRU list unread, and g with
//!   it: g = min { p − 1, g − 1 };
//! - g grows by the size of a read when a prefetch arrives and the read waits for the first page of
//!   it already.
//!
//! ```text
//!   |────────── set, p pages ──────────|────────── next set ──────────|
//!                       ▲ trigger: g pages behind it          ▲ last page hit: p grows
//!   ▲ waited for: g grows
//! ```
//!
//! A miss fetches p pages more (synchronously): p of the page before, so none at the first read of
//! a stream. Once p is greater than the threshold APT = 4 a set has a trigger, at first APT / 2
//! from its end, and hitting it fetches the next p pages. A set is larger than the trigger distance
//! behind it: p ≥ g + 1. (This, and how g falls with p, are from programs written after the paper's
//! figures, which we do not have.) [`GillLru`](crate::replacement::GillLru) decides on pages
//! in the LRU list.
//!
//! The paper keeps p and g in the last page of a set: "This removes any restriction on the number
//! of streams that can be tracked." Here streams are known, and each has its own. The trigger here
//! is the distance, not a page: if g changes while a set is being read, the change holds for this
//! set too. The text leaves open by how much g grows ("we increment g"). Here it grows as p does:
//! one page at a time would take hundreds of sets if reads have many. The text does not bound p
//! either: here `degree` does, 256 pages by default.
//!
//! With another replacement than the paper's an unread page has no second chance, and p falls when
//! it is evicted. With labels (SCM §4.2) only demanded blocks make p and g grow.

use alloc::vec;
use alloc::vec::Vec;

use crate::reason::Reason;
use crate::seams::{Heard, Needs, Plan, Prefetcher, Sight};
use crate::types::StreamId;

/// The asynchronous prefetch threshold: "APT is set to an empirically reasonable value of 4".
const APT: u32 = 4;

/// The pages that one I/O brought.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Set {
    /// Its first page.
    first: u32,
    /// The page behind its last one; zero if there is no set.
    end: u32,
    /// Whether its last page was hit already, or came to the LRU end unread: hitting it counts no
    /// more.
    spent: bool,
}

/// The degree and trigger distance that a stream has learnt, in blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Pace {
    /// p; zero before the first read that missed.
    pub degree: u32,
    /// g, less than p.
    pub distance: u32,
    /// The latest set, and the one before, which is read until the reader comes to the latest.
    sets: [Set; 2],
}

impl Pace {
    /// A read of `size` wanted blocks missed; its fetch had the old p.
    pub fn missed(&mut self, size: u32, most: u32) {
        self.grow(size, most);
        if self.degree > APT {
            self.distance = self.distance.max(APT / 2);
        }
    }

    /// A set `first .. end` was asked for.
    pub fn fetched(&mut self, first: u32, end: u32) {
        self.sets = [Set { first, end, spent: false }, self.sets[0]];
    }

    /// A read of `size` wanted blocks hits block `last`, if that is the last page of a set, for the
    /// first time. Returns whether it is.
    pub fn hit(&mut self, last: u32, size: u32, most: u32) -> bool {
        let ends = self.ends_with(last);
        if ends {
            self.grow(size, most);
        }
        ends
    }

    /// A read of `size` wanted blocks waits for a prefetch that begins with block `first`, and it
    /// has arrived.
    pub fn waited(&mut self, first: u32, size: u32, most: u32) {
        if self.sets.iter().any(|set| set.first == first && set.end > first) {
            self.distance = self.distance.saturating_add(size).min(most - 1).max(self.distance);
            self.degree = self.degree.max(self.distance + 1);
        }
    }

    /// Block `block` came to the LRU end unread.
    pub fn unread(&mut self, block: u32) {
        if self.ends_with(block) || self.degree > 0 {
            self.degree = self.degree.saturating_sub(1).max(1);
            self.distance = self.distance.saturating_sub(1).min(self.degree - 1);
        }
    }

    /// The blocks asked for from `block` on do not come.
    pub fn lost(&mut self, block: u32) {
        for set in &mut self.sets {
            if set.end > block {
                *set = Set::default();
            }
        }
    }

    /// The last pages that are worth a hit.
    pub(crate) fn lasts(&self) -> impl Iterator<Item = u32> + use<> {
        self.sets.into_iter().filter(|set| set.end > 0 && !set.spent).map(|set| set.end - 1)
    }

    fn grow(&mut self, size: u32, most: u32) {
        self.degree = self.degree.saturating_add(size).min(most.max(self.degree));
    }

    /// Whether a set ends with this block. Each set does so once.
    fn ends_with(&mut self, block: u32) -> bool {
        let ends = |set: &&mut Set| !set.spent && set.end.checked_sub(1) == Some(block);
        let Some(set) = self.sets.iter_mut().find(ends) else { return false };
        set.spent = true;
        true
    }
}

/// Degrees and trigger distances learnt by stream.
#[derive(Clone, Debug)]
pub struct Gill {
    /// By the stream's place.
    paces: Vec<Pace>,
    /// No degree is larger, in blocks.
    most: u32,
}

impl Gill {
    /// For this many streams, whose degrees are at most `most` blocks.
    pub fn new(streams: u32, most: u32) -> Gill {
        Gill { paces: vec![Pace::default(); streams.max(1) as usize], most: most.max(1) }
    }

    /// The pace of a stream, by its place; the default if there is no such place.
    pub fn pace_of(&self, stream: StreamId) -> Pace {
        self.paces.get(stream.index()).copied().unwrap_or_default()
    }

    fn pace(&mut self, stream: StreamId) -> Option<&mut Pace> {
        self.paces.get_mut(stream.index())
    }
}

impl Prefetcher for Gill {
    fn needs(&self) -> Needs {
        Needs { late_parts: false, ..Needs::default() }
    }

    fn takes_place(&mut self, stream: StreamId) {
        if let Some(pace) = self.pace(stream) {
            *pace = Pace::default();
        }
    }

    fn plan(&mut self, sight: &Sight<'_>) -> Plan {
        let Pace { degree, distance, .. } = self.pace_of(sight.id);
        if degree == 0 {
            return Plan::NOTHING;
        }
        let asked = sight.stream.next.saturating_sub(sight.from());
        let piece = match sight.missed {
            Some(_) => asked.saturating_add(degree),
            None if degree > APT && sight.stream.piece > 0 && sight.stream.remaining() <= distance => degree,
            None => 0,
        };
        Plan { distance, ..Plan::one(piece) }.because(Reason::Learnt, Reason::Learnt)
    }

    fn heard(&mut self, stream: StreamId, heard: &Heard) {
        let most = self.most;
        let Some(pace) = self.pace(stream) else { return };
        let size = heard.demand.len.max(1);
        for last in pace.lasts() {
            if heard.extent.has(last) && (heard.demand.has(last) || heard.hits.has(last)) {
                pace.hit(last, size, most);
            }
        }
        if heard.missed && !heard.demand.is_empty() {
            pace.missed(heard.demand.len, most);
        }
    }

    fn asked(&mut self, stream: StreamId, first: u32, end: u32) {
        if let Some(pace) = self.pace(stream) {
            pace.fetched(first, end);
        }
    }

    fn waited(&mut self, stream: StreamId, first: u32, awaited: u32) {
        let most = self.most;
        if let Some(pace) = self.pace(stream) {
            pace.waited(first, awaited, most);
        }
    }

    fn came_unread(&mut self, stream: StreamId, block: u32) {
        if let Some(pace) = self.pace(stream) {
            pace.unread(block);
        }
    }

    fn lost(&mut self, stream: StreamId, block: u32) {
        if let Some(pace) = self.pace(stream) {
            pace.lost(block);
        }
    }

    fn footprint(&self) -> usize {
        self.paces.len() * size_of::<Pace>()
    }
}
