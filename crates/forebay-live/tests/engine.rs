//! The live engine over a store that answers late, in any order, sometimes at once and sometimes
//! not at all, by seed.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use forebay_core::{DeviceCost, DeviceId};
use forebay_live::budget::Budget;
use forebay_live::engine::{Config, Engine, Referenced};
use forebay_live::flight;
use forebay_source::{Error, Fetch, FetchId, Identity, Name, Object, Version};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// The faults of the store.
#[derive(Clone, Copy, Default)]
struct Faults {
    /// One in this many fetches fails, but no more than [`MOST`] in a row at one place; zero for
    /// none.
    fails: u32,
    /// This byte can never be read.
    bad_byte: Option<u64>,
}

/// As often as a place may fail in a row. The engine asks once more than that, so that no reader
/// gets an error by chance.
const MOST: u32 = 3;

/// Bytes that follow from their offset.
struct Pattern {
    identity: Identity,
    faults: Faults,
    random: Mutex<SmallRng>,
    /// How often the last fetches at an offset have failed.
    failed: Mutex<BTreeMap<u64, u32>>,
    late: Mutex<Vec<Fetch>>,
    fetched: AtomicU64,
}

fn identity(name: &str, size: u64) -> Identity {
    let version = Version { size, ..Version::default() };
    Identity { name: Name::path(&"memory".into(), Path::new(name)), version }
}

fn byte(offset: u64) -> u8 {
    (offset.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 53) as u8
}

fn pattern(size: u64, seed: u64, faults: Faults) -> Arc<Pattern> {
    println!("seed {seed}");
    Arc::new(Pattern {
        identity: identity(&format!("pattern {seed}"), size),
        faults,
        random: Mutex::new(SmallRng::seed_from_u64(seed)),
        failed: Mutex::default(),
        late: Mutex::new(Vec::new()),
        fetched: AtomicU64::new(0),
    })
}

impl Pattern {
    fn fails(&self, offset: u64) -> bool {
        let dice = self.faults.fails > 0 && self.random.lock().unwrap().random_range(0..self.faults.fails) == 0;
        let mut failed = self.failed.lock().unwrap();
        let in_a_row = failed.entry(offset).or_default();
        *in_a_row = if dice && *in_a_row < MOST { *in_a_row + 1 } else { 0 };
        *in_a_row > 0
    }

    fn answer(&self, mut fetch: Fetch) {
        let fails = self.fails(fetch.offset);
        let range = fetch.offset..fetch.offset + fetch.len as u64;
        if fails || self.faults.bad_byte.is_some_and(|bad| range.contains(&bad)) {
            return fetch.finish(Err(Error::Storage { name: "pattern".into(), reason: "by plan".into() }));
        }
        self.fetched.fetch_add(fetch.len as u64, Ordering::Relaxed);
        let bytes: Vec<u8> = range.map(byte).collect();
        fetch.buffer.write(0, &bytes);
        fetch.finish(Ok(()));
    }
}

impl Object for Pattern {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn fetch(&self, fetch: Fetch) {
        // A third at once; the others when the store is asked again, the latest first, or by a
        // thread that waits a little.
        let dice = self.random.lock().unwrap().random_range(0..3);
        let waiting = std::mem::take(&mut *self.late.lock().unwrap());
        if dice == 0 {
            self.answer(fetch);
        } else {
            self.late.lock().unwrap().push(fetch);
        }
        waiting.into_iter().rev().for_each(|fetch| self.answer(fetch));
    }

    fn call_off(&self, fetch: FetchId) {
        let mut late = self.late.lock().unwrap();
        let Some(place) = late.iter().position(|other| other.id == fetch) else { return };
        let fetch = late.swap_remove(place);
        drop(late);
        fetch.finish(Err(Error::CalledOff));
    }
}

/// Bytes as in [`Pattern`], but a pure prefetch stays queued until it is called off or let go.
struct Slow {
    identity: Identity,
    queued: Mutex<Vec<Fetch>>,
    obeys: bool,
}

impl Slow {
    fn new(size: u64, obeys: bool) -> Arc<Slow> {
        Arc::new(Slow { identity: identity("slow", size), queued: Mutex::new(Vec::new()), obeys })
    }

