//! How much may be written: a bucket of bytes that fills at a rate.

use std::time::Duration;

/// The share of the disk's own rate that is written unless told otherwise.
const SHARE: f64 = 0.2;

/// The least size of the bucket, bytes.
const LEAST: f64 = (16 << 20) as f64;

/// How many bytes may be written before the disk's rate is known.
const UNKNOWN: f64 = (256 << 20) as f64;

/// How long the bucket takes to fill at a rate that was told, seconds.
const FILLS: f64 = 2.0;

/// The same at a share of the disk's rate. That spares the disk over hours, so a tier that is new
/// may fill faster.
const SHARE_FILLS: f64 = 60.0;

/// Bytes after which older measurements count half.
const REMEMBERED: f64 = (256 << 20) as f64;

/// A bucket of bytes. Times are since any beginning.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    /// Bytes per second; `None`: a share of the disk's rate.
    told: Option<u64>,
    /// The bytes in the bucket; below zero after writes that could not wait.
    tokens: f64,
    last: Duration,
    /// Bytes that were written, and the seconds that this took.
    written: f64,
    took: f64,
}

impl Budget {
    /// Of so many bytes per second, or of a share of what the disk turns out to do.
    pub(crate) fn new(told: Option<u64>) -> Budget {
        let tokens = if told.is_some() { LEAST } else { UNKNOWN };
        Budget { told, tokens, last: Duration::ZERO, written: 0.0, took: 0.0 }
    }

    /// Bytes per second; `None` while it is unknown.
    pub(crate) fn rate(&self) -> Option<f64> {
        let measured = || (self.took > 0.0 && self.written > 0.0).then(|| self.written / self.took * SHARE);
        self.told.map(|told| told as f64).or_else(measured)
    }

    /// Takes bytes out, if there are as many.
    pub(crate) fn take(&mut self, bytes: usize, now: Duration) -> bool {
        let passed = now.saturating_sub(self.last).as_secs_f64();
        self.last = now.max(self.last);
        let fills = if self.told.is_some() { FILLS } else { SHARE_FILLS };
        if let Some(rate) = self.rate() {
            self.tokens = (self.tokens + rate * passed).min(LEAST.max(rate * fills));
        }
        let enough = self.tokens >= bytes as f64;
        if enough {
            self.tokens -= bytes as f64;
        }
        enough
    }

    /// Bytes are written that cannot wait: later ones wait for them.
    pub(crate) fn spend(&mut self, bytes: usize) {
        self.tokens -= bytes as f64;
    }

    /// Bytes were written, and took so long.
    pub(crate) fn measured(&mut self, bytes: usize, took: Duration) {
        if self.written > REMEMBERED {
            self.written /= 2.0;
            self.took /= 2.0;
        }
        self.written += bytes as f64;
        self.took += took.as_secs_f64();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_told_rate_is_kept() {
        let mut budget = Budget::new(Some(1 << 20));
        let mut taken = 0;
        for second in 0..100 {
            while budget.take(MIB / 4, at(second)) {
                taken += 1;
            }
        }
        assert_eq!(taken, (16 + 99) * 4, "what the bucket held, and what came");
        budget.spend(10 * MIB);
        assert!(!budget.take(1, at(109)) && budget.take(1, at(111)));
        assert!(!budget.take(2 * MIB, at(5)), "a time before the last one gives nothing");
    }

    #[test]
    fn a_share_of_the_measured_rate() {
        let mut budget = Budget::new(None);
        assert!(budget.take(256 * MIB, at(0)) && !budget.take(1, at(1000)));
        budget.measured(500 * MIB, at(1));
        budget.measured(500 * MIB, at(1));
        assert!((budget.rate().unwrap() / MIB as f64 - 100.0).abs() < 0.1);
        assert!(budget.take(6000 * MIB, at(2000)) && !budget.take(MIB, at(2000)));
    }
}
