//! The table of streams against a naive twin that knows no cells: a list, scanned whole.

use std::collections::BTreeMap;

use forebay_core::history::{EvictionHistory, Was};
use forebay_core::level::Label;
use forebay_core::stream::{ACTIVE_FOR, HOLDS_FOR, IN_TURN, LATE_FOR, PAUSES, Streams};
use forebay_core::{BlockKey, Caller, ContextId, DeviceId, Extent, FileId, HandlerId, Instant, StreamId};
use proptest::prelude::*;

const LAG: u32 = 256;
/// The table is told of pieces of 600 blocks.
const CELL: u32 = 1024;

#[derive(Clone, Copy, Debug)]
struct Twin {
    id: StreamId,
    file: FileId,
    /// The handler of the last read.
    handler: HandlerId,
    /// How often it went on.
    steps: u32,
    next: u32,
    ahead: u32,
    piece: u32,
    /// It counts as active.
    active: bool,
    /// Reads of it that wait.
    waiting: u32,
    /// Its file is closed, and it has not gone on since.
    retired: bool,
    last: u64,
    /// Where its latest late part ended.
    lagged: u32,
    /// How long it was silent.
    pause: u64,
    /// How often its handler had turned to another stream when it was read last.
    turn: u32,
    /// It is read in turn with others.
    in_turn: bool,
}

/// Most recently used first.
#[derive(Default)]
struct Naive {
    streams: Vec<Twin>,
    /// The stream that each handler read last in each file.
    last: BTreeMap<(HandlerId, FileId), StreamId>,
    /// The stream that each handler read last, and how often it turned to another one.
    latest: BTreeMap<HandlerId, (StreamId, u32)>,
    /// How long reads waited.
    wait: u64,
    /// How long streams were silent; before the first one, for long.
    pause: Option<u64>,
}

impl Naive {
    fn locate(&self, handler: HandlerId, file: FileId, block: u32, at: u64) -> Option<u32> {
        let last = self.last.get(&(handler, file));
        let distances = self.streams.iter().filter(|twin| twin.file == file).filter_map(|twin| {
            let reach = (twin.ahead - twin.next).max(twin.piece);
            if block >= twin.next {
                let skipped = block - twin.next;
                let own = last == Some(&twin.id) && twin.handler == handler;
                let soon = twin.steps > 0 || at - twin.last <= self.patience();
                let expected = skipped == 0 && (soon || own);
                (expected || (skipped < reach && !twin.retired && own)).then_some(skipped)
            } else {
                let shares = twin.next - block == 1;
                let just_now = at - twin.last <= LATE_FOR && block != twin.lagged;
                let late = twin.next - block <= LAG && (twin.waiting > 0 || just_now || shares);
                late.then_some(twin.next - block)
            }
        });
        distances.filter(|&distance| distance < CELL).min()
    }

    /// A stream that was silent for too long, and that no read waits for, is active no longer.
    fn expire(&mut self, at: u64) {
        for twin in &mut self.streams {
            let own = ACTIVE_FOR.into_iter().find(|&time| time >= PAUSES * twin.pause).unwrap_or(ACTIVE_FOR[2]);
            twin.active &= twin.waiting > 0 || at - twin.last <= own + 2 * self.wait;
        }
    }

    fn patience(&self) -> u64 {
        (PAUSES * self.pause()).clamp(ACTIVE_FOR[0], ACTIVE_FOR[2]) + 2 * self.wait
    }

    fn pause(&self) -> u64 {
        self.pause.unwrap_or(ACTIVE_FOR[2] / PAUSES)
    }

    /// How often a handler has turned to another stream.
    fn turns(&self, handler: HandlerId) -> u32 {
        self.latest.get(&handler).map_or(0, |&(_, turns)| turns)
    }

    /// A handler reads a stream. Returns how often it has turned to another one by now.
    fn reads(&mut self, handler: HandlerId, file: FileId, id: StreamId) -> u32 {
        self.last.insert((handler, file), id);
        let before = self.latest.get(&handler).map(|&(stream, _)| stream);
        let turns = self.turns(handler) + u32::from(before != Some(id));
        self.latest.insert(handler, (id, turns));
        turns
    }

    /// A handler has left the stream that it read in a file before.
    fn leaves(&mut self, handler: HandlerId, file: FileId) {
        let left = self.last.get(&(handler, file)).copied();
        let left = self.streams.iter_mut().find(|twin| Some(twin.id) == left && twin.file == file);
        if let Some(left) = left.filter(|twin| twin.handler == handler && twin.waiting == 0) {
            left.active = false;
        }
    }

