//! How far back reuse lies, by device: the hits that a partition of any size would have.
//!
//! A sample of blocks, one in 2^n chosen by a hash of its key, is kept in an LRU stack for each
//! device, whatever the partition holds and by whatever policy (SHARDS: Waldspurger et al., FAST
//! 2015; the stack is Mattson et al.'s, 1970). A block that is referenced again was at some depth:
//! under LRU a partition of more frames than that would have had it. As many blocks as the whole
//! cache holds are remembered, so that reuse shows however small the partition has become.
//!
//! ```text
//!   most recent  ┌───┬───┬───┬───┬───┬─┄┄─┬───┐ as many as the cache holds
//!   sampled ────▶│ d │ a │ f │ b │ e │    │   │    a again: one block was sampled since, 2^n were referenced
//!                └───┴───┴───┴───┴───┴─┄┄─┴───┘
//! ```
//!
//! A block that is not found while the stack is still short may be reuse from further back than
//! that. Such a reference is censored: its chances are those of references known to lie further
//! back (the product-limit estimate: Kaplan and Meier, J. Am. Stat. Assoc. 1958).

use alloc::vec::Vec;

use crate::random::hash;
use crate::types::BlockKey;

/// The most blocks that are remembered of a device, with up to this many devices: a stack is
/// searched from its top, one reference in 2^n. With more devices each has a smaller part of the
/// cache, which needs as many samples; they are found as near the top.
const SAMPLES: u32 = 512;
const FEW_DEVICES: usize = 4;
/// The most for any number of devices.
const MOST_SAMPLES: u32 = 2048;
/// This many of them are compared at once.
const ABREAST: usize = 16;
/// Into how many parts of the cache distances are sorted.
pub(super) const PARTS: u32 = 128;
/// A reference, as it is counted: halves count too.
pub(super) const ONE: u32 = 256;
/// After this many references all counts are halved, so that old ones count little.
const MEMORY: u32 = 1024 * ONE;
/// Fewer of them tell nothing of a distance.
const FEW: u32 = 16 * ONE;

/// The distances of all devices.
#[derive(Clone, Debug)]
pub(super) struct Distances {
    curves: Vec<Curve>,
    frames: u32,
    /// One block in 2^this is in the sample.
    rate: u32,
    /// Reuse from nearer than this many blocks tells nothing: the parts of a block are read one
    /// after the other, and every partition keeps the few frames that serve them.
    near: u32,
}

#[derive(Clone, Debug)]
struct Curve {
    /// Hashes of the sampled blocks, most recently used first.
    recent: Vec<u32>,
    /// Reuse by distance, the last one to the end of the cache.
    parts: [u32; PARTS as usize],
    /// Blocks that were not found while the stack was just so long: their reuse, if any, lies
    /// further back.
    further: [u32; PARTS as usize],
    /// All references, reuse or not.
    references: u32,
    /// How many references there were lately, in blocks of the sample.
    lately: u64,
    /// References of the epoch under way.
    now: u64,
}

impl Distances {
    /// For `devices` devices with a cache of `frames`; every partition keeps at least `near` of
    /// them.
    pub(super) fn new(devices: usize, frames: u32, near: u32) -> Distances {
        let times = u32::try_from(devices.div_ceil(FEW_DEVICES)).unwrap_or(u32::MAX).max(1);
        let samples = SAMPLES.saturating_mul(times).min(MOST_SAMPLES);
        let rate = (0..u32::BITS).find(|rate| frames >> rate <= samples).unwrap_or(0);
        let most = (frames >> rate).max(1) as usize;
        let curve = || Curve {
            recent: Vec::with_capacity(most),
            parts: [0; PARTS as usize],
            further: [0; PARTS as usize],
            references: 0,
            lately: 0,
            now: 0,
        };
        Distances { curves: (0..devices).map(|_| curve()).collect(), frames: frames.max(1), rate, near }
    }

    /// Which blocks are in the sample: those whose hash is below this.
    pub(super) fn bound(&self) -> u64 {
        (1 << 32) >> self.rate
    }

