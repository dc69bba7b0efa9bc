//! Devices without an arm: a read, a run of reads, and many at once, by their closed forms.

use forebay_core::{DeviceCost, Instant};
use forebay_device::scheduler::SchedulerKind;
use forebay_device::{Description, ModelDescription, Queue, Request, device};

/// A drive without chance: 100 µs, 1 GB/s a read, 8 at once, 4 GB/s in all; writes 50 µs, 500 MB/s,
/// 1 GB/s in all.
const FLASH: &str = "name = 'flash'\nabout = ''\n[model.ssd]\ncapacity_gb = 100\nlatency_ms = 0.1\nrate_mb_s = 1000\nchannels = 8\n\
    total_mb_s = 4000\npage_kib = 4\nwrite = { latency_ms = 0.05, rate_mb_s = 500, total_mb_s = 1000 }";

/// A store without chance: 20 ms, 50 MB/s a connection, 10 connections, 400 MB/s in all.
const STORE: &str = "name = 'store'\nabout = ''\n[model.object-store]\nrate_mb_s = 50\nconnections = 10\ntotal_mb_s = 400\n\
    first_byte = { median_ms = 20 }";

const US: u64 = 1000;

fn queue(text: &str, seed: u64) -> Box<dyn Queue> {
    Description::parse(text, "test").unwrap().queue(seed, &SchedulerKind::None).unwrap()
}

/// When each of `requests`, all submitted at zero, is complete, in order.
fn at_once(text: &str, requests: impl IntoIterator<Item = Request>) -> Vec<u64> {
    let mut queue = queue(text, 1);
    (0..).zip(requests).for_each(|(id, request)| queue.submit(Instant(0), id, request));
    std::iter::from_fn(|| queue.next_completion().inspect(|&at| assert!(queue.complete(at).is_some())))
        .map(|at| at.0)
        .collect()
}

#[test]
fn one_random_read() {
    // 64 KiB at 1 ns a byte, at 20 ns a byte.
    assert_eq!(at_once(FLASH, [Request::read(1 << 20, 65536)]), [100 * US + 65536]);
    assert_eq!(at_once(STORE, [Request::read(1 << 20, 65536)]), [20_000 * US + 65536 * 20]);
    assert_eq!(at_once(FLASH, [Request::write(1 << 20, 65536)]), [50 * US + 65536 * 2]);
}

#[test]
fn whole_pages_are_read() {
    for (start, len, pages) in [(0, 1, 1), (4095, 2, 2), (4096, 4096, 1), (1, 8192, 3), (5, 0, 0)] {
        assert_eq!(at_once(FLASH, [Request::read(start, len)]), [100 * US + pages * 4096], "{start} {len}");
    }
}

/// One after the other: each pays the time to its first byte.
#[test]
fn a_sequential_run() {
    for (text, each) in [(FLASH, 100 * US + (1 << 20)), (STORE, 20_000 * US + (20 << 20))] {
        let mut queue = queue(text, 1);
        let mut now = Instant(0);
        for id in 0..50 {
            queue.submit(now, id, Request::read(id << 20, 1 << 20));
            now = queue.next_completion().unwrap();
            assert_eq!(queue.complete(now), Some(id));
        }
        assert_eq!(now.0, 50 * each);
    }
}

/// Up to the bound of connections, n take the time of one; beyond, they come in rounds.
#[test]
fn as_many_at_once_as_there_are_connections() {
    let small = |n: u64| (0..n).map(|i| Request::read(i << 20, 4096));
    for (text, each, bound) in [(FLASH, 100 * US + 4096, 8), (STORE, 20_000 * US + 4096 * 20, 10)] {
        for n in [2, bound, 3 * bound, 3 * bound + 1] {
            let expected: Vec<u64> = (0..n).map(|i| (i / bound + 1) * each).collect();
            assert_eq!(at_once(text, small(n)), expected, "{n}");
        }
    }
}

/// All of them flowing share the total: eight or ten long ones are done when all their bytes have
/// gone through.
#[test]
fn all_connections_share_the_total() {
    let last = |text, n: u64, request: Request| *at_once(text, (0..n).map(|_| request)).last().unwrap();
    let long = 400 << 20;
    assert_eq!(last(FLASH, 8, Request::read(0, long)), 8 * long / 4);
    assert_eq!(last(STORE, 10, Request::read(0, long)), 10 * long * 1000 / 400);
    assert_eq!(last(FLASH, 8, Request::write(0, long)), 8 * long, "writes share 1 GB/s");
    // Four reads at 1 GB/s are just as many as 4 GB/s take.
    assert_eq!(last(FLASH, 4, Request::read(0, long)), 100 * US + long);
}

