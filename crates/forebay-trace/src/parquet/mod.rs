//! Forebay's own format: Parquet, a row a request, so that every table program can read it.
//!
//! | column | type | what |
//! | --- | --- | --- |
//! | time | u64 | nanoseconds since the trace began |
//! | file | u64 | file, device or object |
//! | offset | u64 | first byte |
//! | length | u32 | bytes |
//! | operation | u8 | 0 read, 1 written |
//! | handler | u32 | who asked |
//! | context | u32 | program context |
//!
//! The rest is in the footer's key-value metadata: `forebay.version` (1), `forebay.shape` (`ranges`
//! or `objects`), `forebay.block_bytes`, `forebay.files` and `forebay.contexts` (JSON: their names
//! and figures), `forebay.origin` (how it was made), and `forebay.checksums`, a CRC-32 for each row
//! group, over its rows in order: Parquet's own pages have none, so that a flipped bit could go
//! unnoticed.

mod reader;
mod writer;

pub(crate) use reader::open;
pub(crate) use writer::Writer;

use crate::{ContextInfo, FileInfo, Operation, Request, Shape};

/// The only version.
const VERSION: &str = "1";

/// Rows of a group: a writer holds them in memory, and a reader may find damage that late.
const GROUP: usize = 1 << 18;

const SCHEMA: &str = "
    message forebay_trace {
        REQUIRED INT64 time (INTEGER(64, false));
        REQUIRED INT64 file (INTEGER(64, false));
        REQUIRED INT64 offset (INTEGER(64, false));
        REQUIRED INT32 length (INTEGER(32, false));
        REQUIRED INT32 operation (INTEGER(8, false));
        REQUIRED INT32 handler (INTEGER(32, false));
        REQUIRED INT32 context (INTEGER(32, false));
    }";

/// How many of the columns have 64 bits; they come first.
const WIDE: usize = 3;

mod key {
    pub(super) const VERSION: &str = "forebay.version";
    pub(super) const SHAPE: &str = "forebay.shape";
    pub(super) const BLOCK_BYTES: &str = "forebay.block_bytes";
    pub(super) const FILES: &str = "forebay.files";
    pub(super) const CONTEXTS: &str = "forebay.contexts";
    pub(super) const ORIGIN: &str = "forebay.origin";
    pub(super) const CHECKSUMS: &str = "forebay.checksums";
}

/// A file in the table of files.
#[derive(serde::Serialize, serde::Deserialize)]
struct FileRow {
    file: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
}

impl From<&FileInfo> for FileRow {
    fn from(info: &FileInfo) -> FileRow {
        FileRow { file: info.file, name: info.name.clone(), bytes: info.bytes }
    }
}

impl From<FileRow> for FileInfo {
    fn from(row: FileRow) -> FileInfo {
        FileInfo { file: row.file, name: row.name, bytes: row.bytes }
    }
}

/// A context in the table of contexts.
#[derive(serde::Serialize, serde::Deserialize)]
struct ContextRow {
    context: u32,
    /// In hexadecimal: JSON's numbers end at 2^53.
    id: String,
    program: String,
    build: String,
    frames: Vec<String>,
}

impl From<ContextInfo> for ContextRow {
    fn from(info: ContextInfo) -> ContextRow {
        let ContextInfo { context, id, program, build, frames } = info;
        ContextRow { context, id: format!("{id:016x}"), program, build, frames }
    }
}

impl ContextRow {
    /// `None` if its id is no number.
    fn info(self) -> Option<ContextInfo> {
        let ContextRow { context, id, program, build, frames } = self;
        Some(ContextInfo { context, id: u64::from_str_radix(&id, 16).ok()?, program, build, frames })
    }
}

/// The checksum of rows, going on from `before`.
fn checksum(before: u32, requests: &[Request]) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(before);
    for request in requests {
        let mut row = [0; 37];
        row[..8].copy_from_slice(&request.at.0.to_le_bytes());
        row[8..16].copy_from_slice(&request.file.to_le_bytes());
        row[16..24].copy_from_slice(&request.offset.to_le_bytes());
        row[24..28].copy_from_slice(&request.len.to_le_bytes());
        row[28] = code(request.operation);
        row[29..33].copy_from_slice(&request.handler.to_le_bytes());
        row[33..].copy_from_slice(&request.context.to_le_bytes());
        hasher.update(&row);
    }
    hasher.finalize()
}

fn code(operation: Operation) -> u8 {
    match operation {
        Operation::Read => 0,
        Operation::Write => 1,
    }
}

fn shape_name(shape: Shape) -> &'static str {
    match shape {
        Shape::Ranges { .. } => "ranges",
        Shape::Objects => "objects",
    }
}
