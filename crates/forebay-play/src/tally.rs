//! Counters of a running workload, and the outcome.

use std::time::Duration;

use forebay_trace::{Span, Times};
use serde::Serialize;

use super::Error;

/// The outcome of a run, warm-up apart. Its fields are called as those of the simulator's outcome.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Outcome {
    /// How many tasks ran at a time.
    pub handlers: u32,
    /// Read requests that were answered.
    pub requests: u64,
    /// Bytes that readers got.
    pub bytes: u64,
    /// Real time, seconds.
    pub seconds: f64,
    /// Bytes that readers got, in 10^6 a second; zero if no time passed.
    pub throughput_mb_s: f64,
    /// Milliseconds from a request to its answer, opening files apart: the mean.
    pub response_ms: f64,
    /// The same: half of them took no longer. At most 0.8 % off, as all quantiles.
    pub p50_ms: f64,
    /// The same: nine tenths.
    pub p90_ms: f64,
    /// The same: 99 of 100.
    pub p99_ms: f64,
    /// Tasks that were finished.
    pub tasks: u64,
    /// Milliseconds from the beginning of a task to its end: the mean.
    pub task_ms: f64,
    /// How evenly the handlers got bytes: Jain's index, (Σx)² / (n Σx²), one if all got the same
    /// and 1/n if one got all. A handler is one of those that run at a time, whichever tasks it
    /// has. If each has few tasks, the index shows the tasks' sizes.
    pub fairness: f64,
    /// The bytes of the handler that got the fewest, as a share of the mean.
    pub least_share: f64,
    /// The bytes of the handler that got the most, as a share of the mean.
    pub most_share: f64,
    /// Write requests, which were skipped.
    pub writes: u64,
    /// The bytes that each handler got.
    #[serde(skip)]
    pub by_handler: Vec<u64>,
    /// All response times.
    #[serde(skip)]
    pub responses: Times,
}

/// Counts since the warm-up.
pub(super) struct Tally {
    requests: u64,
    bytes: u64,
    writes: u64,
    responses: Times,
    tasks: Times,
    by_handler: Vec<u64>,
    /// Requests that were answered during the warm-up.
    before: u64,
    warm_up: Option<Span>,
    limit: Option<Span>,
    from: Duration,
    /// When the run ended, once it has.
    pub(super) ended: Option<Duration>,
}

impl Tally {
    pub(super) fn new(handlers: u32, warm_up: Option<Span>, limit: Option<Span>) -> Tally {
        Tally {
            requests: 0,
            bytes: 0,
            writes: 0,
            responses: Times::default(),
            tasks: Times::default(),
            by_handler: vec![0; handlers as usize],
            before: 0,
            warm_up,
            limit,
            from: Duration::ZERO,
            ended: None,
        }
    }

    /// A request was answered; whether the run is over now, if it was not before.
    pub(super) fn answer(&mut self, now: Duration, took: Duration, handler: u32, bytes: u32) -> bool {
        if self.ended.is_some() {
            return false;
        }
        self.requests += 1;
        self.bytes += u64::from(bytes);
        self.by_handler[handler as usize] += u64::from(bytes);
        self.responses.add(nanos(took));
        let answered = Some(Span::Requests(self.answered()));
        if self.warm_up == answered {
            self.warmed_up(now);
        }
        let over = self.limit == answered;
        if over {
            self.ended = Some(now);
        }
        over
    }

    pub(super) fn skip(&mut self) {
        self.writes += u64::from(self.ended.is_none());
    }

    pub(super) fn task(&mut self, took: Duration) {
        if self.ended.is_none() {
            self.tasks.add(nanos(took));
        }
    }

    /// How many requests were answered, warm-up included.
    fn answered(&self) -> u64 {
        self.before + self.requests
    }

    /// How far the run is, and of how much: nanoseconds, or requests of which there are `all`.
    pub(super) fn progress(&self, now: Duration, all: u64) -> (u64, u64) {
        match self.limit {
            Some(Span::Seconds(seconds)) => (nanos(now), (seconds * 1e9) as u64),
            Some(Span::Requests(requests)) => (self.answered(), requests.min(all)),
            None => (self.answered(), all),
        }
    }

    /// The next moment at which time alone changes something: the end of the warm-up or of the run.
    pub(super) fn deadline(&self) -> Option<Duration> {
        let spans = [self.warm_up, self.limit].into_iter().filter(|_| self.ended.is_none());
        spans.filter_map(seconds).min()
    }

    /// Does the changes that are due by time alone; says whether the run is over now.
    pub(super) fn look(&mut self, now: Duration) -> bool {
        if self.ended.is_some() {
            return false;
        }
        if seconds(self.warm_up).is_some_and(|at| at <= now) {
            self.warmed_up(now);
        }
        let over = seconds(self.limit).is_some_and(|at| at <= now);
        if over {
            self.ended = Some(now);
        }
        over
    }

    /// From here on it counts.
    fn warmed_up(&mut self, now: Duration) {
        self.before += self.requests;
        (self.requests, self.bytes, self.writes) = (0, 0, 0);
        self.responses.clear();
        self.tasks.clear();
        self.by_handler.fill(0);
        self.from = now;
        self.warm_up = None;
    }

    pub(super) fn outcome(self, now: Duration) -> Result<Outcome, Error> {
        if self.warm_up.is_some() {
            return Err(Error::AllWarmUp);
        }
        let seconds = self.ended.unwrap_or(now).saturating_sub(self.from).as_secs_f64();
        let ms = |share| self.responses.quantile(share) / 1e6;
        let shares: Vec<f64> = self.by_handler.iter().map(|&bytes| bytes as f64).collect();
        let mean = shares.iter().sum::<f64>() / shares.len() as f64;
        let squares: f64 = shares.iter().map(|share| share * share).sum();
        let most = shares.iter().copied().fold(0.0, f64::max);
        let least = shares.iter().copied().fold(most, f64::min);
        Ok(Outcome {
            handlers: self.by_handler.len() as u32,
            requests: self.requests,
            bytes: self.bytes,
            seconds,
            throughput_mb_s: ratio(self.bytes as f64 / 1e6, seconds),
            response_ms: self.responses.mean() / 1e6,
            p50_ms: ms(0.5),
            p90_ms: ms(0.9),
            p99_ms: ms(0.99),
            tasks: self.tasks.count(),
            task_ms: self.tasks.mean() / 1e6,
            fairness: ratio(mean * mean * shares.len() as f64, squares),
            least_share: ratio(least, mean),
            most_share: ratio(most, mean),
            writes: self.writes,
            by_handler: self.by_handler,
            responses: self.responses,
        })
    }
}

fn seconds(span: Option<Span>) -> Option<Duration> {
    match span {
        Some(Span::Seconds(seconds)) => Some(Duration::from_secs_f64(seconds)),
        _ => None,
    }
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole == 0.0 { 0.0 } else { part / whole }
}
