//! Files striped over devices that the cache sees: what is asked of which device, and how
//! partitions go on.

use std::collections::BTreeMap;

use forebay_core::{Action, Event, EventKind, IoId};
use forebay_device::device;
use forebay_sim::Unwatched;
use forebay_sim::timed::{Record, Sample, Samples, Setup, Striping, Writes, run_recorded};
use forebay_trace::{Operation, Request};
use proptest::prelude::*;

use crate::load::{READ, flat, near, outcome, sequential, setup, workload};

fn striped(policy: &str, devices: usize, unit: u64) -> Setup {
    let mut setup = setup(policy, flat(2.0, 1), 3);
    setup.devices = vec![setup.devices[0].clone(); devices];
    setup.striping = Striping::Files(unit);
    setup
}

fn requests() -> impl Strategy<Value = Vec<Request>> {
    let request = (0u64..3, 0u64..600_000, 1u32..100_000, any::<bool>());
    let request = request.prop_map(|(file, offset, len, read)| Request {
        file,
        offset,
        len,
        operation: if read { Operation::Read } else { Operation::Write },
        ..Request::default()
    });
    proptest::collection::vec(request, 1..60)
}

/// The requests to each device, by a plain walk over the blocks of every fetch.
#[derive(Default)]
struct Naive {
    unit: u32,
    devices: u32,
    lengths: BTreeMap<u32, u64>,
    under_way: BTreeMap<IoId, (u16, u64)>,
    /// By device: bytes that arrived, fetches.
    arrived: BTreeMap<u16, (u64, u64)>,
}

