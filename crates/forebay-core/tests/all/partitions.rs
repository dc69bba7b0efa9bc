//! A cache divided among devices, as whole engines have it (SAC): sizes hold at once or as frames
//! are wanted, no partition starves, waits are those of readers.

use crate::divided;
use std::collections::{BTreeMap, VecDeque};

use divided::{BLOCK, conserved, core};
use forebay_core::presets::REPLACEMENTS;
use forebay_core::share::State;
use forebay_core::{
    Action, Actions, BlockKey, ContextId, Core, Event, EventKind, FileId, FrameId, HandlerId, Instant, ReadId,
};

/// One reader in a closed loop over devices that take this many nanoseconds for a request. A file a
/// device.
struct Server {
    core: Box<dyn Core>,
    at: u64,
    service: Vec<u64>,
    /// The device whose block each frame has.
    owners: BTreeMap<FrameId, u32>,
    /// Devices whose blocks went in the last read.
    evicted: Vec<u32>,
}

impl Server {
    fn new(policy: &str, frames: u32, service: &[u64]) -> Server {
        let core = core(policy, frames, service.len() as u32);
        Server { core, at: 0, service: service.to_vec(), owners: BTreeMap::new(), evicted: Vec::new() }
    }

    /// Reads a block and waits for it. Returns whether it had to be fetched.
    fn read(&mut self, device: u32, block: u32) -> bool {
        self.evicted.clear();
        let (read, file) = (ReadId(0), FileId(device));
        let offset = u64::from(block) * u64::from(BLOCK);
        let kind = EventKind::Read { read, handler: HandlerId(0), context: ContextId(0), file, offset, len: BLOCK };
        let mut events = VecDeque::from([kind]);
        let mut fetched = false;
        while let Some(kind) = events.pop_front() {
            let mut actions = Actions::new();
            self.core.handle(&[Event { at: Instant(self.at), kind }], &mut actions);
            for action in actions {
                match action {
                    Action::Fetch { io, extent, device, .. } => {
                        fetched = true;
                        for key in extent.keys() {
                            let frame = self.core.frame(key).expect("a frame for what is fetched");
                            self.owners.insert(frame, key.file().0);
                        }
                        self.at += self.service[device.index()];
                        events.push_back(EventKind::Arrived { io });
                    }
                    Action::Ready { read } => events.push_back(EventKind::Done { read }),
                    Action::Evict { frame, .. } => self.evicted.extend(self.owners.remove(&frame)),
                    other => panic!("{other:?} to a single reader"),
                }
            }
        }
        fetched
    }

    fn frames(&self) -> Vec<u32> {
        self.core.devices().iter().map(|device| device.frames).collect()
    }

    fn sizes(&self) -> Vec<u32> {
        self.core.divider().expect("a divided cache").shares().iter().map(|share| share.size).collect()
    }

    fn epochs(&self) -> u64 {
        self.core.divider().expect("a divided cache").epochs()
    }
}

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn throw(&mut self, sides: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % u64::from(sides)) as u32
    }
}

/// Reads at random from `hot` blocks of each device until this many epochs more are over. `look`
/// sees every step.
fn run(server: &mut Server, dice: &mut Dice, hot: u32, epochs: u64, mut look: impl FnMut(&Server)) {
    let end = server.epochs() + epochs;
    let devices = server.service.len() as u32;
    for _ in 0..2_000_000 {
        if server.epochs() >= end {
            return;
        }
        server.read(dice.throw(devices), dice.throw(hot));
        look(server);
    }
    panic!("{epochs} epochs take more than two million reads");
}

/// "With eager partitioning, when new partition sizes are desired, the algorithm immediately
/// reallocates pages" (§2.3).
#[test]
fn eager_sizes_hold_at_once() {
    for replacement in REPLACEMENTS {
        let policy = format!("eager:window=100,increment=20+{}", replacement.name);
        let mut server = Server::new(&policy, 400, &[1_000_000, 1_000_000, 5_000_000]);
        let mut resized = 0;
        let mut sizes = server.sizes();
        run(&mut server, &mut Dice(1), 300, 40, |server| {
            let now = server.sizes();
            resized += u32::from(now != sizes);
            sizes = now;
            let frames = server.frames();
            assert!(frames.iter().zip(&sizes).all(|(has, size)| has <= size), "{policy}: {frames:?} of {sizes:?}");
        });
        assert!(resized > 3, "{policy}: {resized} resizes");
        let [fast, _, slow] = sizes[..] else { panic!("three devices") };
        assert!(slow > fast, "{policy}: {sizes:?}");
    }
}

