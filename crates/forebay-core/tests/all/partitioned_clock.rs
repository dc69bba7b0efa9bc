//! Partitioned Clock (SAC §3.2) against twins as the paper describes them: one ring of all pages,
//! each with a use bit and a partition number, and a hand a partition that clears only its own
//! partition's use bits.

use std::collections::BTreeSet;

use forebay_core::directory::Directory;
use forebay_core::frames::{FETCHING, FREE, flag};
use forebay_core::index::Hashed;
use forebay_core::papers::sac::Lottery;
use forebay_core::partition::Segments;
use forebay_core::replacement::Clock;
use forebay_core::{BlockKey, FileId};
use proptest::prelude::*;

/// A page in the ring: its block, the partition that it belongs to, its use bit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Page {
    partition: usize,
    block: u32,
    used: bool,
}

/// One ring, a hand a partition. A hand stands before the page that it looks at next; a page that
/// comes in comes in behind the hand of its partition, as the last one that it will come to.
struct Ring {
    capacity: usize,
    pages: Vec<Page>,
    /// Positions in `pages`.
    hands: Vec<usize>,
}

impl Ring {
    fn new(capacity: usize, partitions: usize) -> Ring {
        Ring { capacity, pages: Vec::new(), hands: vec![0; partitions] }
    }

    fn find(&self, partition: usize, block: u32) -> Option<usize> {
        self.pages.iter().position(|page| page.partition == partition && page.block == block)
    }

    /// "Looks through successive pages for one that does not have its use bit set, clearing use
    /// bits as it sweeps"; "its partition number must match"; "only those pages belonging to the
    /// victim's partition should have their use bits cleared". Held pages are passed over.
    fn victim(&mut self, partition: usize, held: &BTreeSet<(usize, u32)>) -> Option<Page> {
        let own = |page: &Page| page.partition == partition;
        if !self.pages.iter().any(|page| own(page) && !held.contains(&(partition, page.block))) {
            return None;
        }
        loop {
            let at = self.hands[partition] % self.pages.len();
            let page = &mut self.pages[at];
            self.hands[partition] = at + 1;
            if !own(page) || held.contains(&(partition, page.block)) {
                continue;
            }
            if page.used {
                page.used = false;
                continue;
            }
            return Some(self.take(at));
        }
    }

    /// Takes a page out; hands stay between the same pages.
    fn take(&mut self, at: usize) -> Page {
        self.hands.iter_mut().filter(|hand| **hand > at).for_each(|hand| *hand -= 1);
        self.pages.remove(at)
    }

    fn insert(&mut self, partition: usize, block: u32) {
        let at = self.hands[partition];
        self.pages.insert(at, Page { partition, block, used: false });
        // Its own hand is past it, and so are those that were further on.
        for (other, hand) in self.hands.iter_mut().enumerate() {
            *hand += usize::from(*hand > at || other == partition);
        }
    }
}

/// The same, in the core's one slab.
struct Cache {
    directory: Directory<Hashed>,
    segments: Segments<Clock>,
}

fn key(partition: usize, block: u32) -> BlockKey {
    BlockKey::new(FileId(partition as u32), block)
}

impl Cache {
    fn new(frames: u32, partitions: usize) -> Cache {
        let directory = Directory::new(Segments::<Clock>::lists(partitions, None), frames, 0);
        Cache { directory, segments: Segments::new(&vec![frames; partitions], None) }
    }

    fn victim(&mut self, partition: usize) -> Option<(usize, u32)> {
        self.segments.victim(&mut self.directory, partition, 0)?;
        let gone = self.directory.released().key;
        Some((gone.file().0 as usize, gone.block()))
    }

    fn insert(&mut self, partition: usize, block: u32) {
        let slot = self.directory.assign(key(partition, block), FETCHING).expect("a frame is free");
        self.directory.frames.clear(slot, flag::ABSENT);
        self.segments.insert(&mut self.directory, partition, slot, 0);
    }

