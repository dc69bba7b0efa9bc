//! The knowledge of one context: its accesses, its pattern, its loop, and whether it has a
//! partition.
//!
//! With any detector, the loop's rhythm and the number of blocks come from AMP's list, so that the
//! baselines have AMP's cache (the PCC* of AMP §4.2).

use alloc::boxed::Box;

use super::recency::{Mean, ONE, Recency, Sampling};
use super::{Detection, Settings};
use crate::hint::{Hint, Learnt, Pattern, Rhythm};
use crate::papers::{dear, pcc, ubm};
use crate::seams::{Access, Place};
use crate::types::BlockKey;

/// This many accesses with a defined R make a verdict: the mean of this many random ones is 0.5 ±
/// 0.036, nearly three deviations from T = 0.4.
const EVIDENCE: u64 = 64;
/// This many blocks in a row that were new, and to which no context came back, make a one-shot
/// context. If every other block of a context is new, it passes for one once in 65,536 times.
const LEFT_ALONE: u32 = 16;

/// The state of a context.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) id: u32,
    pub(super) accesses: u64,
    place: Place,
    rhythm: Rhythm,
    pattern: Pattern,
    /// Whether the pattern was seen here, and not only hinted at.
    measured: bool,
    /// Whether there was ever enough evidence of the rhythm.
    settled: bool,
    /// Accesses in a row that were the first of their block, of those that were looked at.
    fresh: u32,
    /// Blocks in a row to which no context came back for a long time, of those that were looked at.
    alone: u32,
    /// Accesses until the last review, and its popularity then: these accesses, with old ones
    /// counting less.
    reviewed: u64,
    popular: u64,
    /// The last review that saw accesses.
    seen: u64,
    recency: Recency,
    other: Option<Box<Other>>,
}

/// The detector of the pattern, if it is not AMP's.
#[derive(Clone, Debug)]
enum Other {
    Dear(dear::Detector),
    Counters(pcc::Counters),
    Run(ubm::Run),
}

impl Other {
    fn pattern(&self) -> Pattern {
        match self {
            Other::Dear(dear) => dear.pattern(),
            Other::Counters(counters) => counters.pattern(),
            Other::Run(run) => run.pattern(),
        }
    }
}

impl Known {
    /// A context of which only a hint is known.
    pub(super) fn new(id: u32, settings: &Settings, hint: Option<Hint>) -> Known {
        let (sampling, mean, other) = match settings.detection {
            Detection::Recency { sampling, mean, .. } => (sampling, mean, None),
            Detection::Dear { interval, group } => by_other(Other::Dear(dear::Detector::new(interval, group))),
            Detection::Counters { threshold } => by_other(Other::Counters(pcc::Counters::new(threshold))),
            Detection::Consecutive { threshold } => by_other(Other::Run(ubm::Run::new(threshold))),
        };
        let mut known = Known {
            id,
            accesses: 0,
            place: Place::Default,
            rhythm: Rhythm::default(),
            pattern: Pattern::Other,
            measured: false,
            settled: false,
            fresh: 0,
            alone: 0,
            reviewed: 0,
            popular: 0,
            seen: 0,
            recency: Recency::new(sampling, mean),
            other,
        };
        if let Some(hint) = hint {
            known.hint(hint);
        }
        known
    }

    /// An earlier run's hint, which counts as long as there is nothing better.
    pub(super) fn hint(&mut self, hint: Hint) {
        if self.measured {
            return;
        }
        (self.rhythm, self.settled) = (hint.rhythm, hint.rhythm != Rhythm::default());
        if hint.pattern == Pattern::OneShot {
            (self.fresh, self.alone) = (LEFT_ALONE, LEFT_ALONE);
        }
        self.take_for(hint.pattern);
    }

    /// The access as the cache manager is told of it, without the time.
    pub(super) fn access(&self) -> Access {
        let rhythm = if matches!(self.place, Place::Loop(_)) { self.rhythm } else { Rhythm::default() };
        Access { place: self.place, rhythm, now: 0 }
    }

    /// A block is accessed, whose hash may be of interest. Returns whether that made it a loop
    /// without a partition.
    pub(super) fn look(&mut self, key: BlockKey, hash: u64, now: u64, settings: &Settings) -> bool {
        match self.other.as_deref_mut() {
            Some(Other::Dear(dear)) => dear.access(key.raw()),
            Some(Other::Counters(counters)) => counters.access(key.raw()),
            Some(Other::Run(run)) => run.access(key.raw()),
            None => {}
        }
        if hash >= self.recency.bound() {
            return false;
        }
        match self.recency.look(key.raw(), now, self.accesses) {
            Some(_) => {
                self.fresh = 0;
                self.revisited();
            }
            None => self.fresh = self.fresh.saturating_add(1),
        }
        let continuous = matches!(settings.detection, Detection::Recency { mean: Mean::Continuous(_), .. });
        let before = self.pattern;
        if let Some(pattern) = continuous.then(|| self.by_recency(settings)).flatten() {
            self.find(pattern);
        }
        self.pattern != before && self.pattern == Pattern::Looping
    }

    /// The blocks that it wants to look at: those whose hash is below this.
    pub(super) fn wants(&self) -> u64 {
        if self.other.is_some() { u64::MAX } else { self.recency.bound() }
    }

    /// Whether it does not come back itself: it accesses new blocks only.
    pub(super) fn is_fresh(&self) -> bool {
        self.fresh >= LEFT_ALONE
    }

    /// A context came back to one of its blocks: that ends a one-shot, at once.
    pub(super) fn revisited(&mut self) {
        self.alone = 0;
        if self.pattern == Pattern::OneShot && self.other.is_none() {
            self.find(Pattern::Other);
        }
    }