    fn any(&mut self, which: u8) -> Option<&mut Twin> {
        let len = self.streams.len();
        self.streams.get_mut(usize::from(which) % len.max(1))
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// An access anywhere.
    Access {
        file: u8,
        block: u32,
        len: u8,
        fetched: u16,
    },
    /// An access near where some stream is.
    Near {
        which: u8,
        by: i32,
        len: u8,
        fetched: u16,
    },
    /// Time passes.
    Wait {
        seconds: u8,
    },
    /// A read of some stream waits.
    Waits {
        which: u8,
    },
    /// A read that waited does so no longer.
    Ready {
        which: u8,
    },
    /// A file is closed.
    Rest {
        file: u8,
    },
    Forget {
        file: u8,
    },
    /// A handler is gone.
    Exited {
        handler: u8,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0..3u8, 0..20_000u32, 1..40u8, 0..600u16)
            .prop_map(|(file, block, len, fetched)| Step::Access { file, block, len, fetched }),
        6 => (any::<u8>(), -300..700i32, 1..40u8, 0..600u16)
            .prop_map(|(which, by, len, fetched)| Step::Near { which, by, len, fetched }),
        6 => (any::<u8>(), 0..1i32, 1..40u8, 0..600u16)
            .prop_map(|(which, by, len, fetched)| Step::Near { which, by, len, fetched }),
        1 => (0..9u8).prop_map(|seconds| Step::Wait { seconds }),
        2 => any::<u8>().prop_map(|which| Step::Waits { which }),
        3 => any::<u8>().prop_map(|which| Step::Ready { which }),
        1 => (0..3u8).prop_map(|file| Step::Rest { file }),
        1 => (0..3u8).prop_map(|file| Step::Forget { file }),
        1 => (0..2u8).prop_map(|handler| Step::Exited { handler }),
    ];
    proptest::collection::vec(step, 1..200)
}

fn access(streams: &mut Streams, naive: &mut Naive, places: usize, at: u64, extent: Extent, fetched: u32) {
    // The length of a read says which of two handlers reads.
    let who = Caller { handler: HandlerId(extent.len % 2), context: ContextId(0) };
    let found = streams.locate(who.handler, extent.file, extent.start, Instant(at));
    let distance = found.map(|id| streams.get(id).unwrap().next.abs_diff(extent.start));
    assert_eq!(distance, naive.locate(who.handler, extent.file, extent.start, at), "{extent:?} in {:?}", naive.streams);
    let id = match found {
        Some(id) if goes_on(streams, naive, id, at, extent, who) => id,
        Some(_) => return,
        None => begins(streams, naive, places, at, extent, who),
    };
    let stream = streams.get_mut(id).unwrap();
    stream.ahead += fetched;
    stream.piece = fetched;
    let twin = naive.streams.iter_mut().find(|twin| twin.id == id).unwrap();
    twin.ahead += fetched;
    twin.piece = fetched;
}

/// A known stream is accessed. Returns whether that brings it further.
fn goes_on(streams: &mut Streams, naive: &mut Naive, id: StreamId, at: u64, extent: Extent, who: Caller) -> bool {
    let position = naive.streams.iter().position(|twin| twin.id == id).expect("a stream the twin knows");
    let before = naive.last.get(&(who.handler, extent.file)).copied();
    if before != Some(id) {
        let before = naive.streams.iter().find(|twin| Some(twin.id) == before);
        if before.is_some_and(|twin| !twin.in_turn) {
            naive.leaves(who.handler, extent.file);
        }
        let Twin { handler, turn, .. } = naive.streams[position];
        naive.streams[position].in_turn = handler == who.handler && naive.turns(handler) - turn <= IN_TURN;
    }
    naive.streams[position].turn = naive.reads(who.handler, extent.file, id);
    let moved = streams.advance(id, Instant(at), extent, &Label::all(extent), who);
    let twin = &mut naive.streams[position];
    twin.handler = who.handler;
    if moved {
        let pause = at - twin.last;
        twin.pause = if twin.steps == 0 { pause } else { twin.pause - twin.pause / 8 + pause / 8 };
        twin.steps += 1;
    }
    assert_eq!(moved, extent.end() > twin.next);
    if !moved {
        twin.lagged = extent.end();
        return false;
    }
    let pause = at - twin.last;
    twin.next = extent.end();
    twin.ahead = twin.ahead.max(twin.next);
    twin.active = true;
    twin.retired = false;
    twin.last = at;
    naive.pause = Some(naive.pause() - naive.pause() / 64 + pause / 64);
    naive.expire(at);
    true
}

