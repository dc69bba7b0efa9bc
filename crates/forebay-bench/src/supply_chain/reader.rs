//! Readers at limited rates, a thread each.
//!
//! A reader has a clock of its own. On it a request begins when it is due, and ends after the time
//! that it really took; the reader sleeps until the real clock gets there. On a busy machine
//! threads wake up late. That makes neither a response longer nor a reader slower, as long as the
//! thread can catch up. [`Seen::behind`] shows if it cannot.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use super::{Plan, REQUEST, SPEED};

/// The rule for the time of the next request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Beat {
    /// At fixed moments, whether the last request is answered or not; due requests wait for it (an
    /// open loop).
    Fixed,
    /// This long after the last answer, which the consumer needs for its bytes (a closed loop).
    AfterAnswer,
}

/// A reader that reads a file from its beginning to its end, again and again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader {
    pub(super) beat: Beat,
    /// Requests in a second of the array's, for a reader that never waits.
    pub(super) rate: f64,
}

/// The result of a reader. Seconds are the array's.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    pub(super) requests: f64,
    /// The mean, from the due time.
    pub(super) response: f64,
    /// Bytes a second.
    pub(super) rate: f64,
    /// How far the real clock was behind the reader's at the end.
    pub(super) behind: f64,
}

/// Runs readers, one for each file, which begin together. `watch` runs beside them, and its flag is
/// set when they are done.
pub(super) fn run<T: Send>(
    readers: &[Reader],
    files: &[File],
    plan: &Plan,
    watch: impl FnOnce(&std::sync::atomic::AtomicBool) -> T + Send,
) -> anyhow::Result<(Vec<Seen>, T)> {
    let over = std::sync::atomic::AtomicBool::new(false);
    let begin = Barrier::new(readers.len());
    std::thread::scope(|scope| {
        let watching = scope.spawn(|| watch(&over));
        let reading: Vec<_> = readers
            .iter()
            .zip(files)
            .map(|(reader, file)| {
                let begin = &begin;
                scope.spawn(move || {
                    begin.wait();
                    reader.read(file, plan)
                })
            })
            .collect();
        let seen: io::Result<Vec<Seen>> = reading
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Err(io::Error::other("panicked"))))
            .collect();
        over.store(true, std::sync::atomic::Ordering::Relaxed);
        let watched = watching.join().map_err(|_| anyhow::anyhow!("who watched the readers panicked"))?;
        Ok((seen?, watched))
    })
}

impl Reader {
    fn read(&self, file: &File, plan: &Plan) -> io::Result<Seen> {
        let (begun, mut buffer) = (Instant::now(), [0; REQUEST as usize]);
        let places = file.metadata()?.len() / REQUEST;
        let (gap, end) = (1.0 / self.rate, plan.warm_up + plan.seconds);
        let (mut start, mut seen, mut number) = (0.0, Seen::default(), 0);
        while start < end {
            let at = begun + Duration::from_secs_f64(start / SPEED);
            std::thread::sleep(at.saturating_duration_since(Instant::now()));
            let asked = Instant::now();
            file.read_exact_at(&mut buffer, number % places * REQUEST)?;
            let answered = start + asked.elapsed().as_secs_f64() * SPEED;
            let due = if self.beat == Beat::Fixed { number as f64 * gap } else { start };
            if due >= plan.warm_up {
                seen.requests += 1.0;
                seen.response += answered - due;
            }
            number += 1;
            start = match self.beat {
                Beat::Fixed => answered.max(number as f64 * gap),
                Beat::AfterAnswer => answered + gap,
            };
        }
        seen.response /= seen.requests.max(1.0);
        seen.rate = seen.requests * REQUEST as f64 / plan.seconds;
        seen.behind = (begun.elapsed().as_secs_f64() * SPEED - start).max(0.0);
        Ok(seen)
    }
}

/// The mean response over all requests of all readers.
pub(super) fn mean_response(seen: &[Seen]) -> f64 {
    let (sum, requests) =
        seen.iter().fold((0.0, 0.0), |(sum, all), of| (sum + of.response * of.requests, all + of.requests));
    sum / f64::max(requests, 1.0)
}

/// The farthest that any reader was behind.
pub(super) fn behind(seen: &[Seen]) -> f64 {
    seen.iter().map(|seen| seen.behind).fold(0.0, f64::max)
}
