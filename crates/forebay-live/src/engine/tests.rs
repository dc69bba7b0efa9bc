//! Partitions by device in a running engine: stores in memory at the pace of modelled ones, which
//! turn slow and recover. Tests assert sizes and states, however long these take to come about.

mod late;

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant as Moment};

use forebay_core::presets::Replacement;
use forebay_device::device;
use forebay_source::faulty::{FaultPlan, FaultySource};
use forebay_source::memory::{MemorySource, pattern};
use forebay_source::paced::PacedSource;
use forebay_source::pacer::Pace;
use forebay_source::striped::StripedSource;
use forebay_source::{Fetch, FetchId, Identity, Inode, Source, Version};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::*;
use crate::flight;
use crate::stats::{PartitionStats, State, Stats};

/// Long enough for any machine; a test that waits so long has failed.
const LONG: Duration = Duration::from_secs(60);

/// Bytes of the one file of each store.
const FILE: u64 = 8 << 20;

/// A cache that holds somewhat less than half of two such files.
const MEMORY: u64 = 20 << 20;

/// An epoch that is soon over, and sizes that move by steps that are soon seen.
const QUICK: &str = "window=100,increment=20";

fn costs(count: usize) -> Vec<DeviceCost> {
    vec![DeviceCost::flat(400_000, 500_000_000, 8); count]
}

fn start(policy: &str, devices: usize) -> Arc<Engine> {
    Engine::start(Config::new(MEMORY, policy.parse().unwrap()), costs(devices)).unwrap()
}

fn label(number: usize) -> String {
    format!("store {number} ")
}

/// A store of one file `x`, whose request takes 0.4 ms and a little, and the pace that slows it
/// down.
fn store(number: usize) -> (Arc<dyn Source>, Arc<Pace>) {
    let memory = Arc::new(MemorySource::of(&["x"], FILE).labelled(&label(number)));
    let queue = device("object-store").unwrap().queue(1, &Default::default()).unwrap();
    let paced = PacedSource::behind(memory, queue, 50.0).unwrap();
    let pace = Arc::clone(paced.pace());
    (Arc::new(paced), pace)
}

fn open(engine: &Arc<Engine>, source: &dyn Source, device: usize) -> OpenFile {
    engine.open(source.open(Path::new("x")).unwrap(), DeviceId(device as u16))
}

fn parts(stats: &Stats) -> Vec<PartitionStats> {
    stats.devices.iter().map(|device| device.partition.expect("it is divided")).collect()
}

/// Invariants of the partitions.
fn check(stats: &Stats) {
    let parts = parts(stats);
    let all = stats.frames * stats.block_bytes;
    assert_eq!(parts.iter().map(|part| part.size_bytes).sum::<u64>(), all, "{parts:?}");
    assert!(parts.iter().all(|part| part.size_bytes > 0), "{parts:?}");
    let held: u64 = parts.iter().map(|part| part.held_bytes).sum();
    assert_eq!(held, (stats.frames - stats.frames_free) * stats.block_bytes, "{parts:?}");
}

/// The part of the cache that a device shall have, and has, in per cent.
fn percent(stats: &Stats, device: usize) -> (u64, u64) {
    let (part, all) = (parts(stats)[device], stats.frames * stats.block_bytes);
    (part.size_bytes * 100 / all, part.held_bytes * 100 / all)
}

/// Readers of random blocks of all files, until `holds` is true. `right` checks the bytes of a
/// block.
fn read_until(
    engine: &Arc<Engine>,
    files: &[OpenFile],
    right: &(dyn Fn(usize, u64, &[u8]) -> bool + Sync),
    mut holds: impl FnMut(&Stats) -> bool,
) {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for reader in 0..4 {
            let done = &done;
            scope.spawn(move || {
                let mut random = SmallRng::seed_from_u64(u64::from(reader));
                let mut block = vec![0; BLOCK];
                while !done.load(Ordering::Relaxed) {
                    let number = random.random_range(0..files.len());
                    let at = random.random_range(0..files[number].size() / BLOCK as u64) * BLOCK as u64;
                    files[number].read(reader, at, &mut block).unwrap();
                    assert!(right(number, at, &block), "file {number} at {at}");
                }
            });
        }
        let began = Moment::now();
        let found = loop {
            let stats = engine.stats(&[]);
            check(&stats);
            if holds(&stats) {
                break Ok(());
            }
            if began.elapsed() > LONG {
                break Err(parts(&stats));
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        done.store(true, Ordering::Relaxed);
        found.unwrap_or_else(|parts| panic!("never: {parts:?}"));
    });
}

