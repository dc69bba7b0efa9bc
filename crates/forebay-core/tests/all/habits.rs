//! How long streams usually are, by device and by program context: the odds against brute force,
//! and the fetches by them.

use crate::bench::Bench;
use forebay_core::Usual;
use forebay_core::auto::knowledge::{Habits, Knowledge, Lengths, MOST_CONTEXTS, Odds, Whose};
use forebay_core::auto::{Auto, Parts};
use forebay_core::level::Label;
use forebay_core::seams::{Prefetcher, Sight};
use forebay_core::stream::Streams;
use forebay_core::{Caller, ContextId, DeviceId, EventKind, Extent, FileId, HandlerId, Instant};
use proptest::prelude::*;

/// A histogram of streams, this many of each length.
fn lengths(streams: &[(u32, u32)]) -> Lengths {
    let mut lengths = Lengths::default();
    let most = streams.iter().map(|stream| stream.1).max().unwrap_or(0);
    for round in 0..most {
        streams.iter().filter(|stream| round < stream.1).for_each(|stream| lengths.saw(stream.0));
    }
    lengths
}

/// Requests of many lengths, after which two of three streams that went on end. Lengths alone say
/// that hardly any stream ends at just this block; but it is asked about only where a read ends.
#[test]
fn a_stream_ends_where_a_read_ends() {
    let of_streams = |tells_reads: bool| {
        let mut lengths = Lengths::default();
        for stream in 0..600_u32 {
            let mut blocks = 4 + stream * 7 % 61;
            for read in 0..1 + u32::from(stream % 3 == 0) {
                blocks += 4 + (stream + read) * 13 % 61;
                if tells_reads {
                    lengths.came_to(blocks);
                }
            }
            lengths.saw(blocks);
        }
        lengths
    };
    let (by_reads, by_lengths) = (of_streams(true), of_streams(false));
    for from in [60, 80, 100] {
        let share = |lengths: &Lengths| {
            let odds = lengths.reach(from, from).expect("many streams");
            f64::from(odds.times) / f64::from(odds.of)
        };
        assert!(share(&by_reads) < 0.5, "{} from {from}", share(&by_reads));
        assert!(share(&by_lengths) > 0.6, "{} from {from}", share(&by_lengths));
    }
    assert!(by_reads.reach(1000, 1000).is_none(), "no stream was so long");
    let on = by_reads.goes_on(1000).expect("many reads");
    assert!(on.times < on.of / 2, "{on:?}: shorter streams tell");
    assert!(by_lengths.goes_on(1000).is_none());
}

/// Where the pieces of a stream of a long file end, up to the longest length.
fn pieces(lengths: &Lengths) -> Vec<u32> {
    std::iter::successors(lengths.end(0, u32::MAX), |&at| lengths.end(at, u32::MAX)).collect()
}

#[test]
fn streams_of_one_length_are_fetched_whole() {
    let mut lengths = lengths(&[(100, 8)]);
    lengths.weigh(131);
    assert_eq!((lengths.end(1, 1000), lengths.end(99, 1000)), (Some(100), Some(100)));
    assert_eq!(lengths.end(1, 60), Some(60), "no further than the file");
    assert_eq!(lengths.end(100, 1000), None, "of longer ones nothing is known");
    assert_eq!(lengths.reach(1, 99), Some(Odds { times: 128, of: 128 }));
    assert_eq!(lengths.reach(1, 100), Some(Odds { times: 0, of: 128 }));
}

/// Half have 10 blocks, half 100. In two pieces: D + 10 + (D + 90) / 2; in one: D + 100. They cost
/// the same at D = 90.
#[test]
fn a_second_switch_is_weighed_against_what_is_fetched_in_vain() {
    for (switch, ends) in [(20, vec![10, 100]), (80, vec![10, 100]), (100, vec![100]), (1000, vec![100])] {
        let mut lengths = lengths(&[(10, 20), (100, 20)]);
        lengths.weigh(switch);
        assert_eq!(pieces(&lengths), ends, "D = {switch}");
    }
}

