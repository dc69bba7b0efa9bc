//! From measured times to curves. Pure, and robust: medians everywhere, because a busy machine adds
//! outliers that no mean survives.
//!
//! - A disk: the time of a small read is overhead + seek(distance) + a wait uniform in one
//!   revolution + transfer. So the middle of reads of like distance is the curve plus half a
//!   revolution. For a uniform wait, the middle half of all reads spreads around the curve by half
//!   a revolution. Only their sum matters for the depth.
//! - Anything else: time = first byte + len / rate, by the weighted median of the slopes between
//!   pairs (Theil and Sen).

use crate::curve::{Point, interpolate};

/// One timed read of a disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DiskSample {
    /// Bytes from the end of the read before to the start of this one, either way; zero if it
    /// continues it.
    pub distance: u64,
    /// The first byte.
    pub place: u64,
    /// Bytes.
    pub len: u64,
    /// Nanoseconds from asking to having.
    pub nanos: u64,
}

/// One timed read of a store without places.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlatSample {
    /// Bytes.
    pub len: u64,
    /// Nanoseconds from asking to having.
    pub nanos: u64,
}

/// A disk as fitted. Units as in [`Profile`](crate::Profile).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DiskFit {
    /// (distance, nanoseconds), never falling, without the half revolution.
    pub seek: Vec<(u64, u64)>,
    /// Nanoseconds.
    pub half_revolution: u64,
    /// (first byte, bytes a second).
    pub zones: Vec<(u64, u64)>,
}

/// A store without places, as fitted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LatencyRate {
    /// Nanoseconds to the first byte.
    pub first_byte: u64,
    /// Bytes a second.
    pub rate: u64,
}

/// The least number of reads in one bucket of distance: with fewer, a median over a random wait
/// says little.
const BUCKET: usize = 12;
/// The most points of the seek curve.
const POINTS: usize = 24;
/// Neighbouring zones whose rates differ by less are joined.
const SAME_RATE: f64 = 0.015;

/// Fits a seek curve, half a revolution and the zones of a disk of `capacity` bytes. Reads with
/// `distance` zero that follow another at once give rates, the others give seeks. `None` if there
/// are fewer than a dozen seeks or no rate.
pub fn fit_disk(samples: &[DiskSample], capacity: u64) -> Option<DiskFit> {
    let zones = fit_zones(samples, capacity)?;
    let rate = |place: u64| zones[zones.partition_point(|&(from, _)| from <= place).saturating_sub(1)].1;
    let transfer = |s: &DiskSample| s.len as f64 * 1e9 / rate(s.place) as f64;
    let mut seeks: Vec<Point> = samples
        .iter()
        .filter(|s| s.distance > 0)
        .map(|s| Point { at: s.distance as f64, value: (s.nanos as f64 - transfer(s)).max(0.0) })
        .collect();
    if seeks.len() < BUCKET {
        return None;
    }
    seeks.sort_by(|a, b| a.at.total_cmp(&b.at));
    let size = BUCKET.max(seeks.len().div_ceil(POINTS));
    let buckets = seeks.len() / size;
    let mut points: Vec<Point> = (0..buckets)
        .map(|i| &seeks[i * seeks.len() / buckets..(i + 1) * seeks.len() / buckets])
        .map(|bucket| Point { at: median(bucket.iter().map(|seek| seek.at)), value: middle(bucket) })
        .collect();
    never_falling(&mut points);

    let mut spread: Vec<f64> = seeks.iter().map(|seek| seek.value - interpolate(&points, seek.at)).collect();
    spread.sort_by(f64::total_cmp);
    let quartiles = spread[spread.len() * 3 / 4] - spread[spread.len() / 4];
    let half_revolution = quartiles.min(points[points.len() - 1].value);
    let mut seek: Vec<(u64, u64)> =
        points.iter().map(|point| (point.at as u64, (point.value - half_revolution).max(0.0) as u64)).collect();
    seek.dedup_by_key(|point| point.0);
    Some(DiskFit { seek, half_revolution: half_revolution as u64, zones })
}

/// The middle of the middle half of the times: as robust as is needed, and for a uniform wait
/// nearer the truth than the median by a factor of √2.
fn middle(bucket: &[Point]) -> f64 {
    let mut times: Vec<f64> = bucket.iter().map(|seek| seek.value).collect();
    times.sort_by(f64::total_cmp);
    f64::midpoint(times[times.len() / 4], times[times.len() - 1 - times.len() / 4])
}

/// The median rate in each of sixteen parts of the device; parts alike are joined, parts without a
/// read follow the one before.
fn fit_zones(samples: &[DiskSample], capacity: u64) -> Option<Vec<(u64, u64)>> {
    const PARTS: u64 = 16;
    let part = (capacity / PARTS).max(1);
    let mut rates: Vec<Vec<f64>> = vec![Vec::new(); PARTS as usize];
    for s in samples.iter().filter(|s| s.distance == 0 && s.nanos > 0) {
        rates[(s.place / part).min(PARTS - 1) as usize].push(s.len as f64 * 1e9 / s.nanos as f64);
    }
    let mut zones: Vec<(u64, u64)> = Vec::new();
    for (i, rates) in rates.into_iter().enumerate().filter(|(_, rates)| !rates.is_empty()) {
        let rate = median(rates.into_iter()).max(1.0);
        if zones.last().is_none_or(|&(_, last)| (rate / last as f64 - 1.0).abs() > SAME_RATE) {
            zones.push((i as u64 * part, rate as u64));
        }
    }
    zones.first_mut()?.0 = 0;
    Some(zones)
}