fn of_store(number: usize, at: u64, block: &[u8]) -> bool {
    block == pattern(&(label(number) + "x"), at, BLOCK)
}

#[test]
fn partitions_follow_a_source_that_turns_slow_and_recovers() {
    for policy in ["eager-lru", "lazy-clock", "lazy+arc"] {
        let (name, rest) = policy.split_once('+').map_or((policy, ""), |(name, _)| (name, "+arc"));
        let engine = start(&format!("{name}:{QUICK}{rest}"), 2);
        let (sources, paces): (Vec<_>, Vec<_>) = (0..2).map(store).unzip();
        let files: Vec<OpenFile> = (0..2).map(|number| open(&engine, &*sources[number], number)).collect();
        assert_eq!(engine.stats(&[]).epochs, Some(0));
        assert!((0..2).all(|number| percent(&engine.stats(&[]), number).0.abs_diff(50) <= 1));

        paces[1].slow_down(10.0);
        let mut warmed = false;
        read_until(&engine, &files, &of_store, |stats| {
            warmed |= parts(stats)[1].state == State::Warming;
            let (shall, has) = percent(stats, 1);
            shall >= 70 && has >= 65
        });
        assert!(warmed, "{policy}: never seen warming");
        let stats = engine.stats(&[]);
        assert!(stats.epochs > Some(3) && parts(&stats).iter().all(|part| part.wait_ms > 0.0), "{stats:?}");

        paces[1].slow_down(1.0);
        read_until(&engine, &files, &of_store, |stats| {
            let (shall, has) = percent(stats, 1);
            shall <= 58 && has <= 62
        });
    }
}

#[test]
fn a_slow_member_of_a_set_gets_more_than_its_fellows() {
    let engine = start(&format!("lazy-lru:{QUICK}"), 4);
    let (members, paces): (Vec<_>, Vec<_>) = (0..3).map(store).unzip();
    let set = StripedSource::new(65_536, members).unwrap();
    // The set's devices are the last three of four.
    let files = [open(&engine, &set, 1)];
    assert_eq!(files[0].size(), 3 * FILE);
    let right = |_: usize, at: u64, block: &[u8]| {
        let (chunk, within) = (at / 65_536, at % 65_536);
        of_store((chunk % 3) as usize, chunk / 3 * 65_536 + within, block)
    };
    paces[1].slow_down(10.0);
    read_until(&engine, &files, &right, |stats| {
        let [none, first, slow, third] = [0, 1, 2, 3].map(|device| percent(stats, device).1);
        none == 0 && slow >= 45 && slow > first + 15 && slow > third + 15
    });
    let stats = engine.stats(&[]);
    assert_eq!(stats.devices[0].counts.hits + stats.devices[0].counts.misses, 0);
    assert!(stats.devices[1..].iter().all(|device| device.counts.hits > 0 && device.counts.misses > 0), "{stats:?}");
}