/// Nine of ten read 4 blocks in one request, the tenth goes on to 64. Fetching 60 more costs 60;
/// not to, D in a tenth of cases.
#[test]
fn who_nearly_never_goes_on_gets_nothing() {
    let mut lengths = lengths(&[(64, 8)]);
    lengths.weigh(131);
    assert_eq!(lengths.end_if(4, 1000, Odds { times: 1, of: 10 }), Some(4));
    assert_eq!(lengths.end_if(4, 1000, Odds { times: 9, of: 10 }), Some(64));
    // 60 blocks against 131 in half of cases.
    assert_eq!(lengths.end_if(4, 1000, Odds { times: 1, of: 2 }), Some(64));
}

#[test]
fn what_was_long_ago_is_forgotten() {
    let mut lengths = lengths(&[(1000, 128)]);
    (0..1000).for_each(|_| lengths.saw(50));
    lengths.weigh(131);
    assert_eq!(lengths.end(1, 5000), Some(50));
    assert_eq!(lengths.quantile(1, 2), 50);
    assert!(lengths.streams() <= 128);
}

/// The mean cost of a stream that is fetched up to each of `ends` in turn.
fn expected(streams: &[(u32, u32)], switch: u32, ends: &[u32]) -> f64 {
    let cost = |length: u32| {
        let passed = ends.iter().filter(|&&end| end < length).count();
        f64::from(switch) * (passed + 1) as f64 + f64::from(ends[passed])
    };
    let all: u32 = streams.iter().map(|stream| stream.1).sum();
    streams.iter().map(|&(length, count)| cost(length) * f64::from(count)).sum::<f64>() / f64::from(all)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Over all sets of ends that there could be (brute force) none costs less than those that are
    /// found, but for rounding.
    #[test]
    fn no_other_ends_cost_less(counts in proptest::collection::vec(0..7u32, 8), switch in 1..500u32) {
        let streams: Vec<(u32, u32)> = counts.iter().zip(3..).map(|(&count, octave)| (1 << octave, count)).collect();
        let streams: Vec<(u32, u32)> = streams.into_iter().filter(|stream| stream.1 > 0).collect();
        prop_assume!(streams.last().is_some_and(|stream| stream.1 >= 4));
        let mut lengths = lengths(&streams);
        lengths.weigh(switch);
        let found = expected(&streams, switch, &pieces(&lengths));
        let longest = streams[streams.len() - 1].0;
        for chosen in 0..1u32 << (streams.len() - 1) {
            let inner = streams[..streams.len() - 1].iter().enumerate().filter(|(at, _)| chosen >> at & 1 == 1);
            let ends: Vec<u32> = inner.map(|(_, stream)| stream.0).chain([longest]).collect();
            prop_assert!(found <= expected(&streams, switch, &ends) * 1.01 + streams.len() as f64, "{streams:?} {ends:?}");
        }
    }

    /// However many contexts there are, no more are remembered than may be, and their memory is
    /// bounded.
    #[test]
    fn memory_is_bounded(contexts in proptest::collection::vec(0..1000u32, 1..1000)) {
        let mut knowledge = Knowledge::new(16, 1).by_context();
        for &context in &contexts {
            let whose = Whose { device: DeviceId(0), context: ContextId(context) };
            if context % 3 == 0 { knowledge.went_nowhere(whose) } else { knowledge.was_long(whose, context) }
        }
        prop_assert!(knowledge.contexts().count() <= MOST_CONTEXTS);
        prop_assert!(knowledge.contexts().all(|(context, _)| context != ContextId(0)));
        prop_assert!(knowledge.footprint() < 256 << 10, "{}", knowledge.footprint());
    }

    /// Habits that are kept twice stay the same: nothing is lost from run to run.
    #[test]
    fn what_is_kept_stays(mut octiles in proptest::array::uniform8(1..100_000u32), go_on in 1..=16u8, whole: bool) {
        octiles.sort_unstable();
        let once = Habits::from(Usual { streams: 16, go_on, whole, octiles }).usual();
        prop_assert_eq!((once.streams, once.go_on, once.whole), (16, go_on, whole));
        prop_assert!(once.octiles.iter().zip(octiles).all(|(&kept, was)| kept >= was && kept <= was + was / 4));
        prop_assert_eq!(Habits::from(once).usual(), once);
    }

    /// Nothing is fetched beyond the end of a file, and the same reads fetch the same.
    #[test]
    fn nothing_is_fetched_beyond_the_file(
        steps in proptest::collection::vec((0..4u32, 0..40u32, 0..100u32, 1..100u32), 1..60),
    ) {
        let mut benches = [Bench::new("auto"), Bench::new("auto")];
        for (context, file, from, len) in steps {
            let pages = 30 + file * 7;
            let (from, to) = (from.min(pages - 1), (from + len).min(pages));
            let [one, other] = benches.each_mut().map(|bench| {
                bench.context = ContextId(context);
                bench.read_through(file, pages.into(), from, to.max(from + 1))
            });
            prop_assert!(one.iter().all(|&(start, len)| start + len <= pages), "{one:?}");
            prop_assert_eq!(one, other);
        }
    }
}

