//! A cache explains itself, by hand-worked numbers: the reason of each size, and the figures that
//! gave it.

use forebay_core::auto::worth::Worth;
use forebay_core::engine::{Engine, Seats};
use forebay_core::explain::{Explanation, Stream};
use forebay_core::index::Hashed;
use forebay_core::papers::none::Demand;
use forebay_core::reason::Reason;
use forebay_core::replacement::Lru;
use forebay_core::share::{Cause, Change, Prospect};
use forebay_core::walk::Course;
use forebay_core::{ContextId, Core, DeviceCost, Instant, Policy};

use crate::bench::{Bench, MS, PAGE, Pace, ibm, setup};

/// A core whose fetches all take the same time, however many are under way.
struct Script(Bench);

impl Script {
    fn new(policy: &str, frames: u32, devices: Vec<DeviceCost>, takes: u64) -> Script {
        let policy: Policy = policy.parse().unwrap();
        Script::around(policy.build::<Hashed>(setup(frames, devices)), takes)
    }

    fn around(core: Box<dyn Core>, takes: u64) -> Script {
        let mut bench = Bench::around(core, PAGE as u32, Pace { event: 0, read: 0, fetch: Some(takes) });
        bench.handler = None;
        Script(bench)
    }

    fn open(&mut self, file: u32, device: u16, pages: u64) {
        self.0.open_on(file, device, pages);
    }

    /// Reads pages, whether earlier reads have been answered or not.
    fn read(&mut self, file: u32, page: u64, pages: u64) {
        self.0.context = ContextId(file);
        self.0.read(file, page, pages);
    }

    /// The same, and waits until it is there.
    fn read_and_wait(&mut self, file: u32, page: u64, pages: u64) {
        self.read(file, page, pages);
        self.0.wait(self.0.pace.fetch.unwrap_or(0));
    }

    fn explain(&self) -> Explanation {
        self.0.core.check();
        self.0.core.explain(Instant(self.0.at), usize::MAX)
    }

    fn stream(&self, file: u32) -> Stream {
        let streams = self.explain().streams;
        *streams.iter().find(|stream| stream.file == file).unwrap_or_else(|| panic!("no stream of {file}: {streams:?}"))
    }

    /// Size and reason of a stream's piece.
    fn piece(&self, file: u32) -> (u32, Reason) {
        let stream = self.stream(file);
        (stream.piece, stream.why.piece)
    }

    /// The same of its distance.
    fn distance(&self, file: u32) -> (u32, Reason) {
        let stream = self.stream(file);
        (stream.distance, stream.why.distance)
    }
}

/// 16, twice as much each time, then S_p = 131 (CP §2); the next piece is due with the first page
/// of the latest.
#[test]
fn pieces_grow_to_what_a_switch_is_worth() {
    for policy in ["competitive", "auto"] {
        let mut script = Script::new(policy, 20_000, vec![ibm()], MS);
        script.open(0, 0, 10_000);
        let mut seen = Vec::new();
        for page in 0..600 {
            script.read_and_wait(0, page, 1);
            seen.push(script.piece(0));
        }
        seen.dedup();
        let expected = [
            (16, Reason::FirstWindow),
            (32, Reason::SlowStart),
            (64, Reason::SlowStart),
            (128, Reason::SlowStart),
            (131, Reason::Competitive),
        ];
        assert_eq!(seen, expected, "{policy}");
        assert_eq!(script.distance(0), (131, Reason::AheadWindow));
        let stream = script.stream(0);
        assert_eq!((stream.next, stream.steps, stream.competitive_depth, stream.active), (600, 599, 131, true));
        assert_eq!((stream.handler, stream.context, stream.idle), (10, 0, MS));
    }
}