    /// Whether a block is there; if so, it is referenced.
    fn hit(&mut self, partition: usize, block: u32) -> bool {
        let found = self.directory.find(key(partition, block));
        found.inspect(|&slot| self.segments.hit(&mut self.directory, slot)).is_some()
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// A block of a partition is read; should it need a frame, `whose` gives it, as if drawn.
    Read {
        partition: usize,
        block: u32,
        whose: usize,
    },
    Hold {
        partition: usize,
        block: u32,
    },
    LetGo {
        partition: usize,
        block: u32,
    },
    Forget {
        partition: usize,
        block: u32,
    },
}

fn workload() -> impl Strategy<Value = (u32, usize, Vec<Step>)> {
    (1..30u32, 1..6usize).prop_flat_map(|(frames, partitions)| {
        let of = 0..partitions;
        let block = 0..frames + 3;
        let step = (of.clone(), block, of, 0..100u32).prop_map(|(partition, block, whose, dice)| match dice {
            0..85 => Step::Read { partition, block, whose },
            85..90 => Step::Hold { partition, block },
            90..97 => Step::LetGo { partition, block },
            _ => Step::Forget { partition, block },
        });
        (Just(frames), Just(partitions), proptest::collection::vec(step, 0..500))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    /// A list a partition is the ring with a hand a partition: the same page goes, every time.
    #[test]
    fn lists_are_the_ring((frames, partitions, steps) in workload()) {
        let mut ring = Ring::new(frames as usize, partitions);
        let mut cache = Cache::new(frames, partitions);
        let mut held = BTreeSet::new();
        for step in steps {
            match step {
                Step::Read { partition, block, whose } => {
                    let there = ring.find(partition, block);
                    prop_assert_eq!(cache.hit(partition, block), there.is_some());
                    if let Some(at) = there {
                        ring.pages[at].used = true;
                        continue;
                    }
                    if ring.pages.len() == ring.capacity {
                        // If a partition has nothing to give, the next one is asked.
                        let mut gone = None;
                        for other in (0..partitions).map(|step| (whose + step) % partitions) {
                            let expected = ring.victim(other, &held);
                            gone = cache.victim(other);
                            prop_assert_eq!(gone, expected.map(|page| (page.partition, page.block)), "{:?}", step);
                            if gone.is_some() {
                                break;
                            }
                        }
                        if gone.is_none() {
                            continue;
                        }
                    }
                    ring.insert(partition, block);
                    cache.insert(partition, block);
                }
                Step::Hold { partition, block } => {
                    if let Some(slot) = cache.directory.find(key(partition, block)) {
                        cache.directory.frames.set_pins(slot, 1);
                        held.insert((partition, block));
                    }
                }
                Step::LetGo { partition, block } => {
                    if let Some(slot) = cache.directory.find(key(partition, block)) {
                        cache.directory.frames.set_pins(slot, 0);
                        held.remove(&(partition, block));
                    }
                }
                Step::Forget { partition, block } => {
                    if let Some(at) = ring.find(partition, block).filter(|_| !held.contains(&(partition, block))) {
                        ring.take(at);
                        let slot = cache.directory.find(key(partition, block)).expect("both have it");
                        cache.segments.remove(&mut cache.directory, slot);
                        cache.directory.release(slot);
                    }
                }
            }
            cache.directory.frames.check_links();
            for page in &ring.pages {
                let slot = cache.directory.find(key(page.partition, page.block)).expect("both have it");
                prop_assert_eq!(cache.directory.frames.count(slot) > 0, page.used, "use bit of {:?}", page);
            }
            prop_assert_eq!(cache.directory.frames.len(FREE) as usize, ring.capacity - ring.pages.len());
        }
    }
}

/// The ring of a kernel is a table of frames: a page that comes in stands where the victim stood,
/// wherever its partition's own hand is. Where the two belong to one partition that is right behind
/// the hand, as above.
struct Table {
    frames: Vec<Option<Page>>,
    hands: Vec<usize>,
}

impl Table {
    fn read(&mut self, partition: usize, block: u32, mut whose: impl FnMut() -> usize) -> bool {
        let here = |page: &Option<Page>| page.is_some_and(|page| page.partition == partition && page.block == block);
        if let Some(page) = self.frames.iter_mut().find(|page| here(page)).and_then(Option::as_mut) {
            page.used = true;
            return true;
        }
        let at = self.frames.iter().position(Option::is_none).unwrap_or_else(|| {
            loop {
                let victim = whose();
                if self.frames.iter().flatten().any(|page| page.partition == victim) {
                    break self.sweep(victim);
                }
            }
        });
        self.frames[at] = Some(Page { partition, block, used: false });
        false
    }

    fn sweep(&mut self, victim: usize) -> usize {
        loop {
            let at = self.hands[victim];
            self.hands[victim] = (at + 1) % self.frames.len();
            match &mut self.frames[at] {
                Some(page) if page.partition == victim && page.used => page.used = false,
                Some(page) if page.partition == victim => return at,
                _ => {}
            }
        }
    }
}

/// In a kernel's table of frames hits are as many: within a hundredth of the references, for equal
/// and unequal sizes.
#[test]
fn a_table_of_frames_hits_as_often() {
    const FRAMES: u32 = 240;
    for sizes in [[80, 80, 80], [160, 60, 20], [200, 20, 20]] {
        let mut cache = Cache::new(FRAMES, 3);
        let mut table = Table { frames: vec![None; FRAMES as usize], hands: vec![0; 3] };
        let lottery = || {
            let mut lottery = Lottery::new(3, 1);
            lottery.issue(sizes.into_iter(), FRAMES);
            lottery
        };
        let (mut ours, mut theirs) = (lottery(), lottery());
        let mut state = 1u64;
        let mut random = |sides: f64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) as f64 / f64::from(1u32 << 31) * sides) as u32
        };
        let (mut hits, mut table_hits) = (0u32, 0u32);
        const READS: u32 = 40_000;
        for _ in 0..READS {
            // Lower blocks more often.
            let (partition, block) = (random(3.0) as usize, random(400.0).min(random(400.0)));
            table_hits += u32::from(table.read(partition, block, || theirs.draw().expect("all take part")));
            if cache.hit(partition, block) {
                hits += 1;
                continue;
            }
            while cache.directory.frames.front(FREE).is_none() {
                cache.victim(ours.draw().expect("all take part"));
            }
            cache.insert(partition, block);
        }
        let apart = f64::from(hits.abs_diff(table_hits)) / f64::from(READS);
        assert!(hits > READS / 10 && apart < 0.01, "{sizes:?}: {hits} hits, {table_hits} in a table, {apart:.4} apart");
    }
}

