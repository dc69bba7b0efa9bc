//! The seams between the engine and policies: traits whose methods are events. A policy implements
//! the few that it needs.
//!
//! ```text
//!                 ┌─ prefetcher   how much is fetched for a stream, and when
//!   engine ───────┼─ reclaimer    which prefetched frame is given up, how many there may be
//!   events ▼      ├─ divider      which partition gives up a frame, if each device has one
//!   answers ▲     ├─ contexts     where blocks go, by context: AMP's parts of a partition
//!                 ├─ placement    whether they do go there, in a partition
//!                 └─ replacement  which block of a partition goes (a trait of its own folder)
//! ```
//!
//! The engine has the state and all control flow, and knows no policy by name. A policy knows the
//! state that it is shown, and no engine. To add one: a file in [`papers`](crate::papers) that
//! implements a seam, a value that makes it in `presets/`, and a line in
//! [`presets`](crate::presets). CONTRIBUTING.md has the places one by one.

mod contexts;
mod divider;
mod placement;
mod prefetcher;
mod reclaimer;

pub use contexts::{Access, By, Contexts, Loops, MOST_PARTITIONS, Place, Standing};
pub use divider::{Divider, Wait};
pub use placement::{Placement, Tally, Use};
pub(crate) use prefetcher::SEQUENTIAL;
pub use prefetcher::{Begun, Heard, MAX_PIECE_BYTES, Miss, Near, Needs, Plan, Prefetcher, Sight, Visit};
pub use reclaimer::{Limits, Reclaimer, Sharers};
