//! The live engine: real time, real bytes.

pub mod activity;
pub mod arena;
pub mod budget;
pub mod contexts;
pub mod disk;
pub mod engine;
pub mod explain;
pub mod flight;
pub mod handlers;
pub mod io;
mod label;
pub mod pacer;
pub mod play;
pub mod profiler;
mod retry;
pub mod size;
pub mod source;
pub mod stats;
pub mod tree;

pub use label::Label;