/// "Gradually reallocates pages on demand": a new size takes no page by itself; a page goes when
/// another is wanted, and one only (§2.3).
#[test]
fn lazy_sizes_hold_as_frames_are_wanted() {
    for replacement in REPLACEMENTS {
        let policy = format!("lazy:window=100,increment=20+{}", replacement.name);
        let mut server = Server::new(&policy, 400, &[1_000_000, 1_000_000, 5_000_000]);
        let (mut resized, mut apart) = (0, 0);
        let mut sizes = server.sizes();
        let mut dice = Dice(1);
        for _ in 0..20_000 {
            let free = server.core.frames().1;
            let fetched = server.read(dice.throw(3), dice.throw(300));
            let wanted = usize::from(fetched && free == 0);
            assert_eq!(server.evicted.len(), wanted, "{policy}: a page goes just when one is wanted and none is free");
            let now = server.sizes();
            resized += u32::from(now != sizes);
            sizes = now;
            apart += u32::from(server.frames().iter().zip(&sizes).any(|(has, size)| has > size));
        }
        assert!(resized > 3 && apart > 0, "{policy}: {resized} resizes, {apart} steps with a partition over its size");
        let frames = server.frames();
        assert!(frames[2] > frames[0] && frames[2] > frames[1], "{policy}: the slow device has most, {frames:?}");
    }
}

/// A static division keeps its first sizes, whatever the waits, here 1 : 2 : 5.
#[test]
fn static_sizes_stay() {
    let mut server = Server::new("static:weights=1/2/5,window=50+lru", 800, &[9_000_000, 1_000_000, 1_000_000]);
    assert_eq!(server.sizes(), [100, 200, 500]);
    run(&mut server, &mut Dice(2), 600, 60, |server| {
        assert!(server.frames().iter().zip([100, 200, 500]).all(|(&has, size)| has <= size));
    });
    assert_eq!((server.sizes(), server.frames()), (vec![100, 200, 500], vec![100, 200, 500]));
}

/// Victims are drawn in inverse proportion to sizes. Each block that went comes back, so that
/// partitions keep their frames and only the draws matter: of 1 : 3 : 6 parts, 20, 20/3 and 20/6 of
/// 30. Chi-square, two degrees of freedom, once in a thousand.
#[test]
fn victims_are_drawn_in_inverse_proportion_to_sizes() {
    let mut server = Server::new("lazy:weights=1/3/6,window=4000000000,seed=7+lru", 3000, &[1; 3]);
    let mut next = [0; 3];
    let mut miss = |server: &mut Server, device: u32| {
        next[device as usize] += 1;
        assert!(server.read(device, next[device as usize]));
        server.evicted.first().copied()
    };
    for frame in 0..3000 {
        assert_eq!(miss(&mut server, frame % 3), None);
    }
    let mut drawn = [0f64; 3];
    let mut device = 0;
    for _ in 0..9000 {
        device = miss(&mut server, device).expect("a full cache gives a frame");
        drawn[device as usize] += 1.0;
    }
    let expected = [20.0, 20.0 / 3.0, 20.0 / 6.0].map(|part| 9000.0 * part / 30.0);
    let statistic: f64 =
        drawn.iter().zip(expected).map(|(drawn, expected)| (drawn - expected).powi(2) / expected).sum();
    assert!(statistic < 13.8, "{statistic:.1}: {drawn:?}, not {expected:?}");
}

