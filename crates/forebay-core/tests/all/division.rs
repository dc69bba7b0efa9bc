//! How large partitions shall be: SAC §3.1 by hand-worked numbers, and laws that hold whatever
//! devices do.

use forebay_core::index::Hashed;
use forebay_core::papers::sac::{Division, Scheme, Settings};
use forebay_core::seams::Divider;
use forebay_core::share::State;
use forebay_core::{
    Action, Actions, BlockKey, Caller, ContextId, Core, DeviceCost, DeviceId, Event, EventKind, FileId, HandlerId,
    Instant, Policy, ReadId, Setup,
};
use proptest::prelude::*;

fn devices(count: usize) -> Vec<DeviceCost> {
    vec![DeviceCost::flat(1_000_000, 100_000_000, 1); count]
}

/// The paper's settings, eager, but for W: a request a device.
fn plain(count: usize) -> Settings {
    Settings { window: count as u32, ..Settings::paper(Scheme::Eager) }
}

/// An epoch in which each device has one request; `waits` has how long readers wait for it.
fn epoch(division: &mut Division, waits: &[u64]) {
    for (device, &wait) in waits.iter().enumerate() {
        division.has_waited(device, wait);
    }
}

fn sizes(division: &dyn Divider) -> Vec<u32> {
    division.shares().iter().map(|share| share.size).collect()
}

fn last(division: &Division) -> (u32, State) {
    division.shares().last().map(|share| (share.size, share.state)).unwrap()
}

/// 1000 frames, so that I = 0.2 % is 2. Mean 150: relative waits 0.666 and 2; suppliers have 1 -
/// 0.666 each, so of two pages the second and the third part is a whole one.
#[test]
fn the_four_states() {
    let mut division = Division::new(1000, &devices(4), plain(4));
    assert_eq!(sizes(&division), [250; 4]);
    epoch(&mut division, &[100, 100, 100, 300]);
    assert_eq!(division.shares().iter().map(|share| share.relative).collect::<Vec<_>>(), [666, 666, 666, 2000]);
    assert_eq!(sizes(&division), [250, 249, 249, 252]);
    let mut after = |wait| {
        epoch(&mut division, &[100, 100, 100, wait]);
        last(&division)
    };
    assert_eq!(after(300), (254, State::Warm), "constant: I");
    assert_eq!(after(400), (256, State::Warming), "rising: I");
    assert_eq!(after(500), (260, State::Warming), "rising further: 2 I");
    assert_eq!(after(600), (268, State::Warming), "4 I");
    assert_eq!(after(590), (268, State::Cooling), "falling: nothing");
    assert_eq!(after(600), (270, State::Warming), "rising from another state: I again");
    assert_eq!(after(100), (270, State::Cool), "as the mean: nothing");
    assert_eq!(division.epochs(), 8);
}

/// T = 5 per cent: 1.05 times the mean is not above it, 1.051 times is.
#[test]
fn above_the_threshold_is_not_at_it() {
    let mut division = Division::new(20_000, &devices(2), plain(2));
    epoch(&mut division, &[950, 1050]);
    assert_eq!(last(&division), (10_000, State::Cool));
    epoch(&mut division, &[949, 1051]);
    assert_eq!(last(&division), (10_040, State::Warming));
}

/// Trends are of relative waits (Fig. 1: "relative to the mean wait time"): all wait longer, the
/// last one less than before compared with them.
#[test]
fn trends_are_relative() {
    let mut division = Division::new(1000, &devices(2), plain(2));
    epoch(&mut division, &[100, 300]);
    assert_eq!(last(&division), (502, State::Warming));
    epoch(&mut division, &[200, 500]);
    assert_eq!(last(&division), (502, State::Cooling));
}

/// 1 - relative wait: 0.9, 0.1 and, above the mean, none. Of 10 pages 9 and 1.
#[test]
fn who_waits_least_gives_most() {
    let settings = Settings { increment: 10, ..plain(3) };
    let mut division = Division::new(999, &devices(3), settings);
    epoch(&mut division, &[100, 900, 2000]);
    assert_eq!(sizes(&division), [333 - 8, 333 - 1, 333 + 9]);
}

