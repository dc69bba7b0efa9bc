//! How large each partition shall be, by hand (SAC §3.1); and that the lottery's frequencies match
//! the sizes (§2.3).

use forebay_core::DeviceCost;
use forebay_core::papers::sac::{Division, Lottery, Scheme, Settings, Weights};
use forebay_core::seams::Divider;
use forebay_core::share::State;
use proptest::prelude::*;

/// One request a device is an epoch, so that a wait time is one number.
fn division(frames: u32, devices: u32, per_mille: u16) -> Division {
    let settings = Settings { window: devices, increment: per_mille, ..Settings::paper(Scheme::Lazy) };
    Division::new(frames, &costs(devices), settings)
}

fn costs(devices: u32) -> Vec<DeviceCost> {
    vec![DeviceCost::flat(1_000_000, 100_000_000, 1); devices as usize]
}

/// An epoch; `waits` has how long readers waited for each device. Returns whether sizes have
/// changed.
fn epoch(division: &mut Division, waits: &[u64]) -> bool {
    let before = division.epochs();
    let changes: Vec<bool> =
        waits.iter().enumerate().map(|(device, &wait)| division.has_waited(device, wait)).collect();
    let (last, others) = changes.split_last().expect("there are devices");
    assert!(!others.contains(&true), "nothing changes before the epoch is over");
    assert_eq!(division.epochs(), before + 1);
    *last
}

fn sizes(division: &Division) -> Vec<u32> {
    division.shares().iter().map(|share| share.size).collect()
}

fn states(division: &Division) -> Vec<State> {
    division.shares().iter().map(|share| share.state).collect()
}

/// "We have found W = 1000 provides sufficient smoothing", "a value of 0.2% of the cache works
/// well", "T = 5".
#[test]
fn the_papers_parameters() {
    let paper = Settings::paper(Scheme::Lazy);
    assert_eq!((paper.window, paper.increment, paper.threshold), (1000, 2, 5));
    assert_eq!(paper.weights, Weights::EQUAL);
    let mut division = Division::new(51_200, &costs(16), paper);
    assert_eq!(sizes(&division), [3200; 16], "\"the 16 partitions are all initially equal\" (§5.5)");
    // "A new epoch begins after W device requests complete": 500 to disk 6, 500 to the others.
    for request in 0..999 {
        let device = if request % 2 == 0 { 6 } else { request / 2 % 16 };
        assert!(!division.has_waited(device, 10_000_000));
    }
    assert_eq!(division.epochs(), 0);
    assert!(division.has_waited(6, 10_000_000));
    assert_eq!(division.epochs(), 1);
    assert_eq!(division.shares()[6].size, 3200 + 102, "0.2 % of 51,200 are 102.4");
    assert_eq!(sizes(&division).iter().sum::<u32>(), 51_200);
}

/// Step 1 and 2: "computes a relative wait time for each partition by dividing the per-device wait
/// time by the mean wait time".
#[test]
fn relative_wait_is_the_wait_by_the_mean() {
    let mut division = division(1000, 4, 2);
    epoch(&mut division, &[100, 200, 300, 1400]);
    let shares = division.shares();
    assert_eq!([0, 1, 2, 3].map(|d| shares[d].wait), [100, 200, 300, 1400]);
    assert_eq!([0, 1, 2, 3].map(|d| shares[d].relative), [200, 400, 600, 2800]);
    // Every epoch by itself.
    epoch(&mut division, &[300, 300, 300, 300]);
    assert_eq!([0, 1, 2, 3].map(|d| division.shares()[d].relative), [1000; 4]);
}

/// Step 4: "IRWT_j / sum of IRWTs for suppliers × # of consumed pages". IRWTs 0.8, 0.6 and 0.4 and
/// 18 pages: 8, 6 and 4.
#[test]
fn suppliers_give_by_their_inverse_relative_wait() {
    let mut division = division(1000, 4, 18);
    assert!(epoch(&mut division, &[100, 200, 300, 1400]));
    assert_eq!(states(&division), [State::Cool, State::Cool, State::Cool, State::Warming]);
    assert_eq!(sizes(&division), [250 - 8, 250 - 6, 250 - 4, 250 + 18]);
}

