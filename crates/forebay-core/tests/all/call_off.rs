//! Prefetches that nobody needs any more are called off when their file is closed.

use forebay_core::index::Hashed;
use forebay_core::{
    Action, Actions, CALLED_OFF, ContextId, Core, DeviceCost, DeviceId, Event, EventKind, Extent, FileId, HandlerId,
    Instant, IoId, Policy, ReadId, Setup,
};

const BLOCK: u32 = 4096;
const FILE: FileId = FileId(0);
const OTHER: FileId = FileId(1);

/// A core under Linux prefetching over two files of 1000 blocks, and its fetches.
struct Bench {
    core: Box<dyn Core>,
    at: u64,
    reads: u32,
    fetches: Vec<(IoId, Extent)>,
}

fn bench() -> Bench {
    let policy: Policy = "linux".parse().unwrap();
    let setup = Setup {
        frames: 1000,
        block_bytes: BLOCK,
        streams: 8,
        devices: vec![DeviceCost::flat(10_000_000, 50_000_000, 1)],
        referenced: Default::default(),
    };
    let mut bench = Bench { core: policy.build::<Hashed>(setup), at: 0, reads: 0, fetches: vec![] };
    for (file, at_byte) in [(FILE, 0), (OTHER, 1 << 30)] {
        bench.tell(EventKind::Open { file, device: DeviceId(0), bytes: 1000 * u64::from(BLOCK) });
        bench.tell(EventKind::Placed { extent: Extent { file, start: 0, len: 1000 }, at_byte });
    }
    bench
}

impl Bench {
    fn tell(&mut self, kind: EventKind) -> Actions {
        self.at += 1_000_000;
        let mut actions = Actions::new();
        self.core.handle(&[Event { at: Instant(self.at), kind }], &mut actions);
        self.core.check();
        for action in &actions {
            if let Action::Fetch { io, extent, .. } = *action {
                self.fetches.push((io, extent));
            }
        }
        actions
    }

    fn read(&mut self, file: FileId, block: u32, len: u32) -> Actions {
        self.reads += 1;
        let (read, handler, context) = (ReadId(self.reads), HandlerId(0), ContextId(0));
        let (offset, len) = (u64::from(block * BLOCK), len * BLOCK);
        self.tell(EventKind::Read { read, handler, context, file, offset, len })
    }

    /// Reads the first two blocks of `file` and lets the first fetch arrive: blocks 0..16 are
    /// there, 16..34 under way.
    fn begin(&mut self, file: FileId) -> IoId {
        self.read(file, 0, 1);
        let (io, extent) = *self.fetches.last().unwrap();
        assert_eq!((extent.start, extent.len), (0, 16));
        self.tell(EventKind::Arrived { io });
        self.tell(EventKind::Done { read: ReadId(self.reads) });
        self.read(file, 1, 1);
        self.tell(EventKind::Done { read: ReadId(self.reads) });
        let (io, extent) = *self.fetches.last().unwrap();
        assert_eq!((extent.start, extent.len), (16, 18));
        io
    }

    fn piece(&self) -> u32 {
        self.core.streams().iter().find(|(_, stream)| stream.file == FILE).unwrap().1.piece
    }

    fn frames_in_use(&self) -> u32 {
        let (all, free) = self.core.frames();
        all - free
    }
}

fn called_off(io: IoId) -> EventKind {
    EventKind::Failed { io, valid: 0, error: CALLED_OFF }
}

