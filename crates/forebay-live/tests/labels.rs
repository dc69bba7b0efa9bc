//! Labels through the engine: from a level to the one below, and two levels one on the other (SCM
//! §4.2).

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use forebay_core::{DeviceCost, DeviceId, EventKind};
use forebay_live::engine::{Config, Engine, Lease, OpenFile};
use forebay_live::flight::{self, Line};
use forebay_source::{Fetch, Identity, Label, Name, Object, Result, Version};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

const MIB: u64 = 1 << 20;

fn byte(offset: u64) -> u8 {
    (offset.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 53) as u8
}

fn engine(policy: &str, memory: u64, record: Option<&Path>) -> Arc<Engine> {
    let config = Config { record: record.map(Into::into), ..Config::new(memory, policy.parse().unwrap()) };
    Engine::start(config, vec![DeviceCost::flat(1_000_000, 500_000_000, 4)]).unwrap()
}

fn identity(name: &str, size: u64) -> Identity {
    let version = Version { size, ..Version::default() };
    Identity { name: Name::path(&"memory".into(), Path::new(name)), version }
}

/// A fetch: its bytes, its label, and where its reader was.
type Asked = (Range<u64>, Label, u64);

/// Bytes that follow from their offset, in a file that remembers the labels.
struct Listening {
    identity: Identity,
    position: AtomicU64,
    asked: Mutex<Vec<Asked>>,
}

impl Listening {
    fn new(size: u64) -> Arc<Listening> {
        Arc::new(Listening {
            identity: identity("listening", size),
            position: AtomicU64::new(0),
            asked: Mutex::default(),
        })
    }
}

impl Object for Listening {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn fetch(&self, mut fetch: Fetch) {
        let range = fetch.offset..fetch.offset + fetch.len as u64;
        assert_eq!(fetch.urgent, !fetch.label.demand.is_empty());
        let asked = (range.clone(), fetch.label.clone(), self.position.load(Ordering::Relaxed));
        self.asked.lock().unwrap().push(asked);
        fetch.buffer.write(0, &range.map(byte).collect::<Vec<_>>());
        fetch.finish(Ok(()));
    }
}

/// How often each block of the file is in one of the ranges, which begin and end with blocks or
/// with the file.
fn blocks(size: u64, ranges: impl Iterator<Item = Range<u64>>) -> Vec<u32> {
    let mut times = vec![0; size.div_ceil(4096) as usize];
    for range in ranges.filter(|range| !range.is_empty()) {
        assert!(range.start % 4096 == 0 && (range.end % 4096 == 0 || range.end == size), "{range:?}");
        times[(range.start / 4096) as usize..range.end.div_ceil(4096) as usize].iter_mut().for_each(|n| *n += 1);
    }
    times
}

/// One reader, from the beginning to the end: each block was either waited for or hit, and told
/// once.
#[test]
fn demand_and_hits_add_up_to_what_was_read() {
    for policy in ["none", "one-block", "fixed", "linux", "even", "ets", "ets-competitive", "competitive"] {
        let size = 3 * MIB + 1234;
        let (file, engine) = (Listening::new(size), engine(policy, 32 * MIB, None));
        let open = engine.open(Arc::clone(&file) as Arc<dyn Object>, DeviceId(0));
        let mut buffer = vec![0; 10_000];
        let mut at = 0;
        while at < size {
            file.position.store(at, Ordering::Relaxed);
            at += open.read(1, at, &mut buffer).unwrap() as u64;
        }
        let asked = std::mem::take(&mut *file.asked.lock().unwrap());
        let fetched = blocks(size, asked.iter().map(|(range, ..)| range.clone()));
        assert!(fetched.iter().all(|&n| n == 1), "{policy}: {fetched:?}");
        for (range, label, _) in &asked {
            let demand = &label.demand;
            assert!(demand.is_empty() || demand.start == range.start && demand.end <= range.end, "{policy}: {label:?}");
        }
        let told = blocks(size, asked.iter().flat_map(|(_, label, _)| [label.demand.clone(), label.hits.clone()]));
        let end = told.iter().position(|&n| n == 0).unwrap_or(told.len());
        assert!(told[..end].iter().all(|&n| n == 1) && told[end..].iter().all(|&n| n == 0), "{policy}: {told:?}");
        // Reads after the last fetch have no fetch to be told with.
        let last = asked.last().unwrap().2;
        assert!(end as u64 >= last / 4096, "{policy}: told of {end} blocks, asked last at byte {last}");
        let prefetched =
            asked.iter().map(|(range, label, _)| range.end - range.start - (label.demand.end - label.demand.start));
        assert_eq!(prefetched.sum::<u64>() == 0, policy == "none");
    }
}

/// A file of the level below.
struct Below {
    file: Arc<OpenFile>,
    identity: Identity,
}

impl Object for Below {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn fetch(&self, fetch: Fetch) {
        part(Arc::clone(&self.file), fetch, 0);
    }
}