/// An access begins a stream.
fn begins(streams: &mut Streams, naive: &mut Naive, places: usize, at: u64, extent: Extent, who: Caller) -> StreamId {
    naive.leaves(who.handler, extent.file);
    let id = streams.begin(Instant(at), extent, &Label::all(extent), DeviceId(0), who);
    // If the table is full a stream was forgotten; ids tell which one.
    if let Some(gone) = naive.streams.iter().position(|twin| twin.id == id) {
        let gone = naive.streams.remove(gone);
        // The idle ones first, then those that no read waits for, then the one silent for
        // longest.
        let class = |twin: &Twin| (twin.active, twin.active && twin.waiting > 0);
        assert!(naive.streams.iter().all(|twin| class(&gone) <= class(twin)), "{gone:?} of {:?}", naive.streams);
    }
    assert!(naive.streams.len() < places, "a full table forgets a stream");
    let (handler, file, next) = (who.handler, extent.file, extent.end());
    let turn = naive.reads(handler, file, id);
    let (active, retired, in_turn) = (false, false, false);
    let (piece, waiting, lagged) = (0, 0, u32::MAX);
    naive.streams.push(Twin {
        id,
        file,
        handler,
        steps: 0,
        next,
        ahead: next,
        piece,
        active,
        waiting,
        retired,
        last: at,
        lagged,
        pause: 0,
        turn,
        in_turn,
    });
    id
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn streams_are_found_like_by_a_scan(places in 1..12u32, steps in steps()) {
        // Pieces stay below 600 blocks, as the table is told.
        let mut streams = Streams::new(places, 600, 256);
        let mut naive = Naive::default();
        let mut at = 0;
        for step in steps {
            at += 1_000_000;
            match step {
                Step::Access { file, block, len, fetched } => {
                    let extent = Extent { file: FileId(file.into()), start: block, len: len.into() };
                    access(&mut streams, &mut naive, places as usize, at, extent, fetched.into());
                }
                Step::Near { which, by, len, fetched } => {
                    let Some(twin) = naive.streams.get(usize::from(which) % naive.streams.len().max(1)) else { continue };
                    let start = twin.next.saturating_add_signed(by);
                    let extent = Extent { file: twin.file, start, len: len.into() };
                    access(&mut streams, &mut naive, places as usize, at, extent, fetched.into());
                }
                Step::Wait { seconds } => at += u64::from(seconds) * 1_000_000_000,
                Step::Waits { which } => {
                    if let Some(twin) = naive.any(which) {
                        twin.waiting += 1;
                        streams.waits(twin.id);
                    }
                }
                Step::Ready { which } => {
                    if let Some(twin) = naive.any(which).filter(|twin| twin.waiting > 0) {
                        let waited = at - twin.last;
                        (twin.waiting, twin.last) = (twin.waiting - 1, at);
                        streams.waits_no_longer(twin.id, Instant(at));
                        naive.wait = naive.wait - naive.wait / 16 + waited / 16;
                    }
                }
                Step::Rest { file } => {
                    let file = FileId(file.into());
                    streams.rest(file, |_| ());
                    for twin in naive.streams.iter_mut().filter(|twin| twin.file == file) {
                        (twin.active, twin.retired) = (false, true);
                    }
                }
                Step::Exited { handler } => {
                    let handler = HandlerId(handler.into());
                    streams.exited(handler);
                    for twin in naive.streams.iter_mut().filter(|twin| twin.handler == handler && twin.waiting == 0) {
                        twin.active = false;
                    }
                }
                Step::Forget { file } => {
                    streams.forget(FileId(file.into()));
                    naive.streams.retain(|twin| twin.file != FileId(file.into()));
                }
            }
            prop_assert_eq!(streams.iter().count(), naive.streams.len());
            let active = naive.streams.iter().filter(|twin| twin.active).count();
            prop_assert_eq!(streams.active() as usize, active, "{:?}", naive.streams);
        }
    }

    /// A miss is called thrashing only for a block that was evicted unread and not missed since, an
    /// LRU miss only for one that had been read.
    #[test]
    fn the_eviction_history_never_invents(frames in 1..200u32, keys in proptest::collection::vec((any::<Option<bool>>(), 0..300u32), 1..500)) {
        let mut history = EvictionHistory::new(frames);
        let mut evicted = std::collections::BTreeMap::new();
        for (goes, block) in keys {
            let key = BlockKey::new(FileId(1), block);
            if let Some(unread) = goes {
                let was = if unread { Was::Unread } else { Was::Referenced };
                history.evicted(key, was);
                evicted.insert(block, was);
                prop_assert_eq!(history.clone().missed(key), Some(was), "the latest is always remembered");
            } else if let Some(was) = history.missed(key) {
                prop_assert_eq!(evicted.remove(&block), Some(was));
                prop_assert_eq!(history.missed(key), None);
            }
        }
    }
}