/// Streams of 100 pages somewhere in files: once a context is known, one fetch of 100 pages,
/// however it is with others.
#[test]
fn each_context_has_its_habits() {
    let mut bench = Bench::new("auto");
    let mut file = 0;
    let mut streams = |bench: &mut Bench, context, many, len| {
        bench.context = ContextId(context);
        let reads = (0..many).map(|_| {
            file += 1;
            let from = 50 + file * 13 % 200;
            bench
                .read_through(file - 1, 1000, from, from + len)
                .iter()
                .map(|&(start, len)| (start - from, len))
                .collect()
        });
        reads.collect::<Vec<Vec<(u32, u32)>>>()
    };
    assert_eq!(streams(&mut bench, 1, 8, 100)[0][..2], [(0, 16), (16, 32)], "slow start: nothing is known yet");
    assert_eq!(streams(&mut bench, 1, 2, 100), [[(0, 100)], [(0, 100)]]);
    assert_eq!(streams(&mut bench, 2, 1, 100), [[(0, 100)]], "of a new context the device's habits are taken");
    // A context that reads single pages: nothing ahead, in files that were not read before.
    assert_eq!(streams(&mut bench, 3, 24, 1)[23], [(0, 1)]);
    assert_eq!(streams(&mut bench, 1, 1, 100), [[(0, 100)]], "which says nothing of the first");
    assert_eq!(streams(&mut bench, 4, 8, 40).len(), 8);
    assert_eq!(streams(&mut bench, 4, 1, 40), [[(0, 40)]]);
    assert_eq!(streams(&mut bench, 1, 1, 100), [[(0, 100)]]);
}

/// It begins to read sequentially: the second page says so, and soon the first does.
#[test]
fn who_read_at_random_is_seen_to_read_on() {
    let mut bench = Bench::new("auto");
    bench.context = ContextId(7);
    (0..40).for_each(|file| drop(bench.read_through(file, 1000, 500, 501)));
    assert_eq!(bench.read_through(40, 1000, 500, 501), [(500, 1)]);
    let fetches = bench.read_through(41, 1000, 500, 800);
    assert_eq!(fetches[0], (500, 1));
    assert!(fetches.len() < 12, "{fetches:?}");
    (42..60).for_each(|file| drop(bench.read_through(file, 1000, 500, 800)));
    assert!(bench.read_through(60, 1000, 500, 800).len() <= 3, "{fetches:?}");
}

/// A program that reads here and there in a file that stays open: its streams are over once they
/// were silent for long, but that none goes on shows at once.
#[test]
fn who_reads_elsewhere_leaves_a_stream_behind() {
    let mut bench = Bench::new("auto");
    bench.context = ContextId(1);
    (0..20).for_each(|file| drop(bench.read_through(file, 1000, 100, 200)));
    bench.open(20, 100_000);
    bench.context = ContextId(2);
    let mut portion = |number: u32| {
        let page = 1000 + number * 7919 % 90_000;
        bench
            .read_through(20, 100_000, page, page + 1)
            .iter()
            .map(|&(start, len)| (start - page, len))
            .collect::<Vec<_>>()
    };
    assert_eq!(portion(0), [(0, 100)], "as others do on the device");
    (1..24).for_each(|number| drop(portion(number)));
    assert_eq!(portion(24), [(0, 1)]);
}

