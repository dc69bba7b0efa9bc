//! The live engine: real time, real bytes.

pub mod activity;
pub mod arena;
pub mod budget;
pub mod contexts;
mod durations;
pub mod engine;
pub mod explain;
pub mod figures;
pub mod flight;
mod label;
pub mod profiler;
pub mod recent;
pub mod retry;
pub mod site;
pub mod stats;
pub mod told;
pub mod tree;
pub mod world;
