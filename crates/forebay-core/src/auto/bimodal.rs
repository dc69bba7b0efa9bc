//! Everything as one loop: only few new blocks stay (past AMP).
//!
//! If several contexts go around in the same blocks, as queries of a database do in its tables,
//! partitions pull these blocks to and fro. Each takes over the blocks of another one's round, or
//! the default policy gets them and evicts them. None of the contexts has a rhythm of its own
//! either, so sweeps come too early. Taken together they are one loop that is too long, and such a
//! loop hits as many blocks as stay:
//!
//! ```text
//!              by a rule, in whole runs
//!   missed ──┬────────────────────────────────────────────────▶ default policy ──▶ victim
//!            │                                        hit ▲
//!            └──▶ a queue of a fiftieth of the frames ────┴───▶ first victims
//! ```
//!
//! Readers that go around one loop close behind one another hit each block in the queue. All of
//! them would be kept, and none until the next round. So while there is more than one hit for four
//! blocks of the queue, a hit tells nothing, and the block stays there, as in 2Q's A1in (Johnson
//! and Shasha, VLDB 1994).
//!
//! By the first rule, *returns* ([`View::Whole`](super::duel::View::Whole)):
//!
//! - One run of 32 is admitted by chance (bimodal insertion: Qureshi et al., ISCA 2007, §4), so
//!   that the kept blocks change with time. Whole runs are drawn, of 32 to 1024 blocks. A scan pays
//!   a switch at each, and of readers that share a loop the one that hits leaves the others behind.
//!   They are drawn anew after as many accesses as there are entries (see below).
//! - A block is admitted that was missed before, and more recently than the default policy's last
//!   victim was used, as in LIRS (Jiang and Zhang, SIGMETRICS 2002, §3.1): of the two it comes back
//!   sooner. If the kept blocks are of no use any more, their victims are old, and any block missed
//!   twice replaces them. In a loop all kept blocks were used since.
//!
//! Some data are read once a round, but in another order each time. There, draws and returns
//! exchange kept blocks for others that are worth no more, and the kept block that is due next goes
//! first. The second rule, *ages* ([`View::Still`](super::duel::View::Still)), admits a block only
//! in the place of one that is *done with*: the last victim was used more than twice as long ago as
//! any block that was hit lately ([`Ages`]). `docs/notes/2026-11-28-auto-settled.md` compares
//! rules.
//!
//! The times of misses are kept by hash, an entry for each block: a block whose entry another block
//! takes is forgotten.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::RangeInclusive;

use super::ages::{Ages, Moment};
use crate::frames::Slot;
use crate::random::{Random, hash};
use crate::seams::{Place, Placement, Use};
use crate::types::BlockKey;

/// One run of new blocks in this many stays.
const ONE_IN: u64 = 32;
/// A run has the frames' part of this many, …
const RUNS: u32 = 32;
/// … at least 2^5 blocks, and at most 2^10: many times what a disk transfers in the time of a
/// switch.
const RUN: RangeInclusive<u32> = 5..=10;
/// The queue has one frame of this many.
const QUEUE: u32 = 50;
/// Hits in the queue tell something while at most one of so many blocks there has one.
const HITS_TELL: u32 = 4;
/// The counts of these are halved after so many blocks.
const LATELY: u32 = 1 << 10;

/// Which new block stays beside the kept ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rule {
    /// One that was missed since the last victim was used, and one that is drawn.
    Returns,
    /// Any, if the last victim is done with.
    Ages,
}

/// Which new blocks stay.
#[derive(Clone, Debug)]
pub(super) struct Bimodal {
    /// Whether one-shot blocks go, whatever the draw.
    drops: bool,
    rule: Rule,
    /// Whether every frame was used once: until then all new blocks stay.
    filled: bool,
    frames: u32,
    /// How long the queue is.
    queue: u32,
    now: Moment,
    /// When the block of each slot was used last; slots not used since this began have `before`.
    used: Vec<Moment>,
    /// See `used`.
    before: Moment,
    /// Blocks that were missed, and when.
    missed: Vec<(BlockKey, Moment)>,
    /// When the default policy's last victim was used last.
    victim: Moment,
    /// For [`Rule::Ages`].
    ages: Ages,
    /// The latest draw, and until when it holds.
    draw: u64,
    until: Moment,
    /// The run of new blocks that is under way.
    run: Run,
    /// The blocks of a run are two to the power of this.
    run_bits: u32,
    /// The blocks that came into the queue.
    queued: Queued,
}

