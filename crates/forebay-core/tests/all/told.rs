//! Told lists: their blocks come in their order, from frames of their own, and nobody else pays.

use forebay_core::{
    Action, BlockKey, Cause, DeviceCost, DeviceId, EventKind, Extent, FileId, HandlerId, IoId, Referenced, ToldId,
    ToldList,
};
use proptest::prelude::*;

use crate::bench::{Bench, Fetched, MS, Pace, setup};

const LIST: ToldId = ToldId(3);

/// A store of so many channels, on which a switch is worth a block.
fn store(channels: u32) -> DeviceCost {
    DeviceCost::flat(20 * MS, 204_800, channels)
}

/// Files of so many blocks before a cache of `frames`; fetches wait until they are let in.
fn bench(frames: u32, channels: u32, files: u32, blocks: u64) -> Bench {
    let pace = Pace { event: 0, read: MS / 10, fetch: None };
    let mut bench = Bench::on("auto", setup(frames, vec![store(channels)]), pace).with_files(files, blocks);
    bench.held = true;
    bench
}

fn tell(bench: &mut Bench, file: u32, start: u32, len: u32) {
    bench.tell(EventKind::Told { list: LIST, extent: Extent { file: FileId(file), start, len } });
}

/// All is told.
fn told(bench: &mut Bench) {
    bench.tell(EventKind::Tick);
}

fn hints(bench: &Bench) -> Vec<(u32, u32, u32)> {
    let hint = |fetch: &&Fetched| fetch.cause == Cause::Hint;
    bench.fetches.iter().filter(hint).map(|it| (it.extent.file.0, it.extent.start, it.extent.len)).collect()
}

fn list(bench: &Bench) -> ToldList {
    bench.core.told_lists().into_iter().find(|list| list.list == LIST).expect("it is told")
}

/// Small files in any order: as many requests are under way as the store serves at once, each a
/// whole file, and every read finds its bytes.
#[test]
fn what_is_told_comes_in_order_and_fills_the_channels() {
    let mut bench = bench(4000, 8, 100, 27);
    let order: Vec<u32> = (0..100).map(|nth| nth * 37 % 100).collect();
    order.iter().for_each(|&file| tell(&mut bench, file, 0, 27));
    told(&mut bench);
    assert_eq!(hints(&bench), order[..8].iter().map(|&file| (file, 0, 27)).collect::<Vec<_>>());
    for &file in &order {
        bench.arrive();
        for block in (0..27).step_by(9) {
            assert!(bench.read(file, block, 9).iter().all(|fetch| fetch.cause == Cause::Hint), "file {file}");
        }
        assert!(bench.under_way.len() <= 8, "{} requests under way", bench.under_way.len());
    }
    let counters = bench.core.counters();
    assert_eq!((counters.misses, counters.late, counters.wasted), (0, 0, 0));
    assert_eq!((counters.hinted, counters.hints_used), (2700, 2700));
    assert_eq!(bench.fetches.len(), 100, "a request a file");
    let list = list(&bench);
    assert_eq!((list.entries, list.passed, list.told, list.read, list.fetched), (100, 100, 2700, 2700, 2700));
    bench.core.check();
}

#[test]
fn neighbours_of_one_file_are_one_fetch() {
    let mut bench = bench(8000, 1, 3, 2000);
    tell(&mut bench, 0, 0, 1);
    for start in [100, 116, 132, 164] {
        tell(&mut bench, 1, start, 16);
    }
    tell(&mut bench, 2, 180, 4);
    told(&mut bench);
    bench.arrive();
    bench.read(0, 0, 1);
    bench.read(1, 100, 48);
    bench.arrive();
    assert_eq!(hints(&bench), [(0, 0, 1), (1, 100, 48), (1, 164, 16), (2, 180, 4)]);
}

/// The list knows better: where it names the reads of a stream, only what it names is fetched.
#[test]
fn a_stream_that_a_list_names_is_not_looked_ahead_for() {
    let mut bench = bench(8000, 4, 2, 4000);
    (0..40).for_each(|nth| tell(&mut bench, 0, nth * 8, 8));
    told(&mut bench);
    for nth in 0..40 {
        bench.arrive();
        bench.read(0, nth * 8, 8);
    }
    bench.arrive();
    assert_eq!(bench.core.counters().fetched, 320, "nothing beyond the list is fetched");
    assert!(bench.fetches.iter().all(|fetch| fetch.cause == Cause::Hint));
}

