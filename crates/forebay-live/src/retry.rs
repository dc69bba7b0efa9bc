//! Asking failed storage again, later.

use std::time::Duration;

/// How often demand is tried before its readers get the error.
pub const ATTEMPTS: u32 = 4;

/// How long to wait after a failed attempt, counted from zero: 50 ms, 200 ms, 800 ms.
pub fn back_off(attempt: u32) -> Duration {
    Duration::from_millis(50 << (2 * attempt.min(4)))
}