/// Two streams in turn: each was left behind once, and went on after all. Not all earlier knowledge
/// is forgotten.
#[test]
fn who_is_left_behind_may_go_on_after_all() {
    let whose = Whose { device: DeviceId(0), context: ContextId(1) };
    let mut knowledge = Knowledge::new(16, 1).by_context();
    for _ in 0..32 {
        knowledge.went_nowhere(whose);
        knowledge.went_on_after_all(whose);
        knowledge.was_long_after_all(whose, 100);
    }
    let habits = knowledge.habits(whose).unwrap();
    let Odds { times: goes_on, of } = habits.goes_on();
    assert!(goes_on * 5 / of == 2, "half of them, the latest counting most: {goes_on} of {of}");
    assert_eq!((habits.lengths().streams(), habits.lengths().quantile(1, 2)), (32, 100));
}

/// Half end with the ten blocks that are there, half go on to a hundred. Their reader comes back
/// after long: in that time the next piece could be fetched, if no other reader needs the device.
#[test]
fn what_may_be_in_vain_is_fetched_early_only_if_the_device_is_left_alone() {
    let mut streams = Streams::new(16, 2048, 1);
    let (who, label) = (Caller { handler: HandlerId(1), context: ContextId(1) }, Label::default());
    let extent = |start| Extent { file: FileId(0), start, len: 1 };
    let id = streams.begin(Instant(0), extent(0), &label, DeviceId(0), who);
    assert!(streams.advance(id, Instant(1_000_000_000), extent(1), &label, who));
    let stream = streams.get_mut(id).unwrap();
    (stream.ahead, stream.piece) = (10, 9);
    let octiles = [10, 10, 10, 10, 100, 100, 100, 100];
    let usual = Usual { streams: 16, go_on: 16, whole: false, octiles };
    let sight = |respite| Sight {
        id,
        stream: streams.get(id).unwrap(),
        request: 1,
        adapts: true,
        missed: None,
        fresh: false,
        lost: false,
        initial_window: 0,
        competitive_depth: 131,
        worth_a_switch: 131,
        over_gap: 131,
        interrupted: 256,
        room: 1000,
        share: 1000,
        longest_piece: 1000,
        is_random: false,
        blocks: 10_000,
        idle: 1,
        own_time: 1000 * 256,
        respite,
        most: 2048,
        channels: 1,
        active: 1,
        supply: Default::default(),
    };
    let fetched = |respite: Option<u64>| {
        let mut auto = Auto::new(Parts { lengths: false, ..Parts::ALL }, 16, 1, true, 64);
        auto.hinted(ContextId(1), usual);
        let plan = auto.plan(&sight(respite));
        plan.piece * plan.pieces
    };
    // A switch, 131, and 90 blocks: more than half of that must be over by then.
    let blocks = [None, Some(1000), Some(111), Some(110), Some(0)];
    assert_eq!(blocks.map(|blocks| fetched(blocks.map(|blocks| blocks * 256))), [90, 90, 90, 0, 0]);
}

/// The next run goes by what one has learnt of a context, from its first read on.
#[test]
fn it_outlives_a_run() {
    let mut first = Bench::new("auto");
    first.context = ContextId(5);
    (0..20).for_each(|file| drop(first.read_through(file, 1000, 100 + file, 200 + file)));
    first.context = ContextId(6);
    (0..20).for_each(|file| drop(first.read_through(20 + file, 1000, 100, 101)));
    let hints = first.core.hints();
    assert_eq!(hints.iter().map(|(context, _)| context.0).collect::<Vec<_>>(), [5, 6]);
    let mut second = Bench::new("auto");
    hints.iter().for_each(|&(context, hint)| drop(second.tell(EventKind::Hinted { context, hint })));
    second.context = ContextId(5);
    assert_eq!(second.read_through(0, 1000, 300, 400), [(300, 100)]);
    second.context = ContextId(6);
    assert_eq!(second.read_through(1, 1000, 300, 301), [(300, 1)]);
    second.context = ContextId(7);
    assert_eq!(second.read_through(2, 1000, 300, 400)[0], (300, 16), "of others it says nothing");
    assert!(Bench::new("auto:without=contexts").core.hints().is_empty());
}

/// Without it none of that is done.
#[test]
fn it_can_be_left_out() {
    let mut bench = Bench::new("auto:without=habits");
    (0..30).for_each(|file| drop(bench.read_through(file, 1000, 100 + file, 200 + file)));
    assert_eq!(bench.read_through(30, 1000, 300, 400)[0], (300, 16));
}