/// 3000 frames, a third of which may be ahead: 20 streams have 50 each, and a piece, of which two
/// must have room, 25.
#[test]
fn memory_bounds_pieces() {
    let mut script = Script::new("competitive", 3000, vec![ibm()], MS);
    for file in 0..20 {
        script.open(file, 0, 10_000);
    }
    for page in 0..200 {
        (0..20).for_each(|file| script.read_and_wait(file, page, 1));
    }
    assert_eq!(script.piece(7), (25, Reason::Memory));
    let ahead = script.explain().ahead;
    assert_eq!(
        (ahead.room, ahead.by_ceiling, ahead.streams, ahead.share, ahead.longest_piece),
        (1000, false, 20, 50, 25)
    );
}

/// A depth of a page, and requests of 32.
#[test]
fn no_piece_is_smaller_than_a_request() {
    let mut script = Script::new("competitive", 20_000, vec![DeviceCost::flat(1_000, 1_000_000, 1)], MS);
    script.open(0, 0, 10_000);
    (0..10).for_each(|read| script.read_and_wait(0, read * 32, 32));
    assert_eq!(script.piece(0), (32, Reason::Request));
    assert_eq!(script.stream(0).competitive_depth, 1);
}

/// A store with four connections: once it is known to go on, a lone stream has a piece under way on
/// each.
#[test]
fn several_channels_are_used_side_by_side() {
    let mut script = Script::new("competitive", 20_000, vec![DeviceCost::flat(20 * MS, 50_000_000, 4)], MS);
    script.open(0, 0, 10_000);
    (0..2000).for_each(|page| script.read_and_wait(0, page, 1));
    // 20 ms · 50 MB/s.
    assert_eq!(script.piece(0), (244, Reason::Competitive));
    assert_eq!(script.stream(0).why.distance, Reason::Channels);
}

/// The first window shrinks by the streams of the file that go nowhere, down to nothing. (A file
/// says so after eight streams, before the odds know as many.)
#[test]
fn reads_that_go_nowhere_have_nothing_ahead() {
    for policy in ["auto:without=habits", "auto"] {
        let mut script = Script::new(policy, 20_000, vec![ibm()], MS);
        script.open(0, 0, 1 << 20);
        let mut seen = Vec::new();
        for read in 0..100 {
            script.read_and_wait(0, read * 7919 % (1 << 20), 1);
            seen.push(script.explain().streams[0].why.piece);
        }
        assert_eq!((seen[0], seen[99]), (Reason::FirstWindow, Reason::Nowhere), "{policy}");
        let stream = script.explain().streams[0];
        assert_eq!((stream.piece, stream.remaining()), (0, 0), "{policy}");
    }
}

/// Eight files of 100 pages were read to their ends: the ninth is fetched whole.
#[test]
fn what_is_known_of_files_says_where_streams_end() {
    let mut script = Script::new("auto", 20_000, vec![ibm()], MS);
    for file in 0..9 {
        script.open(file, 0, 100);
        let pages = if file < 8 { 100 } else { 1 };
        (0..pages).for_each(|page| script.read_and_wait(file, page, 1));
    }
    let stream = script.stream(8);
    assert_eq!((stream.piece, stream.why.piece, stream.why.distance), (100, Reason::KnownEnd, Reason::KnownEnd));
    assert_eq!((stream.wanted_end, stream.ahead, stream.mean_length), (Some(100), 100, Some(100)));
    assert_eq!(script.explain().devices[0].mean_length, Some(100));
}

/// Streams of 24 pages each, that are not at the end of their files: pieces of √(131 · 24 · 2/3) =
/// 45.
#[test]
fn the_mean_length_of_streams_makes_pieces() {
    let mut script = Script::new("auto:without=whole", 20_000, vec![ibm()], MS);
    for file in 0..10 {
        script.open(file, 0, 1000);
        let pages = if file < 9 { 24 } else { 200 };
        (0..pages).for_each(|page| script.read_and_wait(file, page, 1));
        if file < 9 {
            script.0.close(file);
        }
    }
    assert_eq!(script.piece(9), (45, Reason::MeanLength));
    assert_eq!(script.stream(9).mean_length, Some(24));
}