/// The blocks that came into the queue lately, and the hits there.
#[derive(Clone, Copy, Debug, Default)]
struct Queued {
    blocks: u32,
    hits: u32,
}

impl Queued {
    fn comes(&mut self) {
        self.blocks += 1;
        if self.blocks >= LATELY {
            (self.blocks, self.hits) = (self.blocks / 2, self.hits / 2);
        }
    }

    /// Whether a hit tells a block from the others, since few have one.
    fn tells(self) -> bool {
        self.hits.saturating_mul(HITS_TELL) <= self.blocks
    }
}

/// New blocks that follow each other share one verdict, up to a run's length: half a file that
/// stays saves its reader no request.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    /// The block that would go on with it.
    next: BlockKey,
    /// How many more blocks it may have.
    left: u32,
    admitted: bool,
}

impl Bimodal {
    /// For this many frames; `drops` says whether one-shot blocks are always dropped.
    pub(super) fn new(frames: u32, drops: bool) -> Bimodal {
        let (used, missed) = (Vec::new(), Vec::new());
        let mut bimodal = Bimodal {
            drops,
            rule: Rule::Returns,
            filled: false,
            frames: 0,
            queue: 0,
            now: 0,
            used,
            before: 0,
            missed,
            victim: 0,
            ages: Ages::default(),
            draw: 0,
            until: 0,
            run: Run::default(),
            run_bits: 0,
            queued: Queued::default(),
        };
        bimodal.resized(frames);
        bimodal
    }

    /// The same, in force from its first block on.
    pub(super) fn begun(frames: u32, drops: bool, rule: Rule) -> Bimodal {
        let mut bimodal = Bimodal::new(frames, drops);
        bimodal.begin(rule);
        bimodal
    }

    /// New blocks stay or go by this from now on. Uses before that are unknown: each frame counts
    /// as used as many accesses ago as there are frames, and so does the last victim.
    pub(super) fn begin(&mut self, rule: Rule) {
        self.rule = rule;
        self.ages = Ages::new(self.now, self.frames);
        self.used.clear();
        self.before = self.now.wrapping_sub(self.frames);
        self.victim = self.before;
    }

    /// The block of a slot is used now. Returns when the slot was used before.
    fn use_now(&mut self, slot: Slot) -> Moment {
        match self.used.get_mut(slot as usize) {
            Some(used) => core::mem::replace(used, self.now),
            None => self.meet(slot),
        }
    }

    /// A slot is used for the first time since this began.
    #[cold]
    #[inline(never)]
    fn meet(&mut self, slot: Slot) -> Moment {
        self.used.resize(slot as usize, self.before);
        self.used.push(self.now);
        self.before
    }

    /// Whether a block that is missed comes to the default policy.
    fn admits(&mut self, key: BlockKey, random: &mut Random) -> bool {
        let at = hash(key.raw()) as usize & (self.missed.len() - 1);
        let (was, when) = core::mem::replace(&mut self.missed[at], (key, self.now));
        let ago = |moment: Moment| self.now.wrapping_sub(moment);
        let comes_back = was == key && ago(when) < ago(self.victim);
        let goes_on = self.run.left > 0 && self.run.next == key;
        let admitted = match self.rule {
            _ if goes_on => self.run.admitted,
            _ if !self.filled => true,
            Rule::Returns => comes_back || self.drawn(key, random),
            Rule::Ages => self.ages.are_passed_by(self.now.wrapping_sub(self.victim), self.now, self.frames),
        };
        let left = if goes_on { self.run.left - 1 } else { (1 << self.run_bits) - 1 };
        self.run = Run { next: BlockKey::new(key.file(), key.block().saturating_add(1)), left, admitted };
        admitted
    }