/// "Cool: wait time below the threshold. […] Some cool partitions may become page suppliers, but
/// none become page consumers." Between mean and threshold a partition is neither.
#[test]
fn between_mean_and_threshold_nothing_is_given_or_taken() {
    let mut division = division(1000, 4, 20);
    // Relative waits 0.8, 1.04, 0.76, 1.4.
    assert!(epoch(&mut division, &[80, 104, 76, 140]));
    assert_eq!(states(&division), [State::Cool, State::Cool, State::Cool, State::Warming]);
    // IRWTs 0.2 and 0.24 of 0.44: 9.09 and 10.91 pages.
    assert_eq!(sizes(&division), [250 - 9, 250, 250 - 11, 250 + 20]);
}

/// "If no page consumers are found, repartitioning stops and the new epoch begins." At the
/// threshold itself a partition is none.
#[test]
fn without_consumers_nothing_changes() {
    let mut division = division(1000, 4, 20);
    assert!(!epoch(&mut division, &[100, 100, 100, 100]));
    assert!(!epoch(&mut division, &[95, 100, 100, 105]));
    assert_eq!(states(&division), [State::Cool; 4]);
    assert!(!epoch(&mut division, &[0, 0, 0, 0]), "nobody waited at all");
    assert_eq!(sizes(&division), [250; 4]);
    assert!(epoch(&mut division, &[94, 100, 100, 106]));
    assert_eq!(states(&division)[3], State::Warming);
}

/// The four states in turn (Fig. 1): warming doubles, cooling keeps, warm adds I, and warming
/// begins again with I after any other state.
#[test]
fn the_four_states() {
    let mut division = division(10_000, 2, 2);
    const I: u32 = 20;
    let steps = [
        // Device 1's wait of 1000 for both, its state, and its pages.
        (600, State::Warming, I),
        (650, State::Warming, 2 * I),
        (700, State::Warming, 4 * I),
        (750, State::Warming, 8 * I),
        (700, State::Cooling, 0),
        (650, State::Cooling, 0),
        (650, State::Warm, I),
        (650, State::Warm, I),
        (660, State::Warming, I),
        (670, State::Warming, 2 * I),
        (500, State::Cool, 0),
        (600, State::Warming, I),
        (610, State::Warming, 2 * I),
    ];
    let mut size = 5000;
    for (step, (wait, state, gets)) in steps.into_iter().enumerate() {
        assert_eq!(epoch(&mut division, &[1000 - wait, wait]), gets > 0, "step {step}");
        assert_eq!(division.shares()[1].state, state, "step {step}");
        size += gets;
        assert_eq!(sizes(&division), [10_000 - size, size], "step {step}");
    }
}

/// Two consumers, each in its own state: both get their part, from the suppliers together.
#[test]
fn consumers_are_considered_together() {
    let mut division = division(10_000, 4, 10);
    // Relative waits 0.4, 0.6, 1.2, 1.8: both warm up, I = 100 each.
    epoch(&mut division, &[40, 60, 120, 180]);
    assert_eq!(sizes(&division), [2500 - 120, 2500 - 80, 2600, 2600]);
    // Device 2 goes on, device 3 falls: 0.4, 0.6, 1.4, 1.6. Only device 2 gets some, twice I.
    epoch(&mut division, &[40, 60, 140, 160]);
    assert_eq!(states(&division)[2..], [State::Warming, State::Cooling]);
    assert_eq!(sizes(&division), [2380 - 120, 2420 - 80, 2800, 2600]);
}

