//! The access pattern detector (AMP Fig. 3, §3.1): which contexts there are, what patterns they
//! have, which of them have a partition.
//!
//! ```text
//!   access ──▶ context ─▶ hash below Q? ──no──▶ the answer that stands
//!                              │ yes
//!                              ▼
//!              its list (R̄, rhythm) and the common one (one-shot), or a baseline
//!
//!   every `review` accesses    verdicts; the most popular loops get the numbers of partitions
//! ```
//!
//! **Contexts** are program contexts, files or handlers ([`By`]). At most
//! [`Detector::most_contexts`] are known; a new one takes the place of the least popular of some,
//! whose pattern is kept as a hint. Context 0 ("unknown") is one like any other.
//!
//! **One-shot** contexts are those whose last blocks were all new to them, and to whose blocks no
//! context came back for a long time. A long time is twice as many accesses as the cache has frames
//! ([`Detector::over`]): by then LRU would have evicted them, so the default partition would not
//! have had that hit either. A loop longer than that is taken for one-shot in its first round, and
//! for a loop in its second.
//!
//! **Partitions** go to the looping contexts with the most blocks. A context keeps its number for
//! as long as it has one; one that has a partition is only displaced by one with a quarter more
//! blocks, since block counts are estimates. A context that gets another's number gets its
//! partition as it is: the cache manager sweeps the other's blocks from it.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::cmp::Reverse;

use super::known::Known;
use super::recency::Sampling;
use super::revisits::Revisits;
use super::{Detection, Settings};
use crate::hint::{Hint, Learnt, Pattern};
use crate::random::hash;
use crate::seams::{By, Contexts, MOST_PARTITIONS, Standing};
use crate::types::{BlockKey, ContextId};

/// The most hints that are kept of contexts that did not appear; further ones are not taken.
pub const MOST_HINTS: usize = 4096;
/// The common list of blocks is this many times as long as that of a context: a context with a
/// hundredth of all blocks still has ten there.
const WIDER: u32 = 4;
/// A long time, in accesses, if the size of the cache is not known.
const LONG: u64 = 1 << 16;
/// The context to forget is chosen among this many.
const CANDIDATES: usize = 16;
/// A power of two.
const CELLS: usize = 1024;

/// The detector of a cache.
#[derive(Clone, Debug)]
pub struct Detector {
    settings: Settings,
    /// When the next review is due.
    due: u64,
    contexts: Vec<Known>,
    /// Where in `contexts` one of an id was found last, by the id's last bits.
    cells: [u16; CELLS],
    last: Last,
    /// Where in `contexts` each is.
    index: BTreeMap<u32, u16>,
    /// Hints of contexts that are not known, by [`By::Context`].
    hints: BTreeMap<u32, Hint>,
    /// Where the next one to be forgotten is looked for.
    hand: usize,
    revisits: Option<Revisits>,
    /// For a review.
    ranks: Vec<Rank>,
}

/// A loop, in the order in which loops get partitions: the most blocks first, then loops that have
/// a partition, then the one known first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Rank {
    blocks: Reverse<u64>,
    has_none: bool,
    at: u16,
}

/// The context that was accessed last, which is mostly the next one as well.
#[derive(Clone, Debug, Default)]
struct Last {
    id: u32,
    at: usize,
    /// The time of the last access that is counted.
    since: u64,
    /// A block is looked at if its hash is below this.
    sample: u64,
}

impl Detector {
    /// A detector that knows nothing yet.
    pub fn new(settings: Settings) -> Detector {
        let settings = Settings {
            review: settings.review.max(1),
            partitions: settings.partitions.min(MOST_PARTITIONS),
            ..settings
        };
        let revisits = match settings.detection {
            Detection::Recency { sampling: Sampling::Adaptive(most), .. } => {
                Some(Revisits::new(Sampling::Adaptive(most.saturating_mul(WIDER)), LONG))
            }
            Detection::Recency { sampling, .. } => Some(Revisits::new(sampling, LONG)),
            Detection::Dear { .. } | Detection::Counters { .. } | Detection::Consecutive { .. } => None,
        };
        Detector {
            settings,
            due: settings.review.into(),
            contexts: Vec::new(),
            cells: [0; CELLS],
            last: Last::default(),
            index: BTreeMap::new(),
            hints: BTreeMap::new(),
            hand: 0,
            revisits,
            ranks: Vec::with_capacity(Detector::most_contexts(settings.by)),
        }
    }

