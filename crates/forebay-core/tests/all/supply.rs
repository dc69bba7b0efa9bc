//! Supply-chain prefetching (SCM §4.1): the equations by the paper's own numbers, and laws about
//! demand and distances.

use forebay_core::demand::{Demands, SCALE};
use forebay_core::demand::{Supply, cycle};
use forebay_core::level::Label;
use forebay_core::papers::scm::{FLOOR, Trigger};
use forebay_core::stream::{ACTIVE_FOR, Streams};
use forebay_core::{Caller, ContextId, DeviceId, Extent, FileId, HandlerId, Instant, StreamId};
use proptest::prelude::*;

const SECOND: u64 = 1_000_000_000;
const SLOT: u64 = SECOND / 10;
/// "The default ETS/ESF trigger distance, T_default, of 24, and the maximum prefetching degree of
/// 48."
const DEFAULT: u32 = 24;
const DEGREE: u32 = 48;

/// Streams of these rates and deviations, requests a second, one block each; fetching a piece takes
/// `lead_time`.
fn supplies(levels: &[(u64, u64)], lead_time: u64) -> Vec<Supply> {
    let sum = |level: fn(&(u64, u64)) -> u64| levels.iter().map(level).sum::<u64>() * SCALE;
    let (rates, deviations) = (sum(|level| level.0), sum(|level| level.1));
    let streams = levels.len() as u32;
    let supply = |&(rate, deviation): &(u64, u64)| Supply {
        rate: rate * SCALE,
        deviation: deviation * SCALE,
        rates,
        deviations,
        lead_time,
        cycles: cycle(rates, lead_time),
        total: DEFAULT * streams,
        streams,
    };
    levels.iter().map(supply).collect()
}

fn distances(trigger: Trigger, levels: &[(u64, u64)], lead_time: u64) -> Vec<u32> {
    supplies(levels, lead_time).iter().map(|supply| trigger.distance(supply, DEGREE)).collect()
}

/// SCM §5.2.1: 48 between streams of 1000 and of 3000, 5000, 7000 requests a second. The paper
/// reports (13, 35), (8, 40) and (7, 41) "averaged over all prefetching cycles", those included in
/// which rates were still being learnt.
#[test]
fn equal_time_supplies_of_two_streams() {
    let of = |fast| distances(Trigger::EqualTime, &[(1000, 0), (fast, 0)], SECOND / 100);
    assert_eq!(of(1000), [24, 24]);
    assert_eq!(of(3000), [12, 36]);
    assert_eq!(of(5000), [8, 40]);
    assert_eq!(of(7000), [6, 42]);
}

/// "A lower limit for trigger distances is set to 4"; "the trigger distance needs to be bounded by
/// the prefetching degree".
#[test]
fn distances_have_a_floor_and_a_bound() {
    assert_eq!(distances(Trigger::EqualTime, &[(1, 0), (100_000, 0)], 0), [FLOOR, 48]);
    let eight = [(100, 0), (1, 0), (1, 0), (1, 0), (1, 0), (1, 0), (1, 0), (1, 0)];
    assert_eq!(distances(Trigger::EqualTime, &eight, 0), [48, 4, 4, 4, 4, 4, 4, 4]);
    assert_eq!(Trigger::EqualTime.distance(&supplies(&[(1, 0)], 0)[0], 2), 2, "a degree below the floor");
}

/// T_C = R · t, and the rest of 48 by σ: with t = 10 ms and 1000 a second, 10 each; 28 as 1 : 3.
#[test]
fn equal_safety_factors_of_two_streams() {
    assert_eq!(distances(Trigger::EqualSafety, &[(1000, 100), (1000, 300)], SECOND / 100), [17, 31]);
    // Equally irregular, T_C alone tells them apart: 48 − 40 = 8, four each.
    assert_eq!(distances(Trigger::EqualSafety, &[(1000, 50), (3000, 50)], SECOND / 100), [14, 34]);
    // Perfectly regular ones have the rest evenly.
    assert_eq!(distances(Trigger::EqualSafety, &[(1000, 0), (1000, 0)], SECOND / 100), [24, 24]);
}

/// The paper leaves open cycles that need more than the total. They are divided by rate.
#[test]
fn cycles_beyond_the_total_are_divided_by_rate() {
    let levels = [(1000, 900), (3000, 1)];
    assert_eq!(distances(Trigger::EqualSafety, &levels, SECOND), distances(Trigger::EqualTime, &levels, SECOND));
}

/// Before any stream was read twice, and without measurement: evenly.
#[test]
fn without_rates_all_are_alike() {
    let supply = Supply { total: 72, streams: 3, ..Supply::default() };
    for trigger in [Trigger::Even, Trigger::EqualTime, Trigger::EqualSafety] {
        assert_eq!(trigger.distance(&supply, DEGREE), 24);
    }
}

/// One stream that is asked for `blocks` at each of `times`.
fn measured(times: impl Iterator<Item = (u64, u32)>) -> Demands {
    let mut demands = Demands::new(SLOT, 1, 1);
    let mut begun = false;
    for (at, blocks) in times {
        if std::mem::replace(&mut begun, true) {
            demands.asked(StreamId(0), Instant(at), blocks);
        } else {
            demands.begins(StreamId(0), Instant(at), blocks, DeviceId(0));
        }
    }
    demands
}