/// No partition starves for ever: one device has all frames, by whatever way, and the other's
/// readers begin to wait. It gets what it needs within some tens of epochs.
#[test]
fn who_had_nothing_gets_frames() {
    for scheme in ["eager", "lazy"] {
        for replacement in REPLACEMENTS {
            let policy = format!("{scheme}:window=100,increment=10+{}", replacement.name);
            let mut server = Server::new(&policy, 300, &[4_000_000, 1_000_000]);
            let mut dice = Dice(3);
            // Only device 0 is read: it gets all but one frame.
            while server.sizes() != [299, 1] {
                server.read(0, dice.throw(5000));
                assert!(server.epochs() < 200, "{policy}: {:?}", server.sizes());
            }
            for _ in 0..2000 {
                server.read(0, dice.throw(5000));
            }
            let most = server.frames()[0];
            assert!(most >= 299, "{policy}: {:?}", server.frames());
            // Now the other one is slow and is read more than the first.
            server.service = vec![1_000_000, 20_000_000];
            let before = server.epochs();
            while server.frames()[1] < 100 {
                let device = u32::from(dice.throw(4) > 0);
                server.read(device, dice.throw(400));
                let epochs = server.epochs() - before;
                assert!(epochs < 60, "{policy}: after {epochs} epochs {:?} of {:?}", server.frames(), server.sizes());
            }
            conserved(&*server.core);
        }
    }
}

/// A device whose frames were all held when one was drawn is drawn again: it does not keep them for
/// ever, though it is not read and sizes have come to their end.
#[test]
fn who_was_held_once_gives_frames_later() {
    for replacement in REPLACEMENTS {
        let policy = format!("lazy:window=20,increment=100+{}", replacement.name);
        let mut server = Server::new(&policy, 64, &[1_000_000, 1_000_000]);
        let read = |server: &mut Server, device, blocks: std::ops::Range<u32>| {
            for block in blocks {
                server.read(device, block);
            }
        };
        read(&mut server, 0, 0..60);
        read(&mut server, 1, 0..4);
        // A reader holds all of device 0's frames while device 1 gets to be owed nearly all of
        // them.
        let held: Vec<FrameId> =
            (0..60).filter_map(|block| server.core.frame(BlockKey::new(FileId(0), block))).collect();
        assert_eq!(held.len(), 60);
        assert!(held.iter().all(|&frame| server.core.pin(frame)));
        read(&mut server, 1, 4..200);
        assert_eq!((server.sizes(), server.frames()), (vec![1, 63], vec![60, 4]), "{policy}");
        for &frame in &held {
            server.core.unpin(frame);
        }
        read(&mut server, 1, 200..600);
        assert!(server.frames()[1] > 50, "{policy}: {:?}", server.frames());
        conserved(&*server.core);
    }
}

/// "The time spent waiting for each device over the past W device requests": from when the first
/// reader waits for a fetch until it arrives, and nothing for one that no reader waited for.
#[test]
fn wait_times_are_those_of_readers() {
    const MS: u64 = 1_000_000;
    let mut core = core("one-block+lazy:window=3+lru", 100, 2);
    let mut tell = |at: u64, kind: EventKind| {
        let mut actions = Actions::new();
        core.handle(&[Event { at: Instant(at * MS), kind }], &mut actions);
        let fetches = actions.iter().filter_map(|action| match action {
            Action::Fetch { io, extent, .. } => Some((*io, extent.start, extent.len)),
            _ => None,
        });
        let division = core.divider().expect("divided");
        let shares = division.shares();
        (fetches.collect::<Vec<_>>(), (division.epochs(), [0, 1].map(|device| shares[device].wait / MS)))
    };
    let read = |read: u32, device: u32, block: u64| EventKind::Read {
        read: ReadId(read),
        handler: HandlerId(read),
        context: ContextId(0),
        file: FileId(device),
        offset: block * u64::from(BLOCK),
        len: BLOCK,
    };
    // A read of a block has the next one fetched with it, or alone if the block is there already.
    let (fetches, _) = tell(0, read(0, 0, 10));
    let [(first, 10, 2)] = fetches[..] else { panic!("{fetches:?}") };
    // Twelve milliseconds, however many wait.
    tell(5, read(1, 0, 10));
    tell(12, EventKind::Arrived { io: first });
    let (fetches, _) = tell(20, read(2, 1, 40));
    let [(second, 40, 2)] = fetches[..] else { panic!("{fetches:?}") };
    tell(27, EventKind::Arrived { io: second });
    // No reader waits for block 42 until one wants it.
    let (fetches, _) = tell(30, read(3, 1, 41));
    let [(ahead, 42, 1)] = fetches[..] else { panic!("{fetches:?}") };
    tell(36, read(4, 1, 42));
    let (_, before) = tell(37, EventKind::Tick);
    assert_eq!(before, (0, [0, 0]), "two requests are no epoch of three");
    let (_, after) = tell(40, EventKind::Arrived { io: ahead });
    assert_eq!(after, (1, [12, 7 + 4]), "12 for device 0; 7 and, from 36 to 40, 4 for device 1");
}