/// Of 600 entries every other one is never read. The list goes on, and what was fetched in vain is
/// no more than what it names.
#[test]
fn an_entry_that_nobody_reads_blocks_nothing() {
    let mut bench = bench(1200, 8, 600, 4);
    (0..600).for_each(|file| tell(&mut bench, file, 0, 4));
    told(&mut bench);
    for file in (0..600).step_by(2) {
        bench.arrive();
        assert!(bench.read(file, 0, 4).iter().all(|fetch| fetch.cause == Cause::Hint), "file {file}");
        bench.core.check();
    }
    let counters = bench.core.counters();
    assert_eq!((counters.misses, counters.hints_used), (0, 1200));
    assert!(counters.hints_wasted > 0 && counters.hinted <= 2400, "{counters:?}");
    assert!(list(&bench).passed >= 598);
}

/// A list over, its unread blocks are the first to go, and others' stay.
#[test]
fn blocks_of_a_list_that_is_over_go_first() {
    let mut bench = bench(400, 8, 40, 100);
    bench.handler = Some(HandlerId(9));
    for block in 0..100 {
        bench.read(39, block, 1);
        bench.arrive();
    }
    (0..30).for_each(|file| tell(&mut bench, file, 0, 8));
    told(&mut bench);
    bench.arrive();
    let fetched = bench.core.counters().hinted;
    assert!(fetched >= 64, "{fetched} blocks were fetched");
    bench.tell(EventKind::Untold { list: LIST });
    assert_eq!(bench.core.told_lists(), []);
    // Another reader needs what is free, and what was told in vain.
    let free = u64::from(bench.core.frames().1);
    for block in 0..free + fetched {
        bench.read(30 + (block / 100) as u32, block % 100, 1);
        bench.arrive();
    }
    let there = |block| bench.core.frame(BlockKey::new(FileId(39), block)).is_some();
    assert_eq!((0..100).filter(|&block| there(block)).count(), 100);
    bench.core.check();
}

/// Belady: rounds over 400 files with memory for half of them, the order told to its end. The least
/// that can be fetched is what OPT fetches; a tenth more is allowed for what must be there ahead.
#[test]
fn what_is_used_last_goes_first() {
    let mut bench = bench(800, 2, 400, 4);
    let mut state = 1_u64;
    let mut order: Vec<u32> = Vec::new();
    for _ in 0..10 {
        let mut files: Vec<u32> = (0..400).collect();
        for last in (1..files.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            files.swap(last, (state >> 33) as usize % (last + 1));
        }
        order.extend(files);
    }
    let mut rest = order.iter();
    for &file in &order {
        let room = bench.core.told_room(LIST);
        rest.by_ref().take(room as usize).for_each(|&file| tell(&mut bench, file, 0, 4));
        told(&mut bench);
        bench.arrive();
        bench.read(file, 0, 4);
    }
    let (fetched, least) = (bench.core.counters().fetched, 4 * opt(&order, 200));
    assert!(fetched >= least && fetched <= least * 11 / 10, "{fetched} blocks, and {least} are the least");
    bench.core.check();
}

/// How many of a sequence of accesses the optimum misses, in a cache of so many entries.
fn opt(order: &[u32], entries: usize) -> u64 {
    let (mut cache, mut misses): (Vec<u32>, u64) = (Vec::new(), 0);
    for (at, file) in order.iter().enumerate() {
        if cache.contains(file) {
            continue;
        }
        misses += 1;
        if cache.len() == entries {
            let next = |other: &u32| order[at..].iter().position(|it| it == other).unwrap_or(usize::MAX);
            let last = (0..cache.len()).max_by_key(|&place| next(&cache[place])).expect("it has entries");
            cache.swap_remove(last);
        }
        cache.push(*file);
    }
    misses
}

/// A reader goes round what fits beside the list's frames; a list runs through four times the
/// memory meanwhile. The reader misses at most one read in twenty.
#[test]
fn another_reader_loses_little() {
    let mut bench = bench(1000, 8, 1100, 4);
    let around = |bench: &mut Bench, nth: u64| {
        bench.handler = Some(HandlerId(9));
        let before = bench.core.counters().misses;
        bench.read(1000 + (nth % 100) as u32, 0, 4);
        bench.arrive();
        bench.core.counters().misses - before
    };
    for nth in 0..300 {
        around(&mut bench, nth);
    }
    (0..1000).for_each(|file| tell(&mut bench, file, 0, 4));
    told(&mut bench);
    let mut missed = 0;
    for file in 0..1000 {
        bench.handler = Some(HandlerId(1));
        bench.arrive();
        bench.read(file, 0, 4);
        missed += around(&mut bench, u64::from(file));
    }
    assert!(missed <= 200, "{missed} of 4000 blocks");
    bench.core.check();
}