    /// A block of a device is referenced. Returns whether it is in the sample.
    pub(super) fn referenced(&mut self, device: usize, key: BlockKey) -> bool {
        let is_sampled = hash(key.raw()) < self.bound();
        if is_sampled {
            self.sampled(device, key);
        }
        is_sampled
    }

    #[inline(never)]
    fn sampled(&mut self, device: usize, key: BlockKey) {
        let Some(curve) = self.curves.get_mut(device) else { return };
        let most = (self.frames >> self.rate).max(1) as usize;
        let block = (key.raw() ^ key.raw().rotate_left(29)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 32;
        let block = block as u32;
        match position(&curve.recent, block) {
            Some(at) => {
                curve.recent[..=at].rotate_right(1);
                let distance = (at as u32) << self.rate;
                if distance < self.near {
                    return;
                }
                let part = u64::from(distance) * u64::from(PARTS) / u64::from(self.frames);
                curve.parts[part.min(u64::from(PARTS) - 1) as usize] += ONE;
            }
            None => {
                if curve.recent.len() < most {
                    let part = ((curve.recent.len() as u64) << self.rate) * u64::from(PARTS) / u64::from(self.frames);
                    curve.further[part.min(u64::from(PARTS) - 1) as usize] += ONE;
                }
                curve.recent.truncate(most - 1);
                curve.recent.insert(0, block);
            }
        }
        curve.now += 1;
        curve.references += ONE;
        if curve.references >= MEMORY {
            curve.references /= 2;
            curve.parts.iter_mut().chain(&mut curve.further).for_each(|part| *part /= 2);
        }
    }

    /// An epoch is over: older epochs count `1 - 1/memory` as much.
    pub(super) fn end_epoch(&mut self, memory: u64) {
        for curve in &mut self.curves {
            curve.lately = aged(curve.lately, memory) + core::mem::take(&mut curve.now);
        }
    }

    /// How many remembered references of a device a partition of any size would have served, in the
    /// sample; but for those that any partition would.
    pub(super) fn served(&self, device: usize) -> impl Fn(u32) -> u64 {
        let frames = u64::from(self.frames);
        let parts = self.curves.get(device).map_or([0; PARTS as usize], Curve::estimated);
        move |size| {
            // Within a part as many as there are frames of it.
            let place = u64::from(size).min(frames) * u64::from(PARTS);
            let (whole, rest) = ((place / frames) as usize, place % frames);
            let before: u64 = parts[..whole].iter().sum();
            let within = parts.get(whole).map_or(0, |&part| part * rest / frames);
            (before + within) / u64::from(ONE)
        }
    }

    /// The same of every size, in steps of a part of the cache and in parts of [`ONE`].
    pub(super) fn hits(&self, device: usize) -> [u64; PARTS as usize + 1] {
        let mut hits = [0; PARTS as usize + 1];
        let parts = self.curves.get(device).map_or([0; PARTS as usize], Curve::estimated);
        for (at, part) in parts.into_iter().enumerate() {
            hits[at + 1] = hits[at] + part;
        }
        hits
    }

    /// How many references of a device are remembered, in the sample; but for those that any
    /// partition would serve.
    pub(super) fn references(&self, device: usize) -> u64 {
        self.curves.get(device).map_or(0, |curve| u64::from(curve.references / ONE))
    }

    /// How many references there are in the last epochs (the latest of which weigh most, see
    /// [`end_epoch`](Self::end_epoch)) for `sampled` of the sample's.
    pub(super) fn lately(&self, device: usize, sampled: u64) -> u64 {
        let Some(curve) = self.curves.get(device) else { return 0 };
        let references = u128::from(curve.references / ONE).max(1);
        (u128::from(sampled) * u128::from(curve.lately << self.rate) / references) as u64
    }

    /// The bytes that it takes.
    pub(super) fn footprint(&self) -> usize {
        let recent: usize = self.curves.iter().map(|curve| curve.recent.capacity() * 4).sum();
        self.curves.capacity() * size_of::<Curve>() + recent
    }
}

impl Curve {
    /// References by distance, in parts of [`ONE`]. For each part, the references that were looked
    /// for in it say which share of those found in no nearer part lies there. A share by only a few
    /// references is not believed.
    fn estimated(&self) -> [u64; PARTS as usize] {
        let mut parts = [0; PARTS as usize];
        let (mut known, mut left) = (u64::from(self.references), u64::from(self.references));
        for (at, part) in parts.iter_mut().enumerate() {
            let (here, further) = (u64::from(self.parts[at]), u64::from(self.further[at]));
            if known < u64::from(FEW) {
                break;
            }
            *part = left * here / known;
            left -= *part;
            known = known.saturating_sub(here + further);
        }
        parts
    }
}

/// The rest of a sum after an epoch: each epoch weighs 1 - 1/`memory` as much as the next one.
pub(super) fn aged(sum: u64, memory: u64) -> u64 {
    sum - sum.div_ceil(memory)
}

/// The position of a block. A row of blocks is compared without a branch for each.
fn position(recent: &[u32], block: u32) -> Option<usize> {
    let any = |blocks: &[u32]| blocks.iter().fold(false, |any, &other| any | (other == block));
    let (row, blocks) = recent.chunks(ABREAST).enumerate().find(|(_, blocks)| any(blocks))?;
    let within = blocks.iter().position(|&other| other == block)?;
    Some(row * ABREAST + within)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::FileId;

    fn block(number: u32) -> BlockKey {
        BlockKey::new(FileId(3), number)
    }

    /// A loop over 40 blocks in a cache of 128: the 40th block down. Two rounds, of which the first
    /// one is not reuse. The last of these was looked for 39 blocks down in vain, as 40 were with
    /// success: 80 · 40 / 41.
    #[test]
    fn a_loop_is_reuse_as_far_back_as_it_is_long() {
        let mut distances = Distances::new(2, 128, 1);
        for number in (0..40).chain(0..40) {
            distances.referenced(1, block(number));
        }
        distances.end_epoch(8);
        assert_eq!([0, 39, 40, 128].map(distances.served(1)), [0, 0, 78, 78]);
        assert_eq!(
            (distances.lately(1, 40), distances.lately(1, 8)),
            (40, 8),
            "80 references, all of them in the sample"
        );
        assert_eq!(distances.served(0)(128), 0, "nobody asked for the other device");
    }

    #[test]
    fn the_parts_of_a_block_are_no_reuse() {
        let mut distances = Distances::new(1, 128, 1);
        for number in 0..400 {
            (0..8).for_each(|_| _ = distances.referenced(0, block(number)));
        }
        assert_eq!((distances.references(0), distances.served(0)(128)), (400, 0));
    }

    /// 512 blocks of each of forty devices at random, 200 references: 147 of them are made before
    /// 128 blocks were seen, and only a sixth of all is found so near. A cache of 128 would have a
    /// quarter.
    #[test]
    fn a_stack_that_is_short_is_no_curve_that_is_flat() {
        let mut distances = Distances::new(40, 512, 1);
        let mut state = 1u64;
        for nth in 0..40 * 200 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            distances.referenced(nth % 40, block((state >> 33) as u32 % 512));
        }
        let served = |size| (0..40).map(|device| distances.served(device)(size)).sum::<u64>() as f64 / (40.0 * 200.0);
        assert!((0.22..0.28).contains(&served(128)), "{}", served(128));
        assert_eq!(served(256), served(512), "beyond what was seen nothing is said");
    }

    /// Blocks of 10,000 at random: half of them would be in a cache of 5,000, however few are
    /// looked at. The memory is bounded, and allocated from the beginning.
    #[test]
    fn a_sample_tells_of_all() {
        let mut distances = Distances::new(1, 8000, 1);
        let before = distances.footprint();
        let mut state = 1u64;
        for round in 0..60 {
            for _ in 0..1000 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                distances.referenced(0, block((state >> 33) as u32 % 10_000));
            }
            if round % 10 == 9 {
                distances.end_epoch(8);
            }
        }
        let reuse = distances.served(0)(8000) as f64 / distances.references(0) as f64;
        assert!((0.65..0.9).contains(&reuse), "8000 of 10,000 are remembered: {reuse}");
        let served = distances.served(0)(4000) as f64 / distances.served(0)(8000) as f64;
        assert!((0.4..0.6).contains(&served), "{served}");
        assert_eq!(distances.footprint(), before);
        assert!(before < 10_000, "{before}");
    }
}
