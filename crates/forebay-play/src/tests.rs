//! Order, think times, computation, limits and checks, by a clock that jumps and files that are
//! recorded.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::ThreadId;

use forebay_core::Instant;
use forebay_trace::generate::{Given, named};
use forebay_trace::{Memory, Operation, Request, Shape, Source};
use parking_lot::Mutex;

use super::clock::{Clock, Over};
use super::*;

/// A step of a task, as its thread sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Did {
    Open(u64),
    Read { handler: u32, file: u64, offset: u64, len: usize },
    Close(u64),
    Think(u64),
    Compute(u64),
}

/// A clock that jumps as far as a task thinks or computes, and files whose reads take a
/// millisecond.
#[derive(Default)]
struct Recorded {
    now: AtomicU64,
    log: Mutex<Vec<(ThreadId, Did)>>,
    /// Files have this many bytes; from `wrong_from` on, their content is wrong.
    ends: Option<u64>,
    wrong_from: Option<u64>,
}

const MILLI: u64 = 1_000_000;

impl Recorded {
    fn log(&self, did: Did) {
        self.log.lock().push((std::thread::current().id(), did));
    }

    fn pass(&self, span: u64) {
        self.now.fetch_add(span, Ordering::SeqCst);
    }

    fn run(&self, play: &Play, workload: &Workload) -> Result<Outcome, Error> {
        handler::run(play, workload, &self, self, &|_, _| false)
    }

    /// The steps of each thread, in the order of their first steps.
    fn lives(&self) -> Vec<Vec<Did>> {
        let (mut numbers, mut lives) = (HashMap::new(), Vec::<Vec<Did>>::new());
        for &(thread, did) in self.log.lock().iter() {
            let number = *numbers.entry(thread).or_insert(lives.len());
            if number == lives.len() {
                lives.push(Vec::new());
            }
            lives[number].push(did);
        }
        lives
    }
}

impl Clock for Recorded {
    fn now(&self) -> Duration {
        Duration::from_nanos(self.now.load(Ordering::SeqCst))
    }

    fn think(&self, span: Duration, _over: &Over) {
        self.log(Did::Think(span.as_nanos() as u64));
        self.pass(span.as_nanos() as u64);
    }

    fn compute(&self, span: Duration) {
        self.log(Did::Compute(span.as_nanos() as u64));
        self.pass(span.as_nanos() as u64);
    }
}

struct Open<'a>(&'a Recorded, u64);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.log(Did::Close(self.1));
    }
}

impl<'a> Files for &'a Recorded {
    type Open = Open<'a>;

    fn name(&self, file: u64) -> String {
        format!("file {file}")
    }

    fn open(&self, file: u64) -> io::Result<Open<'a>> {
        self.log(Did::Open(file));
        Ok(Open(self, file))
    }

    fn read(&self, open: &Open<'a>, handler: u32, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.log(Did::Read { handler, file: open.1, offset, len: buffer.len() });
        self.pass(MILLI);
        let left = self.ends.map_or(u64::MAX, |ends| ends.saturating_sub(offset));
        // Never more than this many bytes at once, as a pipe or a network might.
        let len = buffer.len().min(3 << 20).min(usize::try_from(left).unwrap_or(usize::MAX));
        Content::Pattern.fill(open.1, offset, &mut buffer[..len]);
        if let Some(from) = self.wrong_from
            && offset + len as u64 > from
        {
            buffer[from.saturating_sub(offset) as usize] ^= 1;
        }
        Ok(len)
    }
}

fn load(requests: Vec<Request>) -> Workload {
    Workload::load(&mut Memory::new(requests, Shape::Ranges { block_bytes: 4096 })).unwrap()
}

fn request(handler: u32, at: u64, file: u64, offset: u64) -> Request {
    Request { at: Instant(at), handler, file, offset, len: 100, ..Request::default() }
}

/// Two tasks, interleaved in the trace; the first one reads two files and thinks.
fn two_tasks() -> Workload {
    load(vec![
        request(7, 0, 1, 0),
        request(3, 0, 9, 500),
        request(7, 5 * MILLI, 2, 0),
        request(7, 5 * MILLI, 1, 100),
        request(3, 6 * MILLI, 9, 0),
    ])
}

fn read(handler: u32, file: u64, offset: u64) -> Did {
    Did::Read { handler, file, offset, len: 100 }
}