    /// Whether the run of this block is one of those that stay for now.
    fn drawn(&mut self, key: BlockKey, random: &mut Random) -> bool {
        if self.now.wrapping_sub(self.until) as i32 >= 0 {
            (self.draw, self.until) = (random.below(u64::MAX), self.now.wrapping_add(self.missed.len() as Moment));
        }
        hash((key.raw() >> self.run_bits) ^ self.draw).is_multiple_of(ONE_IN)
    }
}

impl Placement for Bimodal {
    fn has_loops(&self) -> bool {
        false
    }

    fn hears_uses(&self) -> bool {
        true
    }

    fn set_time(&mut self, now: u64) {
        self.now = now as Moment;
    }

    fn of_new(&mut self, key: BlockKey, place: Place, random: &mut Random) -> Place {
        let one_shot = self.drops && place == Place::Dropped;
        if !one_shot && self.admits(key, random) {
            return Place::Default;
        }
        self.queued.comes();
        Place::Dropped
    }

    /// A block that waits in the queue goes to the default policy when it is hit, not when it is
    /// read for the first time, and not while that tells nothing.
    fn of_used(&self, place: Place, how: Use) -> Option<Place> {
        (how == Use::Hit && self.queued.tells()).then(|| super::duel::whole(place, self.drops))
    }

    fn comes(&mut self, slot: Slot) {
        self.use_now(slot);
    }

    fn used(&mut self, slot: Slot, waits: bool) {
        self.queued.hits += u32::from(waits);
        let age = self.now.wrapping_sub(self.use_now(slot));
        if self.rule == Rule::Ages {
            self.ages.hear(age, self.now, self.frames);
        }
    }

    fn fill(&mut self) {
        self.filled = true;
    }

    fn given_up(&mut self, slot: Slot) {
        self.victim = self.used.get(slot as usize).copied().unwrap_or(self.before);
    }

    fn waiting(&self) -> u32 {
        self.queue
    }

    /// If there are more frames they are empty.
    fn resized(&mut self, frames: u32) {
        self.frames = frames;
        self.filled &= frames / QUEUE <= self.queue;
        self.queue = frames / QUEUE;
        self.run_bits = (frames / RUNS).max(1).ilog2().clamp(*RUN.start(), *RUN.end());
        let entries = frames.next_power_of_two() as usize;
        if self.missed.len() < entries {
            self.missed = vec![(BlockKey::default(), 0); entries];
        }
    }

    fn footprint(&self) -> usize {
        size_of::<Bimodal>()
            + self.used.capacity() * size_of::<Moment>()
            + self.missed.capacity() * size_of::<(BlockKey, Moment)>()
    }
}

#[cfg(test)]
mod tests {
    use alloc::boxed::Box;
    use alloc::collections::BTreeMap;

    use super::*;
    use crate::directory::Directory;
    use crate::frames::{FETCHING, FREE, flag};
    use crate::index::Hashed;
    use crate::partition::Segments;
    use crate::replacement::Lru;
    use crate::seams::{Access, Loops};
    use crate::types::FileId;

    const FRAMES: u32 = 200;

    fn key(block: u32) -> BlockKey {
        BlockKey::new(FileId(1), block)
    }

    #[test]
    fn what_was_missed_since_the_last_victim_was_used_stays() {
        let mut bimodal = Bimodal::new(FRAMES, false);
        // A draw that admits nothing of the run of these blocks.
        let seed = (0..).find(|&seed| {
            let mut filled = Bimodal::new(FRAMES, false);
            filled.fill();
            !filled.drawn(key(0), &mut Random::new(seed))
        });
        let mut random = Random::new(seed.expect("31 of 32 numbers"));
        bimodal.set_time(1);
        assert!(bimodal.admits(key(0), &mut random), "there is room");
        bimodal.fill();
        // Slot 7 is used at 10 and given up at 20; block 10 is missed at 5, 11 and 21, block 20 at
        // 9 and 22.
        let mut missed = |bimodal: &mut Bimodal, block, at| {
            bimodal.set_time(at);
            bimodal.admits(key(block), &mut random)
        };
        assert!(!missed(&mut bimodal, 10, 5) && !missed(&mut bimodal, 20, 9));
        bimodal.set_time(10);
        bimodal.used(7, false);
        assert!(missed(&mut bimodal, 10, 11), "no victim was used since time began");
        bimodal.set_time(20);
        bimodal.given_up(7);
        assert!(missed(&mut bimodal, 10, 21), "11 is after 10");
        assert!(!missed(&mut bimodal, 20, 22), "9 is before 10");
    }

