//! One target in a process of its own.
//!
//! Before each run the input is written to a file, the journal. If anything ends the process, its
//! parent finds the input there.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

use crate::mutator::Mutator;
use crate::{Outcome, Target};

/// The processor time that one input may take. Time on the wall does not count, since a machine may
/// be busy.
const SLOW: Duration = Duration::from_secs(5);

/// The time on the wall that one input may take, so that a decoder that waits for ever is found.
const STUCK: Duration = Duration::from_secs(60);

/// The address space that a worker may take: what libraries in C allocate is bounded by it alone.
const SPACE: u64 = 4 << 30;

/// How many inputs are kept for their outcomes.
const POOL: usize = 1000;

/// Inputs that were run, counted by the watchdog too.
static RUN: AtomicU64 = AtomicU64::new(0);

/// The last input that was begun.
#[derive(Debug)]
pub struct Journal {
    file: File,
}

impl Journal {
    /// An empty journal.
    ///
    /// # Errors
    /// If the file cannot be made.
    pub fn create(path: &Path) -> io::Result<Journal> {
        Ok(Journal { file: File::create(path)? })
    }

    fn write(&self, input: &[u8]) -> io::Result<()> {
        let mut record = (input.len() as u64).to_le_bytes().to_vec();
        record.extend_from_slice(input);
        self.file.write_all_at(&record, 0)
    }

    /// The input in a journal.
    ///
    /// # Errors
    /// If it cannot be read, or is none.
    pub fn read(path: &Path) -> io::Result<Vec<u8>> {
        let bytes = std::fs::read(path)?;
        let record = bytes.split_first_chunk().and_then(|(len, rest)| rest.get(..u64::from_le_bytes(*len) as usize));
        record.map(<[u8]>::to_vec).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

/// The work of one worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Work {
    /// Inputs that were run.
    pub inputs: u64,
    /// How long that took.
    pub time: Duration,
    /// Outcomes that differ.
    pub outcomes: usize,
}

/// Runs all examples, and then inputs made of them for `time`. It does not return from a finding.
///
/// # Errors
/// If the journal cannot be written.
pub fn work(target: &Target, examples: Vec<Vec<u8>>, seed: u64, time: Duration, journal: &Journal) -> io::Result<Work> {
    bound()?;
    watch();
    let began = Instant::now();
    let (mut seen, mut pool) = (HashSet::new(), examples);
    let mut mutator = Mutator::new(seed);
    for example in &pool {
        journal.write(example)?;
        seen.insert((target.run)(example));
        RUN.fetch_add(1, Ordering::Relaxed);
    }
    let own = pool.len();
    while began.elapsed() < time {
        let input = mutator.next(&pool);
        journal.write(&input)?;
        let new = seen.insert((target.run)(&input));
        let number = RUN.fetch_add(1, Ordering::Relaxed);
        if new && pool.len() < POOL {
            pool.push(input);
        } else if new {
            let place = own + number as usize % (POOL - own).max(1);
            pool[place.min(POOL - 1)] = input;
        }
    }
    Ok(Work { inputs: RUN.load(Ordering::Relaxed), time: began.elapsed(), outcomes: seen.len() })
}

/// Runs one input, as a worker does.
///
/// # Errors
/// If the limits cannot be set.
pub fn once(target: &Target, input: &[u8]) -> io::Result<Outcome> {
    bound()?;
    watch();
    Ok((target.run)(input))
}

/// Bounds the address space, and ends the process when a thread beside the first one panics: nobody
/// else would hear of it.
fn bound() -> io::Result<()> {
    setrlimit(Resource::As, Rlimit { current: Some(SPACE), maximum: Some(SPACE) })?;
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    let first = std::thread::current().id();
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        // A decoder may catch panics of the library that it calls.
        let own = std::thread::current().id() == first;
        if !own {
            usual(panic);
            std::process::abort();
        }
        eprintln!("panic: {panic}");
    }));
    Ok(())
}

/// Ends the process if one input takes too long.
fn watch() {
    let watchdog = move || {
        let (mut run, mut since, mut spent) = (u64::MAX, Instant::now(), processor_time());
        loop {
            std::thread::sleep(Duration::from_millis(500));
            let now = RUN.load(Ordering::Relaxed);
            if now != run {
                (run, since, spent) = (now, Instant::now(), processor_time());
            } else if processor_time().saturating_sub(spent) > SLOW {
                eprintln!("one input took more than {SLOW:?} of processor time");
                std::process::abort();
            } else if since.elapsed() > STUCK {
                eprintln!("one input took more than {STUCK:?}");
                std::process::abort();
            }
        }
    };
    // Without it the parent's own limit ends a worker that hangs.
    let _ = std::thread::Builder::new().name("watchdog".into()).spawn(watchdog);
}

/// The processor time of this process.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}
