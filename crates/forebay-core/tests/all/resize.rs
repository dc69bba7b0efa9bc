//! Policies as segments of one slab: their sizes change while they run, frames are taken from them
//! for others, and others' go to them (SAC §2.2). With any policy nothing is lost or linked twice,
//! a segment that has an unheld frame gives one when asked, and ghosts keep to the policy's own law
//! at its size.

use std::collections::BTreeMap;

use forebay_core::directory::Directory;
use forebay_core::frames::{FETCHING, FIRST_POLICY_LIST, FREE, ListId, Slot, flag};
use forebay_core::index::Hashed;
use forebay_core::presets::{self, Build};
use forebay_core::replacement::{Arc, Car, Class, Lirs, Replacement, WTinyLfu};
use forebay_core::{BlockKey, FileId};
use proptest::prelude::*;

/// Segments of one policy in one slab; a block belongs to the segment that its file has the number
/// of.
struct Divided<R> {
    directory: Directory<Hashed>,
    segments: Vec<R>,
    sizes: Vec<u32>,
    flying: BTreeMap<(usize, u32), (Slot, Class)>,
    frames: u32,
    /// The segment that got a frame in the last step.
    inserted: Option<usize>,
}

fn key(segment: usize, block: u32) -> BlockKey {
    BlockKey::new(FileId(segment as u32), block)
}

impl<R: Replacement> Divided<R> {
    fn new(frames: u32, sizes: &[u32]) -> Divided<R> {
        let lists = FIRST_POLICY_LIST + R::LISTS * sizes.len() as u8;
        let policy = |(segment, &size): (usize, &u32)| R::new(FIRST_POLICY_LIST + R::LISTS * segment as u8, size);
        Divided {
            directory: Directory::new(lists, frames, R::ghosts(frames) + sizes.len() as u32),
            segments: sizes.iter().enumerate().map(policy).collect(),
            sizes: sizes.to_vec(),
            flying: BTreeMap::new(),
            frames,
            inserted: None,
        }
    }

    /// The slots of a segment's `nth` list.
    fn list(&self, segment: usize, nth: u8) -> Vec<Slot> {
        let list = ListId(FIRST_POLICY_LIST + R::LISTS * segment as u8 + nth);
        let frames = &self.directory.frames;
        std::iter::successors(frames.front(list), |&slot| frames.towards_back(slot)).collect()
    }

    /// A segment's frames, and how many ghosts it has.
    fn held(&self, segment: usize) -> (Vec<Slot>, u32) {
        let slots = (0..R::LISTS).flat_map(|nth| self.list(segment, nth));
        let (ghosts, held): (Vec<_>, Vec<_>) = slots.partition(|&slot| self.directory.frames.is_ghost(slot));
        (held, ghosts.len() as u32)
    }

    fn resident(&self, segment: usize, block: u32) -> Option<Slot> {
        let frames = &self.directory.frames;
        self.directory.find(key(segment, block)).filter(|&slot| !frames.is_ghost(slot) && frames.list(slot) != FETCHING)
    }

    /// Takes a frame from a segment: it has one to give just when one of its frames is not held.
    fn give(&mut self, segment: usize, class: Class) -> bool {
        let (held, ghosts) = self.held(segment);
        let idle = held.iter().filter(|&&slot| self.directory.frames.pins(slot) == 0).count();
        let slot = self.segments[segment].victim(&mut self.directory, class);
        assert_eq!(slot.is_some(), idle > 0, "{idle} of {} frames are idle", held.len());
        let (left, after) = self.held(segment);
        if let Some(slot) = slot {
            assert!(held.contains(&slot) && !left.contains(&slot), "a victim is the segment's own, and gone");
            assert_eq!(self.directory.frames.list(slot), FREE);
            assert_eq!(left.len(), held.len() - 1, "one goes, not more");
        }
        assert!(after <= ghosts.max(R::ghosts(self.sizes[segment])), "{after} ghosts after {ghosts}");
        slot.is_some()
    }