/// Streams of 24 pages each: by the odds as much is fetched at once when the next one begins, in a
/// file of a thousand.
#[test]
fn the_odds_of_lengths_say_how_far_to_fetch() {
    let mut script = Script::new("auto", 20_000, vec![ibm()], MS);
    for file in 0..60 {
        script.open(file, 0, 1000);
        (0..24).for_each(|page| script.read_and_wait(file, page, 1));
        script.0.close(file);
    }
    script.open(60, 0, 1000);
    script.read_and_wait(60, 0, 1);
    let stream = script.stream(60);
    assert_eq!((stream.why.piece, stream.why.distance), (Reason::Odds, Reason::Odds));
    assert!((23..=32).contains(&stream.ahead), "{stream:?}");
}

/// A stream that has had more than six pieces is taken for as long as it has been: after 2000
/// pages, √(131 · n · 2/3) of the n then read.
#[test]
fn a_long_stream_is_taken_for_as_long_as_it_has_been() {
    let mut script = Script::new("auto:without=company", 20_000, vec![ibm()], MS);
    script.open(0, 0, 100_000);
    (0..2000).for_each(|page| script.read_and_wait(0, page, 1));
    let (piece, reason) = script.piece(0);
    assert_eq!(reason, Reason::ReadSoFar);
    let length = |piece: u32| f64::from(piece * piece) / 131.0 * 1.5;
    assert!(length(piece) > 1400.0 && length(piece) < 2000.0, "{piece} pages");
}

/// Longer pieces save switches. A reader that has the device to itself pays for none, and S_p is
/// enough for it; beside another reader it is not.
#[test]
fn who_has_a_device_to_himself_has_pieces_of_s_p() {
    let read = |readers: u32| {
        let mut script = Script::new("auto", 20_000, vec![ibm()], MS);
        (0..readers).for_each(|file| script.open(file, 0, 100_000));
        (0..2000).for_each(|page| (0..readers).for_each(|file| script.read_and_wait(file, page, 1)));
        script.piece(0)
    };
    assert_eq!(read(1), (131, Reason::Undisturbed));
    let (piece, reason) = read(2);
    assert!(piece > 300 && reason == Reason::ReadSoFar, "{piece}, {reason:?}");
}

/// 4 pages every 10 ms, and a piece takes 500 ms. The ceiling has room for only 163 ahead, but two
/// pieces of 131 save a switch, and nobody would miss their frames.
#[test]
fn room_for_two_pieces_is_ordered() {
    let read = |policy: &str, frames, steps| {
        let mut script = Script::new(policy, frames, vec![ibm()], 500 * MS);
        script.open(0, 0, 100_000);
        for step in 0..steps {
            script.read(0, step * 4, 4);
            script.0.wait(10 * MS);
        }
        script
    };
    let script = read("auto:without=contexts/company", 20_000, 190);
    assert_eq!(script.piece(0), (131, Reason::Competitive));
    assert_eq!(script.stream(0).rate, 400 * PAGE);
    assert_eq!(script.explain().devices[0].lead_time, 500 * MS);
    let ahead = script.explain().ahead;
    assert_eq!((ahead.room - ahead.spare, ahead.by_ceiling), (5000, true));
    let script = read("auto:without=contexts/company,start=25,epoch=0", 652, 190);
    let ahead = script.explain().ahead;
    assert_eq!((ahead.room, ahead.ordered, ahead.spare), (2 * 131, 2 * 131 - 163, 0), "nobody would miss two pieces");
    let script = read("auto:without=contexts/company/order,start=25,epoch=0", 652, 190);
    assert_eq!((script.explain().ahead.room, script.explain().ahead.by_ceiling), (163, true));
    assert_eq!(script.piece(0), (131, Reason::Competitive));
}