/// A reader that waits for the processor is silent for long, and the blocks fetched for it keep
/// their memory: its stream holds them until the reader comes, or is gone, or they are given up.
#[test]
fn who_waits_for_the_processor_holds_what_is_there_for_him() {
    const SECOND: u64 = 1_000_000_000;
    let whole = |file: u32, start| Extent { file: FileId(file), start, len: 4 };
    // Handler 7 has read three times in a row and has `ahead` blocks ahead; after ten seconds
    // handler 8 goes on elsewhere.
    let silent = |ahead: u32| {
        let mut streams = Streams::new(8, 600, 256);
        let mut read = |handler: u32, at: u64, start: u32| {
            let (who, extent) = (Caller { handler: HandlerId(handler), context: ContextId(0) }, whole(handler, start));
            match streams.locate(who.handler, extent.file, start, Instant(at)) {
                Some(id) => assert!(streams.advance(id, Instant(at), extent, &Label::all(extent), who)),
                None => _ = streams.begin(Instant(at), extent, &Label::all(extent), DeviceId(0), who),
            }
            let id = streams.locate(who.handler, extent.file, start + 4, Instant(at)).expect("a stream is there");
            streams.get_mut(id).unwrap().ahead += if start == 8 { ahead } else { 0 };
            id
        };
        let id = [0, 4, 8].map(|start| read(7, SECOND + u64::from(start) * 1_000_000, start))[2];
        for start in [0, 4] {
            read(8, 11 * SECOND, start);
        }
        (streams, id)
    };
    let count = |streams: &Streams| (streams.active(), streams.holding());
    assert_eq!(count(&silent(0).0), (1, 0), "nothing is there for him");
    assert_eq!(count(&silent(40).0), (1, 1));
    type End = fn(&mut Streams, forebay_core::StreamId);
    let ends: [(&str, End); 3] = [
        ("is gone", |streams, _| streams.exited(HandlerId(7))),
        ("it was given up", |streams, id| streams.holds_no_more(id)),
        ("nobody has the file open", |streams, _| streams.rest(FileId(7), |_| ())),
    ];
    for (what, ends) in ends {
        let (mut streams, id) = silent(40);
        ends(&mut streams, id);
        assert_eq!(count(&streams), (1, 0), "{what}");
    }
    let (mut streams, _) = silent(40);
    let elsewhere = whole(5, 100);
    streams.begin(
        Instant(11 * SECOND),
        elsewhere,
        &Label::all(elsewhere),
        DeviceId(0),
        Caller { handler: HandlerId(7), context: ContextId(0) },
    );
    assert_eq!(count(&streams), (1, 0), "he reads something else");
    let (mut streams, id) = silent(40);
    streams.exited(HandlerId(9));
    assert_eq!(count(&streams), (1, 1), "somebody else is gone");
    let (who, next) = (Caller { handler: HandlerId(7), context: ContextId(0) }, whole(7, 12));
    assert!(streams.advance(id, Instant(11 * SECOND + 1), next, &Label::all(next), who));
    assert_eq!(count(&streams), (2, 0), "he came");
    let (mut streams, _) = silent(40);
    let (who, at) = (Caller { handler: HandlerId(8), context: ContextId(0) }, Instant(12 * SECOND + HOLDS_FOR));
    let id = streams.locate(who.handler, FileId(8), 8, at).expect("his own");
    assert!(streams.advance(id, at, whole(8, 8), &Label::all(whole(8, 8)), who));
    assert_eq!(count(&streams), (1, 0), "nobody is waited for for ever");
}

/// One handler comes upon another's stream, and has left its own. One that reads two streams of its
/// own in turn reads both, unless it read many others meanwhile.
#[test]
fn who_comes_upon_a_stream_of_others_has_left_his_own() {
    let mut streams = Streams::new(200, 600, 256);
    let mut at = 0;
    let mut read = |handler: u32, start: u32| {
        at += 10_000;
        let who = Caller { handler: HandlerId(handler), context: ContextId(0) };
        let extent = Extent { file: FileId(1), start, len: 4 };
        match streams.locate(who.handler, extent.file, start, Instant(at)) {
            Some(id) => assert!(streams.advance(id, Instant(at), extent, &Label::all(extent), who)),
            None => _ = streams.begin(Instant(at), extent, &Label::all(extent), DeviceId(0), who),
        }
        streams.active()
    };
    let both = [0, 4, 8].map(|start| (read(1, start), read(2, 10_000 + start)));
    assert_eq!(both, [(0, 0), (1, 2), (2, 2)]);
    assert_eq!([read(1, 10_012), read(2, 10_016)], [1, 1], "both read the one");
    let in_turn = [0, 4, 8, 12].map(|start| (read(3, 20_000 + start), read(3, 30_000 + start)));
    assert_eq!(in_turn, [(1, 1), (2, 3), (3, 3), (3, 3)]);
    for nth in 0..IN_TURN {
        read(3, 50_000 + nth * 2000);
    }
    let again = [read(3, 20_016), read(3, 30_016), read(3, 20_020), read(3, 30_020)];
    assert_eq!(again, [2, 2, 2, 3], "one after the other, and then in turn again");
}