/// A read of many units brings the right bytes, and every member its own.
#[test]
fn long_reads_of_a_set_under_every_kind_of_policy() {
    for policy in
        ["competitive", "competitive+lazy-clock:window=7", "linux+eager+arc", "none+static", "competitive-em+lazy"]
    {
        let engine = start(policy, 3);
        let (unit, rows) = (3 * 4096, 600);
        let member =
            |number| Arc::new(MemorySource::of(&["x"], rows * unit).labelled(&label(number))) as Arc<dyn Source>;
        let set = StripedSource::new(unit, (0..3).map(member).collect()).unwrap();
        let file = open(&engine, &set, 0);
        let chunk = |chunk: u64| pattern(&(label(chunk as usize % 3) + "x"), chunk / 3 * unit, unit as usize);
        let whole: Vec<u8> = (0..3 * rows).flat_map(chunk).collect();
        let mut random = SmallRng::seed_from_u64(5);
        let (mut next, mut buffer) = (0, vec![0; 400_000]);
        for _ in 0..60 {
            let at = if random.random_bool(0.7) { next } else { random.random_range(0..whole.len()) };
            let len = random.random_range(1..buffer.len());
            let n = file.read(1, at as u64, &mut buffer[..len]).unwrap();
            assert!(buffer[..n] == whole[at..at + n], "{policy} at {at}");
            assert_eq!(n, len.min(whole.len() - at));
            next = (at + n) % whole.len();
        }
        let stats = engine.stats(&[]);
        assert!(stats.devices.iter().all(|device| device.counts.fetched_bytes > 0), "{policy}: {stats:?}");
        let misses: u64 = stats.devices.iter().map(|device| device.counts.misses).sum();
        assert_eq!(misses, stats.counts.misses);
    }
}

#[test]
fn one_two_and_seventeen_devices() {
    for count in [1, 2, 17] {
        for policy in ["lazy-lru:window=10", "lazy-clock:window=10", "eager+2q", "static:weights=equal"] {
            let engine = start(policy, count);
            let member = |number| Arc::new(MemorySource::of(&["x"], FILE).labelled(&label(number))) as Arc<dyn Source>;
            let files: Vec<OpenFile> = (0..count).map(|number| open(&engine, &*member(number), number)).collect();
            read_until(&engine, &files, &of_store, |stats| {
                stats.counts.misses > 3000 && stats.frames_free < stats.frames / 2
            });
            let stats = engine.stats(&[]);
            assert_eq!((stats.device_count, parts(&stats).len()), (count as u64, count));
            if count == 1 {
                assert_eq!((percent(&stats, 0).0, parts(&stats)[0].state), (100, State::Cool), "{policy}");
            }
        }
    }
}

#[test]
fn more_devices_than_partitions_are_refused() {
    for policy in ["lazy-lru", "eager+arc", "static+lirs", "lazy+w-tinylfu"] {
        let policy: Policy = policy.parse().unwrap();
        let most = policy.most_devices();
        assert!(Engine::start(Config::new(MEMORY, policy), costs(most)).is_ok());
        let error =
            Engine::start(Config::new(MEMORY, policy), costs(most + 1)).err().expect("one too many").to_string();
        let expected = format!("{} devices are more than {policy} can have partitions, {most};", most + 1);
        assert!(error.starts_with(&expected), "{error}");
        assert!(Engine::start(Config::new(MEMORY, Policy::replacing(policy.replacement)), costs(most + 1)).is_ok());
    }
}

/// The policy's data beside frames are paid for from the budget.
#[test]
fn bookkeeping_is_within_the_budget() {
    for replacement in Replacement::ALL {
        for partition in ["", "lazy+"] {
            let policy: Policy = format!("{partition}{}", replacement.name()).parse().unwrap();
            let (memory, devices) = (24 << 20, 3.min(policy.most_devices()));
            let engine = Engine::start(Config::new(memory, policy), costs(devices)).unwrap();
            let member = |number| Arc::new(MemorySource::of(&["x"], FILE).labelled(&label(number))) as Arc<dyn Source>;
            let mut buffer = vec![0; 1 << 20];
            for number in 0..devices {
                let file = open(&engine, &*member(number), number);
                for at in (0..FILE).step_by(buffer.len()) {
                    assert_eq!(file.read(1, at, &mut buffer).unwrap(), buffer.len());
                }
            }
            let stats = engine.stats(&[]);
            assert!(devices < 3 || stats.frames_free == 0, "{policy}: {stats:?}");
            let spent = stats.frames * stats.block_bytes + stats.bookkeeping_bytes;
            assert!(
                spent + (12 << 20) <= memory,
                "{policy}: {spent} bytes, {} of them beside frames",
                stats.bookkeeping_bytes
            );
        }
    }
}