#[test]
fn policies_of_their_own_numbers_say_so() {
    let of = |policy: &str| {
        let mut script = Script::new(policy, 20_000, vec![ibm()], MS);
        script.open(0, 0, 10_000);
        (0..200).for_each(|page| script.read_and_wait(0, page, 1));
        let stream = script.stream(0);
        (stream.piece, stream.distance, stream.why.piece, stream.why.distance)
    };
    assert_eq!(of("linux"), (32, 32, Reason::Policy, Reason::AheadWindow));
    assert_eq!(of("aggressive"), (256, 256, Reason::Policy, Reason::AheadWindow));
    assert_eq!(of("fixed").2, Reason::Policy);
    assert_eq!(of("fixed").3, Reason::EveryAccess);
    assert_eq!(of("sarc"), (32, 16, Reason::Policy, Reason::Policy));
    assert_eq!(of("even"), (48, 24, Reason::Policy, Reason::Even));
    // Alone a stream has all of T_total.
    assert_eq!(of("ets"), (48, 24, Reason::Policy, Reason::EqualTime));
    assert_eq!(of("none"), (0, 0, Reason::Nothing, Reason::Nothing));
    let why = |policy: &str| (of(policy).2, of(policy).3);
    assert_eq!(why("mountpoint"), (Reason::CaughtUp, Reason::HalfWindow));
    assert_eq!(why("gcsfs"), (Reason::ByRead, Reason::EveryAccess));
}

#[test]
fn a_policy_that_fetches_nothing_ahead_says_so() {
    let off = |policy| Script::new(policy, 3000, vec![ibm()], MS).explain().ahead.off;
    assert_eq!(["none", "none+lazy", "linux", "auto"].map(off), [true, true, false, false]);
}

/// 4 pages every 10 ms are 400 a second, whether the stream goes on, or is at its file's end.
#[test]
fn a_stream_that_is_over_says_how_fast_it_was_read() {
    let mut script = Script::new("auto", 20_000, vec![ibm()], MS);
    script.open(0, 0, 400);
    for step in 0..100 {
        script.read(0, step * 4, 4);
        script.0.wait(10 * MS);
    }
    let stream = script.stream(0);
    assert_eq!((stream.active, stream.next, stream.rate), (false, 400, 400 * PAGE));
    // Nobody knows how fast a stream of one read is.
    script.open(1, 0, 400);
    script.read_and_wait(1, 0, 4);
    assert_eq!(script.stream(1).rate, 0);
}

/// Two devices, SAC as in its paper, W = 2: those of device 1 wait three times as long.
#[test]
fn partitions_say_what_they_go_by() {
    let devices = vec![DeviceCost::flat(MS, 100_000_000, 1); 2];
    let mut script = Script::new("none+lazy:window=2", 1000, devices, MS);
    (0..2).for_each(|device| script.open(device.into(), device, 10_000));
    let before = script.explain();
    assert_eq!(before.epochs, Some(0));
    assert!(before.partitions.iter().all(|part| part.size == 500 && part.share.unwrap().change.is_none()));
    script.read_and_wait(0, 0, 1);
    script.0.pace.fetch = Some(3 * MS);
    script.read_and_wait(1, 0, 1);
    let after = script.explain();
    let shares: Vec<_> = after.partitions.iter().map(|part| part.share.unwrap()).collect();
    assert_eq!(
        shares.iter().map(|share| (share.wait, share.relative)).collect::<Vec<_>>(),
        [(MS, 500), (3 * MS, 1500)]
    );
    // I is 2 of 1000.
    assert_eq!(after.partitions.iter().map(|part| (part.size, part.held)).collect::<Vec<_>>(), [(498, 1), (502, 1)]);
    let changes = shares.iter().map(|share| share.change.unwrap());
    assert_eq!(
        changes.map(|change| (change.blocks, change.epoch, change.cause)).collect::<Vec<_>>(),
        [(-2, 1, Cause::Wait), (2, 1, Cause::Wait)]
    );
    assert!(shares.iter().all(|share| share.prospect.is_none()), "nobody measures that");
}

