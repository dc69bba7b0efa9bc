//! A life on a thread of its own, watched from outside: a panic, or a job without an end, is a
//! failure.

use std::cell::RefCell;
use std::fmt;
use std::ops::AddAssign;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook, take_hook};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Once};
use std::time::Duration;

use serde::Serialize;

use crate::bounds::{Bounds, Fault};
use crate::life::{Tally, lives};
use crate::scenario::Scenario;

/// A job of the agenda that takes longer has no end: it takes microseconds otherwise. A machine
/// that is busy may let a thread wait for long.
const ENDLESS: Duration = Duration::from_secs(60);

/// A life without a failure, in numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Lived {
    /// Jobs of the agenda.
    pub events: u64,
    /// Reads that were answered.
    pub reads: u64,
    /// Bytes that were read, each of which was compared.
    pub bytes: u64,
    /// Reads that failed, each for a reason.
    pub errors: u64,
    /// Bytes that were fetched.
    pub fetched: u64,
    /// Of these: bytes that the disk tier had.
    pub from_disk: u64,
}

impl AddAssign for Lived {
    fn add_assign(&mut self, other: Lived) {
        let Lived { events, reads, bytes, errors, fetched, from_disk } = other;
        self.events += events;
        self.reads += reads;
        self.bytes += bytes;
        self.errors += errors;
        self.fetched += fetched;
        self.from_disk += from_disk;
    }
}

/// A life that went wrong.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Failure {
    /// The seed.
    pub seed: u64,
    /// The bounds of its scenario.
    pub bounds: Bounds,
    /// The job of the agenda in which it went wrong, counted from one.
    pub event: u64,
    /// The policy.
    pub policy: String,
    /// The fault.
    pub what: String,
    /// Whether the job has no end. Such a failure is not made smaller: each try would leave a busy
    /// thread behind.
    pub endless: bool,
}

impl Failure {
    /// The command that repeats it.
    pub fn command(&self) -> String {
        let usual = Bounds::default();
        let Bounds { events, readers, files, without } = &self.bounds;
        let mut command = format!("forebay soak --seed {} --events {events}", self.seed);
        if *readers != usual.readers {
            command += &format!(" --readers {readers}");
        }
        if *files != usual.files {
            command += &format!(" --files {files}");
        }
        if !without.is_empty() {
            let names: Vec<&str> = without.iter().copied().map(Fault::name).collect();
            command += &format!(" --without {}", names.join(","));
        }
        command
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Failure { seed, event, policy, what, .. } = self;
        write!(f, "seed {seed}, event {event}, policy {policy}: {what}; repeat it by: {}", self.command())
    }
}

impl std::error::Error for Failure {}

/// Lives the life of a seed.
pub fn live(seed: u64, bounds: &Bounds) -> Result<Lived, Failure> {
    catch_words();
    let scenario = Scenario::new(seed, bounds);
    let policy = scenario.policy.clone();
    let tally = Arc::new(Tally::default());
    let (ended, end) = channel();
    let watched = Arc::clone(&tally);
    let failure = |what: String, endless: bool| {
        let event = tally.events.load(Ordering::Relaxed) + 1;
        Err(Failure { seed, bounds: bounds.clone(), event, policy: policy.clone(), what, endless })
    };
    let thread = std::thread::Builder::new().name(NAME.into()).spawn(move || watch(scenario, &watched, &ended));
    let thread = match thread {
        Ok(thread) => thread,
        Err(error) => return failure(format!("no thread: {error}"), false),
    };
    let mut before = 0;
    let outcome = loop {
        match end.recv_timeout(ENDLESS) {
            Ok(outcome) => break outcome,
            Err(RecvTimeoutError::Disconnected) => break Err("the thread of the life is gone".into()),
            Err(RecvTimeoutError::Timeout) => {
                let events = tally.events.load(Ordering::Relaxed);
                if events == before {
                    return failure("the event has no end".into(), true);
                }
                before = events;
            }
        }
    };
    if let Err(what) = outcome {
        return failure(what, false);
    }
    // A life that ended well leaves nothing that could panic.
    let _ = thread.join();
    let Tally { events, reads, bytes, errors, fetches, near } = &*tally;
    let [events, reads, bytes, errors, fetched, from_disk] =
        [events, reads, bytes, errors, fetches, near].map(|count| count.load(Ordering::Relaxed));
    Ok(Lived { events, reads, bytes, errors, fetched, from_disk })
}

fn watch(scenario: Scenario, tally: &Arc<Tally>, ended: &Sender<Result<(), String>>) {
    let seed = scenario.seed;
    SAID.set(Some(Said { seed, words: None }));
    let outcome = catch_unwind(AssertUnwindSafe(|| lives(scenario, tally)));
    // A reader of files catches what its receivers panic of.
    let said = SAID.take().and_then(|said| said.words);
    let failed = outcome.is_err() || said.is_some();
    let outcome = if failed { Err(said.unwrap_or_else(|| "a panic without words".into())) } else { Ok(()) };
    // The watcher may have lost patience.
    let _ = ended.send(outcome);
    if failed {
        // The engine's queue of this thread may hold what would panic again if it were dropped.
        loop {
            std::thread::park();
        }
    }
}

/// The name of the threads of lives.
const NAME: &str = "forebay-life";

/// The words of a panic in a life.
struct Said {
    seed: u64,
    words: Option<String>,
}

thread_local! {
    /// `Some` while this thread lives a life.
    static SAID: RefCell<Option<Said>> = const { RefCell::new(None) };
}

/// The text of a panic, if it has one.
fn words_of<'a>(panic: &'a PanicHookInfo<'_>) -> Option<&'a str> {
    let payload = panic.payload();
    payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str))
}

/// From now on the panics of lives are kept instead of printed.
fn catch_words() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            let mut said = SAID.take();
            match &mut said {
                Some(Said { words: words @ None, .. }) => {
                    let place =
                        panic.location().map_or_else(String::new, |at| format!(" ({}:{})", at.file(), at.line()));
                    let payload = words_of(panic).unwrap_or("a panic without words").replace('\n', " ");
                    *words = Some(payload + &place);
                }
                other => {
                    if let Some(Said { seed, words: Some(words) }) = other {
                        // The process ends now, so the failure is told here.
                        eprintln!("seed {seed}: {words}, and then:");
                    }
                    before(panic);
                }
            }
            SAID.set(said);
        }));
    });
}
