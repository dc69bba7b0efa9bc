//! The time of a read against its size, for pictures. It comes from the model, which serves one
//! read at a time at random places.

use forebay_core::Instant;
use forebay_device::random::Random;
use forebay_device::scheduler::SchedulerKind;
use forebay_device::{Description, Error, Request};
use forebay_sim::chart::Series;

/// Reads of each size.
const READS: usize = 2001;

/// From 4 KiB to 64 MiB.
const SIZES: std::ops::RangeInclusive<u32> = 12..=26;

/// The reads of one size.
pub(super) struct Reads {
    bytes: f64,
    /// Their times, ascending.
    times_ms: Vec<f64>,
}

/// The reads of each size.
pub(super) fn times(description: &Description, seed: u64) -> Result<Vec<Reads>, Error> {
    let mut queue = description.queue(seed, &SchedulerKind::None)?;
    let mut random = Random::new(seed);
    let mut now = Instant(0);
    let capacity = queue.capacity();
    let mut read = |id: usize, size: u64| {
        // After a pause, so that no effect of the last read is left; and of varying length, so that
        // the platter's angle varies.
        let begin = now.plus(100_000_000 + random.below(100_000_000));
        queue.submit(begin, id as u64, Request::read(random.below(capacity.saturating_sub(size)), size));
        while let Some(at) = queue.next_completion() {
            now = at;
            if queue.complete(at).is_some() {
                break;
            }
        }
        now.since(begin) as f64 / 1e6
    };
    let size = |bits: u32| {
        let mut times_ms: Vec<f64> = (0..READS).map(|id| read(id, 1 << bits)).collect();
        times_ms.sort_by(f64::total_cmp);
        Reads { bytes: (1u64 << bits) as f64, times_ms }
    };
    Ok(SIZES.map(size).collect())
}

/// A line: for each size, the time that a share of the reads stays below.
pub(super) fn quantile(sizes: &[Reads], share: f64, name: impl Into<String>) -> Series {
    let at = |times: &[f64]| times[((times.len() - 1) as f64 * share).round() as usize];
    Series { name: name.into(), points: sizes.iter().map(|reads| (reads.bytes, at(&reads.times_ms))).collect() }
}