    /// A fetch begins, if the segment `whose` or one of those behind it gives a frame where none is
    /// free.
    fn begin(&mut self, segment: usize, block: u32, whose: usize) {
        let ghost = self.directory.find(key(segment, block));
        let class = self.segments[segment].miss(&mut self.directory, ghost);
        if let Some(ghost) = ghost {
            self.segments[segment].remove(&mut self.directory, ghost);
            self.directory.release(ghost);
        }
        let parts = self.segments.len();
        let free = self.directory.frames.front(FREE).is_some();
        let class_of = |other| if other == segment { class } else { 0 };
        if free || (0..parts).map(|step| (whose + step) % parts).any(|other| self.give(other, class_of(other))) {
            let slot = self.directory.assign(key(segment, block), FETCHING).expect("a frame is free");
            self.flying.insert((segment, block), (slot, class));
        }
    }

    fn arrive(&mut self, segment: usize, block: u32, cost: u64) {
        let Some((slot, class)) = self.flying.remove(&(segment, block)) else { return };
        self.directory.frames.clear(slot, flag::ABSENT);
        self.segments[segment].costs(&mut self.directory, slot, cost);
        self.segments[segment].insert(&mut self.directory, slot, class);
        self.inserted = Some(segment);
        let (held, ghosts) = self.held(segment);
        assert!(held.contains(&slot));
        assert!(ghosts <= R::ghosts(self.sizes[segment]), "{ghosts} ghosts at size {}", self.sizes[segment]);
    }

    fn read(&mut self, segment: usize, block: u32) {
        let Some(slot) = self.resident(segment, block) else { return };
        if self.directory.frames.has(slot, flag::PREFETCHED) {
            self.directory.frames.clear(slot, flag::PREFETCHED);
            self.segments[segment].first_use(&mut self.directory, slot);
        } else {
            self.segments[segment].hit(&mut self.directory, slot);
        }
    }

    fn step(&mut self, step: &Step) {
        self.inserted = None;
        let parts = self.segments.len();
        match *step {
            Step::Read { segment, block, whose, cost, late, ahead } => {
                let segment = segment % parts;
                if self.resident(segment, block).is_some() {
                    self.read(segment, block);
                } else if !self.flying.contains_key(&(segment, block)) {
                    self.begin(segment, block, whose % parts);
                }
                if !late {
                    self.arrive(segment, block, cost);
                }
                if let Some(slot) = self.resident(segment, block).filter(|_| ahead) {
                    self.directory.frames.set(slot, flag::PREFETCHED);
                }
            }
            Step::Give { segment } => {
                self.give(segment % parts, 0);
            }
            Step::Hold { segment, block, pins } => {
                if let Some(slot) = self.resident(segment % parts, block) {
                    self.directory.frames.set_pins(slot, pins);
                }
            }
            Step::Forget { segment, block } => {
                let segment = segment % parts;
                if let Some((slot, _)) = self.flying.remove(&(segment, block)) {
                    self.directory.release(slot);
                } else if let Some(slot) =
                    self.resident(segment, block).filter(|&slot| self.directory.frames.pins(slot) == 0)
                {
                    self.segments[segment].remove(&mut self.directory, slot);
                    self.directory.release(slot);
                }
            }
            Step::Resize { segment, size } => {
                self.sizes[segment % parts] = size;
                self.segments[segment % parts].resize(size);
            }
        }
    }

    /// Every slot is in one list; every frame is free, on its way, or its own segment's.
    fn check(&self) {
        let frames = &self.directory.frames;
        frames.check_links();
        let mut held = frames.len(FREE) + self.flying.len() as u32;
        assert_eq!(frames.len(FETCHING) as usize, self.flying.len());
        for segment in 0..self.segments.len() {
            let (own, _) = self.held(segment);
            held += own.len() as u32;
            for nth in 0..R::LISTS {
                for slot in self.list(segment, nth) {
                    assert_eq!(frames.key(slot).file().0 as usize, segment, "another segment's block");
                    assert_eq!(self.directory.find(frames.key(slot)), Some(slot));
                }
            }
        }
        assert_eq!(held, self.frames, "frames are conserved");
    }
}