    fn answer(mut fetch: Fetch) {
        let bytes: Vec<u8> = (fetch.offset..fetch.offset + fetch.len as u64).map(byte).collect();
        fetch.buffer.write(0, &bytes);
        fetch.finish(Ok(()));
    }

    fn let_go(&self) {
        let queued = std::mem::take(&mut *self.queued.lock().unwrap());
        queued.into_iter().for_each(Slow::answer);
    }
}

impl Object for Slow {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn fetch(&self, fetch: Fetch) {
        if fetch.urgent { Slow::answer(fetch) } else { self.queued.lock().unwrap().push(fetch) }
    }

    fn call_off(&self, fetch: FetchId) {
        let mut queued = self.queued.lock().unwrap();
        let place = queued.iter().position(|other| other.id == fetch).expect("it is queued here");
        if self.obeys {
            let fetch = queued.swap_remove(place);
            drop(queued);
            fetch.finish(Err(Error::CalledOff));
        }
    }
}

/// Opens, reads the first two blocks, and checks them. The second read looks ahead, and no reader
/// waits for that prefetch.
fn read_beginning(engine: &Arc<Engine>, slow: &Arc<Slow>) -> forebay_live::engine::OpenFile {
    let file = engine.open(Arc::clone(slow) as Arc<dyn Object>, DeviceId(0));
    let mut buffer = vec![0; 4096];
    for offset in [0, 4096] {
        assert_eq!(file.read(1, offset, &mut buffer).unwrap(), buffer.len());
        assert!(buffer.iter().enumerate().all(|(i, &b)| b == byte(offset + i as u64)));
    }
    file
}

#[test]
fn the_last_close_calls_off_what_is_queued() {
    let engine = engine("linux", 20 << 20, None);
    let slow = Slow::new(4_000_000, true);
    let file = read_beginning(&engine, &slow);
    let other = engine.open(Arc::clone(&slow) as Arc<dyn Object>, DeviceId(0));
    let queued: usize = slow.queued.lock().unwrap().iter().map(|fetch| fetch.len).sum();
    assert!(queued > 0, "nothing was prefetched: the test shows nothing");
    let before = engine.stats(&[]);
    drop(file);
    assert_eq!(engine.stats(&[]).counts.called_off, 0, "it is still open");
    drop(other);
    let after = engine.stats(&[]);
    assert_eq!(after.counts.called_off * after.block_bytes, queued as u64);
    assert_eq!(after.frames_free - before.frames_free, after.counts.called_off);
    assert_eq!((after.counts.errors, after.devices[0].in_flight), (0, 0));
    assert!(slow.queued.lock().unwrap().is_empty());
    // Nothing is wrong with the file.
    drop(read_beginning(&engine, &slow));
}

#[test]
fn a_store_need_not_obey() {
    let engine = engine("linux", 20 << 20, None);
    let slow = Slow::new(4_000_000, false);
    drop(read_beginning(&engine, &slow));
    assert!(engine.stats(&[]).devices[0].in_flight > 0);
    slow.let_go();
    let stats = engine.stats(&[]);
    assert_eq!((stats.devices[0].in_flight, stats.counts.called_off, stats.counts.errors), (0, 0, 0));
}

/// Handlers that read a little of a file and close it, while answers come from other threads and
/// late: bytes are right, and the flight can be replayed.
#[test]
fn calling_off_races_with_answers() {
    let folder = tempfile::tempdir().unwrap();
    for (seed, policy) in ["linux", "aggressive", "competitive"].iter().enumerate() {
        let path = folder.path().join(policy);
        let engine = engine(policy, 20 << 20, Some(path.clone()));
        let patterns: Vec<_> =
            (0..6).map(|i| pattern(4_000_000, 200 + seed as u64 * 10 + i, Faults::default())).collect();
        let drain = drain(patterns.clone());
        std::thread::scope(|scope| {
            for thread in 0..6u32 {
                let (engine, patterns) = (&engine, &patterns);
                scope.spawn(move || {
                    let mut random = SmallRng::seed_from_u64(u64::from(thread));
                    let mut buffer = vec![0; 65_536];
                    for _ in 0..60 {
                        let pattern = &patterns[random.random_range(0..patterns.len())];
                        let file = engine.open(Arc::clone(pattern) as Arc<dyn Object>, DeviceId(0));
                        let from = random.random_range(0..50u64) * 65_536;
                        for offset in (from..from + random.random_range(1..6) * 65_536).step_by(65_536) {
                            let n = file.read(thread, offset, &mut buffer).unwrap();
                            assert!(buffer[..n].iter().enumerate().all(|(i, &b)| b == byte(offset + i as u64)));
                        }
                    }
                });
            }
        });
        while engine.stats(&[]).devices[0].in_flight > 0 {
            std::thread::yield_now();
        }
        drop(drain);
        let counts = engine.stats(&[]).counts;
        assert_eq!(counts.errors, 0, "{counts:?}");
        drop(engine);
        let asked = std::fs::read_to_string(&path).unwrap().matches("{\"CallOff\":").count();
        assert!(asked > 0, "{policy}: nothing was called off: the test shows nothing");
        assert_eq!(flight::replay(&path).unwrap().differs_at, None);
    }
}

