//! Times of a trace, from its first request on.

use forebay_core::Instant;

/// Makes times of a trace from the format's own units. Traces that were gathered from several
/// processors or disks are slightly out of order. A request that is earlier than the one before it
/// is taken to come at the same moment, so that the order of the file holds.
pub(crate) struct Clock {
    /// Nanoseconds in a unit of the format.
    unit: u64,
    first: Option<u64>,
    last: u64,
}

impl Clock {
    pub(crate) fn new(unit: u64) -> Clock {
        Clock { unit, first: None, last: 0 }
    }

    /// The moment of a request, by the format's own count.
    #[inline]
    pub(crate) fn at(&mut self, time: u64) -> Instant {
        let first = *self.first.get_or_insert(time);
        self.last = self.last.max(time.saturating_sub(first).saturating_mul(self.unit));
        Instant(self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_start_at_zero_and_never_go_back() {
        let mut clock = Clock::new(1000);
        let times = [70, 72, 71, 60, 75, u64::MAX].map(|time| clock.at(time).0);
        assert_eq!(times, [0, 2000, 2000, 2000, 5000, u64::MAX]);
    }
}