/// Suppliers that have not enough give what they have but one frame, and the others the rest.
#[test]
fn suppliers_keep_a_frame() {
    let mut division = division(100, 4, 1000);
    // All of the cache is wanted: a partition gives all of its frames but one.
    epoch(&mut division, &[10, 20, 30, 340]);
    assert_eq!(sizes(&division), [1, 1, 1, 97]);
    // With nothing to give nothing changes, however often.
    for wait in 341..350 {
        assert!(!epoch(&mut division, &[10, 20, 30, wait]));
    }
    // The same the other way round: from 97 down, for a partition that waits.
    epoch(&mut division, &[100, 0, 0, 0]);
    assert_eq!(sizes(&division).iter().sum::<u32>(), 100);
    assert!(division.shares()[0].size > 50);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Sizes always add up and no partition is empty; and a static division stays as it was.
    #[test]
    fn frames_are_conserved(
        frames in 1..100_000u32,
        devices in 1..20u32,
        per_mille in 1..1000u16,
        waits in proptest::collection::vec(prop_oneof![0..10u64, 0..1_000_000_000u64, Just(u64::MAX)], 0..600),
    ) {
        for scheme in [Scheme::Static, Scheme::Eager, Scheme::Lazy] {
            let settings = Settings { window: devices, increment: per_mille, ..Settings::paper(scheme) };
            let mut division = Division::new(frames, &costs(devices), settings);
            let first = sizes(&division);
            for (request, &wait) in waits.iter().enumerate() {
                division.has_waited(request % devices as usize, wait);
                let now = sizes(&division);
                prop_assert_eq!(now.iter().map(|&size| u64::from(size)).sum::<u64>(), u64::from(frames));
                prop_assert!(frames < devices || now.iter().all(|&size| size > 0), "{:?}", now);
                prop_assert!(scheme != Scheme::Static || now == first);
            }
        }
    }

    /// No partition starves for ever: from any state, a device whose wait rises above all others'
    /// has more frames after few epochs, or all but one of each other.
    #[test]
    fn who_waits_longer_and_longer_gets_frames(
        frames in 50..10_000u32,
        devices in 2..17u32,
        past in proptest::collection::vec(0..1_000_000u64, 0..800),
        others in proptest::collection::vec(1..1_000u64, 16),
        patient in 0..16usize,
    ) {
        let patient = patient % devices as usize;
        let mut division = division(frames, devices, 2);
        // Any state: whole epochs of whatever there was, much of it for one device.
        for waits in past.chunks_exact(devices as usize) {
            epoch(&mut division, waits);
        }
        let mut waits: Vec<u64> = others[..devices as usize].to_vec();
        waits[patient] = waits.iter().copied().max().unwrap_or(0) + 1;
        let before = division.shares()[patient].size;
        // Until its wait is as long as all others' at their longest together, another one may be
        // between mean and threshold and have all frames; from then on all others are suppliers.
        // One epoch more, since a fall may have come before.
        let epochs = devices.ilog2() + 4;
        for _ in 0..epochs {
            epoch(&mut division, &waits);
            waits[patient] *= 2;
        }
        let after = division.shares()[patient].size;
        prop_assert!(after > before || after == frames - (devices - 1), "{before} and after {epochs} epochs {after}");
    }
}

/// The statistic of a chi-square test of `draws` draws against frequencies in inverse proportion to
/// `sizes`, of which `out` sit out; and its degrees of freedom. Partitions that are expected less
/// than ten times count as one.
fn chi_square(sizes: &[u32], out: &[usize], seed: u32, draws: u32) -> (f64, usize) {
    let frames: u32 = sizes.iter().sum();
    let mut lottery = Lottery::new(sizes.len(), seed);
    lottery.issue(sizes.iter().copied(), frames);
    out.iter().for_each(|&partition| lottery.sits_out(partition));
    let mut drawn = vec![0u32; sizes.len()];
    (0..draws).for_each(|_| drawn[lottery.draw().expect("somebody takes part")] += 1);
    assert!(out.iter().all(|&partition| drawn[partition] == 0), "who sits out is never drawn");
    let inverse = |partition: usize| if out.contains(&partition) { 0.0 } else { 1.0 / f64::from(sizes[partition]) };
    let sum: f64 = (0..sizes.len()).map(inverse).sum();
    let expected = |partition: usize| f64::from(draws) * inverse(partition) / sum;
    let cells = (0..sizes.len()).map(|partition| (expected(partition), f64::from(drawn[partition])));
    let (large, small): (Vec<_>, Vec<_>) = cells.filter(|cell| cell.0 > 0.0).partition(|cell| cell.0 >= 10.0);
    let rest = small.iter().fold((0.0, 0.0), |sum: (f64, f64), cell| (sum.0 + cell.0, sum.1 + cell.1));
    let cells: Vec<_> = large.into_iter().chain((rest.0 >= 10.0).then_some(rest)).collect();
    (cells.iter().map(|(expected, drawn)| (drawn - expected).powi(2) / expected).sum(), cells.len() - 1)
}