#[test]
fn a_list_that_nobody_follows_falls_asleep_and_wakes() {
    let mut bench = bench(400, 4, 300, 4);
    (0..200).for_each(|file| tell(&mut bench, file, 0, 4));
    told(&mut bench);
    bench.arrive();
    bench.at += 61_000 * MS;
    bench.read(250, 0, 4);
    bench.arrive();
    assert!(list(&bench).asleep);
    let before = hints(&bench).len();
    (0..4).for_each(|nth| drop(bench.read(251 + nth, 0, 4)));
    bench.arrive();
    assert_eq!(hints(&bench).len(), before, "nothing is fetched for it");
    bench.read(0, 0, 4);
    assert!(!list(&bench).asleep);
    for file in 1..200 {
        bench.arrive();
        assert!(bench.read(file, 0, 4).iter().all(|fetch| fetch.cause == Cause::Hint), "file {file}");
    }
    bench.core.check();
}

/// A cache full of a reader's blocks: a list gets frames once the reader is idle, and the core says
/// when that is, since no other event may come.
#[test]
fn a_list_that_waits_for_idle_readers_asks_for_the_moment() {
    let mut bench = bench(400, 4, 40, 100);
    bench.handler = Some(HandlerId(9));
    for block in 0..400 {
        bench.read((block / 100) as u32, block % 100, 1);
        bench.arrive();
    }
    assert_eq!((bench.core.frames().1, bench.core.deadline()), (0, None), "no list waits");
    (10..40).for_each(|file| tell(&mut bench, file, 0, 100));
    told(&mut bench);
    let mut moments = 0;
    while let Some(at) = bench.core.deadline() {
        moments += 1;
        assert!(moments < 10 && at.0 > bench.at, "it asks for the same moment again");
        bench.at = at.0;
        told(&mut bench);
        bench.arrive();
    }
    assert!(!hints(&bench).is_empty(), "nothing is fetched");
    bench.core.check();
}

/// There is no room for all of an item, and what is fetched of it fails: it is not asked for again
/// before somebody reads it.
#[test]
fn what_fails_is_not_asked_for_for_ever() {
    let mut bench = bench(40, 4, 1, 64);
    tell(&mut bench, 0, 0, 64);
    told(&mut bench);
    let first = bench.fetches[0].io;
    let actions = bench.tell(EventKind::Failed { io: first, valid: 0, error: 5 });
    let again = actions.iter().filter(|action| matches!(action, Action::Fetch { .. })).count();
    assert_eq!((again, bench.core.frames().1), (0, 40));
    bench.core.check();
}

/// A frame that the driver holds outlives its file, whose number is free only then.
#[test]
fn a_forgotten_file_waits_for_a_frame_that_is_held() {
    let mut bench = bench(400, 4, 2, 4);
    bench.read(0, 0, 4);
    bench.arrive();
    let frame = bench.core.frame(BlockKey::new(FileId(0), 2)).expect("it was read");
    assert!(bench.core.pin(frame));
    bench.close(0);
    let forgotten = |actions: &[Action]| actions.contains(&Action::Forgotten { file: FileId(0) });
    assert!(!forgotten(&bench.tell(EventKind::Forget { file: FileId(0) })));
    assert_eq!(bench.core.frames_of(FileId(0)), 1, "the other blocks are gone");
    assert!(bench.core.unpin(frame), "a tick is due");
    assert!(forgotten(&bench.tell(EventKind::Tick)));
    assert_eq!(bench.core.frames(), (400, 400));
    bench.core.check();
}

/// Where readers keep what they are given, a list fetches ahead as everywhere.
#[test]
fn blocks_that_are_handed_on_leave_with_their_reader() {
    let pace = Pace { event: 0, read: MS / 10, fetch: None };
    let own = forebay_core::Setup { referenced: Referenced::HandedOn, ..setup(400, vec![store(8)]) };
    let mut bench = Bench::on("auto", own, pace).with_files(200, 4);
    bench.held = true;
    (0..200).for_each(|file| tell(&mut bench, file, 0, 4));
    told(&mut bench);
    for file in 0..200 {
        bench.arrive();
        bench.read(file, 0, 4);
        bench.core.check();
    }
    assert_eq!((bench.core.counters().misses, bench.core.counters().hints_used), (0, 800));
    assert_eq!(bench.core.frames(), (400, 400), "nothing is kept");
}

/// Entries of a list beyond all bounds take no memory, and a driver is told how much room there is.
#[test]
fn a_window_is_bounded() {
    let mut bench = bench(400, 4, 10, 4);
    assert_eq!(bench.core.told_room(LIST), 1024);
    let before = bench.core.footprint();
    (0..20_000).for_each(|nth| tell(&mut bench, nth % 10, 0, 4));
    assert_eq!(bench.core.told_room(LIST), 0);
    assert!(bench.core.footprint() - before < 2 * 1024 * 200, "{} bytes", bench.core.footprint() - before);
    (0..10).for_each(|file| drop(bench.read(file, 0, 4)));
    bench.core.check();
}

