//! How far a model is from a real disk: the demerit figure of Ruemmler and Wilkes ("An introduction
//! to disk drive modeling", 1994), the root mean square horizontal distance between the
//! distributions of modelled and measured times.
//!
//! ```text
//!  share of requests
//!   1 ┤          measured ╭──
//!     │              ╭────╯╭──
//!     │          ╭───╯╭────╯ modelled      ←→ the distance, at every height
//!   0 ┼──────────╯────╯──────── time
//! ```

use forebay_core::Instant;

use crate::validation::Measured;
use crate::zones::SECTOR;
use crate::{Description, Error, Request};

/// The figures of one disk and one trace.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize)]
pub struct Demerit {
    /// Requests compared.
    pub requests: u64,
    /// Root mean square distance of the sorted times, milliseconds.
    pub demerit_ms: f64,
    /// The same as a share of the measured mean.
    pub demerit_share: f64,
    /// Mean measured service time, milliseconds.
    pub mean_ms: f64,
    /// Mean modelled service time, milliseconds.
    pub modelled_mean_ms: f64,
}

/// Replays `requests` on the disk of `description`, one at a time, with the measured gaps between
/// them, and compares the times. An empty trace has no demerit: all figures are zero.
pub fn check(description: &Description, requests: &[Measured]) -> Result<Demerit, Error> {
    let mut modelled = replay(description, requests)?;
    let mut measured: Vec<f64> = requests.iter().map(|request| request.service).collect();
    let n = requests.len().max(1) as f64;
    let mean = |times: &[f64]| times.iter().sum::<f64>() / n / 1e6;
    let (mean_ms, modelled_mean_ms) = (mean(&measured), mean(&modelled));
    modelled.sort_by(f64::total_cmp);
    measured.sort_by(f64::total_cmp);
    let square = |(a, b): (&f64, &f64)| ((a - b) / 1e6).powi(2);
    let demerit_ms = (modelled.iter().zip(&measured).map(square).sum::<f64>() / n).sqrt();
    let demerit_share = if mean_ms > 0.0 { demerit_ms / mean_ms } else { 0.0 };
    Ok(Demerit { requests: requests.len() as u64, demerit_ms, demerit_share, mean_ms, modelled_mean_ms })
}

/// The service times that the model gives `requests`, nanoseconds, in their order.
pub fn replay(description: &Description, requests: &[Measured]) -> Result<Vec<f64>, Error> {
    let mut model = description.build(0)?;
    let mut now = Instant(0);
    let mut times = Vec::with_capacity(requests.len());
    for measured in requests {
        let (start, len) = (measured.block.saturating_mul(SECTOR), measured.blocks.saturating_mul(SECTOR));
        let request = if measured.write { Request::write(start, len) } else { Request::read(start, len) };
        let end = model.serve(now, request);
        times.push(end.since(now) as f64);
        now = end.plus(measured.gap as u64);
    }
    Ok(times)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device;

    fn measured(block: u64, service: f64) -> Measured {
        Measured { write: false, block, blocks: 8, service, gap: 1e7 }
    }

    /// In any order, the demerit of a trace that is the model's own is zero. If every time is off
    /// by one amount, the demerit is that amount.
    #[test]
    fn the_distance_is_between_distributions() {
        let description = device("ibm-10k").expect("it is shipped");
        let asked: Vec<Measured> = (0..100).map(|i| measured(i * 7_919_317 % 70_000_000, 0.0)).collect();
        let mut times = replay(&description, &asked).expect("a disk");
        times.reverse();
        let trace = |off: f64| -> Vec<Measured> {
            asked.iter().zip(&times).map(|(m, time)| Measured { service: time + off, ..*m }).collect()
        };
        let same = check(&description, &trace(0.0)).expect("a disk");
        assert_eq!((same.requests, same.demerit_ms, same.demerit_share), (100, 0.0, 0.0));
        let later = check(&description, &trace(0.25e6)).expect("a disk");
        assert!((later.demerit_ms - 0.25).abs() < 1e-9, "{later:?}");
        assert!((later.mean_ms - later.modelled_mean_ms - 0.25).abs() < 1e-9, "{later:?}");
        assert!((later.demerit_share - 0.25 / later.mean_ms).abs() < 1e-12, "{later:?}");
        assert_eq!(check(&description, &[]).expect("a disk").demerit_ms, 0.0);
    }
}
