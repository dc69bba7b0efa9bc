//! The policy core of Forebay is deterministic: the same events give the same actions, to the bit.
//!
//! It decides what to fetch, when, and what to give up; it does no I/O, reads no clock, starts no
//! thread and draws no random number that a seed did not fix. A driver (the live engine, the
//! simulator) hands it [`Event`]s and carries out its [`Action`]s.
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

extern crate alloc;

pub mod auto;
pub mod counters;
pub mod demand;
pub mod device;
pub mod devices;
pub mod directory;
pub mod engine;
mod event;
pub mod explain;
pub mod files;
pub mod frames;
pub mod hint;
pub mod history;
pub mod index;
pub mod inflight;
pub mod level;
pub mod logs;
pub mod numbered;
pub mod papers;
pub mod partition;
pub mod peers;
pub mod presets;
pub mod random;
pub mod reason;
pub mod replacement;
pub mod seams;
pub mod share;
pub mod sketch;
pub mod slab;
pub mod stream;
pub mod tier;
mod types;
pub mod walk;

pub use counters::Counters;
pub use device::DeviceCost;
pub use engine::{Core, Engine, Referenced, Setup, ToldList};
pub use event::{Action, Actions, CALLED_OFF, Cause, Event, EventKind};
pub use hint::{Hint, Learnt, Pattern, Rhythm, Usual};
pub use presets::{Policy, UnknownPolicy};
pub use types::{
    BlockKey, Caller, ContextId, DeviceId, Extent, FileId, FrameId, HandlerId, Instant, IoId, ReadId, StreamId, ToldId,
};