/// 32 frames of 128 for device 0, of which forty blocks are read round and round: forty misses in
/// the first second, for which readers wait 10 ms each. Of the 90 references 50 came back, which 40
/// frames would have had, and of the others one alone was looked for as far down: 90 · 50 / 51 are
/// hits there. Give or take the root of these 88, 79 · 10 ms in a second are gained by eight blocks
/// more, in the steps of four in which one looks: 98.75 ms each. None of the 32 is worth anything.
///
/// Nothing holds these sizes; once a frame is given up, one of the other device's blocks that do
/// not come back, sizes are the held frames.
#[test]
fn a_partition_says_what_its_next_block_would_save() {
    let divider = Some(Box::new(Worth::new(vec![32, 96], 50, false)) as _);
    let seats = Seats { divider, ..Seats::of(Box::new(Demand)) };
    let devices = vec![DeviceCost::flat(10 * MS, 100_000_000, 1); 2];
    let core = Box::new(Engine::<Lru, Hashed>::new(setup(128, devices), seats));
    let mut script = Script::around(core, 10 * MS);
    (0..2).for_each(|device| script.open(device.into(), device, 200));
    let shares = |script: &Script| {
        let explained = script.explain().partitions;
        explained.iter().map(|part| (part.size, part.share.unwrap())).collect::<Vec<_>>()
    };
    (0..90).for_each(|read| script.read_and_wait(0, read % 40, 1));
    (0..9).for_each(|page| script.read_and_wait(1, page, 1));
    assert!(shares(&script).iter().all(|(_, share)| share.prospect.is_none()), "no epoch is over");
    script.read_and_wait(1, 9, 1);
    let after = shares(&script);
    assert_eq!(after[0].1.prospect, Some(Prospect { gain: 98_750_000, loss: 0 }));
    assert_eq!(after[1].1.prospect, Some(Prospect { gain: 0, loss: 0 }));
    assert!(after.iter().all(|(_, share)| share.change.is_none()));
    (10..110).for_each(|page| script.read_and_wait(1, page, 1));
    let after = shares(&script);
    assert_eq!(after.iter().map(|&(size, _)| size).collect::<Vec<_>>(), [40, 88]);
    assert_eq!(after[0].1.change, Some(Change { blocks: 8, epoch: 3, cause: Cause::Worth }));
    assert_eq!(after[1].1.change, Some(Change { blocks: -8, epoch: 3, cause: Cause::Worth }));
}

#[test]
fn the_ceiling_says_where_it_goes() {
    let walk = |policy: &str| {
        let mut script = Script::new(policy, 1000, vec![ibm()], MS);
        script.open(0, 0, 1 << 20);
        (0..10_000).for_each(|page| script.read_and_wait(0, page, 1));
        let cache = script.explain().prefetch_cache.unwrap();
        (cache.walk.course, cache.ceiling, cache.unit)
    };
    assert_eq!(walk("competitive-em:epoch=0"), (Course::Fixed, 250, 3));
    assert_eq!(walk("competitive-em"), (Course::Rests, 250, 3), "nothing is missed that was given up");
    let script = Script::new("competitive", 1000, vec![ibm()], MS);
    assert!(script.explain().prefetch_cache.is_none());
}

/// A disk that transfers so slowly that S_p is 8 pages; `files` are read before, pages `of` each.
fn slow_after(policy: &str, files: u32, of: std::ops::Range<u64>) -> Script {
    let slow = DeviceCost { zones: vec![(0, 3_200_000)], ..ibm() };
    let mut script = Script::new(policy, 20_000, vec![slow], MS);
    for file in 0..files {
        script.open(file, 0, 1000);
        of.clone().for_each(|page| script.read_and_wait(file, page, 1));
        script.0.close(file);
    }
    script
}

