//! The rate that several connections share.

/// A pipe of a certain rate. A request books its bytes when it begins, so that a slow first byte
/// delays no other request. A booking is not slowed by later ones: the sum is right at any time,
/// its division is in order of arrival, not fair.
#[derive(Clone, Debug)]
pub(crate) struct Pipe {
    /// Nanoseconds a byte; zero if nothing is shared.
    byte: f64,
    free: f64,
}

impl Pipe {
    /// Megabytes (10⁶) a second; `None` is unbounded.
    pub(crate) fn new(mb_s: Option<f64>) -> Pipe {
        Pipe { byte: mb_s.map_or(0.0, |rate| 1e3 / rate), free: 0.0 }
    }

    /// When `len` bytes that are asked for at `at` have passed, after all earlier bookings.
    pub(crate) fn book(&mut self, at: f64, len: u64) -> f64 {
        self.free = self.free.max(at) + len as f64 * self.byte;
        self.free
    }

    /// Whether bytes that were booked before `at` are still passing.
    pub(crate) fn busy(&self, at: f64) -> bool {
        self.free > at
    }
}

/// How many of `channels` get their full `rate` out of `total`.
pub(crate) fn sharing(channels: u32, rate: f64, total: Option<f64>) -> u32 {
    total.map_or(channels, |total| channels.min((total / rate).round().max(1.0) as u32))
}