/// Answers the fetches that no later request has brought out yet.
fn drain(patterns: Vec<Arc<Pattern>>) -> impl Drop {
    struct Stop(Arc<std::sync::atomic::AtomicBool>, Option<std::thread::JoinHandle<()>>);
    impl Drop for Stop {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
            let _ = self.1.take().map(std::thread::JoinHandle::join);
        }
    }
    let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let thread = std::thread::spawn(move || {
        while !stopped.load(Ordering::Relaxed) {
            for pattern in &patterns {
                let waiting = std::mem::take(&mut *pattern.late.lock().unwrap());
                waiting.into_iter().for_each(|fetch| pattern.answer(fetch));
            }
            std::thread::yield_now();
        }
    });
    Stop(stop, Some(thread))
}

fn engine(policy: &str, memory: u64, record: Option<std::path::PathBuf>) -> Arc<Engine> {
    let config = Config { record, ..Config::new(memory, policy.parse().unwrap()) };
    Engine::start(config, vec![DeviceCost::flat(1_000_000, 500_000_000, 4)]).unwrap()
}

/// Threads read `files` at random and in sequence, and compare every byte.
fn read_all(engine: &Arc<Engine>, patterns: &[Arc<Pattern>], threads: u32, reads: u32) {
    let _drain = drain(patterns.to_vec());
    std::thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || {
                let mut random = SmallRng::seed_from_u64(u64::from(thread));
                let pattern = &patterns[thread as usize % patterns.len()];
                let file = engine.open(Arc::clone(pattern) as Arc<dyn Object>, DeviceId(0));
                let mut next = 0;
                for _ in 0..reads {
                    let len = random.random_range(1..200_000usize);
                    let offset = if random.random_bool(0.7) { next } else { random.random_range(0..file.size()) };
                    let mut buffer = vec![0; len];
                    let n = file.read(thread, offset, &mut buffer).unwrap();
                    assert_eq!(n as u64, file.size().saturating_sub(offset).min(len as u64));
                    let right = buffer[..n].iter().enumerate().all(|(i, &b)| b == byte(offset + i as u64));
                    assert!(right, "thread {thread} read wrong bytes at {offset}+{len}");
                    next = (offset + n as u64) % file.size();
                }
            });
        }
    });
}

#[test]
fn many_threads_read_right_bytes_under_every_policy() {
    let policies = [
        "none",
        "one-block",
        "fixed",
        "linux",
        "aggressive",
        "competitive",
        "auto:without=habits",
        "competitive-em",
        "competitive-em:epoch=10,start=5",
    ];
    for (seed, policy) in policies.iter().enumerate() {
        let engine = engine(policy, 20 << 20, None);
        let patterns: Vec<_> =
            (0..4).map(|i| pattern(9_000_000 + i * 1234, seed as u64 * 10 + i, Faults::default())).collect();
        read_all(&engine, &patterns, 8, 60);
        let stats = engine.stats(&[]);
        assert!(stats.counts.hits > 0 && stats.counts.misses > 0, "{policy}: {stats:?}");
        assert!(stats.frames_free < stats.frames);
        let keeps_apart = policy.starts_with("competitive-em") || policy.starts_with("auto");
        assert_eq!(stats.prefetch_cache.is_some(), keeps_apart);
        if let Some(cache) = stats.prefetch_cache {
            assert!(cache.under_way <= cache.unread && cache.unread <= stats.frames, "{policy}: {cache:?}");
            assert!(cache.ceiling > 0 && cache.ceiling <= stats.frames && cache.unit > 0, "{policy}: {cache:?}");
            assert_eq!(cache.thrashed, stats.counts.thrashed);
        }
    }
}