/// A supplier keeps a frame, and the others give what it lacks: 400 pages wanted, half from each,
/// of which the first has one.
#[test]
fn a_poor_supplier_leaves_the_rest_to_others() {
    let weights = forebay_core::papers::sac::Weights::given(&[2, 498, 500]).unwrap();
    let settings = Settings { increment: 400, weights, ..plain(3) };
    let mut division = Division::new(1000, &devices(3), settings);
    assert_eq!(sizes(&division), [2, 498, 500]);
    epoch(&mut division, &[500, 500, 2000]);
    assert_eq!(sizes(&division), [1, 99, 900]);
    epoch(&mut division, &[500, 500, 2100]);
    assert_eq!(sizes(&division), [1, 1, 998], "800 are wanted, 98 are there");
    epoch(&mut division, &[500, 500, 2200]);
    assert_eq!(sizes(&division), [1, 1, 998], "none are");
}

/// Two consumers that want more than there is share it in proportion to their wants, I for the one
/// that begins to warm and 2 I for the one that goes on: of 9 pages 3 and 6.
#[test]
fn consumers_share_what_there_is() {
    let weights = forebay_core::papers::sac::Weights::given(&[100, 100, 10]).unwrap();
    let settings = Settings { increment: 50, weights, ..plain(3) };
    let mut division = Division::new(210, &devices(3), settings);
    epoch(&mut division, &[100, 130, 100]);
    assert_eq!(sizes(&division), [95, 110, 5], "10 pages for the second, half of them from each of the others");
    epoch(&mut division, &[250, 260, 90]);
    assert_eq!(sizes(&division), [95 + 1, 110 + 3, 1], "10 and 20 are wanted, 4 are there");
}

/// An epoch in which no reader waits (everything was prefetched in time): all are alike, and later
/// rises count from there.
#[test]
fn nobody_waits() {
    let mut division = Division::new(1000, &devices(2), plain(2));
    epoch(&mut division, &[100, 300]);
    epoch(&mut division, &[0, 0]);
    assert_eq!(last(&division), (502, State::Cool));
    assert_eq!(division.shares()[0].relative, 1000);
    epoch(&mut division, &[100, 200]);
    assert_eq!(last(&division), (504, State::Warming));
}

/// Fig. 8: one disk of sixteen at half speed waits 1.88 times the mean, far below five times; and
/// gets its pages from all others.
#[test]
fn a_disk_of_sixteen_at_half_speed_is_corrected() {
    let mut division = Division::new(51_200, &devices(16), plain(16));
    let mut waits = [100; 16];
    epoch(&mut division, &waits);
    assert_eq!(sizes(&division), [3200; 16]);
    waits[6] = 200;
    epoch(&mut division, &waits);
    assert_eq!((division.shares()[6].relative, division.shares()[6].size), (1882, 3302));
    let others: Vec<u32> = sizes(&division).into_iter().filter(|&size| size < 3200).collect();
    assert_eq!(others.len(), 15);
    assert!(others.iter().all(|&size| size == 3193 || size == 3194), "{others:?}");
}

#[test]
fn a_static_division_looks_and_does_nothing() {
    let settings = Settings { window: 2, ..Settings::paper(Scheme::Static) };
    let mut division = Division::new(1000, &devices(2), settings);
    for wait in [300, 400, 500] {
        epoch(&mut division, &[100, wait]);
        assert_eq!(last(&division), (500, State::Warming));
    }
}

/// A window counts the requests to all devices together.
#[test]
fn an_epoch_is_so_many_requests_to_whatever_devices() {
    let mut division = Division::new(1000, &devices(2), Settings { window: 5, ..plain(2) });
    for request in 1..=10u64 {
        let changed = division.has_waited(usize::from(request % 5 == 1), 100);
        assert_eq!(division.epochs(), request / 5);
        assert_eq!(changed, request == 5 || request == 10, "{request}");
    }
    assert_eq!(sizes(&division), [504, 496], "four times as long, and the second time as long again");
}

/// A cache before devices with a file each, whose readers come one after the other and wait as long
/// as the device says, more or less.
struct World {
    core: Box<dyn Core>,
    services: Vec<u64>,
    at: u64,
    state: u64,
    missed: u64,
}

const BLOCKS: u32 = 1 << 24;

impl World {
    fn new(policy: &str, frames: u32, services: &[u64]) -> World {
        let policy: Policy = policy.parse().unwrap();
        let devices = devices(services.len());
        let setup = Setup { frames, block_bytes: 4096, streams: 16, devices, referenced: Default::default() };
        let core = policy.build::<Hashed>(setup);
        let mut world = World { core, services: services.to_vec(), at: 0, state: 1, missed: 0 };
        for device in 0..services.len() as u32 {
            let bytes = u64::from(BLOCKS) * 4096;
            world.tell(EventKind::Open { file: FileId(device), device: DeviceId(device as u16), bytes });
        }
        world
    }