/// The number that a chi-square statistic of this many degrees of freedom exceeds once in a
/// thousand times (Wilson and Hilferty, 1931).
fn once_in_a_thousand(freedom: usize) -> f64 {
    const QUANTILE: f64 = 3.0902;
    let part = 2.0 / (9.0 * freedom as f64);
    freedom as f64 * (1.0 - part + QUANTILE * part.sqrt()).powi(3)
}

/// "Each partition is given a number of tickets in inverse proportion to its desired size" (§2.3),
/// at 2, 16 and 64 partitions.
#[test]
fn the_lottery_draws_in_inverse_proportion_to_sizes() {
    let ramp = |partitions: u32| (1..=partitions).map(|n| 100 * n).collect::<Vec<_>>();
    let one_large = |partitions: u32| (0..partitions).map(|n| if n == 5 % partitions { 9000 } else { 70 }).collect();
    let one_small = |partitions: u32| (0..partitions).map(|n| if n == 3 % partitions { 3 } else { 400 }).collect();
    let equal = |partitions: u32| vec![800; partitions as usize];
    let powers = |partitions: u32| (0..partitions).map(|n| 1 << (n % 12)).collect();
    for partitions in [2, 16, 64] {
        let vectors: [Vec<u32>; 5] =
            [ramp(partitions), one_large(partitions), one_small(partitions), equal(partitions), powers(partitions)];
        for sizes in vectors {
            for seed in [1, 2, 3] {
                let (statistic, freedom) = chi_square(&sizes, &[], seed, 50_000);
                let limit = once_in_a_thousand(freedom);
                assert!(statistic < limit, "{statistic:.1} of {limit:.1}, seed {seed}, sizes {sizes:?}");
            }
            // The others' chances stay in proportion when some have nothing to give.
            if partitions > 2 {
                let (statistic, freedom) = chi_square(&sizes, &[0, 7, partitions as usize - 1], 4, 50_000);
                let limit = once_in_a_thousand(freedom);
                assert!(statistic < limit, "{statistic:.1} of {limit:.1} with three out, sizes {sizes:?}");
            }
        }
    }
}

/// The test would notice: equal tickets, and tickets in proportion, fail it by far.
#[test]
fn other_proportions_are_told_apart() {
    let sizes: Vec<u32> = (1..=16).map(|n| 100 * n).collect();
    let mut lottery = Lottery::new(16, 1);
    lottery.issue(sizes.iter().copied(), sizes.iter().sum());
    let mut drawn = [0f64; 16];
    (0..50_000).for_each(|_| drawn[lottery.draw().expect("all take part")] += 1.0);
    let total: f64 = sizes.iter().map(|&size| f64::from(size)).sum();
    for wrong in [|_: f64, _: f64| 1.0 / 16.0, |size: f64, total: f64| size / total] {
        let statistic: f64 = sizes
            .iter()
            .zip(drawn)
            .map(|(&size, drawn)| (f64::from(size), drawn))
            .map(|(size, drawn)| (drawn - 50_000.0 * wrong(size, total)).powi(2) / (50_000.0 * wrong(size, total)))
            .sum();
        assert!(statistic > 10.0 * once_in_a_thousand(15), "{statistic}");
    }
}

/// A partition with nothing to give sits out until it has a frame; when all sit out, none is drawn.
#[test]
fn nobody_is_drawn_when_all_sit_out() {
    let mut lottery = Lottery::new(3, 1);
    lottery.issue([10, 20, 30].into_iter(), 60);
    (0..3).for_each(|partition| lottery.sits_out(partition));
    lottery.sits_out(1);
    assert_eq!(lottery.draw(), None);
    lottery.takes_part(1);
    lottery.takes_part(1);
    assert!((0..100).all(|_| lottery.draw() == Some(1)));
    // New sizes, and all are asked again.
    lottery.issue([10, 20, 30].into_iter(), 60);
    let mut drawn: Vec<_> = (0..1000).filter_map(|_| lottery.draw()).collect();
    drawn.sort_unstable();
    drawn.dedup();
    assert_eq!(drawn, [0, 1, 2]);
}

/// The same seed draws the same; another one does not.
#[test]
fn a_seed_fixes_the_draws() {
    let draws = |seed| {
        let mut lottery = Lottery::new(8, seed);
        (0..200).map(move |_| lottery.draw()).collect::<Vec<_>>()
    };
    assert_eq!(draws(1), draws(1));
    assert_ne!(draws(1), draws(2));
}
