//! Traces: the requests of programs, one by one. Readers of the usual formats, a format of our own
//! (Parquet), keys for simulators, and synthetic workloads.
//!
//! A [`Source`] gives [`Request`]s in batches, so that a trace of any length can be replayed in
//! little memory. [`open`] makes a source of a file: name and content tell the format, content the
//! compression (gzip, bzip2, xz, zstd, zip). A [`Writer`] makes a file of a source, [`generate`]
//! makes synthetic ones, and [`Keys`] numbers the blocks of requests.
//!
//! Promises of every reader. A request has at least one byte and ends within 64 bits; empty ones
//! are left out. Times begin with zero at the first request and never go back (an earlier one is
//! taken to come at the moment of the one before). A damaged file is an error that names the
//! record. No bytes make a reader panic, or take memory in proportion to a number in the file.
//!
//! ```
//! use forebay_trace::{Options, Request, open_bytes};
//!
//! let trace = b"0,20941264,8192,W,0.551706\n0,20939840,8192,W,0.554041\n";
//! let mut source = open_bytes("web.spc".as_ref(), trace.to_vec(), &Options::default())?;
//! let mut requests: Vec<Request> = Vec::new();
//! while source.read(&mut requests)? > 0 {}
//! assert_eq!(requests[1].offset, 20_939_840 * 512);
//! assert_eq!(requests[1].at.0, 2_335_000);
//! # Ok::<(), forebay_trace::Error>(())
//! ```

mod columns;
mod contents;
mod error;
mod format;
pub mod generate;
mod input;
mod keys;
mod parquet;
mod preset;
mod read;
mod request;
mod source;
mod times;
pub mod workload;
mod write;

pub use columns::{Column, Columns, UnknownColumns};
pub use contents::contents;
pub use error::Error;
pub use format::{Format, UnknownFormat};
pub use keys::{Blocks, CHUNK, Keys, TooManyKeys, sample_hash};
pub use preset::Preset;
pub use request::{Operation, Request, Shape};
pub use source::{
    BATCH, ContextInfo, FileInfo, LeftOut, Memory, Options, Reading, Source, open, open_bytes, open_file,
};
pub use times::Times;
pub use workload::{Span, Workload, WorkloadError};
pub use write::{WRITTEN, Writer};