/// C_waste (CP Eq. 3) is spared: the frames come free, nothing has failed, and D_seek is as it was.
#[test]
fn closing_calls_off_what_nobody_waits_for() {
    let mut bench = bench();
    let (mine, _other) = (bench.begin(FILE), bench.begin(OTHER));
    let distance = bench.core.devices()[0].seek_distance;
    assert_eq!(bench.tell(EventKind::Close { file: FILE }), [Action::CallOff { io: mine }]);
    assert_eq!(bench.frames_in_use(), 2 * (16 + 18), "a wish alone frees nothing");
    let piece = bench.piece();
    let evicted = bench.tell(called_off(mine));
    assert!(evicted.len() == 18 && evicted.iter().all(|action| matches!(action, Action::Evict { .. })), "{evicted:?}");
    assert_eq!(bench.frames_in_use(), 2 * 16 + 18);
    let counters = bench.core.counters();
    assert_eq!((counters.called_off, counters.wasted, counters.failures), (18, 0, 0));
    assert_eq!(bench.core.devices()[0].seek_distance, distance);
    assert_eq!(bench.piece(), piece, "no slow start");
}

#[test]
fn every_prefetched_block_comes_to_one_end() {
    let mut bench = bench();
    let io = bench.begin(FILE);
    bench.tell(EventKind::Close { file: FILE });
    bench.tell(called_off(io));
    bench.tell(EventKind::Forget { file: FILE });
    let counters = bench.core.counters();
    assert_eq!((counters.used, counters.wasted, counters.called_off), (1, 14, 18));
    assert_eq!(counters.prefetched, 33);
}

#[test]
fn what_a_reader_waits_for_is_not_called_off() {
    let mut bench = bench();
    let joined = bench.begin(FILE);
    bench.read(FILE, 20, 1);
    let (next, extent) = *bench.fetches.last().unwrap();
    assert!(next != joined && extent.start == 34);
    assert_eq!(bench.tell(EventKind::Close { file: FILE }), [Action::CallOff { io: next }]);
}

#[test]
fn it_is_asked_once() {
    let mut bench = bench();
    let io = bench.begin(FILE);
    assert_eq!(bench.tell(EventKind::Close { file: FILE }), [Action::CallOff { io }]);
    assert_eq!(bench.tell(EventKind::Close { file: FILE }), []);
}

/// The driver need not obey.
#[test]
fn what_arrives_all_the_same_stays() {
    let mut bench = bench();
    let io = bench.begin(FILE);
    bench.tell(EventKind::Close { file: FILE });
    bench.tell(EventKind::Arrived { io });
    assert!(bench.read(FILE, 16, 1).contains(&Action::Ready { read: ReadId(3) }));
    assert_eq!(bench.core.counters().called_off, 0);
}

/// The file is opened again before the store has called off: what is read by then is fetched anew,
/// and only that.
#[test]
fn a_reader_who_has_joined_gets_its_blocks() {
    let mut bench = bench();
    let io = bench.begin(FILE);
    bench.tell(EventKind::Close { file: FILE });
    let before = bench.fetches.len();
    bench.read(FILE, 18, 2);
    let reader = ReadId(bench.reads);
    let issued: Vec<(IoId, Extent)> = bench.fetches.drain(before..).collect();
    assert!(issued.iter().all(|(_, extent)| extent.start >= 34), "it joins: {issued:?}");
    let actions = bench.tell(called_off(io));
    assert!(!actions.iter().any(|action| matches!(action, Action::Error { .. } | Action::Ready { .. })), "{actions:?}");
    let (anew, extent) = *bench.fetches.last().unwrap();
    assert_eq!(extent, Extent { file: FILE, start: 18, len: 2 });
    assert!(bench.tell(EventKind::Arrived { io: anew }).contains(&Action::Ready { read: reader }));
    let counters = bench.core.counters();
    assert_eq!((counters.late, counters.called_off, counters.failures), (2, 16, 0));
}

/// Of an error that has nothing to do with it, it is a failure as ever.
#[test]
fn what_fails_before_it_is_called_off_has_failed() {
    let mut bench = bench();
    let io = bench.begin(FILE);
    bench.tell(EventKind::Close { file: FILE });
    bench.tell(EventKind::Failed { io, valid: 3, error: 5 });
    let counters = bench.core.counters();
    assert_eq!((counters.failures, counters.called_off, counters.wasted), (1, 0, 15));
    assert_eq!(bench.piece(), 0, "back to slow start");
}
