//! Whether partitions for program contexts pay: a duel of two small caches (past AMP).
//!
//! AMP's partitions are a bet on patterns. Where loops leave blocks out for some rounds, or overlap, the default policy alone misses less (AMP §4
//! has no such case; `kernel` and `sqlite` of ours are). Which of them is better can be seen: both replay a sample of the references,
//! the blocks whose hash is small, in caches that are as much smaller (SHARDS, Waldspurger et al., FAST 2015). Whoever misses less by more than
//! chance has the segment. If that is the default policy, all contexts' blocks go there, and the loops' are moved or swept, as those of any
//! loop that has ended.
//!
//! ```text
//!                      ┌─▶ default policy with partitions, 1/n ──▶ misses ─┐
//!   references, 1 of n ┤                                                   ├─▶ whose segment it is
//!                      └─▶ default policy alone, 1/n ──────────▶ misses ───┘
//! ```

use alloc::boxed::Box;

use super::Segments;
use super::segments::Use;
use crate::context::{Access, Rhythm, Settings};
use crate::directory::Directory;
use crate::frames::{FETCHING, FREE, flag};
use crate::index::Hashed;
use crate::replacement::Replacement;
use crate::types::BlockKey;

/// The frames of each of the small caches, about. As few as tell the papers' traces apart: what is sampled costs several hits.
const FRAMES: u32 = 256;
/// Hashes are below this.
const HASHES: u64 = 1 << 32;
/// How large the segment is, is asked once in so many references of the sample.
const ASKED: u32 = 64;
/// When so many misses were counted, those of both count half.
const MOST: u32 = 4096;

/// A duel.
#[derive(Clone, Debug)]
pub struct Duel<R> {
    with: Box<Small<R>>,
    without: Box<Small<R>>,
    /// One block of so many is in the sample: those whose hash is below a bound.
    rate: u32,
    /// Frames of the segment that the small caches were told of last.
    frames: u32,
    /// References of the sample until that is asked again.
    until_asked: u32,
    lost: bool,
}

/// One of the caches: blocks without content, which are there at once.
#[derive(Clone, Debug)]
struct Small<R> {
    directory: Directory<Hashed>,
    segments: Segments<R>,
    /// How many frames it may use.
    frames: u32,
    misses: u32,
}

impl<R: Replacement> Duel<R> {
    /// For a segment of at most `frames`.
    pub(super) fn new(settings: &Settings, frames: u32) -> Duel<R> {
        let rate = one_in(frames);
        let settings = Settings { duel: false, ..*settings };
        let small = frames.div_ceil(rate).max(1);
        let [with, without] = [Some(&settings), None].map(|context| Box::new(Small::new(small, context)));
        Duel { with, without, rate, frames, until_asked: 0, lost: false }
    }

    /// The blocks of the sample of such a segment: those whose hash is below this.
    pub(super) fn bound(frames: u32) -> u64 {
        HASHES / u64::from(one_in(frames))
    }

    /// An access of the sample to a segment that has so many `frames` at the moment.
    pub(super) fn hear(&mut self, key: BlockKey, access: &Access, frames: impl FnOnce() -> u32) {
        if self.until_asked == 0 {
            self.until_asked = ASKED;
            self.resize(frames());
        }
        self.until_asked -= 1;
        let hits = [self.without.refer_to(key, access), self.with.refer_to(key, &self.scaled(access))];
        if hits != [true; 2] {
            self.decide();
        }
    }

    fn resize(&mut self, frames: u32) {
        if frames.abs_diff(self.frames) > self.frames / 8 {
            self.frames = frames;
            [&mut self.with, &mut self.without].into_iter().for_each(|small| small.resize(frames / self.rate));
        }
    }

    /// What the caches have missed lately: with partitions, and without.
    pub fn misses(&self) -> (u32, u32) {
        (self.with.misses, self.without.misses)
    }

    /// Whether contexts have no partitions for now.
    pub fn is_lost(&self) -> bool {
        self.lost
    }

    /// Two deviations of the difference of two counts, were they independent. They are not, so that it is less.
    fn decide(&mut self) {
        let (with, without) = self.misses();
        let chance = (with + without).isqrt() * 2;
        self.lost = if self.lost { with + chance >= without } else { without + chance < with };
        if with + without > MOST {
            (self.with.misses, self.without.misses) = (with / 2, without / 2);
        }
    }

    /// Of a loop the sample has as much less. Time is that of the whole cache.
    fn scaled(&self, access: &Access) -> Access {
        let size = access.rhythm.size.div_ceil(self.rate);
        Access { rhythm: Rhythm { size, ..access.rhythm }, ..*access }
    }

    /// The bytes that it takes.
    pub(super) fn footprint(&self) -> usize {
        [&self.with, &self.without].map(|small| size_of::<Small<R>>() + small.footprint()).iter().sum()
    }
}

impl<R: Replacement> Small<R> {
    fn new(frames: u32, context: Option<&Settings>) -> Small<R> {
        let (lists, ghosts) = (Segments::<R>::lists(1, context), Segments::<R>::ghosts(frames, 1, context));
        let segments = Segments::new(&[frames], context);
        Small { directory: Directory::new(lists, frames, ghosts), segments, frames, misses: 0 }
    }

    fn resize(&mut self, frames: u32) {
        self.frames = frames.clamp(1, self.directory.frames.buffers());
        self.segments.resize([self.frames].into_iter());
    }

    /// The whole life of a reference at once: class, frame, fetch, insertion. Says whether it is a hit.
    fn refer_to(&mut self, key: BlockKey, access: &Access) -> bool {
        let (directory, segments) = (&mut self.directory, &mut self.segments);
        let found = directory.find(key);
        let resident = found.filter(|&slot| !directory.frames.is_ghost(slot));
        let program = segments.program(0).is_some();
        if let Some(slot) = resident {
            if !program {
                segments.hit(directory, slot);
            } else if !segments.hit_by(directory, 0, slot, access) {
                segments.accessed(directory, 0, key, access);
                segments.referred_by(directory, 0, slot, access.place, Use::Hit);
            }
            return true;
        }
        segments.accessed(directory, 0, key, access);
        let ghost = found;
        self.misses += 1;
        let class = match program {
            true => segments.missed_by(directory, 0, ghost, access.place, false),
            false => segments.miss(directory, 0, ghost),
        };
        if let Some(ghost) = ghost {
            segments.remove(directory, ghost);
            directory.release(ghost);
        }
        while directory.frames.buffers() - directory.frames.len(FREE) >= self.frames {
            // Nobody holds a frame, so that there is a victim.
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

/// One block of so many is in the sample of a segment of at most `frames`.
fn one_in(frames: u32) -> u32 {
    (frames / FRAMES).max(1)
}
