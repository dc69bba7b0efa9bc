//! `auto` before an object store: 20 ms to the first byte, 90 MB/s a connection, 1.2 GB/s in all.

use forebay_device::{Description, ModelDescription, device};
use forebay_sim::timed::{Outcome, Setup};
use forebay_trace::{Request, Span};

use crate::load::{outcome, workload};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// A store whose first bytes all take as long.
fn store() -> Description {
    let mut store = device("object-store").expect("it is shipped");
    let ModelDescription::ObjectStore(model) = &mut store.model else { panic!("it is one") };
    model.first_byte.p99_ms = model.first_byte.median_ms;
    store
}

/// A reader by its number, which is that of its program context as well.
#[derive(Clone, Copy)]
struct Reader {
    handler: u32,
    file: u64,
    request: u64,
}

impl Reader {
    fn at(self, offset: u64) -> Request {
        let Reader { handler, file, request } = self;
        Request { handler, context: 1, file, offset, len: request as u32, ..Request::default() }
    }

    /// `bytes` of the file, from its beginning on, with `gap` left out behind each request.
    fn steps(self, bytes: u64, gap: u64) -> Vec<Request> {
        (0..bytes / (self.request + gap)).map(|nth| self.at(nth * (self.request + gap))).collect()
    }

    /// So many requests anywhere in the first `bytes` of the file.
    fn random(self, bytes: u64, count: u64) -> Vec<Request> {
        let mut state = u64::from(self.handler) + 1;
        let mut place = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % (bytes / self.request) * self.request
        };
        (0..count).map(|_| self.at(place())).collect()
    }
}

fn reader(handler: u32, request: u64) -> Reader {
    Reader { handler, file: u64::from(handler), request }
}

/// The outcome of readers side by side, each of which has a list of requests.
fn run(policy: &str, memory: u64, readers: &[Vec<Request>], warm_up: u64) -> Outcome {
    let most = readers.iter().map(Vec::len).max().unwrap_or(0);
    let requests = (0..most).flat_map(|nth| readers.iter().filter_map(move |reader| reader.get(nth).cloned()));
    let setup = Setup::new(policy.parse().expect("a policy"), memory, store(), readers.len() as u32);
    outcome(
        &Setup { warm_up: (warm_up > 0).then_some(Span::Requests(warm_up)), ..setup },
        &workload(requests.collect()),
    )
}

/// Streams of a file each, 1 GiB in all or 32 MiB each.
fn streams(memory: u64, many: u32) -> f64 {
    let each = (1024 / u64::from(many)).max(32) * MIB;
    let readers: Vec<_> = (0..many).map(|handler| reader(handler, 128 * KIB).steps(each, 0)).collect();
    run("auto", memory, &readers, 0).throughput_mb_s
}

/// Pieces are no larger than what may be ahead over the channels and one: with a quarter of the
/// memory all of them are as busy.
#[test]
fn one_stream_keeps_all_channels_busy_in_little_memory() {
    let (little, much) = (streams(128 * MIB, 1), streams(512 * MIB, 1));
    assert!(little >= 0.9 * much, "{little} MB/s in 128 MiB, {much} in 512");
    let competitive = run("competitive", 128 * MIB, &[reader(0, 128 * KIB).steps(1024 * MIB, 0)], 0).throughput_mb_s;
    assert!(little >= competitive, "{little}, and competitive has {competitive}");
}

#[test]
fn many_streams_have_together_what_a_few_have() {
    for memory in [128 * MIB, 512 * MIB] {
        let (few, many) = (streams(memory, 16), streams(memory, 64));
        assert!(many >= 0.9 * few, "64 streams {many} MB/s, 16 streams {few}, in {} MiB", memory / MIB);
    }
}

/// How fast `then` is read by a program that has read at random before, over how fast it is by one
/// that has not.
fn after_random_reads(then: &[Request]) -> f64 {
    let random = Reader { file: 9, ..reader(1, 256 * KIB) }.random(2048 * MIB, 300);
    let count = random.len() as u64;
    let before = run("auto", 128 * MIB, &[[random, then.to_vec()].concat()], count);
    before.throughput_mb_s / run("auto", 128 * MIB, &[then.to_vec()], 0).throughput_mb_s
}

/// A stream's present reads outweigh what its program did: 1 MiB is read and 256 KiB are skipped,
/// all is read in order, small steps are taken.
#[test]
fn who_has_read_at_random_may_take_steps() {
    let one = |request| reader(1, request);
    let (skips, scan) = (one(MIB).steps(1024 * MIB, 256 * KIB), one(128 * KIB).steps(1024 * MIB, 0));
    let small = one(16 * KIB).steps(512 * MIB, 32 * KIB);
    for (what, requests) in [("skips", skips), ("a scan", scan), ("small steps", small)] {
        let ratio = after_random_reads(&requests);
        assert!(ratio >= 0.9, "{what} after random reads: {ratio:.2} of what it is without");
    }
}

/// How many times as much is fetched as is read by sixteen readers of one file, and how many times
/// as fast as without looking ahead.
fn at_random(bytes: u64, request: u64, count: u64) -> (f64, f64) {
    let readers: Vec<_> =
        (0..16).map(|handler| Reader { file: 0, ..reader(handler, request) }.random(bytes, count)).collect();
    let [auto, none] = ["auto", "none"].map(|policy| run(policy, 512 * MIB, &readers, 0));
    (auto.device_bytes as f64 / auto.bytes as f64, none.seconds / auto.seconds)
}

/// Data costing no more than a sixteenth of the time to the first byte is fetched with a miss, 64
/// KiB, and no more, whether or not memory has room for the file.
#[test]
fn random_reads_fetch_little_beside_what_is_read() {
    for (bytes, request, count, most) in [
        (256 * MIB, 4 * KIB, 60, 17.0),
        (256 * MIB, 4 * KIB, 600, 17.0),
        (4096 * MIB, 4 * KIB, 600, 1.2),
        (384 * MIB, 256 * KIB, 40, 1.2),
        (4096 * MIB, 256 * KIB, 400, 1.2),
    ] {
        let (fetched, speed) = at_random(bytes, request, count);
        let what = format!("{count} × 16 reads of {request} bytes in {} MiB", bytes / MIB);
        assert!(fetched <= most, "{what}: {fetched:.2} times as much is fetched");
        assert!(speed >= 0.97, "{what}: {speed:.3} times as fast as without");
    }
}
