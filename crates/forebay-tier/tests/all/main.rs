//! The disk tier, with real files.

mod known;
mod line;
