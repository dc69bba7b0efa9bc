//! Gill and Bathen's prefetching (FAST 2007): degree p and trigger distance g by hand, through the
//! whole engine, and the paper's theorem of them.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::bench;
use forebay_core::engine::Seats;
use forebay_core::index::Hashed;
use forebay_core::papers::gill::{Gill, Pace};
use forebay_core::replacement::{GillLru, Lru, Replacement};
use forebay_core::seams::{Heard, Needs, Plan, Prefetcher, Sight};
use forebay_core::{DeviceCost, Engine, EventKind, FileId, Referenced, Setup, StreamId};
use proptest::prelude::*;

/// The prefetcher of an engine, which the test looks into.
#[derive(Clone)]
struct Shared(Arc<Mutex<Gill>>);

impl Shared {
    fn gill(&self) -> MutexGuard<'_, Gill> {
        self.0.lock().expect("no test panics with it")
    }
}

impl Prefetcher for Shared {
    fn needs(&self) -> Needs {
        self.gill().needs()
    }

    fn plan(&mut self, sight: &Sight<'_>) -> Plan {
        self.gill().plan(sight)
    }

    fn takes_place(&mut self, stream: StreamId) {
        self.gill().takes_place(stream);
    }

    fn heard(&mut self, stream: StreamId, heard: &Heard) {
        self.gill().heard(stream, heard);
    }

    fn asked(&mut self, stream: StreamId, first: u32, end: u32) {
        self.gill().asked(stream, first, end);
    }

    fn waited(&mut self, stream: StreamId, first: u32, awaited: u32) {
        self.gill().waited(stream, first, awaited);
    }

    fn came_unread(&mut self, stream: StreamId, block: u32) {
        self.gill().came_unread(stream, block);
    }

    fn lost(&mut self, stream: StreamId, block: u32) {
        self.gill().lost(stream, block);
    }
}

/// A core under Gill's policy, whose paces can be seen.
struct Bench {
    bench: bench::Bench,
    gill: Shared,
}

impl Bench {
    fn over<R: Replacement + Send + 'static>(most: u32, frames: u32) -> Bench {
        let device = DeviceCost::flat(1_000_000, 50_000_000, 1);
        let setup = bench::setup(frames, vec![device]).sound();
        let gill = Shared(Arc::new(Mutex::new(Gill::new(setup.streams, most))));
        let seats = Seats::of(Box::new(gill.clone()));
        let core = Box::new(Engine::<R, Hashed>::new(setup, seats));
        let bench = bench::Bench::around(core, bench::PAGE as u32, bench::Pace::READS).with_files(40, 1_000_000);
        Bench { bench, gill }
    }

    fn new(frames: u32) -> Bench {
        Bench::over::<GillLru>(MOST, frames)
    }

    /// The pace of the only stream of a file.
    fn pace(&self, file: u32) -> Pace {
        let mut streams = self.core.streams().iter().filter(|(_, stream)| stream.file == FileId(file));
        self.gill.gill().pace_of(streams.next().expect("the file is read").0)
    }
}

impl Deref for Bench {
    type Target = bench::Bench;

    fn deref(&self) -> &bench::Bench {
        &self.bench
    }
}

impl DerefMut for Bench {
    fn deref_mut(&mut self) -> &mut bench::Bench {
        &mut self.bench
    }
}

const MOST: u32 = 256;

fn of(pace: &Pace) -> (u32, u32) {
    (pace.degree, pace.distance)
}

/// "p is incremented by the readsize"; "whenever the current p is greater than the Asynchronous
/// Prefetch Threshold (APT) […] a page at a distance of APT/2 from the last page prefetched is
/// chosen as the prefetch trigger page"; APT is 4.
#[test]
fn misses_raise_p_and_beyond_four_there_is_a_trigger() {
    let mut pace = Pace::default();
    let mut seen = vec![];
    for _ in 0..6 {
        pace.missed(1, MOST);
        seen.push(of(&pace));
    }
    assert_eq!(seen, [(1, 0), (2, 0), (3, 0), (4, 0), (5, 2), (6, 2)]);
    let mut pace = Pace::default();
    pace.missed(16, MOST);
    assert_eq!(of(&pace), (16, 2));
}

/// "Whenever there is a hit on the last page of a read set […] which is also not marked old."
#[test]
fn a_hit_on_the_last_page_of_a_set_raises_p_once() {
    let mut pace = Pace::default();
    pace.missed(8, MOST);
    pace.fetched(8, 16);
    assert!(!pace.hit(14, 8, MOST));
    assert_eq!(of(&pace), (8, 2));
    assert!(pace.hit(15, 8, MOST));
    assert_eq!(of(&pace), (16, 2));
    assert!(!pace.hit(15, 8, MOST), "that page was hit already");
    // The next set's last page had its second chance.
    pace.fetched(16, 32);
    pace.unread(31);
    assert_eq!(of(&pace), (15, 1));
    assert!(!pace.hit(31, 8, MOST), "it is old");
    assert_eq!(of(&pace), (15, 1));
}

