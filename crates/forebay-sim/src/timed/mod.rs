//! Timed simulation: the very core of the live engine, over modelled devices, in virtual time.
//!
//! ```text
//!  workload ─▶ readers: a closed loop of handlers, or arrivals
//!                 │ Read              ▲ Ready
//!              level 0, a core of its own policy and memory
//!                 │ Fetch = Read      ▲ Arrived
//!              level 1 …, each behind a link if there is one
//!                 │ Fetch             ▲ Arrived
//!              devices: a queue with its scheduler, a model
//! ```
//!
//! Nothing takes time but devices, links, processors and thinking: a hit costs none, as in SAC §4.1
//! ("it is small enough in a real system to be dwarfed"). Events of one moment happen in the order
//! in which they were caused. So setup, workload and seed determine a run, to the bit.

mod agenda;
mod error;
mod files;
mod histogram;
mod labels;
mod level;
mod outcome;
mod placement;
mod readers;
mod samples;
mod setup;
mod simulation;
mod storage;
mod striping;
mod tally;
mod tier;
mod told;

pub use error::Error;
pub use forebay_trace::{Span, Times, Workload};
pub use histogram::Sizes;
pub use outcome::{DeviceFigures, LevelFigures, Outcome, TierFigures};
pub use placement::{Mapping, Placement, Spread};
pub use samples::{PartitionSample, Sample, Samples};
pub use setup::{DeviceSetup, Host, Level, Load, Setup, TierSetup, Writes};
pub use simulation::{Record, run, run_recorded};
pub use striping::Striping;
pub use told::Told;