#[test]
fn a_policy_without_partitions_says_nothing_of_them() {
    let engine = start("competitive+lru", 2);
    let stats = engine.stats(&[]);
    assert!(stats.epochs.is_none() && stats.devices.iter().all(|device| device.partition.is_none()));
    let json = stats.to_json();
    assert!(!json.contains("partition") && !json.contains("epochs"), "{json}");
}

/// A mount publishes stats as an extended attribute, whose size is limited.
#[test]
fn stats_of_many_devices_fit() {
    let engine = start("lazy-lru", 200);
    let stats = engine.stats(&vec!["a member with a long name".to_owned(); 200]);
    assert!(stats.to_json().len() > 64 << 10, "the test shows nothing");
    let json = stats.clone().to_json_within(64 << 10);
    assert!(json.len() <= 64 << 10);
    let read: Stats = serde_json::from_str(&json).unwrap();
    assert!(read.devices.len() > 60 && read.devices == stats.devices[..read.devices.len()]);
    assert_eq!(read.device_count, 200);
}

/// The flight holds all events of a set, and replaying it gives the same actions, lottery and all.
#[test]
fn flights_of_divided_caches_replay() {
    let folder = tempfile::tempdir().unwrap();
    for policy in ["lazy-clock:window=20,seed=3", "competitive+eager-lru:window=20", "competitive+lazy+arc"] {
        let path = folder.path().join("flight");
        let config = Config { record: Some(path.clone()), ..Config::new(MEMORY, policy.parse().unwrap()) };
        let engine = Engine::start(config, costs(3)).unwrap();
        let (sources, _paces): (Vec<_>, Vec<_>) = (0..3).map(store).unzip();
        let set = StripedSource::new(8192, sources[1..].to_vec()).unwrap();
        let files = [open(&engine, &*sources[0], 0), open(&engine, &set, 1)];
        read_until(&engine, &files, &|_, _, _| true, |stats| stats.epochs > Some(2) && stats.frames_free == 0);
        drop((files, engine));
        let flight = std::fs::read_to_string(&path).unwrap();
        assert_eq!(flight.matches("{\"Striped\":").count(), 1);
        let replayed = flight::replay(&path).unwrap();
        assert_eq!(replayed.differs_at, None, "{policy}: {replayed:?}");
        assert!(replayed.same > 2000, "{replayed:?}");
    }
}

/// Sizes are not saved: a new engine begins where every one begins.
#[test]
fn after_a_restart_sizes_begin_anew() {
    let (sources, paces): (Vec<_>, Vec<_>) = (0..2).map(store).unzip();
    paces[1].slow_down(10.0);
    for _ in 0..2 {
        let engine = start(&format!("lazy-lru:{QUICK}"), 2);
        let files: Vec<OpenFile> = (0..2).map(|number| open(&engine, &*sources[number], number)).collect();
        assert_eq!((engine.stats(&[]).epochs, percent(&engine.stats(&[]), 1).0.abs_diff(50) <= 1), (Some(0), true));
        read_until(&engine, &files, &of_store, |stats| percent(stats, 1).0 >= 65);
    }
}

