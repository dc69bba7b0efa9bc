//! Whether partitions for program contexts pay: a duel of small caches (past AMP).
//!
//! AMP's partitions are a bet on patterns. If loops leave blocks out for some rounds, or overlap,
//! the default policy alone misses less (AMP §4 has no such case; our traces `kernel` and `sqlite`
//! have). A measurement decides. A *view* is a way to place a segment's blocks, with partitions or
//! without. Each view replays a sample of the references, the blocks whose hash is small, in a
//! cache that is as much smaller (SHARDS, Waldspurger et al., FAST 2015). The view whose misses
//! cost least, by more than chance, has the segment. A miss costs a transfer and the block's part
//! of a switch, since streams are fetched in pieces. If the default policy wins, all contexts'
//! blocks go there, and the loops' are moved or swept, as those of any loop that has ended.
//!
//! ```text
//!                      ┌─▶ default policy with partitions, 1/n ──▶ misses ─┐
//!   references, 1 of n ┼─▶ default policy alone, 1/n ──────────▶ misses ───┼─▶ the view of the segment
//!                      ├─▶ the same, few new blocks stay, 1/n ─▶ misses ───┤
//!                      └─▶ the same, by another rule, 1/n ─────▶ misses ───┘
//! ```
//!
//! These are [`View::Contexts`], [`View::Plain`], [`View::Whole`] and [`View::Still`]. The last two
//! (`bimodal`) take part if [`Views::bimodal`] says so. Then the default policy begins, so that
//! nothing is lost before anything is known, and misses count for longer. A database changes
//! between phases in which different views are better. A change of view moves no blocks, so it
//! costs up to a cache of misses. The view that is better over a whole round of phases should have
//! the segment.
//!
//! When the default policy takes the segment back, its lists tell of the blocks that another view
//! kept. ARC can stay for long in a state that such lists lead to, and that its small cache, which
//! no other view disturbs, does not have. So it begins anew, with the balance of the small one.
//! `docs/notes/2026-11-28-auto-settled.md` has the figures.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::bimodal::{Bimodal, Rule};
use crate::directory::Directory;
use crate::explain;
use crate::frames::{FETCHING, FREE, Slot, flag};
use crate::hint::Rhythm;
use crate::index::Hashed;
use crate::partition::Segments;
use crate::random::Random;
use crate::replacement::Replacement;
use crate::seams::{Access, Loops, Place, Placement, Tally, Use};
use crate::types::BlockKey;

/// Hashes are below this.
const HASHES: u64 = 1 << 32;
/// The size of the segment is asked once in this many references of the sample.
const ASKED: u32 = 64;

/// How a segment's blocks are told apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum View {
    /// By program contexts, of which those that loop have partitions (AMP).
    Contexts,
    /// Not at all: all are the default policy's, but for one-shot blocks where these are always
    /// dropped ([`Views::drops`]).
    Plain,
    /// Not at all, and only few new blocks stay: some that are drawn, and those that come back
    /// soon.
    Whole,
    /// Not at all, and only few new blocks stay: those that take the place of one that is done
    /// with.
    Still,
}

impl View {
    /// All of them.
    pub const ALL: [View; 4] = [View::Contexts, View::Plain, View::Whole, View::Still];
}

/// Which views take part beside that by contexts and that of the default policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Views {
    /// Whether the two views take part in which the whole cache is one loop.
    pub bimodal: bool,
    /// Whether one-shot blocks are dropped also while loops have no partitions: their frames are
    /// room for blocks ahead, which no count of misses shows.
    pub drops: bool,
}

impl Views {
    /// With partitions or without.
    pub const TWO: Views = Views { bimodal: false, drops: false };
    /// Those of `auto`.
    pub const ALL: Views = Views { bimodal: true, drops: true };
}

/// The rules of a duel.
#[derive(Clone, Copy, Debug)]
struct Rules {
    /// The view that has the segment at first.
    first: View,
    /// The frames of each of the small caches, about. As few as tell the papers' traces apart: a
    /// sampled reference costs as much as several hits.
    frames: u32,
    /// When all caches together have this many misses, their counts are halved.
    most: u32,
}

const OF_TWO: Rules = Rules { first: View::Contexts, frames: 256, most: 4096 };
const OF_ALL: Rules = Rules { first: View::Plain, frames: 320, most: 3 << 14 };

impl Rules {
    fn of(views: Views) -> Rules {
        if views.bimodal { OF_ALL } else { OF_TWO }
    }