    #[test]
    fn what_was_used_before_this_began_is_as_old_as_the_cache_is_large() {
        let mut bimodal = Bimodal::new(FRAMES, false);
        let mut random = Random::new(1);
        bimodal.fill();
        (bimodal.draw, bimodal.until) = (0, 10_000);
        let stranger = (0..).map(key).find(|&key| !bimodal.drawn(key, &mut random)).expect("31 of 32");
        bimodal.set_time(900);
        bimodal.used(3, false);
        let mut missed = |bimodal: &mut Bimodal, at| {
            bimodal.set_time(at);
            bimodal.admits(stranger, &mut random)
        };
        missed(&mut bimodal, 950);
        // Other views rule until 1000, and the last use of slot 3 is unknown.
        bimodal.set_time(1000);
        bimodal.begin(Rule::Returns);
        bimodal.set_time(1100);
        bimodal.given_up(3);
        assert!(missed(&mut bimodal, 1110), "950 is after 800");
        bimodal.used(3, false);
        bimodal.given_up(3);
        assert!(!missed(&mut bimodal, 1120), "1110 is not after it");
        bimodal.given_up(2);
        assert!(missed(&mut bimodal, 1130), "a slot below one that was used is as old as any");
    }

    #[test]
    fn more_frames_are_empty_ones_and_fewer_are_not() {
        let mut bimodal = Bimodal::new(FRAMES, false);
        bimodal.fill();
        bimodal.resized(FRAMES / 2);
        assert!(bimodal.filled && bimodal.queue == 2);
        bimodal.resized(FRAMES * 2);
        assert!(!bimodal.filled && bimodal.queue == 8);
    }

    /// As where a reader follows another closely, and hits what that one left.
    #[test]
    fn while_many_blocks_of_the_queue_are_hit_a_hit_tells_nothing() {
        let (mut bimodal, mut random) = (Bimodal::begun(FRAMES, false, Rule::Ages), Random::new(1));
        bimodal.fill();
        let queued = (0..12).filter(|&block| bimodal.of_new(key(block), Place::Default, &mut random) == Place::Dropped);
        assert_eq!(queued.count(), 12);
        (0..3).for_each(|slot| bimodal.used(slot, true));
        assert_eq!(bimodal.of_used(Place::Default, Use::Hit), Some(Place::Default));
        bimodal.used(3, true);
        assert_eq!(bimodal.of_used(Place::Default, Use::Hit), None, "it stays in the queue");
        (12..28).for_each(|block| _ = bimodal.of_new(key(block), Place::Default, &mut random));
        assert_eq!(bimodal.of_used(Place::Default, Use::Hit), Some(Place::Default), "four of 28");
    }

    /// The whole view over LRU, as vectors from the oldest to the newest.
    #[derive(Default)]
    struct Twin {
        now: u32,
        kept: Vec<u32>,
        queue: Vec<u32>,
        ghosts: Vec<u32>,
        used: BTreeMap<u32, u32>,
        missed: BTreeMap<u64, (u32, u32)>,
        victim: u32,
        filled: bool,
        draw: u64,
        until: u32,
        run: Run,
        queued: Queued,
        /// By [`Rule::Ages`], not [`Rule::Returns`].
        by_ages: bool,
        /// When a block was hit, and how long ago it was used then.
        hits: Vec<(u32, u32)>,
        /// When windows of ages began.
        windows: Vec<u32>,
    }

