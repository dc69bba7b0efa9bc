//! The detector without sampling as its rules have it, with plain lists.

use std::collections::BTreeMap;

use super::T;
use forebay_core::BlockKey;
use forebay_core::papers::amp::recency::ONE;
use forebay_core::seams::{Access, Place};
use forebay_core::{Pattern, Rhythm};

/// The detector without sampling as its rules have it, with plain lists. No more contexts than are
/// known at a time.
#[derive(Default)]
pub(crate) struct Twin {
    pub(crate) now: u64,
    pub(crate) long: u64,
    pub(crate) contexts: BTreeMap<u32, TwinContext>,
    /// Blocks of contexts that do not come back: block, context, time.
    pub(crate) left: Vec<(BlockKey, u32, u64)>,
}

#[derive(Default)]
pub(crate) struct TwinContext {
    /// The oldest first: block, time, turn.
    pub(crate) list: Vec<(BlockKey, u64, u64)>,
    pub(crate) accesses: u64,
    before: u64,
    fresh: u32,
    alone: u32,
    /// Figures of the period: recencies, accesses of rounds, their times.
    recencies: Vec<u64>,
    pub(crate) rounds: Vec<(u64, u64)>,
    pub(crate) pattern: Option<Pattern>,
    pub(crate) rhythm: Rhythm,
    settled: bool,
    seen: u64,
    pub(crate) partition: Option<u8>,
}

pub(crate) const REVIEW: u64 = 100;
pub(crate) const PARTITIONS: u8 = 2;

impl Twin {
    pub(crate) fn access(&mut self, id: u32, key: BlockKey) -> Access {
        self.now += 1;
        let now = self.now;
        let context = self.contexts.entry(id).or_default();
        context.accesses += 1;
        let turn = context.accesses;
        match context.list.iter().position(|&(block, ..)| block == key) {
            Some(position) => {
                let others = context.list.len() as u64 - 1;
                let recency = (position as u64 * u64::from(ONE)).checked_div(others).unwrap_or(u64::from(ONE) / 2);
                let (_, time, before) = context.list.remove(position);
                context.recencies.push(recency);
                context.rounds.push((turn - before, now - time));
                context.fresh = 0;
                context.revisited();
            }
            None => context.fresh += 1,
        }
        context.list.push((key, now, turn));
        let fresh = context.fresh >= 16;
        if let Some(at) = self.left.iter().position(|&(block, ..)| block == key) {
            let (_, whose, _) = self.left.remove(at);
            self.contexts.get_mut(&whose).unwrap().revisited();
        }
        if fresh {
            self.left.push((key, id, now));
        }
        if fresh || !self.left.is_empty() || now.is_multiple_of(REVIEW) {
            self.age();
        }
        if now.is_multiple_of(REVIEW) {
            self.contexts.values_mut().for_each(|context| context.review(now));
            self.number();
        }
        self.contexts[&id].told(now)
    }

    pub(crate) fn age(&mut self) {
        while let Some(&(_, whose, time)) = self.left.first() {
            if time >= self.now.saturating_sub(self.long) {
                break;
            }
            self.left.remove(0);
            self.contexts.get_mut(&whose).unwrap().alone += 1;
        }
    }

    pub(crate) fn number(&mut self) {
        let now = self.now;
        let mut loops: Vec<(u64, bool, u64, u32)> = Vec::new();
        for (nth, (&id, context)) in (0..).zip(&self.contexts) {
            let Rhythm { size, time, deviation } = context.rhythm;
            if context.pattern == Some(Pattern::Looping) && size > 0 {
                let stopped = now - context.seen > 2 * (time + 3 * deviation);
                let size = if stopped { 0 } else { u64::from(size) };
                let rank = if context.partition.is_some() { size + size / 4 } else { size };
                loops.push((u64::MAX - rank, context.partition.is_none(), nth, id));
            }
        }
        loops.sort_unstable();
        let (chosen, rest) = loops.split_at(loops.len().min(PARTITIONS.into()));
        rest.iter().for_each(|(.., id)| self.contexts.get_mut(id).unwrap().partition = None);
        for (.., id) in chosen {
            if self.contexts[id].partition.is_none() {
                let free = (0..).find(|&number| self.contexts.values().all(|other| other.partition != Some(number)));
                self.contexts.get_mut(id).unwrap().partition = free;
            }
        }
    }
}

impl TwinContext {
    pub(crate) fn revisited(&mut self) {
        self.alone = 0;
        if self.pattern == Some(Pattern::OneShot) {
            self.pattern = Some(Pattern::Other);
        }
    }

    pub(crate) fn review(&mut self, now: u64) {
        if self.accesses == self.before {
            return;
        }
        (self.before, self.seen) = (self.accesses, now);
        let defined = self.recencies.len() as u64;
        let enough = defined >= 64;
        if defined > 0 && (enough || !self.settled) {
            let time = self.rounds.iter().map(|&(_, time)| time).sum::<u64>() / defined;
            let squares = self.rounds.iter().map(|&(_, time)| time * time).sum::<u64>() / defined;
            self.rhythm = Rhythm {
                size: (self.rounds.iter().map(|&(turns, _)| turns).sum::<u64>() / defined) as u32,
                time,
                deviation: (squares - time * time).isqrt(),
            };
        }
        self.settled |= enough;
        let mean = self.recencies.iter().sum::<u64>().checked_div(defined).map(|mean| mean as u32);
        let pattern = match mean {
            _ if self.fresh >= 16 && self.alone >= 16 => Some(Pattern::OneShot),
            Some(mean) if enough && mean < T => Some(Pattern::Looping),
            Some(mean) if enough && mean > ONE - T => Some(Pattern::Clustered),
            Some(_) if enough => Some(Pattern::Other),
            _ => None,
        };
        self.pattern = pattern.or(self.pattern);
        if self.pattern != Some(Pattern::Looping) {
            self.partition = None;
        }
        if enough {
            self.recencies.clear();
            self.rounds.clear();
        }
        // Blocks are let go of one by one, each making the list shorter, and so the next one's
        // time.
        while let Some(&(.., turn)) = self.list.first() {
            let stale = (4 * self.list.len() as u64).max(4096);
            if turn >= self.accesses.saturating_sub(stale) {
                break;
            }
            self.list.remove(0);
        }
    }

    pub(crate) fn told(&self, now: u64) -> Access {
        match (self.pattern, self.partition) {
            (Some(Pattern::OneShot), _) => Access { place: Place::Dropped, now, ..Access::default() },
            (_, Some(number)) => Access { place: Place::Loop(number), rhythm: self.rhythm, now },
            _ => Access { now, ..Access::default() },
        }
    }
}