/// "Only those pages belonging to the victim's partition should have their use bits cleared", by
/// hand: three pages of partition 0, two of partition 1, all used; partition 1 gives one.
#[test]
fn other_partitions_keep_their_use_bits() {
    let mut cache = Cache::new(5, 2);
    let pages = [(0, 10), (1, 20), (0, 11), (1, 21), (0, 12)];
    pages.iter().for_each(|&(partition, block)| cache.insert(partition, block));
    assert!(pages.iter().all(|&(partition, block)| cache.hit(partition, block)));
    assert_eq!(cache.victim(1), Some((1, 20)), "the first one, after both lost their use bits");
    let used = |cache: &Cache, partition, block| {
        let slot = cache.directory.find(key(partition, block)).expect("it stays");
        cache.directory.frames.count(slot) > 0
    };
    assert!([10, 11, 12].iter().all(|&block| used(&cache, 0, block)), "no hand of theirs came by");
    assert!(!used(&cache, 1, 21));
    // 21 is referenced again, and 13 comes in for partition 0: that hand clears 10, 11 and 12 and
    // takes 13, which has no use bit.
    cache.hit(1, 21);
    cache.insert(0, 13);
    assert_eq!(cache.victim(0), Some((0, 13)));
    assert!(used(&cache, 1, 21) && ![10, 11, 12].iter().any(|&block| used(&cache, 0, block)));
}