/// A source that is gone gets no memory for blocks that it does not bring, and the other keeps its
/// own.
#[test]
fn a_source_that_vanishes_takes_nothing_from_the_others() {
    for policy in ["eager-lru", "lazy-lru"] {
        let engine = start(&format!("{policy}:{QUICK}"), 2);
        let (sources, _paces): (Vec<_>, Vec<_>) = (0..2).map(store).unzip();
        let faulty = FaultySource::new(Arc::clone(&sources[1]), FaultPlan::default());
        let switch = faulty.switch();
        let files = [open(&engine, &*sources[0], 0), open(&engine, &faulty, 1)];
        read_until(&engine, &files, &of_store, |stats| stats.frames_free == 0);
        let before = percent(&engine.stats(&[]), 0);

        switch.set_down(true);
        let (failed, over) = (AtomicU64::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            // Many readers read the blocks that are still there, wait a second for every error, and
            // try again.
            for reader in 0..30 {
                let (file, failed, over) = (&files[1], &failed, &over);
                scope.spawn(move || {
                    let mut random = SmallRng::seed_from_u64(100 + reader);
                    let mut block = vec![0; BLOCK];
                    while !over.load(Ordering::Relaxed) {
                        let at = random.random_range(0..FILE / BLOCK as u64) * BLOCK as u64;
                        match file.read(100 + reader as u32, at, &mut block) {
                            Ok(_) => assert!(of_store(1, at, &block)),
                            Err(error) => {
                                assert_eq!(error.errno(), libc::EIO);
                                failed.fetch_add(1, Ordering::Relaxed);
                            }
                        }
                    }
                });
            }
            read_until(&engine, &files[..1], &of_store, |stats| {
                let epochs = stats.epochs.unwrap_or(0);
                failed.load(Ordering::Relaxed) >= 30 && epochs > 30
            });
            over.store(true, Ordering::Relaxed);
        });
        let after = percent(&engine.stats(&[]), 0);
        assert!(after.0 + 5 >= before.0 && after.1 + 5 >= before.1, "{policy}: {before:?}, then {after:?}");

        switch.set_down(false);
        read_until(&engine, &files, &of_store, |stats| percent(stats, 1).0 >= 42 && percent(stats, 1).1 >= 35);
    }
}

/// A file of one block, all of whose bytes are the last of its inode's number.
struct Small(Identity);

impl Object for Small {
    fn identity(&self) -> &Identity {
        &self.0
    }

    fn fetch(&self, mut fetch: Fetch) {
        fetch.buffer.write(0, &vec![self.0.name.inode().number as u8; fetch.len]);
        fetch.finish(Ok(()));
    }

    fn call_off(&self, _fetch: FetchId) {}
}

fn small(number: u64) -> Identity {
    let version = Version { size: BLOCK as u64, ..Version::default() };
    Identity { name: Name::Linked(Inode { device: 1, number, mount: 0 }), version }
}

fn known(number: u64) -> Known {
    Known { device: DeviceId(0), fingerprint: small(number).fingerprint() }
}

fn opened(engine: &Arc<Engine>, inode: u64) -> OpenFile {
    let file = engine.open(Arc::new(Small(small(inode))), DeviceId(0));
    let mut bytes = vec![0; BLOCK];
    file.read(1, 0, &mut bytes).unwrap();
    assert!(bytes.iter().all(|&byte| byte == inode as u8), "file {inode}");
    file
}

fn number(engine: &Engine, inode: u64) -> Option<u32> {
    engine.state.lock().known.get(&known(inode)).map(|file| file.0)
}

#[test]
fn a_file_that_was_forgotten_has_its_number_again() {
    let engine = start("competitive+arc", 1);
    drop(opened(&engine, 0));
    let first = number(&engine, 0);
    assert!(first.is_some(), "it has been closed a moment ago");
    for inode in 1..=2 * u64::from(engine.budget.frames) {
        drop(opened(&engine, inode));
        assert!(engine.state.lock().closed.len() <= engine.budget.closed_files);
    }
    assert_eq!(number(&engine, 0), None, "so many were closed after it");
    let _again = opened(&engine, 0);
    assert_eq!(number(&engine, 0), first);
}

#[test]
fn two_files_of_one_number_have_one_each() {
    let mut seen = HashMap::new();
    let pair = (0..).find_map(|inode| Some((seen.insert(first_number(known(inode)), inode)?, inode)));
    let (one, other) = pair.expect("of 2^32 + 1 two are alike");
    println!("files {one} and {other}");
    let engine = start("competitive+arc", 1);
    let _open = (opened(&engine, one), opened(&engine, other));
    let (first, second) = (number(&engine, one).unwrap(), number(&engine, other).unwrap());
    assert_eq!(second, first.wrapping_add(1));
    // Both are read again, from the cache.
    drop((opened(&engine, other), opened(&engine, one)));
    assert_eq!((number(&engine, one), number(&engine, other)), (Some(first), Some(second)));
}
