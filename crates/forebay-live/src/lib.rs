//! The live engine: real time, real bytes.

pub mod arena;
pub mod engine;
pub mod profiler;
pub mod source;
