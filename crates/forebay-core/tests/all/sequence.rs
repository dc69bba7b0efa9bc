//! Sequences through the whole engine: SARC's prefetching (Gill and Modha, USENIX 2005), alone and
//! with its lists, under random reads and under labels (SCM §4.2); and the calls to a replacement
//! policy that keeps sequential blocks apart.

use std::cell::RefCell;

use crate::bench::{Bench, PAGE, Pace, demand, setup};
use forebay_core::directory::{Directory, Layout};
use forebay_core::engine::Seats;
use forebay_core::frames::{FIRST_POLICY_LIST, ListId, Slot, flag};
use forebay_core::index::Hashed;
use forebay_core::papers::fixed::Fixed;
use forebay_core::papers::sac::{Division, Scheme, Settings};
use forebay_core::papers::sarc::Sarc;
use forebay_core::replacement::{Class, Replacement};
use forebay_core::seams::{Divider, Prefetcher};
use forebay_core::slab::Slab;
use forebay_core::{BlockKey, DeviceCost, Engine, FileId, Referenced, Setup};

/// A call to the policy, and its block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Told {
    Hit(u32),
    Passed(u32),
    Renewed(u32),
    Sequential(u32),
    Random(u32),
    /// To the policy whose lists begin with this one.
    Missed(u8),
}

use Told::{Hit, Missed, Passed, Random, Renewed, Sequential};

thread_local! {
    static LOG: RefCell<Vec<Told>> = const { RefCell::new(Vec::new()) };
}

fn log(told: Told) {
    LOG.with_borrow_mut(|log| log.push(told));
}

/// The calls since the last look.
fn told() -> Vec<Told> {
    LOG.take()
}

/// LRU that notes its calls.
struct Recorder(ListId);

impl Replacement for Recorder {
    const LISTS: u8 = 1;
    const SORTS: bool = true;

    fn new(first_list: u8, _frames: u32) -> Recorder {
        Recorder(ListId(first_list))
    }

    fn hit<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot) {
        log(Hit(directory.frames.key(slot).block()));
        directory.frames.move_to_front(slot, self.0);
    }

    fn passed<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot) {
        log(Passed(directory.frames.key(slot).block()));
    }

    fn renew<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot) {
        log(Renewed(directory.frames.key(slot).block()));
    }

    fn sequential_miss(&mut self) {
        log(Missed(self.0.0));
    }

    fn victim<I: Layout>(&mut self, directory: &mut Directory<I>, _class: Class) -> Option<Slot> {
        let slot = directory.frames.unpinned_from_back(self.0)?;
        directory.release(slot);
        Some(slot)
    }

    fn insert<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot, _class: Class) {
        let block = directory.frames.key(slot).block();
        log(if directory.frames.has(slot, flag::SEQUENTIAL) { Sequential(block) } else { Random(block) });
        directory.frames.move_to_front(slot, self.0);
    }
}

/// The first list of the policy of a device's partition.
const FIRST: u8 = FIRST_POLICY_LIST;

fn bench(prefetcher: impl Prefetcher + 'static, scheme: Option<Scheme>, frames: u32) -> Bench {
    let device = DeviceCost::flat(1_000_000, 50_000_000, 1);
    let devices = if scheme.is_none() { vec![device] } else { vec![device.clone(), device] };
    let setup = setup(frames, devices.clone());
    let division = |scheme| Division::new(frames, &devices, Settings::paper(scheme));
    let divider = scheme.map(|scheme| Box::new(division(scheme)) as Box<dyn Divider>);
    let seats = Seats { divider, ..Seats::of(Box::new(prefetcher)) };
    told();
    Bench::around(Box::new(Engine::<Recorder, Hashed>::new(setup, seats)), PAGE as u32, Pace::READS)
        .with_files(40, BLOCKS)
}

/// Blocks of each of the forty files.
const BLOCKS: u64 = 1_000_000;

fn core(policy: &str, frames: u32) -> Bench {
    let device = DeviceCost::flat(1_000_000, 50_000_000, 1);
    Bench::on(policy, setup(frames, vec![device]), Pace::READS).with_files(40, BLOCKS)
}