#[test]
fn a_task_has_a_thread_opens_files_when_it_first_reads_them_and_closes_them_at_its_end() {
    for handlers in [1, 2, 30] {
        let recorded = Recorded::default();
        let outcome = recorded.run(&Play::new(handlers), &two_tasks()).unwrap();
        let mut lives = recorded.lives();
        lives.sort_by_key(|life| life[0] != Did::Open(1));
        let first = [
            Did::Open(1),
            read(7, 1, 0),
            Did::Think(5 * MILLI),
            Did::Open(2),
            read(7, 2, 0),
            read(7, 1, 100),
            Did::Close(1),
            Did::Close(2),
        ];
        let second = [Did::Open(9), read(3, 9, 500), Did::Think(6 * MILLI), read(3, 9, 0), Did::Close(9)];
        assert_eq!(lives, [&first[..], &second[..]], "{handlers} handlers");
        assert_eq!((outcome.handlers, outcome.requests, outcome.bytes), (handlers.min(2), 5, 500));
        assert_eq!(outcome.tasks, 2);
    }
}

/// With one handler all times are known: reads take a millisecond each.
#[test]
fn times_add_up() {
    let recorded = Recorded::default();
    let play = Play { cpu: Duration::from_millis(2), ..Play::new(1) };
    let outcome = recorded.run(&play, &two_tasks()).unwrap();
    // 5 reads, 5 computations, 11 ms of thought.
    assert_eq!(outcome.seconds, 0.026);
    assert_eq!((outcome.response_ms, outcome.task_ms), (1.0, 13.0));
    assert!((outcome.throughput_mb_s - 500.0 / 1e6 / 0.026).abs() < 1e-12);
    assert_eq!((outcome.fairness, outcome.least_share, outcome.most_share), (1.0, 1.0, 1.0));
    let all: Vec<Did> = recorded.lives().concat();
    assert_eq!(all.iter().filter(|did| **did == Did::Compute(2 * MILLI)).count(), 5);
    // A think time that is given replaces the trace's, and stands between tasks, too.
    let recorded = Recorded::default();
    let play = Play { think: Some(Duration::from_millis(1)), ..Play::new(1) };
    assert_eq!(recorded.run(&play, &two_tasks()).unwrap().seconds, 0.009);
}

#[test]
fn without_handlers_every_request_is_a_task_and_files_stay_open() {
    let workload = load((0..6).map(|i| request(0, i * MILLI, i % 2, i * 100)).collect());
    let recorded = Recorded::default();
    let outcome = recorded.run(&Play::new(1), &workload).unwrap();
    assert_eq!((outcome.tasks, outcome.requests, outcome.seconds), (6, 6, 0.006), "nobody thinks between tasks");
    let lives = recorded.lives();
    assert_eq!(lives[0].iter().filter(|did| matches!(did, Did::Open(_))).count(), 2);
    let reads = lives[0].iter().filter(|did| matches!(did, Did::Read { .. })).count();
    assert_eq!(reads, 6, "one thread");
    let last = |did: &Did| matches!(did, Did::Close(_));
    assert!(lives.concat().iter().rev().take(2).all(last) || lives[1..].concat().iter().all(last));
}

#[test]
fn what_is_before_the_warm_up_and_after_the_limit_does_not_count() {
    let workload = load((0..10).map(|i| request(i as u32 / 5, 0, 1, i * 100)).collect());
    let play = Play { warm_up: Some(Span::Requests(3)), limit: Some(Span::Requests(7)), ..Play::new(1) };
    let recorded = Recorded::default();
    let outcome = recorded.run(&play, &workload).unwrap();
    assert_eq!((outcome.requests, outcome.bytes, outcome.seconds), (4, 400, 0.004));
    let reads = recorded.lives().concat().iter().filter(|did| matches!(did, Did::Read { .. })).count();
    assert_eq!(reads, 7);
    let late = Play { warm_up: Some(Span::Requests(11)), ..Play::new(1) };
    assert!(matches!(Recorded::default().run(&late, &workload), Err(Error::AllWarmUp)));
    // A limit of time, of a run that would take an hour of real time.
    let workload = load(vec![request(1, 0, 1, 0), request(1, 3_600_000 * MILLI, 1, 0), request(2, 0, 1, 0)]);
    let play = Play { limit: Some(Span::Seconds(0.05)), ..Play::new(2) };
    let outcome = play.run(&workload, &&Recorded::default(), &|_, _| false).unwrap();
    assert_eq!(outcome.requests, 2);
    assert!(outcome.seconds >= 0.05);
}