#[derive(Clone, Debug)]
enum Step {
    Read { segment: usize, block: u32, whose: usize, cost: u64, late: bool, ahead: bool },
    Give { segment: usize },
    Hold { segment: usize, block: u32, pins: u16 },
    Forget { segment: usize, block: u32 },
    Resize { segment: usize, size: u32 },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let segment = 0..4usize;
    let block = || (0..60u32, 0..60u32).prop_map(|(a, b)| a.min(b));
    let size = prop_oneof![0..4u32, 0..40u32, 0..300u32, Just(100_000)];
    let step = prop_oneof![
        30 => (segment.clone(), block(), 0..4usize, 0..9u64, 0..10u32).prop_map(|(segment, block, whose, cost, dice)| {
            Step::Read { segment, block, whose, cost, late: dice == 0, ahead: dice == 1 }
        }),
        3 => segment.clone().prop_map(|segment| Step::Give { segment }),
        2 => (segment.clone(), block(), 0..2u16).prop_map(|(segment, block, pins)| Step::Hold { segment, block, pins }),
        1 => (segment.clone(), block()).prop_map(|(segment, block)| Step::Forget { segment, block }),
        1 => (segment, size).prop_map(|(segment, size)| Step::Resize { segment, size }),
    ];
    proptest::collection::vec(step, 0..400)
}

/// The steps, over segments of any policy.
struct Run<'a>(u32, &'a [u32], &'a [Step]);

impl Build for Run<'_> {
    type Output = ();

    fn with<R: Replacement + Send + 'static>(self) {
        run::<R>(self.0, self.1, self.2, |_, _| ());
    }
}

/// Runs the steps. `law` must hold of a segment after each insertion into it.
fn run<R: Replacement>(frames: u32, sizes: &[u32], steps: &[Step], law: impl Fn(&Divided<R>, usize)) {
    let mut divided = Divided::<R>::new(frames, sizes);
    for step in steps {
        divided.step(step);
        divided.check();
        if let Some(segment) = divided.inserted {
            law(&divided, segment);
        }
    }
}

/// How many slots are in each list of a segment, and its size.
fn lens<R: Replacement, const N: usize>(divided: &Divided<R>, segment: usize) -> ([u32; N], u32) {
    let len = |nth| divided.list(segment, nth as u8).len() as u32;
    (std::array::from_fn(len), divided.sizes[segment])
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) })]

    #[test]
    fn segments_of_any_policy_change_their_sizes(
        frames in 1..50u32,
        sizes in proptest::collection::vec(0..50u32, 1..4),
        steps in steps(),
    ) {
        for policy in presets::Replacement::ALL {
            policy.build(Run(frames, &sizes, &steps));
        }
    }

    /// The shares of lists that the papers fix, at the size that the segment has now. Frames that
    /// are there beyond it go as they are asked for; ghosts and ranks go at once.
    #[test]
    fn shares_follow_the_size(
        frames in 1..50u32,
        sizes in proptest::collection::vec(0..50u32, 1..4),
        steps in steps(),
    ) {
        run::<Arc>(frames, &sizes, &steps, |divided, segment| {
            let ([t1, _, b1, b2], c) = lens(divided, segment);
            assert!((b1 == 0 || t1 + b1 <= c) && b1 + b2 <= c, "T1 {t1}, B1 {b1}, B2 {b2}, c {c}");
        });
        run::<Car>(frames, &sizes, &steps, |divided, segment| {
            let ([t1, _, b1, b2], c) = lens(divided, segment);
            assert!((b1 == 0 || t1 + b1 <= c) && b1 + b2 <= c + 1, "T1 {t1}, B1 {b1}, B2 {b2}, c {c}");
        });
        run::<Lirs>(frames, &sizes, &steps, |divided, segment| {
            let ([lir, _, ghosts], c) = lens(divided, segment);
            assert!(lir <= c.saturating_sub((c / 100).max(1)), "{lir} LIR blocks, c {c}");
            assert!(lir > 0 || ghosts == 0, "nothing is in S without a LIR block, {ghosts} ghosts");
        });
        run::<WTinyLfu>(frames, &sizes, &steps, |divided, segment| {
            let ([window, _, protected], c) = lens(divided, segment);
            let share = c.div_ceil(100);
            assert!(window <= share && protected <= (c - share) * 4 / 5, "window {window}, protected {protected}, c {c}");
        });
    }
}