    /// One block of this many is in the sample of a segment of at most `frames`.
    fn one_in(self, frames: u32) -> u32 {
        (frames / self.frames).max(1)
    }
}

/// A duel.
pub struct Duel<R> {
    /// One for each view, in their order, the last two if they take part.
    small: Vec<Small<R>>,
    rules: Rules,
    /// One block of this many is in the sample: those whose hash is below a bound.
    rate: u32,
    /// Frames of the segment that the small caches were told of last.
    frames: u32,
    /// References of the sample until that is asked again.
    until_asked: u32,
    tally: Tally,
    view: View,
    drops: bool,
    /// The placement of new blocks under [`View::Whole`] and [`View::Still`], if these take part.
    bimodal: Option<Bimodal>,
}

/// One of the caches: blocks without content, which are there at once.
struct Small<R> {
    directory: Directory<Hashed>,
    segments: Segments<R>,
    /// How many frames it may use.
    frames: u32,
    /// Whether it missed the last reference.
    misses: bool,
    missed: Missed,
}

/// The recent misses of a cache.
#[derive(Clone, Copy, Debug, Default)]
struct Missed {
    blocks: u32,
    /// Their cost, in the time of a block, and the sum of its squares.
    cost: u64,
    squares: u64,
}

impl Missed {
    fn add(&mut self, cost: u64) {
        self.blocks += 1;
        self.cost += cost;
        self.squares += cost * cost;
    }

    /// [`View::Still`] has to be better by an eighth. Its small cache has had time to find its
    /// blocks; the segment would keep those that it happens to have, and exchanges few.
    fn seen_by(self, view: View) -> Missed {
        let handicap = if view == View::Still { self.cost / 8 } else { 0 };
        Missed { cost: self.cost + handicap, ..self }
    }

    fn halve(&mut self) {
        self.blocks /= 2;
        self.cost /= 2;
        self.squares /= 2;
    }
}

impl<R: Replacement> Duel<R> {
    /// For a segment of `frames` at first, and never more than `most`, with this many loops.
    pub fn new(views: Views, loops: Loops, frames: u32, most: u32) -> Duel<R> {
        let rules = Rules::of(views);
        let rate = rules.one_in(most);
        let each = most.div_ceil(rate).max(1);
        let none = Loops { most: 0, ..loops };
        let of = |view| match view {
            View::Contexts => Some(Small::new(each, Some(loops), None)),
            View::Plain => Some(Small::new(each, views.drops.then_some(none), None)),
            View::Whole | View::Still => views.bimodal.then(|| {
                let few = Bimodal::begun(each, views.drops, rule(view));
                Small::new(each, Some(none), Some(few))
            }),
        };
        let small = View::ALL.into_iter().filter_map(of).collect();
        let bimodal = views.bimodal.then(|| Bimodal::new(frames, views.drops));
        Duel {
            small,
            rules,
            rate,
            frames: 0,
            until_asked: 0,
            tally: Tally::default(),
            view: rules.first,
            drops: views.drops,
            bimodal,
        }
    }

    fn resize(&mut self, frames: u32) {
        if frames.abs_diff(self.frames) > self.frames / 8 {
            self.frames = frames;
            self.small.iter_mut().for_each(|small| small.resize(frames / self.rate));
        }
    }

    /// The cost of the recent misses of a view's cache, if that takes part, in the time of a block.
    fn cost(&self, view: View) -> Option<u64> {
        self.small.get(view as usize).map(|small| small.missed.cost)
    }

    /// Changes to the cheapest view, if it is cheaper by two deviations of the difference of two
    /// independent sums. The sums are not independent, so the true deviation is smaller.
    fn decide(&mut self) {
        let all = || View::ALL.into_iter().zip(&self.small).map(|(view, small)| (view, small.missed.seen_by(view)));
        let own = self.small.get(self.view as usize).map_or(Missed::default(), |small| small.missed.seen_by(self.view));
        if let Some((view, best)) = all().min_by_key(|(_, missed)| missed.cost)
            && best.cost + (best.squares + own.squares).isqrt() * 2 < own.cost
        {
            self.view = view;
        }
        if all().map(|(_, missed)| missed.blocks).sum::<u32>() > self.rules.most {
            self.small.iter_mut().for_each(|small| small.missed.halve());
        }
    }

    /// The access as the small caches see it: a loop has as much fewer blocks there, but its time
    /// is that of the whole cache.
    fn scaled(&self, access: &Access) -> Access {
        let size = access.rhythm.size.div_ceil(self.rate);
        Access { rhythm: Rhythm { size, ..access.rhythm }, ..*access }
    }

