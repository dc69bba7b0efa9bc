//! The progress of a measurement, on standard error if that is a terminal; and its end by Ctrl-C,
//! which keeps the finished results.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use forebay_sim::Watch;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use signal_hook::consts::SIGINT;
use signal_hook::flag;

use crate::failure::Failure;

/// The exit code of a process that SIGINT ended, by the rule of shells.
const INTERRUPTED: i32 = 128 + SIGINT;

/// A run that is shorter than this needs no bar.
const PATIENCE: Duration = Duration::from_secs(2);

/// The resolution of the bar of several runs: parts a run.
const PARTS: u64 = 10_000;

/// A bar of `steps` steps under a heading; it draws nothing if standard error is no terminal.
pub(crate) fn bar(heading: &str, steps: u64) -> ProgressBar {
    drawn(hidden(heading, steps, "{prefix} {bar:30} {percent:>3} %  {msg}"))
}

fn hidden(heading: &str, steps: u64, template: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::hidden()).with_prefix(heading.to_owned());
    // The templates are constants. If one is wrong, indicatif's own style serves as well.
    bar.with_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn drawn(bar: ProgressBar) -> ProgressBar {
    if std::io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::stderr());
    }
    bar
}

/// Several runs, which threads may do side by side. A bar with their common rate and the time left
/// appears if they take long.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    began: Instant,
    units: AtomicU64,
    seen: AtomicBool,
    stop: Arc<AtomicBool>,
}

/// One of the runs.
#[derive(Debug)]
pub(crate) struct Run<'a> {
    of: &'a Progress,
    units: AtomicU64,
    parts: AtomicU64,
}

impl Progress {
    /// Runs under a heading. From now on the first Ctrl-C stops the runs, and the second one ends
    /// the program at once.
    pub(crate) fn new(heading: &str, runs: usize) -> Progress {
        Progress {
            bar: hidden(heading, runs as u64 * PARTS, "{prefix} {bar:30} {percent:>3} %  {msg}{eta} left"),
            began: Instant::now(),
            units: AtomicU64::new(0),
            seen: AtomicBool::new(false),
            stop: interruption(),
        }
    }

    /// Runs that draw nothing and end once `stop` is true: for a program that has its own Ctrl-C.
    pub(crate) fn silent(stop: Arc<AtomicBool>) -> Progress {
        let (units, seen) = (AtomicU64::new(0), AtomicBool::new(true));
        Progress { bar: ProgressBar::hidden(), began: Instant::now(), units, seen, stop }
    }

    /// A run begins.
    pub(crate) fn run(&self) -> Run<'_> {
        Run { of: self, units: AtomicU64::new(0), parts: AtomicU64::new(0) }
    }

    /// Whether the user has asked the runs to stop.
    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Takes the bar away, before results are printed.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }

    /// A failure if the runs were interrupted; called after the finished results are printed.
    pub(crate) fn outcome(&self, finished: usize, of: usize) -> Result<(), Failure> {
        if !self.stopped() {
            return Ok(());
        }
        Err(Failure::run(format!("interrupted: {finished} of {of} runs were finished and are shown")))
    }

    /// Adds `units` done, which are `parts` of the bar.
    fn add(&self, units: u64, parts: u64) {
        let units = self.units.fetch_add(units, Ordering::Relaxed) + units;
        let took = self.began.elapsed();
        if took >= PATIENCE && !self.seen.swap(true, Ordering::Relaxed) {
            drawn(self.bar.clone());
        }
        if units > 0 {
            self.bar.set_message(format!("{}, ", rate(units, took)));
        }
        self.bar.inc(parts);
    }
}

impl Watch for Run<'_> {
    fn progress(&self, done: u64, all: u64) {
        let parts = (u128::from(done.min(all)) * u128::from(PARTS) / u128::from(all.max(1))) as u64;
        // The threads of one run may overtake each other.
        let units = done.saturating_sub(self.units.fetch_max(done, Ordering::Relaxed));
        let parts = parts.saturating_sub(self.parts.fetch_max(parts, Ordering::Relaxed));
        self.of.add(units, parts);
    }

    fn stopped(&self) -> bool {
        self.of.stopped()
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        let rest = PARTS.saturating_sub(self.parts.load(Ordering::Relaxed));
        self.of.add(0, rest);
    }
}

/// Requests a second, to read at a glance.
fn rate(units: u64, took: Duration) -> String {
    let rate = units as f64 / took.as_secs_f64().max(1e-9);
    match rate {
        rate if rate >= 1e6 => format!("{:.1} M/s", rate / 1e6),
        rate if rate >= 1e3 => format!("{:.1} k/s", rate / 1e3),
        rate => format!("{rate:.1}/s"),
    }
}

/// Set by the first SIGINT, once signals are taken.
static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Whether the user has asked for an end, as far as signals are taken.
pub(crate) fn is_interrupted() -> bool {
    FLAG.get().is_some_and(|flag| flag.load(Ordering::Relaxed))
}

/// Becomes true with the first SIGINT; the second one ends the process.
fn interruption() -> Arc<AtomicBool> {
    let flag = FLAG.get_or_init(|| {
        let flag = Arc::new(AtomicBool::new(false));
        // In this order: the first signal finds the flag false, so it ends nothing, and sets the
        // flag. If signals cannot be taken, SIGINT ends the process as ever.
        if let Err(error) = flag::register_conditional_shutdown(SIGINT, INTERRUPTED, Arc::clone(&flag))
            .and_then(|_| flag::register(SIGINT, Arc::clone(&flag)))
        {
            log::warn!("Ctrl-C will end the command without results: {error}");
        }
        flag
    });
    Arc::clone(flag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_add_up_whatever_they_report() {
        let progress = Progress::new("testing", 3);
        let (first, second) = (progress.run(), progress.run());
        first.progress(50, 100);
        second.progress(1, 4);
        first.progress(25, 100);
        assert_eq!(progress.bar.position(), PARTS / 2 + PARTS / 4);
        assert_eq!(progress.units.load(Ordering::Relaxed), 51);
        drop(first);
        second.progress(9, 4);
        drop(second);
        progress.run().progress(0, 0);
        assert_eq!(progress.bar.position(), 3 * PARTS);
        assert!(!progress.stopped() && progress.outcome(3, 3).is_ok());
    }

    #[test]
    fn rates_at_a_glance() {
        let second = Duration::from_secs(1);
        assert_eq!([rate(5, second), rate(2500, second), rate(7_250_000, second)], ["5.0/s", "2.5 k/s", "7.2 M/s"]);
    }
}