/// References to blocks: some often, most seldom, and now and then a scan.
fn references(count: usize) -> Vec<u32> {
    let mut state = 7u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / f64::from(1u32 << 31)
    };
    let mut scan = 10_000;
    (0..count)
        .map(|at| {
            if at % 2000 < 300 {
                scan += 1;
                return scan;
            }
            // About as often as the inverse of its number.
            (2000f64.powf(random()) - 1.0) as u32
        })
        .collect()
}

/// Hits among the last half of `references` of a segment that has `before` frames and, from a third
/// on, `after`.
struct Hits<'a>(&'a [u32], u32, u32);

impl Build for Hits<'_> {
    type Output = f64;

    fn with<R: Replacement + Send + 'static>(self) -> f64 {
        let Hits(references, before, after) = self;
        let mut divided = Divided::<R>::new(before.max(after), &[before]);
        let mut hits = 0;
        for (at, &block) in references.iter().enumerate() {
            if at == references.len() / 3 {
                divided.step(&Step::Resize { segment: 0, size: after });
            }
            let absent = divided.resident(0, block).is_none();
            hits += u32::from(!absent && at >= references.len() / 2);
            let used = divided.frames - divided.directory.frames.len(FREE);
            // One segment, and frames to spare: the divider of the slab keeps it to its size.
            (divided.sizes[0]..used + u32::from(absent)).for_each(|_| {
                divided.segments[0].victim(&mut divided.directory, 0);
            });
            if absent {
                divided.begin(0, block, 0);
                let (slot, class) = divided.flying.remove(&(0, block)).expect("a frame is free");
                divided.directory.frames.clear(slot, flag::ABSENT);
                divided.segments[0].insert(&mut divided.directory, slot, class);
            } else {
                divided.read(0, block);
            }
        }
        divided.check();
        f64::from(hits) / (references.len() / 2) as f64
    }
}

/// A resized segment soon does the same as one that always had the size: nothing of the old size
/// stays behind.
#[test]
fn a_new_size_is_as_good_as_an_old_one() {
    let references = references(60_000);
    for policy in presets::Replacement::ALL {
        for (before, after) in [(10, 200), (500, 40), (40, 41), (200, 199)] {
            let [always, resized] = [after, before].map(|before| policy.build(Hits(&references, before, after)));
            let apart = (always - resized).abs();
            assert!(apart < 0.01, "{} from {before} to {after}: {resized:.4}, not {always:.4}", policy.name());
        }
    }
}

/// One frame, and then as many as a slab may have: nothing overflows.
#[test]
fn the_largest_size_is_a_size() {
    struct Largest;
    impl Build for Largest {
        type Output = ();

        fn with<R: Replacement + Send + 'static>(self) {
            let mut divided = Divided::<R>::new(8, &[1, 4]);
            // A sketch of that size is too large for a test.
            let largest = if std::any::type_name::<R>().contains("TinyLfu") { 1 << 20 } else { u32::MAX / 4 };
            for size in [1, largest, 0, 3, largest - 1, 2] {
                divided.step(&Step::Resize { segment: 0, size });
                for block in (0..20).chain(0..20) {
                    let (segment, whose) = (block as usize % 2, block as usize % 3);
                    divided.step(&Step::Read { segment, block, whose, cost: 1, late: false, ahead: false });
                    divided.check();
                }
            }
        }
    }
    for policy in presets::Replacement::ALL {
        policy.build(Largest);
    }
}