#[test]
fn reads_and_writes_share_the_drive() {
    let both = (0..8).map(|i| if i % 2 == 0 { Request::read(0, 400 << 20) } else { Request::write(0, 100 << 20) });
    // 2 GB through 4 GB/s; the writes alone would be through after 0.4 GB at 1 GB/s.
    assert_eq!(*at_once(FLASH, both).last().unwrap(), 4 * (500 << 20) / 4);
}

#[test]
fn costs_are_what_policies_need() {
    let cost = |text| queue(text, 1).cost();
    assert_eq!(cost(FLASH), DeviceCost::flat(100 * US, 1_000_000_000, 4));
    assert_eq!(cost(STORE), DeviceCost::flat(20_000 * US, 50_000_000, 8));
    assert_eq!(device("object-store").unwrap().build(1).unwrap().cost(), DeviceCost::flat(20_000 * US, 90_000_000, 13));
}

/// The times to the first byte of empty requests, sorted, milliseconds.
fn first_bytes(name: &str, write: bool, seed: u64) -> Vec<f64> {
    let mut model = device(name).unwrap().build(seed).unwrap();
    let mut one = |i: u64| {
        let at = Instant(i * 1_000_000_000);
        model.serve(at, Request { write, ..Request::read(0, 0) }).since(at) as f64 / 1e6
    };
    let mut times: Vec<f64> = (0..20_001).map(&mut one).collect();
    times.sort_by(f64::total_cmp);
    times
}

/// The median and the 99th percentile are those of the description; their errors over 20,001
/// samples are about 0.9 % and 3 % of themselves (one standard deviation for the widest, σ = 1.3).
#[test]
fn first_bytes_are_distributed_as_described() {
    for (name, write, median, p99) in
        [("object-store", false, 20.0, 90.0), ("ssd", false, 0.09, 0.25), ("ssd", true, 0.04, 0.8)]
    {
        for seed in [3, 4, 5] {
            let times = first_bytes(name, write, seed);
            assert!((times[10_000] / median - 1.0).abs() < 0.04, "{name}: {}", times[10_000]);
            assert!((times[19_800] / p99 - 1.0).abs() < 0.12, "{name}: {}", times[19_800]);
            // Log-normal: as much below the median as above it, in ratio.
            let ratio = times[10_000] / times[200] / (times[19_800] / times[10_000]);
            assert!((0.85..1.18).contains(&ratio), "{name}: {ratio}");
        }
        assert_eq!(first_bytes(name, write, 3), first_bytes(name, write, 3));
        assert_ne!(first_bytes(name, write, 3), first_bytes(name, write, 4));
    }
}