/// Readers that keep the bytes that they get: right bytes under load, faults included, and nothing
/// kept here. The flight records that.
#[test]
fn what_is_handed_on_is_not_kept_and_a_flight_replays_that() {
    let folder = tempfile::tempdir().unwrap();
    for (seed, policy) in ["competitive", "competitive-em+arc", "aggressive", "none"].iter().enumerate() {
        let path = folder.path().join(policy);
        let config = Config {
            referenced: Referenced::HandedOn,
            record: Some(path.clone()),
            ..Config::new(20 << 20, policy.parse().unwrap())
        };
        let engine = Engine::start(config, vec![DeviceCost::flat(1_000_000, 500_000_000, 4)]).unwrap();
        let faults = Faults { fails: 40, bad_byte: None };
        let patterns: Vec<_> = (0..4).map(|i| pattern(9_000_000 + i * 1234, seed as u64 * 10 + i, faults)).collect();
        read_all(&engine, &patterns, 8, 40);
        let stats = engine.stats(&[]);
        assert_eq!(stats.referenced, Referenced::HandedOn);
        // A prefetch that is still under way when the last reader leaves counts, too.
        let (counts, block) = (stats.counts, stats.block_bytes);
        let unread = counts.prefetched_bytes / block - counts.used - counts.late - counts.wasted - counts.called_off;
        assert_eq!(stats.frames - stats.frames_free, unread, "{policy}: {stats:?}");
        drop((engine, patterns));
        let flight = std::fs::read_to_string(&path).unwrap();
        assert!(flight.lines().next().unwrap().contains("\"referenced\":\"HandedOn\""));
        let replayed = flight::replay(&path).unwrap();
        assert_eq!(replayed.differs_at, None, "{policy}");
        assert!(replayed.events > 300 && replayed.same > 300, "{replayed:?}");
    }
}

/// Blocks of a closed file are dropped only when many others were closed after it, however often
/// these files are opened again.
#[test]
fn a_file_that_is_opened_ever_again_keeps_its_blocks() {
    let engine = engine("competitive", 32 << 20, None);
    let patterns = [pattern(1 << 20, 1, Faults::default()), pattern(1 << 20, 2, Faults::default())];
    let _drain = drain(patterns.to_vec());
    let open = |pattern: &Arc<Pattern>| engine.open(Arc::clone(pattern) as Arc<dyn Object>, DeviceId(0));
    let read = |pattern: &Arc<Pattern>| {
        let file = open(pattern);
        let mut buffer = vec![0; 65536];
        (0..16).for_each(|at| assert_eq!(file.read(1, at * 65536, &mut buffer).unwrap(), 65536));
    };
    patterns.iter().for_each(read);
    let fetched = || patterns.each_ref().map(|pattern| pattern.fetched.load(Ordering::Relaxed));
    let before = fetched();
    // More often than closed files are kept.
    (0..5000).for_each(|_| drop(open(&patterns[0])));
    patterns.iter().for_each(read);
    assert_eq!(fetched(), before, "nothing of either is fetched again");
}

/// Reads `files` files of `size` bytes in turn, each opened for itself, `times` times over. Returns
/// for each time the bytes fetched, as a share of all that were read.
fn around(policy: &str, files: u64, size: usize, times: usize) -> Vec<f64> {
    let engine = engine(policy, 20 << 20, None);
    let patterns: Vec<_> = (0..files).map(|seed| pattern(size as u64, seed, Faults::default())).collect();
    let _drain = drain(patterns.clone());
    let mut buffer = vec![0; size];
    let mut fetched = 0;
    let mut once = || {
        for pattern in &patterns {
            let file = engine.open(Arc::clone(pattern) as Arc<dyn Object>, DeviceId(0));
            assert_eq!(file.read(1, 0, &mut buffer).unwrap(), size);
        }
        let before = fetched;
        fetched = patterns.iter().map(|pattern| pattern.fetched.load(Ordering::Relaxed)).sum::<u64>();
        (fetched - before) as f64 / (files * size as u64) as f64
    };
    (0..times).map(|_| once()).collect()
}