/// A device that slows down is found: its wait rises, it is warming, its partition grows until
/// waits are alike (Fig. 8).
#[test]
fn a_device_that_slows_down_gets_more() {
    for policy in ["eager-lru", "lazy-lru", "lazy-clock"] {
        let policy = policy.replace('-', ":window=500+");
        let mut server = Server::new(&policy, 2000, &[2_000_000; 4]);
        let mut dice = Dice(5);
        run(&mut server, &mut dice, 1000, 30, |_| ());
        let before = server.sizes();
        assert!(before.iter().all(|size| size.abs_diff(500) < 250), "{policy}: alike, {before:?}");
        server.service[2] = 4_000_000;
        let mut warmed = false;
        run(&mut server, &mut dice, 1000, 60, |server| {
            warmed |= server.core.divider().is_some_and(|division| division.shares()[2].state == State::Warming);
        });
        let after = server.sizes();
        assert!(warmed && after[2] > before[2] + 100, "{policy}: {before:?}, then {after:?}");
        let frames = server.frames();
        assert!(frames.iter().enumerate().all(|(device, &has)| device == 2 || has < frames[2]), "{policy}: {frames:?}");
    }
}

/// Of two thousand blocks the first are read most. There are no sizes: a device that is read alone
/// has everything, and devices that are alike have about as much each. One that turns slow gets
/// more at once, and gives it up when it is as quick as before. One whose blocks do not come again
/// has less than half of an equal share, however often it is read.
#[test]
fn frames_go_where_they_save_most() {
    for replacement in REPLACEMENTS {
        let policy = format!("worth+{}", replacement.name);
        let mut server = Server::new(&policy, 2000, &[2_000_000; 4]);
        let mut dice = Dice(5);
        (0..2000).for_each(|block| _ = server.read(0, block));
        assert_eq!(server.frames(), [2000, 0, 0, 0], "{policy}");
        let mut server = Server::new(&policy, 2000, &[2_000_000; 4]);
        let mut read = |server: &mut Server, reads: u32| {
            (0..reads).for_each(|_| {
                let (device, block) = (dice.throw(4), (0..4).map(|_| dice.throw(2000)).min());
                server.read(device, block.unwrap_or(0));
            });
            assert_eq!(server.frames().iter().sum::<u32>(), 2000, "{policy}");
            conserved(&*server.core);
            server.frames()
        };
        let alike = read(&mut server, 12_000);
        assert!(alike.iter().all(|&frames| frames.abs_diff(500) < 250), "{policy}: alike, {alike:?}");
        server.service[2] = 8_000_000;
        let slow = read(&mut server, 4000);

        assert!(slow[2] > 650 && slow.iter().all(|&frames| frames > 200), "{policy}: one is slow, {slow:?}");
        server.service[2] = 2_000_000;
        let again = read(&mut server, 8000);
        assert!(again.iter().all(|&frames| frames.abs_diff(500) < 250), "{policy}: as before, {again:?}");
        for fresh in 0..12_000 {
            server.read(0, 2000 + fresh);
            server.read(1 + fresh % 3, dice.throw(1500));
        }
        assert!(server.frames()[0] < 250, "{policy}: nothing comes back, {:?}", server.frames());
    }
}
