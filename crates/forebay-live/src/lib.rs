//! The live engine: real time, real bytes.

pub mod arena;
pub mod budget;
pub mod engine;
mod retry;
pub mod flight;
pub mod io;
pub mod profiler;
pub mod source;
pub mod stats;
pub mod tree;