    /// Whether only few new blocks stay.
    fn keeps_few(&self) -> bool {
        matches!(self.view, View::Whole | View::Still)
    }

    /// The placement of blocks, if only few new ones stay.
    fn whole(&mut self) -> Option<&mut Bimodal> {
        let few = self.keeps_few();
        self.bimodal.as_mut().filter(|_| few)
    }
}

/// Which new blocks stay in a view in which few do.
fn rule(view: View) -> Rule {
    if view == View::Still { Rule::Ages } else { Rule::Returns }
}

/// Where a block goes if loops have no parts; `drops` says whether one-shot blocks are dropped.
pub(super) fn whole(place: Place, drops: bool) -> Place {
    if drops && place == Place::Dropped { Place::Dropped } else { Place::Default }
}

impl<R: Replacement + Send> Placement for Duel<R> {
    fn sample(&self) -> u64 {
        HASHES / u64::from(self.rate)
    }

    fn has_loops(&self) -> bool {
        self.view == View::Contexts
    }

    fn hears_uses(&self) -> bool {
        self.keeps_few()
    }

    /// Returns whether any of the caches missed it, and so is to be charged.
    fn heard(&mut self, key: BlockKey, access: &Access, frames: &dyn Fn() -> u32, is_there: &dyn Fn() -> bool) -> bool {
        if self.until_asked == 0 {
            self.until_asked = ASKED;
            self.resize(frames());
        }
        self.until_asked -= 1;
        let scaled = self.scaled(access);
        self.small.iter_mut().for_each(|small| small.misses = !small.refer_to(key, &scaled));
        let alone = self.small.get(View::Plain as usize).is_none_or(|small| small.misses);
        match (alone, is_there()) {
            (true, true) => self.tally.gained += 1,
            (false, false) => self.tally.lost += 1,
            _ => {}
        }
        self.small.iter().any(|small| small.misses)
    }

    /// A miss costs a block's transfer, and its part of a switch.
    fn charged(&mut self, switch: u32) -> Option<u32> {
        let cost = 1 + u64::from(switch);
        self.small.iter_mut().filter(|small| small.misses).for_each(|small| small.missed.add(cost));
        let (before, kept_few) = (self.view, self.keeps_few());
        self.decide();
        if self.view == before {
            return None;
        }
        let rule = rule(self.view);
        if let Some(bimodal) = self.whole() {
            bimodal.begin(rule);
            return None;
        }
        let plain = self.small.get(View::Plain as usize).filter(|_| kept_few)?;
        Some(plain.segments.balance(0))
    }

    fn tally(&self) -> Tally {
        self.tally
    }

    fn set_time(&mut self, now: u64) {
        if let Some(bimodal) = &mut self.bimodal {
            bimodal.set_time(now);
        }
    }

    fn of_new(&mut self, key: BlockKey, place: Place, random: &mut Random) -> Place {
        let (view, drops) = (self.view, self.drops);
        match self.whole() {
            Some(bimodal) => bimodal.of_new(key, place, random),
            None if view == View::Contexts => place,
            None => whole(place, drops),
        }
    }

    fn of_used(&self, place: Place, how: Use) -> Option<Place> {
        match (self.view, &self.bimodal) {
            (View::Contexts, _) => Some(place),
            (View::Whole | View::Still, Some(bimodal)) => bimodal.of_used(place, how),
            (View::Plain | View::Whole | View::Still, _) => Some(whole(place, self.drops)),
        }
    }

    fn comes(&mut self, slot: Slot) {
        if let Some(bimodal) = self.whole() {
            bimodal.comes(slot);
        }
    }

    fn used(&mut self, slot: Slot, waits: bool) {
        if let Some(bimodal) = self.whole() {
            bimodal.used(slot, waits);
        }
    }

    fn fill(&mut self) {
        if let Some(bimodal) = &mut self.bimodal {
            bimodal.fill();
        }
    }

    fn given_up(&mut self, slot: Slot) {
        if let Some(bimodal) = &mut self.bimodal {
            bimodal.given_up(slot);
        }
    }

    fn waiting(&self) -> u32 {
        self.bimodal.as_ref().filter(|_| self.keeps_few()).map_or(0, |bimodal| bimodal.waiting())
    }

    fn resized(&mut self, frames: u32) {
        if let Some(bimodal) = &mut self.bimodal {
            bimodal.resized(frames);
        }
    }

