//! Traces: what programs asked for, request by request. Readers of the formats that there are, a format of our own
//! (Parquet), keys for simulators, and synthetic workloads.
//!
//! A [`Source`] gives [`Request`]s in batches, so that a trace of any length can be replayed in little memory.

mod columns;
mod contents;
mod error;
mod format;
pub mod generate;
mod input;
mod keys;
mod parquet;
mod read;
mod request;
mod source;
mod write;

pub use columns::{Columns, UnknownColumns};
pub use contents::contents;
pub use error::Error;
pub use format::{Format, UnknownFormat};
pub use keys::{Blocks, CHUNK, Keys, TooManyKeys, sample_hash};
pub use request::{Operation, Request, Shape};
pub use source::{BATCH, FileInfo, Memory, Options, Source, open, open_bytes};
pub use write::{WRITTEN, Writer};