#[test]
fn long_requests_come_in_pieces_and_writes_are_skipped() {
    let long = Request { len: 9 << 20, handler: 1, ..Request::default() };
    let write = Request { operation: Operation::Write, ..long };
    let workload = load(vec![write, long, Request { handler: 2, len: 1, ..long }]);
    let recorded = Recorded::default();
    let play = Play { verify: Some(Content::Pattern), private_bytes: 5_000_000, ..Play::new(1) };
    let outcome = recorded.run(&play, &workload).unwrap();
    assert_eq!((outcome.writes, outcome.requests, outcome.bytes), (1, 2, (9 << 20) + 1));
    let all = recorded.lives().concat();
    assert!(all.iter().all(|did| !matches!(did, Did::Read { len, .. } if *len > 4 << 20)));
}

#[test]
fn what_is_not_as_it_must_be_ends_the_run() {
    let workload = two_tasks();
    let play = Play { verify: Some(Content::Pattern), ..Play::new(2) };
    let wrong = Recorded { wrong_from: Some(550), ..Recorded::default() };
    let error = wrong.run(&play, &workload).unwrap_err();
    assert_eq!(error.to_string(), "file 9: the byte at 550 is not what was laid there");
    let short = Recorded { ends: Some(530), ..Recorded::default() };
    let error = short.run(&play, &workload).unwrap_err();
    assert!(matches!(error, Error::Short { offset: 500, len: 100, got: 30, .. }), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let error = play.run(&workload, &Folder::new(folder.path()), &|_, _| false).unwrap_err();
    assert!(matches!(&error, Error::File { source, .. } if source.kind() == io::ErrorKind::NotFound), "{error}");
    let setups = [
        Play::new(0),
        Play { warm_up: Some(Span::Seconds(0.0)), ..Play::new(1) },
        Play { limit: Some(Span::Requests(0)), ..Play::new(1) },
    ];
    for play in setups {
        assert!(matches!(Recorded::default().run(&play, &workload), Err(Error::Setup(_))));
    }
    let greedy = Play { private_bytes: u64::MAX, ..Play::new(1) };
    assert!(matches!(Recorded::default().run(&greedy, &workload), Err(Error::Memory(_))));
}

/// Files are laid with their sizes, kept if they are right and made anew if not. The bytes that are
/// read of them are right.
#[test]
fn what_is_laid_is_what_is_read() {
    let small = Given::list("tasks=20,files=7,bytes=300000").unwrap();
    for content in [Content::Pattern, Content::Zeros] {
        let mut trace = named("two-rand-0", &small, 3).unwrap();
        let workload = Workload::load(&mut trace).unwrap();
        assert_eq!(trace.files().len(), 7);
        let folder = tempfile::tempdir().unwrap();
        let lay = || lay(&workload, folder.path(), content, &|_, _| false).unwrap();
        assert_eq!(lay(), Laid { files: 7, kept: 0, bytes: 2_100_000 });
        let one = folder.path().join("000003");
        std::fs::write(&one, vec![1; 300_000]).unwrap();
        assert_eq!(lay(), Laid { files: 7, kept: 6, bytes: 2_100_000 });
        let play = Play { verify: Some(content), ..Play::new(4) };
        let outcome = play.run(&workload, &Folder::new(folder.path()), &|_, _| false).unwrap();
        assert_eq!((outcome.requests, outcome.tasks), (workload.requests(), 20));
        std::fs::write(&one, vec![1; 300_000]).unwrap();
        let error = play.run(&workload, &Folder::new(folder.path()), &|_, _| false).unwrap_err();
        assert!(matches!(error, Error::Differs { .. }), "{error}");
    }
}

#[test]
fn whoever_looks_on_can_stop_it() {
    let workload = load(vec![request(1, 0, 1, 0), request(1, 3_600_000 * MILLI, 1, 0), request(2, 0, 1, 0)]);
    let stopped = Play::new(1).run(&workload, &&Recorded::default(), &|done, all| (done, all) == (1, 3));
    assert!(matches!(stopped, Err(Error::Stopped)));
}