fn frames(policy: &str) -> u64 {
    Budget::divide(20 << 20, policy.parse().unwrap()).unwrap().frames.into()
}

/// A program that loops over a tree of small files finds their blocks in the cache, as long as
/// there is room.
#[test]
fn small_files_are_kept_as_large_ones_are() {
    // Four blocks and a bit less each, in two thirds of the frames.
    assert_eq!(around("competitive", frames("competitive") / 6, 15_000, 2)[1], 0.0);
}

/// If there is no room for all of them, the files stay whose blocks the policy keeps, not those
/// that were closed last.
#[test]
fn of_small_files_those_stay_that_the_policy_keeps() {
    // Twice as many blocks as frames, four in each file.
    let fetched = |policy: &str| around(policy, frames(policy) / 2, 15_000, 4);
    let (mru, lru) = (fetched("competitive+mru"), fetched("competitive+lru"));
    assert!(lru.iter().all(|&all| all == 1.0), "{lru:?}");
    // Half of a loop over twice the cache can be kept, and the first time around brings the blocks
    // that stay.
    assert!(mru[1..].iter().all(|&part| part < 0.6), "{mru:?}");
}

#[test]
fn failing_fetches_are_tried_again() {
    // The order of threads decides which fetches are prefetches, so that a seed alone doesn't
    // promise a failed one.
    let failed = (7..57).any(|seed| {
        let engine = engine("competitive", 20 << 20, None);
        read_all(&engine, &[pattern(3_000_000, seed, Faults { fails: 6, bad_byte: None })], 4, 30);
        engine.stats(&[]).counts.errors > 0
    });
    assert!(failed, "no prefetch failed: the test shows nothing");
}

#[test]
fn only_readers_of_a_bad_block_get_the_error() {
    let engine = engine("competitive", 20 << 20, None);
    let bad = 1_000_000u64;
    let pattern = pattern(3_000_000, 11, Faults { fails: 0, bad_byte: Some(bad) });
    let _drain = drain(vec![Arc::clone(&pattern)]);
    let file = engine.open(pattern, DeviceId(0));
    let mut buffer = vec![0; 65_536];
    let mut failed = Vec::new();
    for offset in (0..file.size()).step_by(buffer.len()) {
        match file.read(1, offset, &mut buffer) {
            Ok(n) => assert!(buffer[..n].iter().enumerate().all(|(i, &b)| b == byte(offset + i as u64))),
            Err(error) => failed.push((offset, error.errno())),
        }
    }
    assert_eq!(failed, [(bad / 65_536 * 65_536, libc::EIO)]);
    // Within the read that failed, every block but the bad one can be had.
    let block = bad / 4096 * 4096;
    assert!(file.read(1, block, &mut buffer[..4096]).is_err());
    assert_eq!(file.read(1, block - 4096, &mut buffer[..4096]).unwrap(), 4096);
    assert_eq!(file.read(1, block + 4096, &mut buffer[..4096]).unwrap(), 4096);
}

#[test]
fn a_replayed_flight_gives_the_same_actions() {
    let folder = tempfile::tempdir().unwrap();
    for (seed, policy) in ["competitive", "linux+lru"].iter().enumerate() {
        let path = folder.path().join(seed.to_string());
        let engine = engine(policy, 20 << 20, Some(path.clone()));
        let patterns: Vec<_> = (0..3)
            .map(|i| pattern(6_000_000, 100 + seed as u64 * 10 + i, Faults { fails: 40, bad_byte: None }))
            .collect();
        read_all(&engine, &patterns, 6, 25);
        drop(engine);
        let replayed = flight::replay(&path).unwrap();
        assert_eq!(replayed.differs_at, None);
        assert!(replayed.events > 300 && replayed.same > 300, "{replayed:?}");
    }
}