/// Makes a curve rise or stay, moving it as little as possible (pool adjacent violators).
fn never_falling(points: &mut [Point]) {
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    for point in points.iter() {
        blocks.push((point.value, 1));
        while let [.., (below, n), (above, m)] = blocks[..] {
            if below <= above {
                break;
            }
            blocks.truncate(blocks.len() - 2);
            blocks.push(((below * n as f64 + above * m as f64) / (n + m) as f64, n + m));
        }
    }
    let levels = blocks.into_iter().flat_map(|(t, n)| std::iter::repeat_n(t, n));
    for (point, t) in points.iter_mut().zip(levels) {
        point.value = t;
    }
}

/// A slope between two reads.
struct Slope {
    nanos_per_byte: f64,
    /// The difference in length: two reads of about the same length say little of the rate.
    weight: f64,
}

/// Fits a time to the first byte and a rate. `None` unless there are two lengths and time rises
/// with length.
pub fn fit_latency_rate(samples: &[FlatSample]) -> Option<LatencyRate> {
    // All pairs of at most 400 samples, evenly chosen.
    let step = samples.len().div_ceil(400).max(1);
    let point = |s: &FlatSample| Point { at: s.len as f64, value: s.nanos as f64 };
    let chosen: Vec<Point> = samples.iter().step_by(step).map(point).collect();
    let mut slopes: Vec<Slope> = Vec::new();
    for (i, a) in chosen.iter().enumerate() {
        for b in &chosen[i + 1..] {
            if a.at != b.at {
                let nanos_per_byte = (b.value - a.value) / (b.at - a.at);
                slopes.push(Slope { nanos_per_byte, weight: (b.at - a.at).abs() });
            }
        }
    }
    let slope = weighted_median(slopes)?;
    if slope <= 0.0 {
        return None;
    }
    // From the shorter half: in a long read, a small error of the rate outweighs the first byte.
    let middling = median(chosen.iter().map(|read| read.at));
    let short = chosen.iter().filter(|read| read.at <= middling);
    let first_byte = median(short.map(|read| read.value - slope * read.at)).max(0.0);
    Some(LatencyRate { first_byte: first_byte as u64, rate: (1e9 / slope).max(1.0) as u64 })
}

fn weighted_median(mut slopes: Vec<Slope>) -> Option<f64> {
    slopes.sort_by(|a, b| a.nanos_per_byte.total_cmp(&b.nanos_per_byte));
    let half = slopes.iter().map(|slope| slope.weight).sum::<f64>() / 2.0;
    let mut below = 0.0;
    slopes.into_iter().find_map(|slope| {
        below += slope.weight;
        (below >= half).then_some(slope.nanos_per_byte)
    })
}

/// The middle value; the mean of the two middle ones; zero of nothing.
pub fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        n if n % 2 == 1 => values[n / 2],
        n => f64::midpoint(values[n / 2 - 1], values[n / 2]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn pooling_is_the_least_change() {
        let mut points = [1.0, 3.0, 2.0, 2.5, 5.0, 4.0].map(|value| Point { at: 0.0, value });
        never_falling(&mut points);
        assert_eq!(points.map(|point| point.value), [1.0, 2.5, 2.5, 2.5, 4.5, 4.5]);
    }

    #[test]
    fn too_little_to_fit_is_none() {
        assert_eq!(fit_disk(&[], 100), None);
        assert_eq!(fit_latency_rate(&[]), None);
        let fit = |reads: [[u64; 2]; 2]| fit_latency_rate(&reads.map(|[len, nanos]| FlatSample { len, nanos }));
        assert_eq!(fit([[5, 9], [5, 8]]), None);
        assert_eq!(fit([[5, 9], [9, 5]]), None);
    }

    proptest! {
        #[test]
        fn median_splits_the_values(values in proptest::collection::vec(-1e6f64..1e6, 1..50)) {
            let m = median(values.iter().copied());
            let (below, above) = (values.iter().filter(|&&v| v < m).count(), values.iter().filter(|&&v| v > m).count());
            prop_assert!(below.max(above) * 2 <= values.len());
        }

        #[test]
        fn rising_curves_stay_as_they_are_and_all_others_rise(levels in proptest::collection::vec(0u32..1000, 1..40)) {
            let mut points: Vec<Point> =
                levels.iter().map(|&level| Point { at: 0.0, value: f64::from(level) }).collect();
            let total: f64 = points.iter().map(|point| point.value).sum();
            never_falling(&mut points);
            prop_assert!(points.is_sorted_by(|a, b| a.value <= b.value + 1e-9));
            prop_assert!((points.iter().map(|point| point.value).sum::<f64>() - total).abs() < 1e-6, "the mean stays");
            if levels.is_sorted() {
                let back: Vec<u32> = points.iter().map(|point| point.value as u32).collect();
                prop_assert_eq!(back, levels);
            }
        }
    }
}