    fn take(blocks: &mut Vec<u32>, block: u32) -> bool {
        let at = blocks.iter().position(|&other| other == block);
        at.map(|at| blocks.remove(at)).is_some()
    }

    impl Twin {
        fn read(&mut self, block: u32, random: &mut Random) -> bool {
            self.now += 1;
            let kept = take(&mut self.kept, block);
            let hit = kept || take(&mut self.queue, block);
            if hit && self.by_ages {
                self.looks_at_ages();
                self.hits.push((self.now, self.now - self.used[&block]));
            }
            self.queued.hits += u32::from(hit && !kept);
            let stays = if hit { kept || self.queued.tells() } else { self.misses(block, random) };
            self.used.insert(block, self.now);
            if stays { &mut self.kept } else { &mut self.queue }.push(block);
            hit
        }

        /// The largest age in the last two windows, the second of which may begin now.
        fn looks_at_ages(&mut self) -> u32 {
            let largest = |windows: &[u32], hits: &[(u32, u32)]| {
                let from = windows[windows.len().saturating_sub(2)];
                let unknown = (windows.len() < 3).then_some(FRAMES);
                let heard = hits.iter().filter(|(at, _)| *at >= from).map(|&(_, age)| age);
                heard.chain(unknown).max().unwrap_or(0)
            };
            let last = self.windows[self.windows.len() - 1];
            if self.now - last >= largest(&self.windows, &self.hits).max(FRAMES) {
                self.windows.push(self.now);
            }
            largest(&self.windows, &self.hits)
        }

        /// Whether a run that begins with the block stays, by the rule.
        fn admits(&mut self, block: u32, soon: bool, random: &mut Random) -> bool {
            if self.by_ages {
                return (self.now - self.victim) / 2 > self.looks_at_ages();
            }
            if !soon && self.now >= self.until {
                (self.draw, self.until) = (random.below(u64::MAX), self.now + FRAMES.next_power_of_two());
            }
            soon || hash((key(block).raw() / 32) ^ self.draw).is_multiple_of(32)
        }

        /// Whether it stays. There is a frame for it then.
        fn misses(&mut self, block: u32, random: &mut Random) -> bool {
            let remembered = take(&mut self.ghosts, block);
            let at = hash(key(block).raw()) % u64::from(FRAMES.next_power_of_two());
            let before = self.missed.insert(at, (block, self.now));
            let soon = before.is_some_and(|(was, when)| was == block && when > self.victim);
            let goes_on = self.run.left > 0 && self.run.next == key(block);
            let stays = if goes_on { self.run.admitted } else { !self.filled || self.admits(block, soon, random) };
            if !stays {
                self.queued.comes();
            }
            let left = if goes_on { self.run.left - 1 } else { 31 };
            self.run = Run { next: key(block + 1), left, admitted: stays };
            if self.kept.len() + self.queue.len() < FRAMES as usize {
                return stays;
            }
            self.filled = true;
            if self.queue.len() > (FRAMES / QUEUE) as usize {
                self.queue.remove(0);
                return stays;
            }
            // Another part is drawn, of which there is one.
            if !stays || remembered && !self.queue.is_empty() {
                random.below(1);
            }
            let victim = self.kept.remove(0);
            self.victim = self.used[&victim];
            self.ghosts.push(victim);
            self.ghosts = self.ghosts.split_off(self.ghosts.len().saturating_sub(FRAMES as usize));
            stays
        }
    }

    /// Loops of several lengths, which overlap, and blocks at random.
    fn references() -> impl Iterator<Item = u32> {
        let mut random = Random::new(7);
        (0..60_000u32).map(move |nth| match (nth / 5_000 % 3, random.below(4)) {
            (_, 0) => random.below(1_000) as u32,
            (0, _) => nth % 300,
            (1, _) => 200 + nth % 90,
            _ => nth % 450,
        })
    }