    /// Sets the size of the cache, from which a long time follows.
    #[must_use]
    pub fn over(mut self, frames: u32) -> Detector {
        if let Some(revisits) = &mut self.revisits {
            revisits.set_long(u64::from(frames.max(1)) * 2);
        }
        self
    }

    /// The most contexts that are known at a time. "Less than a dozen different call stacks
    /// dominate most I/O requests" (AMP §2.3); files are more.
    pub fn most_contexts(by: By) -> usize {
        match by {
            By::Context | By::Handler => 256,
            By::File => 1024,
        }
    }

    /// Another context than the last one; it may be new.
    fn turn_to(&mut self, id: u32, now: u64) {
        let cell = id as usize % CELLS;
        let mut at = usize::from(self.cells[cell]);
        if self.contexts.get(at).is_none_or(|known| known.id != id) {
            let known = self.index.get(&id).map(|&at| usize::from(at));
            at = known.unwrap_or_else(|| self.come_to_know(id, now));
            self.cells[cell] = at as u16;
        }
        (self.last.id, self.last.at) = (id, at);
        self.recall();
    }

    /// Finds the bound of the blocks that are looked at when the last context accesses them.
    fn recall(&mut self) {
        let known = &self.contexts[self.last.at];
        let revisits = self.revisits.as_ref().filter(|revisits| known.is_fresh() || !revisits.is_empty());
        self.last.sample = known.wants().max(revisits.map_or(0, Revisits::bound));
    }

    /// Counts the accesses of the last context that were not looked at: all before this one.
    fn count(&mut self, now: u64) {
        let before = now.saturating_sub(1);
        if let Some(known) = self.contexts.get_mut(self.last.at) {
            known.accesses += before.saturating_sub(self.last.since);
        }
        self.last.since = before;
    }

    fn come_to_know(&mut self, id: u32, now: u64) -> usize {
        let hint = self.hints.get(&id).copied();
        let known = Known::new(id, &self.settings, hint);
        let at = if self.contexts.len() < Detector::most_contexts(self.settings.by) {
            self.contexts.push(known);
            self.contexts.len() - 1
        } else {
            let at = self.forgettable();
            let forgotten = core::mem::replace(&mut self.contexts[at], known);
            self.forget(&forgotten);
            at
        };
        self.index.insert(id, at as u16);
        self.lend(at, now);
        at
    }

    /// The least popular context that the hand passes and that has no partition.
    fn forgettable(&mut self) -> usize {
        let len = self.contexts.len();
        let from = self.hand;
        self.hand = (from + CANDIDATES) % len;
        let passed = (from..from + CANDIDATES).map(|at| at % len);
        let free = passed.filter(|&at| self.contexts[at].partition().is_none());
        free.min_by_key(|&at| self.contexts[at].popularity()).unwrap_or(from)
    }

    fn forget(&mut self, known: &Known) {
        self.index.remove(&known.id);
        if self.settings.by != By::Context {
            return;
        }
        match known.to_hint() {
            Some(hint) => self.keep(known.id, hint),
            None => drop(self.hints.remove(&known.id)),
        }
    }

    fn keep(&mut self, id: u32, hint: Hint) {
        if self.hints.len() < MOST_HINTS || self.hints.contains_key(&id) {
            self.hints.insert(id, hint);
        }
    }

    /// A block that is looked at is accessed by the last context: notes to whose block it comes
    /// back, if the common list has the block. The block of a context that does not come back
    /// itself enters that list.
    fn visit(&mut self, key: BlockKey, hash: u64, now: u64) {
        let Some(revisits) = self.revisits.as_mut().filter(|revisits| hash < revisits.bound()) else { return };
        if let Some(whose) = revisits.come_back(key.raw())
            && let Some(&at) = self.index.get(&whose)
        {
            self.contexts[usize::from(at)].revisited();
        }
        let known = &self.contexts[self.last.at];
        if !known.is_fresh() && revisits.is_empty() {
            return;
        }
        if known.is_fresh() {
            revisits.leave(key.raw(), known.id, now);
        }
        self.leave_alone(now);
    }

    /// Blocks to which no context came back for a long time leave the common list.
    fn leave_alone(&mut self, now: u64) {
        let Some(revisits) = &mut self.revisits else { return };
        while let Some(whose) = revisits.forget_one(now) {
            if let Some(&at) = self.index.get(&whose) {
                self.contexts[usize::from(at)].left_alone();
            }
        }
    }