const SARC: Sarc = Sarc { threshold: 4, degree: 4, distance: 2 };

/// "When the counter equals seqThreshold, the track is termed as a sequential track. If a track
/// gets designated as a sequential track on a miss, then we say that a sequential miss has
/// occurred."
#[test]
fn the_fourth_block_is_sequential() {
    let mut bench = bench(SARC, None, 100);
    (0..3).for_each(|page| drop(bench.read(0, page, 1)));
    assert_eq!(told(), [Random(0), Random(1), Random(2)]);
    bench.read(0, 3, 1);
    assert_eq!(told(), [Missed(FIRST), Sequential(3), Sequential(4), Sequential(5), Sequential(6), Sequential(7)]);
    bench.read(0, 4, 1);
    assert_eq!(told(), [Hit(4)]);
    // 6 and 7 are left: the next four, which lie above them.
    bench.read(0, 5, 1);
    assert_eq!(told(), [Hit(5), Renewed(6), Renewed(7), Sequential(8), Sequential(9), Sequential(10), Sequential(11)]);
    // A block that is referenced again stays in its list.
    bench.read(0, 1, 1);
    assert_eq!(told(), [Hit(1)]);
}

/// A read of several blocks is one miss, of which the first three are none.
#[test]
fn a_read_is_one_miss() {
    let mut bench = bench(SARC, None, 100);
    bench.read(0, 10, 6);
    let random = [Random(10), Random(11), Random(12)];
    let sequential = [13, 14, 15, 16, 17, 18, 19].map(Sequential);
    assert_eq!(told(), [&[Missed(FIRST)][..], &random, &sequential].concat());
}

/// "Once initialized, the counter value for a track is not changed": reading a block again does not
/// count again, but goes not to the cost of its successors either.
#[test]
fn a_block_counts_once() {
    let mut bench = bench(SARC, None, 100);
    for page in [0, 1, 0, 1, 0, 1, 2] {
        bench.read(0, page, 1);
    }
    assert_eq!(told(), [Random(0), Random(1), Hit(0), Hit(1), Hit(0), Hit(1), Random(2)]);
    bench.read(0, 3, 1);
    assert_eq!(told()[..2], [Missed(FIRST), Sequential(3)]);
}

/// With labels the wanted part counts: appended blocks are random while the stream is, and
/// sequential when it is; a miss of them does not count.
#[test]
fn what_nobody_wants_is_no_miss() {
    let mut bench = bench(SARC, None, 100);
    bench.read_labelled(0, 0, 6, Some(demand(0, 1)));
    assert_eq!(told(), [0, 1, 2, 3, 4, 5].map(Random));
    // Sequential from its fourth wanted block on; two appended, and four more.
    bench.read_labelled(0, 20, 6, Some(demand(20, 4)));
    let (random, sequential) = ([20, 21, 22].map(Random), [23, 24, 25, 26, 27, 28, 29].map(Sequential));
    assert_eq!(told(), [&[Missed(FIRST)][..], &random, &sequential].concat());
    // The miss of 30 does not count, since no reader wants it, but it brings four more.
    bench.read_labelled(0, 30, 1, Some(demand(30, 0)));
    assert_eq!(told(), [30, 31, 32, 33, 34].map(Sequential));
    bench.read_labelled(0, 31, 1, Some(demand(31, 0)));
    assert_eq!(told(), [Passed(31)], "prefetched, and nobody wants it yet");
    bench.read_labelled(0, 31, 1, Some(demand(31, 1)));
    assert_eq!(told(), [Hit(31)]);
    bench.read_labelled(0, 2, 2, Some(demand(2, 1)));
    assert_eq!(told(), [Hit(2), Passed(3)]);
}

/// A miss is its partition's. File 1 lies on the second device.
#[test]
fn partitions_miss_apart() {
    let mut bench = bench(SARC, Some(Scheme::Lazy), 100);
    bench.read(1, 0, 4);
    assert_eq!(told()[0], Missed(FIRST + 1));
    bench.read(0, 0, 4);
    assert_eq!(told()[0], Missed(FIRST));
}