/// g grows by the size of a read that waits for the first page of a set, and p stays beyond it.
#[test]
fn who_waits_raises_g() {
    let mut pace = Pace::default();
    pace.missed(5, MOST);
    pace.fetched(5, 10);
    pace.waited(6, 1, MOST);
    assert_eq!(of(&pace), (5, 2), "that is no set's first page");
    (0..2).for_each(|_| pace.waited(5, 1, MOST));
    assert_eq!(of(&pace), (5, 4));
    pace.waited(5, 1, MOST);
    assert_eq!(of(&pace), (6, 5));
    pace.waited(5, 16, MOST);
    assert_eq!(of(&pace), (22, 21));
    pace.lost(7);
    pace.waited(5, 1, MOST);
    assert_eq!(of(&pace), (22, 21), "what did not come was not waited for");
}

/// p − 1, and g the lesser of p − 1 and g − 1; not below one and none.
#[test]
fn what_goes_unread_lowers_both() {
    let mut pace = Pace::default();
    pace.missed(6, MOST);
    let mut seen = vec![];
    for block in 0..7 {
        pace.unread(block);
        seen.push(of(&pace));
    }
    assert_eq!(seen, [(5, 1), (4, 0), (3, 0), (2, 0), (1, 0), (1, 0), (1, 0)]);
    let mut never = Pace::default();
    never.unread(3);
    assert_eq!(of(&never), (0, 0), "a stream that never missed has nothing to learn");
}

#[derive(Clone, Copy, Debug)]
enum Told {
    Missed(u32),
    Fetched(u32),
    Hit(u32, u32),
    Waited(u32, u32),
    Unread(u32),
    Lost(u32),
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Always 1 ≤ p ≤ most once there is a p, and g < p.
    #[test]
    fn a_set_is_larger_than_the_distance_behind_it(
        most in 1..300u32,
        told in proptest::collection::vec(prop_oneof![
            prop_oneof![0..5u32, any::<u32>()].prop_map(Told::Missed),
            (1..64u32).prop_map(Told::Fetched),
            (0..500u32, 1..20u32).prop_map(|(block, size)| Told::Hit(block, size)),
            (0..500u32, prop_oneof![1..20u32, any::<u32>()]).prop_map(|(block, size)| Told::Waited(block, size)),
            (0..500u32).prop_map(Told::Unread),
            (0..500u32).prop_map(Told::Lost),
        ], 0..200),
    ) {
        let (mut pace, mut ahead) = (Pace::default(), 0u32);
        for told in told {
            let before = of(&pace);
            match told {
                Told::Missed(size) => pace.missed(size, most),
                Told::Fetched(size) => {
                    pace.fetched(ahead, ahead + size);
                    ahead = (ahead + size) % 500;
                }
                Told::Hit(block, size) => _ = pace.hit(block, size, most),
                Told::Waited(block, size) => pace.waited(block, size, most),
                Told::Unread(block) => pace.unread(block),
                Told::Lost(block) => pace.lost(block),
            }
            let (p, g) = of(&pace);
            prop_assert!(p <= most && (p == 0 || g < p), "{told:?} made {before:?} {:?}", (p, g));
            prop_assert!(before.0 == 0 || p >= 1);
        }
    }
}

/// The beginning of a stream, traced by hand: a page at a time.
///
/// ```text
///  read 0 missed, p was 0: fetches 0           p = 1
///       1 missed: 1 and one more               p = 2
///       2 the last of that                     p = 3
///       3 missed: 3 and three more             p = 4, no trigger yet
///       6 the last of that                     p = 5
///       7 missed: 7 and five more, to 12       p = 6, g = 2
///      10 two are left: six more, to 18; then 12 is hit: p = 7
///      16 two are left: seven more, to 25; …
/// ```
#[test]
fn a_stream_begins() {
    let mut bench = Bench::new(10_000);
    let issued = bench.issued(0, 0..36);
    let expected = [
        (0, (0, 1)),
        (1, (1, 2)),
        (3, (3, 4)),
        (7, (7, 6)),
        (10, (13, 6)),
        (16, (19, 7)),
        (23, (26, 8)),
        (31, (34, 9)),
    ];
    assert_eq!(issued, expected);
    // 33 was the last of the set before.
    assert_eq!(of(&bench.pace(0)), (10, 2));
}