/// Reads the rest of a request behind its first `done` bytes, part by part.
fn part(file: Arc<OpenFile>, mut fetch: Fetch, done: usize) {
    if done == fetch.len {
        return fetch.finish(Ok(()));
    }
    let at = fetch.offset + done as u64;
    let label = if done == 0 { fetch.label.clone() } else { fetch.label.rest(at) };
    let left = fetch.len - done;
    let below = Arc::clone(&file);
    let then = move |lease: Result<Lease>| match lease {
        Err(error) => fetch.finish(Err(error)),
        Ok(lease) => {
            let bytes: Vec<u8> = lease.slices().flatten().copied().collect();
            drop(lease);
            assert!(!bytes.is_empty());
            fetch.buffer.write(done, &bytes);
            part(below, fetch, done + bytes.len());
        }
    };
    file.read_labelled_then(7, at, left, Some(label), then);
}

/// Readers of a level over a level get the bytes that they would get from the file itself. The
/// labels between the levels are in the lower one's flight, and both flights replay.
#[test]
fn two_levels_serve_the_bytes_of_one_and_replay() {
    let folder = tempfile::tempdir().unwrap();
    for (seed, (above, below)) in
        [("fixed", "ets"), ("linux", "linux"), ("competitive", "even"), ("ets-competitive", "competitive")]
            .into_iter()
            .enumerate()
    {
        let flights = ["above", "below"].map(|level| folder.path().join(format!("{level}-{seed}")));
        let size = 5 * MIB + 777;
        let (lower, upper) = (engine(below, 24 * MIB, Some(&flights[1])), engine(above, 20 * MIB, Some(&flights[0])));
        let file = Arc::new(lower.open(Listening::new(size) as Arc<dyn Object>, DeviceId(0)));
        let object = Arc::new(Below { file, identity: identity("below", size) });
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (upper, object) = (&upper, Arc::clone(&object));
                scope.spawn(move || {
                    let mut random = SmallRng::seed_from_u64(thread + 10 * seed as u64);
                    let open = upper.open(object, DeviceId(0));
                    let (mut next, mut buffer) = (0, vec![0; 100_000]);
                    for _ in 0..80 {
                        let offset = if random.random_bool(0.8) { next } else { random.random_range(0..size) };
                        let len = random.random_range(1..buffer.len());
                        let n = open.read(thread as u32, offset, &mut buffer[..len]).unwrap();
                        assert_eq!(n as u64, (size - offset).min(len as u64));
                        assert!(
                            (offset..).zip(&buffer[..n]).all(|(at, &b)| b == byte(at)),
                            "{above} over {below}: {offset}"
                        );
                        next = (offset + n as u64) % size;
                    }
                });
            }
        });
        drop((upper, object, lower));
        for flight in &flights {
            let replayed = flight::replay(flight).unwrap();
            assert_eq!(replayed.differs_at, None, "{above} over {below}: {replayed:?}");
        }
        let told = labelled(&flights[1]);
        assert!(told.iter().any(|&(demand, _)| demand == 0), "{above} over {below}: nothing was fetched ahead");
        assert!(told.iter().any(|&(_, hits)| hits > 0), "{above} over {below}: no hits were told");
        assert!(labelled(&flights[0]).is_empty());
    }
}

/// The numbers of blocks demanded and hit in each label of a flight. Each comes directly before its
/// read.
fn labelled(flight: &Path) -> Vec<(u32, u32)> {
    let text = std::fs::read_to_string(flight).unwrap();
    let events: Vec<EventKind> = text
        .lines()
        .skip(1)
        .filter_map(|line| match serde_json::from_str(line).unwrap() {
            Line::Event(event) => Some(event.kind),
            Line::Action(_) => None,
        })
        .collect();
    let mut labels = Vec::new();
    for pair in events.windows(2) {
        let EventKind::Labelled { read: labelled, demand, hits } = pair[0] else { continue };
        let EventKind::Read { read, offset, len, .. } = pair[1] else { panic!("{pair:?}") };
        assert_eq!(read, labelled);
        let within = offset / 4096..(offset + u64::from(len)).div_ceil(4096);
        assert!(
            demand.is_empty() || within.contains(&u64::from(demand.start)) && u64::from(demand.end()) <= within.end
        );
        labels.push((demand.len, hits.len));
    }
    labels
}

/// A request longer than one read may be is cut, and its label with it. A hit goes through the core
/// if it has a label that tells something.
#[test]
fn long_requests_are_cut_with_their_labels() {
    let folder = tempfile::tempdir().unwrap();
    let flight = folder.path().join("flight");
    let size = 16 * MIB;
    let lower = engine("none", 20 * MIB, Some(&flight));
    let file = Arc::new(lower.open(Listening::new(size) as Arc<dyn Object>, DeviceId(0)));
    let (send, receive) = std::sync::mpsc::channel();
    let label = Label { demand: 4096..6 * MIB, hits: 0..4096 };
    let done = Box::new(move |_, outcome| send.send(outcome).unwrap());
    let buffer = forebay_source::Segments::own(9 << 20);
    let id = forebay_source::FetchId::unique();
    part(Arc::clone(&file), Fetch { id, offset: 4096, buffer, len: 8 << 20, urgent: true, label, done }, 0);
    receive.recv().unwrap().unwrap();
    drop((file, lower));
    let told = labelled(&flight);
    assert!(told.len() > 1, "{told:?}");
    assert_eq!(told.iter().map(|&(demand, _)| demand).sum::<u32>(), (6 << 20 >> 12) - 1);
    assert_eq!(told.iter().map(|&(_, hits)| hits).sum::<u32>(), 1, "told once: {told:?}");
}