    fn random(&mut self, below: u64) -> u64 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) % below
    }

    fn tell(&mut self, kind: EventKind) {
        let mut actions = Actions::new();
        self.core.handle(&[Event { at: Instant(self.at), kind }], &mut actions);
        for action in actions {
            match action {
                Action::Fetch { io, device, .. } => {
                    let service = self.services[device.index()];
                    self.at += service / 2 + self.random(service.max(1));
                    self.missed += 1;
                    self.tell(EventKind::Arrived { io });
                }
                Action::Ready { read } => self.tell(EventKind::Done { read }),
                _ => {}
            }
        }
    }

    fn read(&mut self, device: u32, block: u32) {
        if self.core.hit(BlockKey::new(FileId(device), block), DeviceId(device as u16), Caller::default()).is_some() {
            return;
        }
        let (handler, context) = (HandlerId(device), ContextId(0));
        let (offset, len) = (u64::from(block) * 4096, 4096);
        self.tell(EventKind::Read { read: ReadId(0), handler, context, file: FileId(device), offset, len });
    }

    /// This many rounds of a read from each device: at random of this many blocks, or, with none,
    /// one after the other.
    fn rounds(&mut self, rounds: u32, sets: &[u32]) {
        for _ in 0..rounds {
            for (device, &set) in (0u32..).zip(sets) {
                let block = match set {
                    0 => (self.at / 1000 % u64::from(BLOCKS)) as u32,
                    set => self.random(set.into()) as u32,
                };
                self.read(device, block);
            }
        }
        self.core.check();
    }

    fn sizes(&self) -> Vec<u32> {
        sizes(self.core.divider().unwrap())
    }
}

/// One device is asked for ever new blocks; three others for a set each of which half fits. By the
/// paper it ends with most of the cache, the slowest that it is ("the algorithm does not currently
/// detect this type of access", SAC §3.1); by worth with less than half of an equal share.
#[test]
fn who_only_streams_gets_most_by_waits_and_little_by_worth() {
    for (scheme, by_worth) in [("eager:window=200", false), ("lazy:window=200", false), ("worth", true)] {
        let mut world = World::new(&format!("{scheme}+lru"), 1600, &[1_000_000, 1_000_000, 1_000_000, 4_000_000]);
        world.rounds(60_000, &[800, 800, 800, 0]);
        let (size, held) = (world.sizes()[3], world.core.devices()[3].frames);
        if by_worth {
            assert!(held < 1600 / 4 / 2, "{scheme}: it holds {held}");
        } else {
            assert!(size > 800, "{scheme}: {:?}", world.sizes());
        }
    }
}

/// A device with reuse gets pages again after it had none: it streamed, then it loops over blocks
/// that would fit.
#[test]
fn nobody_starves_who_has_reuse() {
    for scheme in ["eager:window=200", "worth"] {
        let mut world = World::new(&format!("{scheme}+lru"), 1600, &[1_000_000, 1_000_000]);
        world.rounds(20_000, &[1200, 0]);
        let streaming = world.sizes()[1];
        world.rounds(60_000, &[1200, 1200]);
        let sizes = world.sizes();
        assert!(sizes[1] > 400 && sizes[0] > 400, "{scheme}: {streaming}, then {sizes:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// For all devices and settings, sizes add up and no partition is empty.
    #[test]
    fn sizes_always_add_up(
        count in 1usize..20, per_device in 1u32..3000, window in 1u32..40, seed in any::<u64>(),
        threshold in 0u16..200, increment in 1u16..=1000, lazy: bool,
    ) {
        let scheme = if lazy { Scheme::Lazy } else { Scheme::Eager };
        let settings = Settings { window, threshold, increment, ..Settings::paper(scheme) };
        let frames = per_device * count as u32;
        let mut division = Division::new(frames, &devices(count), settings);
        let mut state = seed | 1;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for step in 0..4000u32 {
            let device = random(count as u64) as usize;
            let wait = if step % 500 < 50 { 0 } else { random(1 << 30) << random(33) };
            division.has_waited(device, wait);
            let sizes = sizes(&division);
            prop_assert_eq!(sizes.iter().sum::<u32>(), frames);
            prop_assert!(sizes.iter().all(|&size| size > 0), "{:?}", sizes);
        }
    }
}