/// Up to page 10 as above, when 13 … 18 are asked for; they come late.
fn late() -> Bench {
    let mut bench = Bench::new(10_000);
    (0..10).for_each(|page| drop(bench.read(0, page, 1)));
    bench.held = true;
    bench.read(0, 10, 1);
    assert_eq!(bench.under_way.len(), 1);
    bench
}

/// "Increment g if on the completion of a prefetch we find that a read is already waiting for the
/// first page within the prefetch set."
#[test]
fn a_reader_that_waits_for_a_set_has_the_next_one_earlier() {
    let mut bench = late();
    (11..=13).for_each(|page| drop(bench.read(0, page, 1)));
    assert_eq!(of(&bench.pace(0)), (7, 2), "not before it has arrived");
    bench.arrive();
    assert_eq!(of(&bench.pace(0)), (7, 3));
    // Three are left at 15, not at 16.
    bench.read(0, 14, 1);
    assert_eq!(bench.under_way, []);
    bench.read(0, 15, 1);
    assert_eq!(bench.runs().last(), Some(&(19, 7)));
    bench.core.check();
}

/// Reads of eight: the first misses, p = 8 > APT. The second misses and brings eight more, p = 16.
/// The third has the end of those, which is the trigger, too: 16 more; then p = 24. The fourth is
/// within, the fifth ends that set: 24 more, p = 32.
#[test]
fn steps_are_as_large_as_reads() {
    let mut bench = Bench::new(10_000);
    let mut degrees = vec![];
    for read in 0..5 {
        bench.read(0, read * 8, 8);
        degrees.push(of(&bench.pace(0)));
    }
    assert_eq!(degrees, [(8, 2), (16, 2), (24, 2), (24, 2), (32, 2)]);
    let sets: Vec<_> = bench.runs();
    assert_eq!(sets, [(0, 8), (8, 16), (24, 16), (40, 24)]);
    // 40 … 63 are late, and the next read waits for them: g = 2 + 8.
    let mut bench = Bench::new(10_000);
    (0..4).for_each(|read| drop(bench.read(0, read * 8, 8)));
    bench.held = true;
    (4..6).for_each(|read| drop(bench.read(0, read * 8, 8)));
    bench.arrive();
    assert_eq!(of(&bench.pace(0)), (32, 10));
}

#[test]
fn who_comes_when_it_is_there_has_not_waited() {
    let mut bench = late();
    (11..=12).for_each(|page| drop(bench.read(0, page, 1)));
    bench.arrive();
    bench.read(0, 13, 1);
    assert_eq!(of(&bench.pace(0)), (7, 2));
}

/// Waiting for a later page of a set is not waiting for the set.
#[test]
fn the_first_page_counts() {
    let mut bench = late();
    bench.read(0, 14, 1);
    bench.arrive();
    assert_eq!(bench.pace(0).distance, 2);
}

/// A prefetch that fails, or is called off, teaches nothing; the reader goes on.
#[test]
fn what_fails_teaches_nothing() {
    let mut bench = late();
    let before = of(&bench.pace(0));
    let io = bench.under_way.pop_front().expect("a fetch under way");
    bench.tell(EventKind::Failed { io, valid: 0, error: 5 });
    assert_eq!(of(&bench.pace(0)), before);
    assert_eq!(bench.core.counters().wasted, 6);
    bench.held = false;
    (11..40).for_each(|page| drop(bench.read(0, page, 1)));
    let pace = bench.pace(0);
    assert!(pace.degree > before.0 && pace.distance >= 2, "{pace:?}");
    bench.core.check();
}

/// A level above that prefetches, and says so, changes neither p nor g here, whether it misses,
/// hits the last page of a set, or waits; but it triggers.
#[test]
fn labelled_prefetches_do_not_teach() {
    let mut bench = late();
    let before = of(&bench.pace(0));
    let fetches = bench.fetches.len();
    for page in 11..=16 {
        bench.read_labelled(0, page, 1, Some(bench::demand(page, 0)));
    }
    bench.arrive();
    assert_eq!(of(&bench.pace(0)), before);
    bench.read_labelled(0, 17, 1, Some(bench::demand(17, 0)));
    bench.arrive();
    assert!(bench.fetches.len() > fetches, "the trigger");
    // A miss at the beginning, where nothing is prefetched for the stream.
    let mut bench = Bench::new(1000);
    for page in (0..100).step_by(5) {
        bench.read_labelled(0, page, 5, Some(bench::demand(page, 0)));
    }
    assert_eq!(of(&bench.pace(0)), (0, 0));
    // In a request of five with one wanted page, one counts.
    let mut bench = Bench::new(1000);
    bench.read_labelled(0, 0, 5, Some(bench::demand(0, 1)));
    assert_eq!(of(&bench.pace(0)), (1, 0));
}

