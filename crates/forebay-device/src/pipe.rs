//! What several connections share: a rate for all of them together.

/// A pipe of a certain rate. Work is booked when a request begins, so that a slow first byte holds up nobody else.
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

    /// When `len` bytes that are asked for at `at` are through, everything before them included.
    pub(crate) fn book(&mut self, at: f64, len: u64) -> f64 {
        self.free = self.free.max(at) + len as f64 * self.byte;
        self.free
    }
}
