//! Linux 2.6.3 (CPEM §2.2): windows of 16 → 18 → 32 → 32 … pages. "When a page in the ahead window
//! is accessed, a new I/O prefetch operation is initiated and the ahead window becomes the new
//! current window."
//!
//! ```text
//!      |--- current ---|--- ahead ---|
//!            ▲ next          └ an access in here issues the next ahead window
//! ```

use crate::reason::{Reason, Size};
use crate::seams::{Plan, Prefetcher, Sight};

/// "a maximum prefetching depth of 32 pages" (CP §3.2).
const MAXIMUM: u32 = 32;

/// The windows of Linux 2.6.3.
#[derive(Clone, Copy, Debug)]
pub struct Linux;

impl Prefetcher for Linux {
    fn plan(&mut self, sight: &Sight<'_>) -> Plan {
        plan_up_to(sight, |piece| if piece < 18 { 18 } else { MAXIMUM })
    }
}

/// The windows of Linux with another growth: `grown` gives the size of a window from that of the
/// one before.
pub(super) fn plan_up_to(sight: &Sight<'_>, grown: impl Fn(u32) -> u32) -> Plan {
    if sight.fresh {
        // The current window.
        return Plan::first(sight.first_window(Size::new(u32::MAX, Reason::Policy)));
    }
    if sight.lost {
        // "When Linux encounters a page that has been prefetched earlier but then evicted, a single
        // page read is initiated on that page and the request handler blocks" (CPEM §2.3).
        return Plan::NOTHING;
    }
    // The stream has but its initial window: its first sequential access issues an ahead window.
    // After that, an access within the ahead window does. So does a miss, which is an access beyond
    // both.
    if sight.missed.is_some() || sight.in_ahead_window() || sight.stream.steps == 1 {
        return Plan::one(sight.next_piece(grown)).because(Reason::Policy, Reason::AheadWindow);
    }
    Plan::NOTHING
}