/// A steady reader with memory enough: p grows to its bound and stays, and there is no miss.
#[test]
fn a_steady_reader_converges() {
    for bound in [64, 256] {
        let mut bench = Bench::over::<GillLru>(bound, 4000);
        (0..40_000).for_each(|page| drop(bench.read(0, page, 1)));
        let misses = bench.core.counters().misses;
        let pace = bench.pace(0);
        (40_000..60_000).for_each(|page| drop(bench.read(0, page, 1)));
        assert_eq!(of(&bench.pace(0)), (bound, pace.distance));
        assert_eq!((bench.core.counters().misses, bench.core.counters().wasted), (misses, 0), "{bound}");
    }
}

/// Theorem III.1: streams that share a cache do best with p = r · L, where L is how long a page
/// lasts in it. So all degrees together are about the cache, and each is as its rate. Two streams,
/// one read three times as often.
#[test]
fn degrees_are_as_rates_and_together_the_cache() {
    let frames = 240;
    let mut bench = Bench::new(frames);
    let mut pages = [0u64; 2];
    let (mut slow, mut fast, mut samples) = (0, 0, 0);
    for step in 0..200_000u64 {
        let file = usize::from(step % 4 != 0);
        bench.read(file as u32, pages[file], 1);
        pages[file] += 1;
        if step > 100_000 && step % 97 == 0 {
            slow += bench.pace(0).degree;
            fast += bench.pace(1).degree;
            samples += 1;
        }
    }
    let (slow, fast) = (slow / samples, fast / samples);
    println!("degrees {slow} and {fast} in {frames} frames");
    assert!((frames * 3 / 4..=frames * 5 / 4).contains(&(slow + fast)), "{slow} + {fast} in {frames}");
    assert!((2 * slow..=4 * slow).contains(&fast), "{slow} : {fast}");
}

/// More streams than memory is good for: each has its degree worn down to next to nothing, where a
/// fixed one wastes most.
#[test]
fn degrees_fall_under_thrash() {
    let streams = 36;
    let mut bench = Bench::new(72);
    let before_thrash = {
        (0..200).for_each(|page| drop(bench.read(0, page, 1)));
        bench.pace(0).degree
    };
    assert!(before_thrash > 20, "{before_thrash}");
    for page in 200..800 {
        (0..streams).for_each(|file| drop(bench.read(file, page, 1)));
    }
    let degrees: Vec<u32> = (0..streams).map(|file| bench.pace(file).degree).collect();
    println!("{degrees:?}");
    assert!(degrees.iter().all(|&degree| (1..=6).contains(&degree)), "{degrees:?}");
}

/// Over LRU, which spares nothing, degrees fall when pages are evicted unread, and that is soon
/// enough to do well.
#[test]
fn without_second_chances_it_learns_from_evictions() {
    let mut bench = Bench::over::<Lru>(MOST, 72);
    (0..200).for_each(|page| drop(bench.read(0, page, 1)));
    let before = bench.pace(0).degree;
    for page in 200..800 {
        (0..36).for_each(|file| drop(bench.read(file, page, 1)));
    }
    let after = bench.pace(0).degree;
    assert!(after < before / 2, "{before} to {after}");
}

/// Blocks of other sizes, two devices that share memory, and readers that keep what they read.
#[test]
fn gill_goes_with_everything() {
    let devices = [DeviceCost::flat(1_000_000, 50_000_000, 1), DeviceCost::flat(9_000_000, 10_000_000, 2)];
    for policy in ["gill", "gill+lazy", "gill+static", "gill+eager+arc", "competitive+gill-lru", "gill+sarc-lists"] {
        for block_bytes in [512, 4096, 65536, 1 << 20, 16 << 20] {
            for handed_on in [false, true] {
                let referenced = if handed_on { Referenced::HandedOn } else { Referenced::Kept };
                let setup = Setup { block_bytes, referenced, ..bench::setup(64, devices.to_vec()) };
                let mut bench = bench::Bench::on(policy, setup, bench::Pace::READS).with_files(40, 1_000_000);
                for page in 0..300 {
                    bench.read(0, page, 1);
                    bench.read(1, page * 7 % 400, 2);
                }
                bench.core.check();
                let counters = bench.core.counters();
                let ended = counters.used + counters.late + counters.wasted + counters.called_off;
                assert!(ended <= counters.prefetched, "{policy}, {block_bytes}: {counters:?}");
                let bound = (8 << 20) / block_bytes;
                // A request, and a degree within the bound.
                let longest = bench.fetches.iter().map(|fetch| fetch.extent.len).max();
                assert!(
                    longest.is_some_and(|longest| longest <= bound.max(1) + 2),
                    "{policy}, {block_bytes}: {longest:?}"
                );
            }
        }
    }
}