    /// No context came back to one of its blocks for a long time.
    pub(super) fn left_alone(&mut self) {
        self.alone = self.alone.saturating_add(1);
    }

    /// Some time has gone by: judges its pattern again.
    pub(super) fn review(&mut self, now: u64, settings: &Settings) {
        let recent = self.accesses - self.reviewed;
        self.reviewed = self.accesses;
        self.popular = self.popular - self.popular.div_ceil(64) + recent;
        if recent > 0 {
            self.seen = now;
            self.judge(settings);
            self.recency.age(self.accesses);
        }
    }

    fn judge(&mut self, settings: &Settings) {
        let (rounds, rhythm) = self.recency.rhythm();
        let enough = rounds >= EVIDENCE;
        if let Some(rhythm) = rhythm.filter(|_| enough || !self.settled) {
            self.rhythm = rhythm;
        }
        self.settled |= enough;
        match self.other.as_deref().map(Other::pattern) {
            // `Other` may mean that the detector knows nothing yet, which does not overrule a hint.
            Some(pattern) if pattern != Pattern::Other || self.measured || enough => self.find(pattern),
            Some(_) => {}
            None => self.judge_by_recency(settings),
        }
        if enough {
            self.recency.forget();
        }
    }

    /// A few blocks watch a known context. If they see a loop begin or end, a full sample decides.
    fn judge_by_recency(&mut self, settings: &Settings) {
        let Some(pattern) = self.by_recency(settings) else { return };
        let periodic = matches!(settings.detection, Detection::Recency { mean: Mean::Periodic, .. });
        let changes = (pattern == Pattern::Looping) != (self.pattern == Pattern::Looping);
        if pattern == Pattern::OneShot || !periodic {
            self.find(pattern);
        } else if !self.recency.is_full() {
            if changes {
                self.recency.look_closer();
            }
        } else if self.recency.is_filled() {
            self.find(pattern);
            self.recency.watch();
        }
    }

    fn find(&mut self, pattern: Pattern) {
        self.measured = true;
        self.take_for(pattern);
    }

    /// The pattern by AMP §3.1; `None` as long as there is no evidence.
    fn by_recency(&self, settings: &Settings) -> Option<Pattern> {
        let Detection::Recency { threshold, .. } = settings.detection else { return None };
        if self.is_fresh() && self.alone >= LEFT_ALONE {
            return Some(Pattern::OneShot);
        }
        let (_, defined) = self.recency.seen();
        match self.recency.mean().filter(|_| defined >= EVIDENCE)? {
            mean if mean < threshold => Some(Pattern::Looping),
            // As far above 0.5 as a loop is below it.
            mean if mean > ONE - threshold.min(ONE / 2) => Some(Pattern::Clustered),
            _ => Some(Pattern::Other),
        }
    }

    /// Sets the pattern. A partition that it had for another pattern is lost.
    fn take_for(&mut self, pattern: Pattern) {
        self.pattern = pattern;
        self.place = match (pattern, self.place) {
            (Pattern::OneShot, _) => Place::Dropped,
            (Pattern::Looping, Place::Loop(number)) => Place::Loop(number),
            _ => Place::Default,
        };
    }

    /// It gets the partition of this number, or none.
    pub(super) fn set_partition(&mut self, number: Option<u8>) {
        if self.pattern == Pattern::Looping {
            self.place = number.map_or(Place::Default, Place::Loop);
        }
    }

    /// The number of its partition.
    pub(super) fn partition(&self) -> Option<u8> {
        match self.place {
            Place::Loop(number) => Some(number),
            Place::Default | Place::Dropped => None,
        }
    }

    /// How much it deserves a partition, "in terms of unique block count"; `None` if it is no loop,
    /// or an unknown one. A loop that has stopped ranks behind all others: its blocks have been
    /// swept by then (AMP §3.2).
    pub(super) fn deserves(&self, now: u64) -> Option<u64> {
        let Rhythm { size, time, deviation } = self.rhythm;
        let looping = self.pattern == Pattern::Looping && size > 0 && time > 0;
        let sweep = time.saturating_add(deviation.saturating_mul(3));
        let stopped = self.reviewed > 0 && now - self.seen > sweep.saturating_mul(2);
        looping.then(|| if stopped { 0 } else { size.into() })
    }

    /// How often it was accessed of late.
    pub(super) fn popularity(&self) -> u64 {
        self.popular + (self.accesses - self.reviewed)
    }

    /// The hint for the next run.
    pub(super) fn to_hint(&self) -> Option<Hint> {
        (self.pattern != Pattern::Other).then(|| Hint::of(self.pattern, self.learnt().rhythm))
    }

    pub(super) fn learnt(&self) -> Learnt {
        Learnt {
            id: self.id,
            pattern: self.pattern,
            recency: self.recency.mean(),
            accesses: self.accesses,
            blocks: self.recency.blocks(),
            rhythm: if self.pattern == Pattern::Looping { self.rhythm } else { Rhythm::default() },
            partition: self.partition(),
        }
    }

    /// The bytes that it takes beyond itself.
    pub(super) fn footprint(&self) -> usize {
        let other = match self.other.as_deref() {
            Some(Other::Dear(dear)) => dear.footprint(),
            Some(Other::Counters(counters)) => counters.footprint(),
            Some(Other::Run(_)) | None => 0,
        };
        self.recency.footprint() + other + self.other.as_ref().map_or(0, |_| size_of::<Other>())
    }
}

fn by_other(other: Other) -> (Sampling, Mean, Option<Box<Other>>) {
    (super::SAMPLING, Mean::Periodic, Some(Box::new(other)))
}