    fn review(&mut self, now: u64) {
        self.due = now + u64::from(self.settings.review);
        self.leave_alone(now);
        for known in &mut self.contexts {
            known.review(now, &self.settings);
        }
        if let Some(revisits) = &mut self.revisits {
            revisits.adapt();
        }
        self.number(now);
    }

    /// The most popular loops ("in terms of unique block count"), "up to a fixed number" (AMP
    /// §3.3).
    fn number(&mut self, now: u64) {
        self.ranks.clear();
        for (at, known) in (0..).zip(&self.contexts) {
            if let Some(blocks) = known.deserves(now) {
                let has_none = known.partition().is_none();
                let blocks = Reverse(if has_none { blocks } else { blocks + blocks / 4 });
                self.ranks.push(Rank { blocks, has_none, at });
            }
        }
        self.ranks.sort_unstable();
        let chosen = self.ranks.len().min(self.settings.partitions.into());
        for rank in &self.ranks[chosen..] {
            self.contexts[usize::from(rank.at)].set_partition(None);
        }
        for nth in 0..chosen {
            self.lend(self.ranks[nth].at.into(), now);
        }
    }

    /// A context that deserves a partition gets the first that is free.
    fn lend(&mut self, at: usize, now: u64) {
        if self.contexts[at].deserves(now).is_none() || self.contexts[at].partition().is_some() {
            return;
        }
        let taken = self.contexts.iter().filter_map(Known::partition).fold(0u32, |taken, number| taken | 1 << number);
        let number = (!taken).trailing_zeros();
        if number < u32::from(self.settings.partitions) {
            self.contexts[at].set_partition(Some(number as u8));
        }
    }
}

impl Contexts for Detector {
    fn by(&self) -> By {
        self.settings.by
    }

    fn accessed(&mut self, id: u32, key: BlockKey, now: u64) -> Standing {
        self.count(now);
        if id != self.last.id || self.contexts.is_empty() {
            self.turn_to(id, now);
        }
        let (at, hash) = (self.last.at, hash(key.raw()));
        self.contexts[at].accesses += 1;
        self.last.since = now;
        if hash < self.last.sample || now >= self.due {
            if self.contexts[at].look(key, hash, now, &self.settings) {
                self.lend(at, now);
            }
            self.visit(key, hash, now);
            if now >= self.due {
                self.review(now);
            }
            self.recall();
        }
        Standing { access: self.contexts[at].access(), sample: self.last.sample, due: self.due }
    }

    /// Measurements of this run prevail over the hint.
    fn hinted(&mut self, context: ContextId, hint: Hint, now: u64) {
        if hint.pattern == Pattern::Other {
            return;
        }
        self.keep(context.0, hint);
        if let Some(&at) = self.index.get(&context.0) {
            self.contexts[usize::from(at)].hint(hint);
            self.lend(at.into(), now);
            self.recall();
        }
    }

    /// Includes hints of contexts that did not appear, excludes contexts without a pattern.
    fn hints(&self) -> Vec<(ContextId, Hint)> {
        if self.settings.by != By::Context {
            return Vec::new();
        }
        let mut hints = self.hints.clone();
        for known in &self.contexts {
            match known.to_hint() {
                Some(hint) => drop(hints.insert(known.id, hint)),
                None => drop(hints.remove(&known.id)),
            }
        }
        hints.into_iter().map(|(context, hint)| (ContextId(context), hint)).collect()
    }

    fn learnt(&self, now: u64) -> Vec<Learnt> {
        let uncounted = now - self.last.since;
        let learnt = self.index.values().map(|&at| {
            let mut learnt = self.contexts[usize::from(at)].learnt();
            learnt.accesses += if usize::from(at) == self.last.at { uncounted } else { 0 };
            learnt
        });
        learnt.collect()
    }

    /// Their number is bounded: contexts, hints, and the blocks of lists are (but for
    /// [`Sampling::Off`] and [`Sampling::Fixed`], whose lists have all blocks accessed of late).
    fn footprint(&self) -> usize {
        let contexts: usize = self.contexts.iter().map(Known::footprint).sum();
        // An entry of a map has its part of a node.
        let maps = self.index.len() * 12 + self.hints.len() * 96;
        size_of::<Detector>()
            + self.contexts.capacity() * size_of::<Known>()
            + self.ranks.capacity() * size_of::<Rank>()
            + contexts
            + maps
            + self.revisits.as_ref().map_or(0, Revisits::footprint)
    }
}