#[derive(Clone, Debug)]
enum Step {
    Tell { list: u32, file: u32, start: u32, len: u32 },
    Untell { list: u32 },
    Read { handler: u32, file: u32, start: u64, len: u64 },
    Arrive,
    Fail { valid: u32 },
    Close { file: u32 },
    Forget { file: u32 },
    Wait { ms: u64 },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..3u32, 0..6u32, 0..140u32, 1..90u32)
            .prop_map(|(list, file, start, len)| Step::Tell { list, file, start, len }),
        1 => (0..3u32).prop_map(|list| Step::Untell { list }),
        8 => (0..4u32, 0..6u32, 0..140u64, 1..16u64)
            .prop_map(|(handler, file, start, len)| Step::Read { handler, file, start, len }),
        4 => Just(Step::Arrive),
        1 => (0..5u32).prop_map(|valid| Step::Fail { valid }),
        1 => (0..6u32).prop_map(|file| Step::Close { file }),
        1 => (0..6u32).prop_map(|file| Step::Forget { file }),
        1 => prop_oneof![Just(1u64), Just(70_000)].prop_map(|ms| Step::Wait { ms }),
    ];
    proptest::collection::vec(step, 1..120)
}

const LAWFUL: [&str; 6] = ["auto", "competitive", "competitive-em+lazy", "amp+arc", "worth", "sarc"];

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 300, ..ProptestConfig::with_cases(300) })]

    /// Whatever is told and read, every invariant holds, every read is answered, and hinted blocks
    /// are those that lists name.
    #[test]
    fn laws(steps in steps(), policy in 0..LAWFUL.len(), handed_on in any::<bool>(), devices in 1..3u16) {
        let referenced = if handed_on { Referenced::HandedOn } else { Referenced::Kept };
        let devices = (0..devices).map(|nth| store(1 + u32::from(nth) * 4)).collect();
        let own = forebay_core::Setup { referenced, ..setup(120, devices) };
        let pace = Pace { event: 0, read: MS / 10, fetch: None };
        let mut bench = Bench::on(LAWFUL[policy], own, pace).with_files(6, 150);
        bench.held = true;
        let mut named = std::collections::BTreeSet::new();
        let fails = steps.iter().any(|step| matches!(step, Step::Fail { .. } | Step::Forget { .. }));
        for step in steps {
            lawful(&mut bench, step, &mut named);
            bench.core.check();
            let hinted = bench.fetches.iter().filter(|fetch| fetch.cause == Cause::Hint);
            prop_assert!(hinted.flat_map(|fetch| fetch.extent.keys()).all(|key| named.contains(&key.raw())));
        }
        bench.arrive();
        bench.core.check();
        let counters = bench.core.counters();
        prop_assert!(counters.hints_used + counters.hints_wasted <= counters.hinted, "{counters:?}");
        prop_assert!(fails || bench.reads as usize == bench.answered.len(), "every read is answered");
    }
}

fn lawful(bench: &mut Bench, step: Step, named: &mut std::collections::BTreeSet<u64>) {
    match step {
        Step::Tell { list, file, start, len } => {
            let extent = Extent { file: FileId(file), start, len };
            named.extend(extent.keys().map(BlockKey::raw));
            bench.tell(EventKind::Told { list: ToldId(list), extent });
            if start % 3 > 0 {
                told(bench);
            }
        }
        Step::Untell { list } => drop(bench.tell(EventKind::Untold { list: ToldId(list) })),
        Step::Read { handler, file, start, len } => {
            bench.handler = Some(HandlerId(handler));
            bench.read(file, start, len);
        }
        Step::Arrive => bench.arrive(),
        Step::Fail { valid } => {
            if let Some(io) = bench.under_way.pop_front() {
                bench.tell(EventKind::Failed { io, valid, error: 5 });
            }
        }
        Step::Close { file } => drop(bench.close(file)),
        Step::Forget { file } => {
            let gone = |actions: &[Action]| actions.contains(&Action::Forgotten { file: FileId(file) });
            bench.arrive();
            if gone(&bench.tell(EventKind::Forget { file: FileId(file) })) {
                bench.open_on(file, 0, 150);
            }
        }
        Step::Wait { ms } => bench.at += ms * MS,
    }
}

/// A device whose only channel is taken by others still serves a list, one request at a time.
#[test]
fn a_busy_device_serves_a_list_one_by_one() {
    let mut bench = bench(1000, 1, 100, 4);
    bench.handler = Some(HandlerId(9));
    bench.read(99, 0, 4);
    (0..50).for_each(|file| tell(&mut bench, file, 0, 4));
    told(&mut bench);
    assert_eq!(hints(&bench).len(), 1);
    let io = bench.under_way.pop_front().map_or(IoId(0), |io| io);
    bench.tell(EventKind::Arrived { io });
    assert_eq!(hints(&bench).len(), 1, "the list's own request has the channel");
    assert_eq!(bench.core.devices()[DeviceId(0).index()].told_under_way, 1);
}
