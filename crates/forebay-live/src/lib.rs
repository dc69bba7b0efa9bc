//! The live engine: real time, real bytes.

pub mod arena;
pub mod budget;
pub mod engine;
pub mod flight;
mod retry;
pub mod source;
pub mod stats;