#[test]
fn a_regular_stream_has_its_rate_and_no_deviation() {
    let demands = measured((0..5000).map(|i| (i * SECOND / 1000, 1)));
    let level = demands.of(StreamId(0));
    assert_eq!((level.rate, level.deviation), (1000 * SCALE, 0));
    assert_eq!(demands.sums(), [level]);
}

/// 200 blocks in every other slot: 1000 a second, and a deviation of 100 a slot, as much.
#[test]
fn bursts_are_deviation() {
    let level = measured((0..100).map(|i| (i * 2 * SLOT + 1, 200))).of(StreamId(0));
    assert_eq!((level.rate, level.deviation), (1000 * SCALE, 1000 * SCALE));
}

/// The first tenth of a second has no slot that is over.
#[test]
fn a_new_stream_has_a_rate_at_once() {
    let demands = measured((0..50).map(|i| (i * SECOND / 1000, 1)));
    let rate = demands.of(StreamId(0)).rate / SCALE;
    assert!((900..=1100).contains(&rate), "{rate}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Distances add up to the total, but for rounding, and for streams at the floor or the bound.
    #[test]
    fn distances_add_up(
        levels in proptest::collection::vec((1..100_000u64, 0..100_000u64), 1..40),
        lead_ms in 0..200u64,
        safety: bool,
    ) {
        let trigger = if safety { Trigger::EqualSafety } else { Trigger::EqualTime };
        let distances = distances(trigger, &levels, lead_ms * 1_000_000);
        let total = DEFAULT * levels.len() as u32;
        let sum: u32 = distances.iter().sum();
        prop_assert!(distances.iter().all(|distance| (FLOOR..=DEGREE).contains(distance)));
        let floor = distances.iter().filter(|&&distance| distance == FLOOR).count() as u32;
        let bound = distances.iter().filter(|&&distance| distance == DEGREE).count() as u32;
        if bound == 0 {
            // Rounding takes half a block of each, or gives it: of the cycle inventory and of the
            // safety inventory.
            prop_assert!(sum + levels.len() as u32 >= total, "{sum} of {total}: {distances:?}");
        }
        if floor == 0 {
            prop_assert!(sum <= total + levels.len() as u32, "{sum} of {total}: {distances:?}");
        }
    }

    /// A stream that is read faster gets no less.
    #[test]
    fn faster_is_never_nearer(slow in 1..50_000u64, more in 0..50_000u64, other in 1..50_000u64, deviation in 0..1000u64) {
        for trigger in [Trigger::Even, Trigger::EqualTime, Trigger::EqualSafety] {
            let two = distances(trigger, &[(slow, deviation), (slow + more, deviation), (other, deviation)], SECOND / 200);
            prop_assert!(two[0] <= two[1], "{trigger:?}: {two:?}");
        }
    }

    /// The sums are those of the active streams, whatever happens; and a stream that stops has left
    /// them within the time for which a silent stream counts as active.
    #[test]
    fn who_stops_leaves_the_sums(
        steps in proptest::collection::vec((0..6u32, 1..4u32, 0..400u64, 0..20u32), 1..200),
    ) {
        let mut streams = Streams::new(4, 64, 16);
        streams.measure(Demands::new(SLOT, 4, 2));
        let (mut at, mut next) = (0, [0u32; 6]);
        let read = |streams: &mut Streams, at: u64, file: u32, start: u32, len: u32| {
            let (file, who) = (FileId(file), Caller { handler: HandlerId(0), context: ContextId(0) });
            let extent = Extent { file, start, len };
            match streams.locate(who.handler, file, start, Instant(at)) {
                Some(id) => streams.advance(id, Instant(at), extent, &Label::all(extent), who),
                None => { streams.begin(Instant(at), extent, &Label::all(extent), DeviceId(file.0 as u16 % 2), who); true }
            };
        };
        for (file, len, ms, what) in steps {
            at += ms * 1_000_000;
            match what {
                0 => streams.rest(FileId(file), |_| ()),
                1 => { streams.forget(FileId(file)); next[file as usize] = 0; }
                _ => {
                    read(&mut streams, at, file, next[file as usize], len);
                    next[file as usize] += len;
                }
            }
            let demands = streams.demands().unwrap();
            for (device, sum) in demands.sums().iter().enumerate() {
                let of = |level: fn(forebay_core::demand::Level) -> u64| -> u64 {
                    let here = streams.iter().filter(|(_, stream)| stream.device.index() == device);
                    here.map(|(id, _)| level(demands.of(id))).sum()
                };
                prop_assert_eq!(of(|level| level.rate), sum.rate);
                prop_assert_eq!(of(|level| level.deviation), sum.deviation);
            }
        }
        // One goes on, long after all others have stopped.
        at += ACTIVE_FOR[2] + 1;
        (0..3u32).for_each(|step| read(&mut streams, at + u64::from(step), 9, step, 1));
        let demands = streams.demands().unwrap();
        let alone = streams.iter().find(|(_, stream)| stream.file == FileId(9)).map(|(id, _)| demands.of(id)).unwrap();
        prop_assert_eq!(demands.sums()[1], alone);
        prop_assert_eq!(demands.sums()[0].rate, 0);
    }
}