/// Under another way of looking ahead everything that is fetched ahead is sequential.
#[test]
fn what_any_policy_fetches_ahead_is_sequential() {
    let mut bench = bench(Fixed { degree: 2 }, None, 100);
    bench.read(0, 0, 1);
    assert_eq!(told(), [Random(0), Sequential(1), Sequential(2)]);
}

/// SARC's prefetching by its numbers: threshold 4, m = 8, g = 3. The fourth block in a row is a
/// sequential miss and brings eight more; when but three of a group are unread the next eight
/// follow.
#[test]
fn a_miss_and_then_triggers() {
    let mut bench = core("sarc:degree=8,distance=3", 1000);
    let issued = bench.issued(0, 10..40);
    let random = [10, 11, 12].map(|page| (page, (page as u32, 1)));
    assert_eq!(issued[..3], random);
    // 13 is missed with 14 … 21. 18 leaves 19, 20, 21 of it.
    assert_eq!(issued[3..], [(13, (13, 9)), (18, (22, 8)), (26, (30, 8)), (34, (38, 8))]);
    bench.core.check();
}

/// "An anomaly akin to Belady's anomaly": of a group whose trigger was hit the unread blocks are
/// wanted before the next group, and in one LRU list they would go before blocks that were read
/// already. Three random blocks, a group of which 19, 20 and 21 are unread, the next group, and 4
/// random blocks fill memory; the next one takes the place of 13, which was read.
#[test]
fn what_is_unread_outlives_what_was_read() {
    let mut bench = core("sarc:degree=8,distance=3", 24);
    (10..=18).for_each(|page| drop(bench.read(0, page, 1)));
    (1..6).for_each(|page| drop(bench.read(0, page * 1000, 1)));
    let there: Vec<u32> = (10..30).filter(|&page| bench.core.frame(BlockKey::new(FileId(0), page)).is_some()).collect();
    let expected: Vec<u32> = (10..30).filter(|&page| page != 13).collect();
    assert_eq!(there, expected);
}

/// The threshold decides, and a request of several blocks counts each.
#[test]
fn the_threshold_is_in_blocks() {
    for (threshold, at) in [(1, 0), (4, 2), (5, 4), (7, 6)] {
        let mut bench = core(&format!("sarc:threshold={threshold},degree=8,distance=3"), 1000);
        let first = (0..20).step_by(2).find(|&page| {
            bench.read(0, page, 2);
            bench.fetches.last().is_some_and(|fetch| fetch.extent.len > 2)
        });
        assert_eq!(first, Some(at), "threshold {threshold}");
    }
}

/// SCM §5.3: under fixed read-ahead of four above, "any application request, sequential or random
/// alike, after passing through L1 will be perceived as sequential by L2"; past a threshold of five
/// no longer; with labels never.
#[test]
fn random_requests_with_four_appended_are_sequential_without_labels() {
    let prefetched = |threshold: u32, labelled: bool| {
        let mut bench = core(&format!("sarc:threshold={threshold}"), 4000);
        for request in 0..50 {
            let page = request * 1000 % 47_777;
            let demand = labelled.then_some(demand(page, 1));
            bench.read_labelled(0, page, 5, demand);
        }
        bench.core.counters().prefetched
    };
    for threshold in [3, 4, 5] {
        assert_eq!(prefetched(threshold, false), 50 * 32, "threshold {threshold}");
    }
    for threshold in [6, 7] {
        assert_eq!(prefetched(threshold, false), 0, "threshold {threshold}");
    }
    for threshold in 3..=7 {
        // A threshold that takes one for a sequence still finds none.
        assert_eq!(prefetched(threshold, true), 0, "threshold {threshold}, labelled");
    }
}