#[test]
fn a_changed_flight_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("flight");
    let engine = engine("competitive", 20 << 20, Some(path.clone()));
    read_all(&engine, &[pattern(6_000_000, 5, Faults::default())], 2, 10);
    drop(engine);
    let flight = std::fs::read_to_string(&path).unwrap();
    let changed = flight.replacen("{\"Fetch\":{\"io\":0,", "{\"Fetch\":{\"io\":9,", 1);
    assert_ne!(flight, changed);
    std::fs::write(&path, changed).unwrap();
    assert_ne!(flight::replay(&path).unwrap().differs_at, None);
}

/// The quantities that a policy uses are shown, and those that it does not use are not.
#[test]
fn trigger_distances_and_lead_times_are_shown() {
    for (policy, triggers, measures) in [("ets", true, true), ("even", true, false), ("competitive", false, false)] {
        let engine = engine(policy, 20 << 20, None);
        let pattern = pattern(3_000_000, 3, Faults::default());
        let _drain = drain(vec![Arc::clone(&pattern)]);
        let file = engine.open(pattern, DeviceId(0));
        let mut buffer = vec![0; 4096];
        for block in 0..600 {
            file.read(1, block * 4096, &mut buffer).unwrap();
        }
        let stats = engine.stats(&[]);
        let stream = &stats.streams[0];
        assert_eq!(stream.distance_blocks.is_some(), triggers, "{policy}: {stream:?}");
        assert!(stream.distance_blocks.is_none_or(|distance| (4..=48).contains(&distance)), "{policy}: {stream:?}");
        assert!(stream.deviation_bytes.is_some() || !measures, "{policy}: {stream:?}");
        assert!(stats.devices[0].lead_time_us > 0.0, "{policy}: {stats:?}");
    }
}

#[test]
fn two_thousand_streams_in_a_small_budget_read_right_bytes() {
    let engine = engine("competitive", 64 << 20, None);
    let patterns: Vec<_> = (0..2000).map(|i| pattern(400_000, 1000 + i, Faults::default())).collect();
    let _drain = drain(patterns.clone());
    let files: Vec<_> = patterns.iter().map(|p| engine.open(Arc::clone(p) as Arc<dyn Object>, DeviceId(0))).collect();
    let mut buffer = vec![0; 65_536];
    for round in 0..4u64 {
        for (reader, file) in files.iter().enumerate() {
            let offset = round * buffer.len() as u64;
            assert_eq!(file.read(reader as u32, offset, &mut buffer).unwrap(), buffer.len());
            assert!(buffer.iter().enumerate().all(|(i, &b)| b == byte(offset + i as u64)));
        }
    }
}

#[test]
fn too_little_memory_is_said() {
    let config = Config::new(1 << 20, "competitive".parse().unwrap());
    let error = Engine::start(config, vec![]).err().unwrap().to_string();
    assert!(error.contains("1 MiB are not enough") && error.contains("are needed"), "{error}");
}

/// Hits within one block hold no frame while they are copied; a fetch that gets the frame meanwhile
/// must wait. Hot blocks are hit while scans through a cache much smaller than the file push
/// everything out.
#[test]
fn hits_are_never_overwritten_while_they_are_copied() {
    let engine = engine("none+fifo", 18 << 20, None);
    let pattern = pattern(64 << 20, 3, Faults::default());
    let _drain = drain(vec![Arc::clone(&pattern)]);
    let file = engine.open(Arc::clone(&pattern) as Arc<dyn Object>, DeviceId(0));
    let check = |offset: u64, bytes: &[u8]| {
        assert!(bytes.iter().enumerate().all(|(i, &b)| b == byte(offset + i as u64)), "wrong bytes at {offset}");
    };
    std::thread::scope(|scope| {
        for reader in 0..4 {
            let file = &file;
            scope.spawn(move || {
                let mut random = SmallRng::seed_from_u64(reader);
                let mut buffer = [0; 4096];
                for _ in 0..4000 {
                    let offset = random.random_range(0..64u64) * 4096;
                    file.read(reader as u32, offset, &mut buffer).unwrap();
                    check(offset, &buffer);
                }
            });
        }
        let file = &file;
        scope.spawn(move || {
            let mut buffer = vec![0; 1 << 20];
            for offset in (0..file.size()).step_by(buffer.len()) {
                file.read(9, offset, &mut buffer).unwrap();
                check(offset, &buffer);
            }
        });
    });
    assert!(engine.stats(&[]).counts.hits > 1000);
}
