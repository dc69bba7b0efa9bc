//! Prefetches that no reader needs any more are called off when their file is closed.

use forebay_core::{Action, Actions, CALLED_OFF, DeviceCost, EventKind, Extent, FileId, IoId, ReadId};

use crate::bench::{Bench, MS, Pace, runs, setup};

const FILE: u32 = 0;
const OTHER: u32 = 1;

/// A core under Linux prefetching over two files of 1000 blocks.
struct Linux(Bench);

fn linux() -> Linux {
    let setup = setup(1000, vec![DeviceCost::flat(10 * MS, 50_000_000, 1)]);
    let pace = Pace { event: MS, read: 0, fetch: None };
    let mut bench = Bench::on("linux", setup, pace).with_files(2, 1000);
    for (file, at_byte) in [(FILE, 0), (OTHER, 1 << 30)] {
        bench.tell(EventKind::Placed { extent: Extent { file: FileId(file), start: 0, len: 1000 }, at_byte });
    }
    bench.held = true;
    Linux(bench)
}

impl Linux {
    fn tell(&mut self, kind: EventKind) -> Actions {
        let actions = self.0.tell(kind);
        self.0.core.check();
        actions
    }

    fn close(&mut self, file: u32) -> Actions {
        self.tell(EventKind::Close { file: FileId(file) })
    }

    /// The last fetch, by its number, first block and how many.
    fn last(&self) -> (IoId, u32, u32) {
        let fetch = self.0.fetches.last().expect("a fetch");
        (fetch.io, fetch.extent.start, fetch.extent.len)
    }

    /// Reads the first two blocks of `file` and lets the first fetch arrive: blocks 0..16 are
    /// there, 16..34 under way.
    fn begin(&mut self, file: u32) -> IoId {
        self.0.read(file, 0, 1);
        let (io, start, len) = self.last();
        assert_eq!((start, len), (0, 16));
        self.tell(EventKind::Arrived { io });
        self.0.read(file, 1, 1);
        let (io, start, len) = self.last();
        assert_eq!((start, len), (16, 18));
        io
    }

    fn piece(&self) -> u32 {
        self.0.core.streams().iter().find(|(_, stream)| stream.file == FileId(FILE)).unwrap().1.piece
    }

    fn frames_in_use(&self) -> u32 {
        let (all, free) = self.0.core.frames();
        all - free
    }
}

fn called_off(io: IoId) -> EventKind {
    EventKind::Failed { io, valid: 0, error: CALLED_OFF }
}

/// C_waste (CP Eq. 3) is spared: the frames come free, nothing has failed, and D_seek is as it was.
#[test]
fn closing_calls_off_what_nobody_waits_for() {
    let mut linux = linux();
    let (mine, _other) = (linux.begin(FILE), linux.begin(OTHER));
    let distance = linux.0.core.devices()[0].seek_distance;
    assert_eq!(linux.close(FILE), [Action::CallOff { io: mine }]);
    assert_eq!(linux.frames_in_use(), 2 * (16 + 18), "a wish alone frees nothing");
    let piece = linux.piece();
    let evicted = linux.tell(called_off(mine));
    assert!(evicted.len() == 18 && evicted.iter().all(|action| matches!(action, Action::Evict { .. })), "{evicted:?}");
    assert_eq!(linux.frames_in_use(), 2 * 16 + 18);
    let counters = linux.0.core.counters();
    assert_eq!((counters.called_off, counters.wasted, counters.failures), (18, 0, 0));
    assert_eq!(linux.0.core.devices()[0].seek_distance, distance);
    assert_eq!(linux.piece(), piece, "no slow start");
}

#[test]
fn every_prefetched_block_comes_to_one_end() {
    let mut linux = linux();
    let io = linux.begin(FILE);
    linux.close(FILE);
    linux.tell(called_off(io));
    linux.tell(EventKind::Forget { file: FileId(FILE) });
    let counters = linux.0.core.counters();
    assert_eq!((counters.used, counters.wasted, counters.called_off), (1, 14, 18));
    assert_eq!(counters.prefetched, 33);
}

#[test]
fn what_a_reader_waits_for_is_not_called_off() {
    let mut linux = linux();
    let joined = linux.begin(FILE);
    linux.0.read(FILE, 20, 1);
    let (next, start, _) = linux.last();
    assert!(next != joined && start == 34);
    assert_eq!(linux.close(FILE), [Action::CallOff { io: next }]);
}

#[test]
fn it_is_asked_once() {
    let mut linux = linux();
    let io = linux.begin(FILE);
    assert_eq!(linux.close(FILE), [Action::CallOff { io }]);
    assert_eq!(linux.close(FILE), []);
}

/// The driver need not obey.
#[test]
fn what_arrives_all_the_same_stays() {
    let mut linux = linux();
    let io = linux.begin(FILE);
    linux.close(FILE);
    linux.tell(EventKind::Arrived { io });
    linux.0.read(FILE, 16, 1);
    assert_eq!(linux.0.answered.last(), Some(&ReadId(3)));
    assert_eq!(linux.0.core.counters().called_off, 0);
}

/// The file is opened again before the store has called off: blocks read by then are fetched anew,
/// and only those.
#[test]
fn a_reader_who_has_joined_gets_its_blocks() {
    let mut linux = linux();
    let io = linux.begin(FILE);
    linux.close(FILE);
    let before = linux.0.fetches.len();
    linux.0.read(FILE, 18, 2);
    let reader = ReadId(linux.0.reads);
    let issued = runs(&linux.0.fetches[before..]);
    assert!(issued.iter().all(|&(start, _)| start >= 34), "it joins: {issued:?}");
    let actions = linux.tell(called_off(io));
    assert!(!actions.iter().any(|action| matches!(action, Action::Error { .. } | Action::Ready { .. })), "{actions:?}");
    let (anew, start, len) = linux.last();
    assert_eq!((start, len), (18, 2));
    assert!(linux.tell(EventKind::Arrived { io: anew }).contains(&Action::Ready { read: reader }));
    let counters = linux.0.core.counters();
    assert_eq!((counters.late, counters.called_off, counters.failures), (2, 16, 0));
}

/// With an error of another kind it is a failure as ever.
#[test]
fn what_fails_before_it_is_called_off_has_failed() {
    let mut linux = linux();
    let io = linux.begin(FILE);
    linux.close(FILE);
    linux.tell(EventKind::Failed { io, valid: 3, error: 5 });
    let counters = linux.0.core.counters();
    assert_eq!((counters.failures, counters.called_off, counters.wasted), (1, 0, 15));
    assert_eq!(linux.piece(), 0, "back to slow start");
}
