//! The disk tier: blocks that memory gave up, on a local disk.
//!
//! ```text
//!   engine ──▶ TieredSource ──▶ pieces from the disk ──▶ checked ──▶ the fetch's memory
//!                    │
//!                    └────────▶ the source, for the rest ──▶ what is worth it ──▶ writer ──▶ segments
//! ```
//!
//! The policy is [`forebay_core::tier`]'s, which the simulator asks as well: where a block is,
//! whether it is worth a write, and which segment is given up. This crate moves the bytes.
//!
//! # Guarantees
//!
//! - *Never a wrong byte.* A piece is returned only if its checksum is right, which is of the
//!   file's fingerprint, the place in the file and the bytes. Anything else is a miss.
//! - *Never an error.* If the disk fails, the source is asked. A disk that fails often is left
//!   alone.
//! - *Never too much.* All files together take at most the size that was given. Files are removed
//!   while the file system has less room than shall stay free.
//! - *Never a wait.* A tier is open before anything of it was read. Pieces wait for the writer in
//!   bounded memory, and are dropped beyond that.
//! - A crash loses the pieces of the last seconds, whose segment's table was not written, and the
//!   older pieces of the one segment that was being written over.
//! - One process has a folder at a time. Only files with our names are removed.
//!
//! No decision looks at a wall clock. Files are recovered in the order of their times, on which
//! depends only how soon they are of use.

mod budget;
pub mod disk;
mod error;
mod figures;
mod fingerprint;
mod folder;
mod gather;
pub mod id;
mod inspect;
pub mod layout;
mod object;
mod options;
mod pieces;
mod recovery;
mod room;
mod segment;
mod source;
mod store;
pub mod table;
mod tiers;
mod waiting;
mod writer;

pub use error::Error;
pub use figures::Figures;
pub use fingerprint::{Fingerprint, Key};
pub use inspect::{Damaged, Info, Progress, Report, check, clear, info};
pub use options::{Free, Options};
pub use recovery::Recovery;
pub use source::TieredSource;
pub use tiers::{Rounds, Tiers};
pub use writer::Writer;