    fn explain(&self) -> Option<explain::Duel> {
        let [with, without, few, still] = View::ALL.map(|view| self.cost(view));
        let few = few.zip(still).map(|(few, still)| if self.view == View::Still { still } else { few.min(still) });
        Some(explain::Duel {
            with: with.unwrap_or(0),
            without: without.unwrap_or(0),
            few,
            lost: self.view != View::Contexts,
            whole: self.keeps_few(),
        })
    }

    fn footprint(&self) -> usize {
        let small: usize = self.small.iter().map(|small| size_of::<Small<R>>() + small.footprint()).sum();
        size_of::<Duel<R>>() + small + self.bimodal.as_ref().map_or(0, |bimodal| bimodal.footprint())
    }
}

impl<R: Replacement> Small<R> {
    fn new(frames: u32, loops: Option<Loops>, bimodal: Option<Bimodal>) -> Small<R> {
        let (lists, ghosts) = (Segments::<R>::lists(1, loops), Segments::<R>::ghosts(frames, 1, loops.is_some()));
        let placement = bimodal.map(|bimodal| Box::new(bimodal) as Box<dyn Placement>);
        let mut segments = Segments::new(&[frames], loops).placed_by(placement);
        segments.have_nothing_ahead();
        Small {
            directory: Directory::new(lists, frames, ghosts),
            segments,
            frames,
            misses: false,
            missed: Missed::default(),
        }
    }

    fn resize(&mut self, frames: u32) {
        self.frames = frames.clamp(1, self.directory.frames.buffers());
        self.segments.resize([self.frames].into_iter());
    }

    /// The whole life of a reference at once: class, frame, fetch, insertion. Returns whether it is
    /// a hit.
    fn refer_to(&mut self, key: BlockKey, access: &Access) -> bool {
        let (directory, segments) = (&mut self.directory, &mut self.segments);
        let found = directory.find(key);
        let resident = found.filter(|&slot| !directory.frames.is_ghost(slot));
        let parted = segments.context_parts(0).is_some();
        if let Some(slot) = resident {
            if !parted {
                segments.hit(directory, slot);
            } else if !segments.hit_by(directory, 0, slot, access, access.now) {
                _ = segments.accessed(directory, 0, key, access);
                segments.referred_by(directory, 0, slot, access.place, Use::Hit);
            }
            return true;
        }
        _ = segments.accessed(directory, 0, key, access);
        let ghost = found;
        let class = match parted {
            true => segments.missed_by(directory, 0, key, ghost, access.place, false),
            false => segments.miss(directory, 0, ghost),
        };
        if let Some(ghost) = ghost {
            segments.remove(directory, ghost);
            directory.release(ghost);
        }
        while directory.frames.buffers() - directory.frames.len(FREE) >= self.frames {
            // No reader holds a frame, so there is a victim.
            if segments.victim(directory, 0, class).is_none() {
                break;
            }
        }
        if let Some(slot) = directory.assign(key, FETCHING) {
            directory.frames.clear(slot, flag::ABSENT);
            segments.insert(directory, 0, slot, class);
        }
        false
    }

    fn footprint(&self) -> usize {
        self.directory.footprint() + self.segments.footprint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replacement::{ALL, Arc};

    /// A duel in which a view has the segment, and another one misses less.
    fn duel(from: View, to: View) -> Duel<Arc> {
        let mut duel = Duel::<Arc>::new(Views::ALL, Loops { most: 2, seed: 1 }, 1000, 1000);
        duel.view = from;
        for (view, small) in View::ALL.into_iter().zip(&mut duel.small) {
            (0..if view == to { 10 } else { 1000 }).for_each(|_| small.missed.add(1));
            small.misses = view != to;
        }
        duel
    }

    #[test]
    fn the_default_policy_begins_anew_when_it_gets_blocks_back_that_others_kept() {
        for (from, to, anew) in [
            (View::Whole, View::Plain, true),
            (View::Still, View::Contexts, true),
            (View::Whole, View::Still, false),
            (View::Plain, View::Whole, false),
            (View::Plain, View::Contexts, false),
        ] {
            let mut duel = duel(from, to);
            let begins = duel.charged(0);
            assert_eq!(duel.view, to);
            assert_eq!(begins.is_some(), anew, "{from:?} to {to:?}");
            assert!(begins.is_none_or(|balance| balance <= ALL) && duel.charged(0).is_none(), "once");
        }
    }
}
