//! `forebay soak`: the engine in a simulated world, seed by seed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, UNIX_EPOCH};

use forebay_sim::Watch;
use forebay_soak::{Failure as Fault, Lived, live, shrink};
use log::LevelFilter;
use parking_lot::Mutex;
use serde::Serialize;

use crate::failure::Failure;
use crate::options::Soak;
use crate::output;
use crate::progress::Progress;

/// The outcome of all lives.
#[derive(Debug, Serialize)]
struct Record {
    first_seed: u64,
    seeds: u64,
    #[serde(flatten)]
    lived: Lived,
    seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<Fault>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repeat: Option<String>,
}

/// Lives through the seeds, on all processors; a failure if one of them fails.
pub(crate) fn run(options: &Soak) -> Result<(), Failure> {
    // The simulated world is made of failures, and they would fill the screen.
    if log::max_level() == LevelFilter::Warn {
        log::set_max_level(LevelFilter::Error);
    }
    let clock = || UNIX_EPOCH.elapsed().map_or(1, |since| since.as_nanos() as u64 >> 8);
    let first = options.seed.or(options.from).unwrap_or_else(clock);
    let count = if options.seed.is_some() { 1 } else { options.seeds };
    let began = Instant::now();
    let progress = Progress::new("soaking", 1);
    let found = soak(options, first, count, &progress);
    let failure = found.failure.map(|failure| shrink(failure, || {}));
    progress.clear();
    let repeat = failure.as_ref().map(Fault::command);
    let seconds = began.elapsed().as_secs_f64();
    let failed = failure.as_ref().map(Fault::to_string);
    let record = Record { first_seed: first, seeds: found.seeds, lived: found.lived, seconds, failure, repeat };
    if options.json {
        output::json(&record)?
    } else {
        output::print(&text(&record))?
    }
    match failed {
        Some(line) => Err(Failure::run(line)),
        None => progress.outcome(found.seeds as usize, count as usize),
    }
}

/// The lives so far.
#[derive(Default)]
struct Found {
    seeds: u64,
    lived: Lived,
    failure: Option<Fault>,
}

/// Lives through `count` seeds from `first` on, until one fails.
fn soak(options: &Soak, first: u64, count: u64, progress: &Progress) -> Found {
    let (bounds, next, found) = (options.bounds(), AtomicU64::new(0), Mutex::new(Found::default()));
    let run = progress.run();
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(count.max(1) as usize);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count || run.stopped() || found.lock().failure.is_some() {
                        return;
                    }
                    let outcome = live(first.wrapping_add(number), &bounds);
                    let mut found = found.lock();
                    found.seeds += 1;
                    match outcome {
                        Ok(lived) => found.lived += lived,
                        Err(failure) => _ = found.failure.get_or_insert(failure),
                    }
                    run.progress(found.seeds, count);
                }
            });
        }
    });
    drop(run);
    found.into_inner()
}

fn text(record: &Record) -> String {
    let Record { first_seed, seeds, lived, seconds, .. } = record;
    let Lived { events, reads, bytes, errors, from_disk, .. } = lived;
    format!(
        "{seeds} seeds from {first_seed} on, {events} events in {seconds:.1} s: {reads} reads, {} MiB compared, {} MiB from disk tiers, {errors} errors for a reason\n",
        bytes >> 20,
        from_disk >> 20
    )
}