impl Record for Naive {
    fn record(&mut self, _level: usize, event: Event, actions: &[Action]) {
        match event.kind {
            EventKind::Open { file, bytes, .. } => drop(self.lengths.insert(file.0, bytes)),
            EventKind::Arrived { io } => {
                let (device, bytes) = self.under_way.remove(&io).expect("it was asked for");
                let sum = self.arrived.entry(device).or_default();
                *sum = (sum.0 + bytes, sum.1 + 1);
            }
            _ => {}
        }
        for action in actions {
            let Action::Fetch { io, extent, device, .. } = *action else { continue };
            let mut bytes = 0;
            for block in extent.start..extent.end() {
                assert_eq!(u32::from(device.0), block / self.unit % self.devices, "block {block}");
                bytes += (self.lengths[&extent.file.0] - u64::from(block) * 4096).min(4096);
            }
            self.under_way.insert(io, (device.0, bytes));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Nothing is fetched from a device on which it does not lie, and what devices count is what
    /// was fetched; writes go where their bytes lie, and none is lost.
    #[test]
    fn every_byte_comes_from_where_it_lies(
        requests in requests(), devices in 2usize..6, unit in 1u32..5,
        policy in prop_oneof![Just("lru"), Just("linux"), Just("competitive+arc"), Just("eager-lru:window=3"), Just("lazy-clock")],
        frames in 1u64..200,
    ) {
        let mut setup = striped(policy, devices, u64::from(unit) * 4096);
        setup.levels[0].memory_bytes = frames * 4096;
        setup.call_off = false;
        setup.writes = Writes::Device;
        let mut naive = Naive { unit, devices: devices as u32, ..Naive::default() };
        let mut written = vec![0u64; devices];
        for write in requests.iter().filter(|request| request.operation == Operation::Write) {
            for byte in write.offset..write.offset + u64::from(write.len) {
                written[(byte / 4096 / u64::from(unit)) as usize % devices] += 1;
            }
        }
        let reads = requests.iter().filter(|r| r.operation == Operation::Read);
        let (count, bytes) = (reads.clone().count() as u64, reads.map(|r| u64::from(r.len)).sum::<u64>());
        let got = run_recorded(&setup, &workload(requests), &Unwatched, &mut naive).unwrap();
        prop_assert_eq!((got.requests, got.bytes, got.devices.len()), (count, bytes, devices));
        for (number, device) in (0u16..).zip(&got.devices) {
            let wanted = naive.arrived.get(&number).copied().unwrap_or_default();
            prop_assert_eq!((device.bytes, device.requests), wanted);
            prop_assert_eq!(device.written, written[usize::from(number)]);
            let blocks = device.counters.fetched * 4096;
            prop_assert!(device.bytes <= blocks && device.bytes + 3 * 4096 * device.requests >= blocks);
        }
    }
}

/// Four devices with a unit of a block each: a read of 64 KiB is four blocks of each, four fetches
/// of a block one after the other.
#[test]
fn a_read_over_all_devices_takes_as_long_as_one_device_does() {
    let reads = workload(sequential(1, 1, 16, 0).collect());
    let got = outcome(&striped("none", 4, 4096), &reads);
    assert!(near(got.seconds, 16.0 * 4.0 * (0.002 + 0.001 / 16.0), 1e-6), "{}", got.seconds);
    assert_eq!(got.devices.iter().map(|device| device.requests).collect::<Vec<_>>(), [64; 4]);
    let whole = outcome(&striped("none", 4, READ.into()), &reads);
    assert_eq!(whole.devices.iter().map(|device| device.bytes).collect::<Vec<_>>(), [4 * u64::from(READ); 4]);
}

/// The next unit on a disk is adjacent there, in the next row: a file that is read from front to
/// back is read so on every disk.
#[test]
fn rows_follow_each_other_on_a_disk() {
    let reads = workload(sequential(1, 1, 64, 0).collect());
    let mut setup = Setup::new("none".parse().unwrap(), 64 << 20, device("ibm-9lzx").unwrap(), 1);
    setup.devices = vec![setup.devices[0].clone(); 4];
    setup.striping = Striping::Files(16384);
    let got = outcome(&setup, &reads);
    // All on the first cylinder: no seek and no rotation, 16 KiB at 20 MB/s.
    assert!(near(got.seconds, 64.0 * 16384.0 / 23.0e6, 0.2), "{}", got.seconds);
}

#[test]
fn a_striped_file_fits_where_its_parts_do() {
    let at = |offset| workload(vec![Request { offset, len: 4096, ..Request::default() }]);
    let mut setup = Setup::new("none".parse().unwrap(), 64 << 20, device("ibm-9lzx").unwrap(), 1);
    setup.devices = vec![setup.devices[0].clone(); 4];
    setup.striping = Striping::Files(8192);
    outcome(&setup, &at(4 * 9_000_000_000 / 4096 * 4096));
    let error = forebay_sim::timed::run(&setup, &at(4 * 9_200_000_000 / 4096 * 4096), &Unwatched).unwrap_err();
    assert!(error.to_string().contains("ibm-9lzx"), "{error}");
}

fn samples(samples: Samples, policy: &str) -> (Vec<Sample>, forebay_sim::timed::Outcome) {
    let reads = (0..2000).map(|i| Request { offset: i * 7919 % 4096 * 4096, len: 4096, ..Request::default() });
    let mut setup = striped(policy, 4, 4096);
    setup.levels[0].memory_bytes = 1000 * 4096;
    setup.devices[2].slowdowns = vec!["0s:8".parse().unwrap()];
    setup.samples = Some(samples);
    let mut outcome = outcome(&setup, &workload(reads.collect()));
    (std::mem::take(&mut outcome.samples), outcome)
}

/// SAC §3.1: the partition of a slow device grows, those of others shrink, and together they are
/// the cache.
#[test]
fn partitions_are_followed_in_time() {
    let (epochs, outcome) = samples(Samples::Epochs, "lazy-lru:window=100");
    assert_eq!(epochs.len() as u64, outcome.device_requests / 100);
    for sample in &epochs {
        assert_eq!(sample.partitions.len(), 4);
        assert_eq!(sample.partitions.iter().map(|partition| partition.size).sum::<u32>(), 1000);
        assert!(sample.partitions.iter().map(|partition| partition.frames).sum::<u32>() <= 1000);
        assert!(sample.partitions[2].relative > 1000, "{sample:?}");
    }
    assert!(epochs.windows(2).all(|two| two[0].at < two[1].at && two[0].bytes <= two[1].bytes));
    let last = epochs.last().unwrap();
    let size = |number: usize| last.partitions[number].size;
    assert!(size(2) > 250 && [0, 1, 3].iter().all(|&other| size(other) < 250), "{last:?}");
    let (seconds, outcome) = samples(Samples::Seconds(0.5), "lazy-lru:window=100");
    assert_eq!(seconds.len(), (outcome.seconds / 0.5) as usize + 1);
    assert!(seconds.iter().zip(0..).all(|(sample, half)| near(sample.at, f64::from(half) * 0.5, 1e-9)));
    let (whole, _) = samples(Samples::Seconds(1.0), "lru");
    assert!(!whole.is_empty() && whole.iter().all(|sample| sample.partitions.is_empty()));
    assert!(samples(Samples::Epochs, "lru").0.is_empty());
}