/// Reads a page of every `apart` of another file, perhaps while another reader uses the disk as
/// well. Returns how many pages of the file were fetched.
fn stride(script: &mut Script, apart: u64, beside: bool) -> u64 {
    script.open(100, 0, 100_000);
    script.open(101, 0, 100_000);
    let mut fetched = 0;
    for step in 0..60 {
        let before = script.0.core.counters().fetched;
        script.read_and_wait(100, step * apart, 1);
        fetched += script.0.core.counters().fetched - before;
        if beside {
            script.read_and_wait(101, step * 7919 % 100_000, 1);
        }
    }
    fetched
}

/// To read through a gap takes its transfer. To go around it takes a switch if another reader came
/// in between, as much as 8 pages' transfer, else half a revolution and a short seek, as much as 3.
#[test]
fn gaps_are_read_through_that_take_less_than_a_switch() {
    let at_random = || slow_after("auto", 40, 500..501);
    let fetched = |apart, beside| stride(&mut at_random(), apart, beside);
    let mut script = at_random();
    let all = stride(&mut script, 8, true);
    assert!(all > 60 * 8 * 9 / 10, "{all} pages for 60 reads of one in 8");
    assert_eq!(script.explain().streams.iter().filter(|stream| stream.file == 100).count(), 1);
    let few = [fetched(13, true), fetched(8, false)];
    assert!(few.iter().all(|&fetched| fetched < 60 * 2), "{few:?} pages for 60 reads");
    let all = fetched(2, false);
    assert!(all > 60 * 2 * 9 / 10, "{all} pages for 60 reads of one in 2");
}

/// After 320 pages in 20 reads pieces have √(8 · L · 2/3) of them, so that skips of 30 go on with
/// the stream. From the seventh on 30 · k is more than the switches of 19 + k steps are worth, 8
/// pages each.
#[test]
fn who_skips_more_than_switches_are_worth_gets_nothing_ahead() {
    let mut script = slow_after("auto:without=company/habits", 0, 0..0);
    script.open(100, 0, 100_000);
    (0..20).for_each(|step| script.read_and_wait(100, step * 16, 16));
    assert!(script.stream(100).piece > 30);
    let mut at = 319;
    let mut skip = |script: &mut Script| {
        at += 31;
        script.read_and_wait(100, at, 1);
        script.stream(100).why.piece
    };
    let reasons: Vec<Reason> = (0..10).map(|_| skip(&mut script)).collect();
    assert_eq!(reasons.iter().position(|&reason| reason == Reason::Sparse), Some(6), "{reasons:?}");
    let before = script.0.core.counters().fetched;
    (0..20).for_each(|_| assert_eq!(skip(&mut script), Reason::Sparse));
    assert!(script.0.core.counters().fetched - before <= 20);
}

/// Streams of 4000 pages each. In its middle a stream has pieces by its own length; near its end,
/// by the odds.
#[test]
fn odds_matter_near_where_streams_end() {
    let mut script = Script::new("auto:without=company/whole", 4000, vec![ibm()], MS);
    for file in 0..8 {
        script.open(file, 0, 10_000);
        (0..4000).for_each(|page| script.read_and_wait(file, page, 1));
        script.0.close(file);
    }
    script.open(8, 0, 10_000);
    (0..1500).for_each(|page| script.read_and_wait(8, page, 1));
    assert_eq!(script.stream(8).why.distance, Reason::AheadWindow);
    (1500..4000).for_each(|page| script.read_and_wait(8, page, 1));
    assert_eq!(script.stream(8).why.distance, Reason::Odds);
    let ahead = script.stream(8).ahead;
    assert!(
        ahead <= 4096,
        "what lies behind their end is left alone, but for what an interval of lengths does not tell: {ahead}"
    );
}