/// "While a prefetched block appended to the application request may still trigger other actions at
/// the lower level": a stream that readers have made sequential is fetched ahead because of
/// requests that no reader waits for.
#[test]
fn what_nobody_wants_may_trigger() {
    let mut bench = core("sarc:degree=8,distance=3", 1000);
    bench.read_labelled(0, 0, 4, Some(demand(0, 4)));
    assert_eq!(bench.runs(), [(0, 12)]);
    bench.read_labelled(0, 4, 5, Some(demand(4, 0)));
    assert_eq!(bench.runs().last(), Some(&(12, 8)));
}

/// A working set of random blocks that fills four fifths of memory, beside streams that need
/// little: the lists keep the set, where one LRU list has it washed out.
#[test]
fn streams_do_not_wash_out_a_working_set() {
    let random_hits = |policy: &str| {
        let mut bench = core(policy, 1000);
        let mut seed = 7u64;
        let (mut hits, mut page) = (0, 0);
        for step in 0..60_000u64 {
            if step % 2 == 0 {
                bench.read(0, page, 1);
                page += 1;
            } else {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                // Every other page, so that none is next to another.
                let before = bench.core.counters().misses;
                bench.read(1, (seed >> 33) % 800 * 2, 1);
                hits += u64::from(step > 20_000 && bench.core.counters().misses == before);
            }
        }
        hits * 100 / 20_000
    };
    let (lists, lru) = (random_hits("sarc"), random_hits("sarc+lru"));
    assert!(lists >= 95, "{lists} % of random reads hit");
    assert!(lru <= lists - 10, "{lru} % with one list");
}

/// The other way round: random reads that never hit, beside streams. RANDOM is worth nothing, so
/// memory goes to the streams; once it has, prefetched blocks are read and not wasted. (It takes 20
/// · L / 2 ΔL sequential misses, a quarter of a thousand, as no hit in the bottom of RANDOM ends
/// the interval.)
#[test]
fn random_reads_without_reuse_leave_memory_to_streams() {
    let wasted = |policy: &str| {
        let mut bench = core(policy, 1000);
        let mut pages = [0u64; 8];
        let mut early = 0;
        for step in 0..60_000u64 {
            if step == 40_000 {
                early = bench.core.counters().wasted;
            }
            let stream = (step % 8) as usize;
            bench.read(10 + stream as u32, pages[stream], 1);
            pages[stream] += 1;
            // Three of them for each page of a stream.
            for other in 0..3 {
                bench.read(1, (step * 3 + other) * 7, 1);
            }
        }
        let late = bench.core.counters().wasted - early;
        (early * 100 / 40_000, late * 100 / 20_000)
    };
    let (lists, lru) = (wasted("sarc"), wasted("sarc+lru"));
    println!("for 100 pages of streams {lists:?} wasted at first and then, with one list {lru:?}");
    assert_eq!(lists.1, 0, "per 100 pages that streams have read");
    assert!(lru.1 >= 20);
}

/// Blocks of other sizes, two devices that share memory, and readers that keep what they read: all
/// is read, and nothing leaks.
#[test]
fn sarc_goes_with_everything() {
    for policy in ["sarc", "sarc+lazy", "sarc+static", "sarc+eager+arc", "competitive+sarc-lists", "fixed+sarc-lists"] {
        for block_bytes in [512, 4096, 65536, 1 << 20] {
            for handed_on in [false, true] {
                let referenced = if handed_on { Referenced::HandedOn } else { Referenced::Kept };
                let devices = [DeviceCost::flat(1_000_000, 50_000_000, 1), DeviceCost::flat(9_000_000, 10_000_000, 2)];
                let setup = Setup { block_bytes, referenced, ..setup(64, devices.to_vec()) };
                let mut bench = Bench::on(policy, setup, Pace::READS).with_files(40, BLOCKS);
                for page in 0..300 {
                    bench.read(0, page, 1);
                    bench.read(1, page * 7 % 400, 2);
                }
                bench.core.check();
                let counters = bench.core.counters();
                let ended = counters.used + counters.late + counters.wasted + counters.called_off;
                let some = counters.prefetched > 0 || policy.starts_with("competitive");
                assert!(ended <= counters.prefetched && some, "{policy}, {block_bytes}: {counters:?}");
            }
        }
    }
}
