//! The files that the preload library `forebay-preload` writes, and a mount or a recorder reads.
//!
//! ```text
//!   program ── read() ──▶ libforebay_preload.so ──▶ kernel ──▶ mount
//!                              │  │  │                           │
//!             before and after │  │  └ FOREBAY_RECORDING: a log per process      Recording
//!                   the call   │  └─── NAME.names: the context of an id       Dictionary
//!                              └────── NAME: context id by thread id  ◀──┘    Table
//! ```
//!
//! The writers' half ([`TableWriter`], [`dictionary::append`], [`LogFile`]) runs inside programs
//! that know nothing of it, perhaps in their signal handlers. It allocates nothing, keeps no
//! descriptor open, leaves `errno` alone (its system calls are its own, not the C library's) and
//! passes over every failure in silence. The readers' half is ordinary code that trusts no content
//! of a file.

mod context;
mod descriptor;
pub mod dictionary;
mod error;
mod recording;
mod table;
mod text;

pub use context::{Context, Frame, Program};
pub use dictionary::Dictionary;
pub use error::Error;
pub use recording::read::{Call, File, Recording};
pub use recording::slot::{FileName, Kind, Subject};
pub use recording::write::{Chunk, LogFile, now};
pub use table::{Table, TableWriter, names_path, table_path};
pub use text::Text;

/// Names the table of contexts, in place of `/dev/shm/forebay-contexts-UID`. Empty: none.
pub const CONTEXTS: &str = "FOREBAY_CONTEXTS";
/// The folder where programs record their calls.
pub const RECORD: &str = "FOREBAY_RECORDING";
/// How stacks are walked: `tables` (the default) or `frame-pointers`.
pub const UNWIND: &str = "FOREBAY_UNWIND";

/// Mixes a word so that each bit of it matters to each bit of the result (the finaliser of
/// SplitMix64).
#[inline(always)]
pub const fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}