    /// Drawn runs stay whole.
    #[test]
    fn a_run_has_one_verdict() {
        let (mut bimodal, mut random) = (Bimodal::begun(FRAMES, false, Rule::Returns), Random::new(1));
        bimodal.fill();
        let mut stay = |bimodal: &mut Bimodal, first: u32| {
            let mut runs = [0, 0, 0];
            for run in 0..2000u32 {
                let at = first + run * 100;
                let kept = (0..28).filter(|block| bimodal.admits(key(at + block), &mut random)).count();
                runs[if kept == 0 { 0 } else { 1 + usize::from(kept < 28) }] += 1;
            }
            runs
        };
        for round in 1..4 {
            bimodal.set_time(round * 10);
            let [_, whole, parts] = stay(&mut bimodal, round as u32 * 1_000_000);
            assert!(parts == 0 && (20..140).contains(&whole), "{whole} runs of 2000 stay, {parts} in part");
        }
    }

    /// By ages, new blocks stay while victims are twice as old as any block that was hit.
    #[test]
    fn by_ages_a_run_stays_for_a_victim_that_is_done_with() {
        let (mut bimodal, mut random) = (Bimodal::begun(FRAMES, false, Rule::Ages), Random::new(1));
        bimodal.fill();
        let mut missed = |bimodal: &mut Bimodal, run: u32, at| {
            bimodal.set_time(at);
            bimodal.admits(key(run * 100), &mut random)
        };
        // The last victim counts as used 200 references before time began.
        assert!(!missed(&mut bimodal, 0, 200) && missed(&mut bimodal, 1, 202));
        // Slot 3 is hit at an age of 300, slot 4 comes in when its old block has an age of 600.
        bimodal.comes(3);
        bimodal.set_time(502);
        bimodal.used(3, false);
        bimodal.set_time(602);
        bimodal.comes(4);
        bimodal.given_up(3);
        assert!(!missed(&mut bimodal, 2, 1103));
        assert!(missed(&mut bimodal, 3, 1104));
        assert!(bimodal.admits(key(301), &mut Random::new(1)), "it goes on");
    }

    #[test]
    fn it_is_its_twin() {
        let hits = [Rule::Returns, Rule::Ages].map(hits_of);
        assert!(hits.iter().all(|hits| (20_000..50_000).contains(hits)), "{hits:?} hits");
    }

    /// The hits of the view with this rule, which are its twin's.
    fn hits_of(rule: Rule) -> u32 {
        let loops = Loops { most: 0, seed: 1 };
        let (lists, ghosts) = (Segments::<Lru>::lists(1, Some(loops)), Segments::<Lru>::ghosts(FRAMES, 1, true));
        let mut directory: Directory<Hashed> = Directory::new(lists, FRAMES, ghosts);
        let whole: Box<dyn Placement> = Box::new(Bimodal::begun(FRAMES, false, rule));
        let mut segments = Segments::<Lru>::new(&[FRAMES], Some(loops)).placed_by([whole]);
        let mut twin = Twin { by_ages: rule == Rule::Ages, windows: vec![0], ..Twin::default() };
        let mut random = Random::new(loops.seed);
        let mut hits = 0;
        for (now, block) in (1..).zip(references()) {
            let access = Access { now, ..Access::default() };
            _ = segments.accessed(&mut directory, 0, key(block), &access);
            let found = directory.find(key(block));
            let resident = found.filter(|&slot| !directory.frames.is_ghost(slot));
            assert_eq!(resident.is_some(), twin.read(block, &mut random), "reference {now}, to {block}");
            if let Some(slot) = resident {
                segments.referred_by(&mut directory, 0, slot, Place::Default, Use::Hit);
                hits += 1;
                continue;
            }
            let class = segments.missed_by(&mut directory, 0, key(block), found, Place::Default, false);
            if let Some(ghost) = found {
                segments.remove(&mut directory, ghost);
                directory.release(ghost);
            }
            if directory.frames.len(FREE) == 0 {
                segments.victim(&mut directory, 0, class);
            }
            let slot = directory.assign(key(block), FETCHING).expect("a free frame");
            directory.frames.clear(slot, flag::ABSENT);
            segments.insert(&mut directory, 0, slot, class);
        }
        hits
    }
}