/// Quantiles that are given are those that come out, up to one in 10,000. A share of `n` samples is
/// off by √(q (1 − q) / n) at one standard deviation; five are allowed.
#[test]
fn measured_quantiles_are_those_of_the_model() {
    let ModelDescription::ObjectStore(store) = device("s3-standard").unwrap().model else { panic!("a store") };
    let mut model = device("s3-standard").unwrap().build(7).unwrap();
    let n = 400_000;
    let mut times: Vec<f64> = (0..n)
        .map(|i| {
            let at = Instant(i * 2_000_000_000);
            model.serve(at, Request::read(0, 0)).since(at) as f64 / 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    for point in &store.first_byte.quantiles {
        let below = times.partition_point(|&time| time <= point.value) as f64 / n as f64;
        let error = 5.0 * (point.at * (1.0 - point.at) / n as f64).sqrt();
        assert!((below - point.at).abs() <= error.max(1e-9), "{point:?}: {below} of {n} are below");
    }
    assert!(times[0] >= 7.0 && times[n as usize - 1] <= 1034.0);
    // The mean is in no quantile. The 15 runs have 12 to 16 ms, 13.7 in their own mean.
    let mean = times.iter().sum::<f64>() / n as f64;
    assert!((mean / 13.7 - 1.0).abs() < 0.05, "{mean}");
}

/// The tail decides how long requests take that are waited for together: the slowest of 100 is
/// later than p99 says in most cases.
#[test]
fn the_99th_percentile_is_met_by_those_that_read_in_parallel() {
    let text = "name = 'many'\nabout = ''\n[model.object-store]\nrate_mb_s = 93\nconnections = 100\n";
    let slowest = |first_byte: &str| {
        let text = format!("{text}[model.object-store.first_byte]\n{first_byte}\n");
        let description = Description::parse(&text, "test").unwrap();
        let mut last: Vec<u64> = (0..501)
            .map(|seed| {
                let mut queue = description.queue(seed, &SchedulerKind::None).unwrap();
                (0..100).for_each(|id| queue.submit(Instant(0), id, Request::read(0, 0)));
                let ends =
                    std::iter::from_fn(|| queue.next_completion().inspect(|&at| assert!(queue.complete(at).is_some())));
                ends.last().unwrap().0 / 1_000_000
            })
            .collect();
        last.sort_unstable();
        last[250]
    };
    assert_eq!(slowest("median_ms = 10"), 10);
    // The slowest of 100 is below what 0.5^(1/100) of all stay below in half of the cases. That
    // share is 0.9931, and 75 + (0.9931 − 0.99) / 0.009 · 84 = 103.9 ms. The median of 501 runs is
    // off by 4 ms at one standard deviation.
    let quantiles = "quantiles = [[0.0, 7], [0.5, 10], [0.9, 14], [0.99, 75], [0.999, 159], [1.0, 1034]]";
    let measured = slowest(quantiles);
    assert!((84..124).contains(&measured), "{measured} ms");
    // Asked again after 20 ms, the slowest one has a second chance: 0.091 are later than that, and
    // of those 0.076 (0.0069 of all) later than 20 + 30.4 ms.
    let again = slowest(&format!("{quantiles}\nretry = {{ after_ms = 20 }}"));
    assert!((45..56).contains(&again), "{again} ms");
}

/// A late answer is called off, and the next one takes a time of its own: the share that is late is
/// squared, and comes `after_ms` later. The last answer is waited for.
#[test]
fn late_requests_are_asked_again() {
    // Nine of ten take 10 ms, one takes 1000.
    let steps = "quantiles = [[0.0, 10], [0.9, 10], [0.900001, 1000], [1.0, 1000]]";
    let times = |retry: &str| {
        let text = format!("{}first_byte = {{ {steps}{retry} }}", STORE.split("first_byte").next().unwrap());
        let mut model = Description::parse(&text, "test").unwrap().build(5).unwrap();
        let mut shares = std::collections::BTreeMap::new();
        for i in 0..100_000u64 {
            let at = Instant(i * 5_000_000_000);
            let ms = model.serve(at, Request::read(0, 0)).since(at) / 1_000_000;
            *shares.entry(ms).or_insert(0.0) += 1e-5;
        }
        shares
    };
    let check = |retry: &str, expected: &[(u64, f64)]| {
        let got = times(retry);
        for &(ms, share) in expected {
            let error = 5.0 * (share * (1.0 - share) / 1e5).sqrt();
            assert!((got.get(&ms).copied().unwrap_or(0.0) - share).abs() < error, "{retry}: {ms} ms, {got:?}");
        }
    };
    check("", &[(10, 0.9), (1000, 0.1)]);
    check(", retry = { after_ms = 50 }", &[(10, 0.9), (60, 0.09), (1050, 0.01)]);
    // The second wait is twice as long.
    check(", retry = { after_ms = 50, times = 2 }", &[(10, 0.9), (60, 0.09), (160, 0.009), (1150, 0.001)]);
    assert_eq!(times(", retry = { after_ms = 50 }"), times(", retry = { after_ms = 50 }"));
}

/// A request that is slow to begin delays no other.
#[test]
fn a_slow_first_byte_holds_up_nobody_else() {
    let mut queue = device("object-store").unwrap().queue(1, &SchedulerKind::None).unwrap();
    (0..64).for_each(|id| queue.submit(Instant(0), id, Request::read(0, 4096)));
    let mut done = Vec::new();
    while let Some(at) = queue.next_completion() {
        queue.complete(at);
        done.push(at.0 as f64 / 1e6);
    }
    assert!(done[31] < 30.0 && done[63] > 40.0, "half are there in the median, though the last is late: {done:?}");
}
