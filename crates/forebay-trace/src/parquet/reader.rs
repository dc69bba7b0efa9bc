//! Reads the own format.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use forebay_core::Instant;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{ChunkReader, FileReader};
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::schema::parser::parse_message_type;

use super::{ContextRow, FileRow, SCHEMA, VERSION, WIDE, checksum, key};
use crate::{BATCH, ContextInfo, Error, FileInfo, Operation, Request, Shape, Source};

/// Opens a file of our own format; `content` is the content of `path`.
pub(crate) fn open<C: ChunkReader + 'static>(path: &Path, content: C) -> Result<Box<dyn Source>, Error> {
    let unknown = |reason: String| Error::Format { path: path.to_owned(), reason };
    let damaged = |error: Broken| unknown(format!("it is no whole Parquet file: {error}"));
    let bytes = content.len();
    let reader = guarded(|| SerializedFileReader::new(content)).map_err(damaged)?;
    let about = About::of(reader.metadata(), bytes).map_err(unknown)?;
    let rows = Rows { path: path.to_owned(), reader, about, groups: 0, group: None, read: 0, failed: false };
    Ok(Box::new(rows))
}

/// The failure of Parquet's library.
#[derive(Debug, thiserror::Error)]
enum Broken {
    #[error("{0}")]
    Parquet(#[from] ParquetError),
    #[error("its reader gave up")]
    Panicked,
}

/// Calls Parquet's library. A damaged page header can make it reserve two gigabytes of addresses,
/// which it never fills. It is careful with damaged files, but does not promise never to panic on
/// one.
fn guarded<T>(call: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, Broken> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => Ok(result?),
        Err(_) => Err(Broken::Panicked),
    }
}

/// The footer's contents.
struct About {
    shape: Shape,
    files: Vec<FileInfo>,
    contexts: Vec<ContextInfo>,
    origin: Option<String>,
    checksums: Vec<u32>,
    /// Rows of each group.
    rows: Vec<u64>,
}

impl About {
    fn of(metadata: &ParquetMetaData, bytes: u64) -> Result<About, String> {
        let said = metadata.file_metadata().key_value_metadata();
        let value = |key: &str| said?.iter().find(|pair| pair.key == key)?.value.as_deref();
        match value(key::VERSION) {
            Some(VERSION) => {}
            Some(other) => return Err(format!("it has version {other} of Forebay's format, known is {VERSION}")),
            None => {
                return Err("it is a Parquet file, but no trace of Forebay's: forebay.version is missing".to_owned());
            }
        }
        let wrong = |key: &str| format!("{key} is missing or makes no sense in its footer");
        let expected = parse_message_type(SCHEMA).map_err(|error| error.to_string())?;
        let schema = metadata.file_metadata().schema_descr();
        let columns = schema.columns().iter().map(|column| column.self_type());
        if !columns.eq(expected.get_fields().iter().map(|field| &**field)) {
            return Err("its columns are not those of version 1 of Forebay's format".to_owned());
        }
        let shape = match (value(key::SHAPE), value(key::BLOCK_BYTES).map(str::parse)) {
            (Some("objects"), None) => Shape::Objects,
            (Some("ranges"), Some(Ok(block_bytes @ 1..))) => Shape::Ranges { block_bytes },
            _ => return Err(wrong("forebay.shape or forebay.block_bytes")),
        };
        let files: Vec<FileRow> = match value(key::FILES) {
            None => Vec::new(),
            Some(json) => serde_json::from_str(json).map_err(|_| wrong(key::FILES))?,
        };
        let contexts: Option<Vec<ContextRow>> = match value(key::CONTEXTS) {
            None => Some(Vec::new()),
            Some(json) => serde_json::from_str(json).ok(),
        };
        let contexts: Option<Vec<ContextInfo>> =
            contexts.and_then(|rows| rows.into_iter().map(ContextRow::info).collect());
        let contexts = contexts.ok_or_else(|| wrong(key::CONTEXTS))?;
        let checksums: Option<Vec<u32>> = value(key::CHECKSUMS)
            .and_then(|sums| sums.split_whitespace().map(|sum| u32::from_str_radix(sum, 16).ok()).collect());
        let checksums = checksums.ok_or_else(|| wrong(key::CHECKSUMS))?;
        let groups = metadata.row_groups();
        let rows: Option<Vec<u64>> = groups.iter().map(|group| u64::try_from(group.num_rows()).ok()).collect();
        let inside = groups.iter().flat_map(|group| group.columns()).all(|column| {
            let size = u64::try_from(column.compressed_size());
            size.is_ok_and(|size| size <= bytes)
        });
        match rows {
            Some(rows) if rows.len() == checksums.len() && inside => {
                let files = files.into_iter().map(FileInfo::from).collect();
                let origin = value(key::ORIGIN).map(str::to_owned);
                Ok(About { shape, files, contexts, origin, checksums, rows })
            }
            _ => Err("its footer contradicts itself".to_owned()),
        }
    }
}

/// The rows of a file, group by group.
struct Rows<C: ChunkReader> {
    path: PathBuf,
    reader: SerializedFileReader<C>,
    about: About,
    /// How many groups were begun.
    groups: usize,
    group: Option<Group>,
    read: u64,
    failed: bool,
}

/// A row group that is being read.
struct Group {
    wide: [ColumnReaderImpl<Int64Type>; WIDE],
    narrow: [ColumnReaderImpl<Int32Type>; 4],
    wide_values: [Vec<i64>; WIDE],
    narrow_values: [Vec<i32>; 4],
    left: u64,
    checksum: u32,
}

impl Group {
    fn of<C: ChunkReader + 'static>(
        reader: &SerializedFileReader<C>,
        number: usize,
        rows: u64,
    ) -> Result<Group, ParquetError> {
        let group = reader.get_row_group(number)?;
        let other = || ParquetError::General("a column has another type".to_owned());
        let wide = |column| match group.get_column_reader(column)? {
            ColumnReader::Int64ColumnReader(column) => Ok(column),
            _ => Err(other()),
        };
        let narrow = |column| match group.get_column_reader(column)? {
            ColumnReader::Int32ColumnReader(column) => Ok(column),
            _ => Err(other()),
        };
        Ok(Group {
            wide: [wide(0)?, wide(1)?, wide(2)?],
            narrow: [narrow(3)?, narrow(4)?, narrow(5)?, narrow(6)?],
            wide_values: Default::default(),
            narrow_values: Default::default(),
            left: rows,
            checksum: 0,
        })
    }

    /// Fills the values of some rows, and returns how many.
    fn fill(&mut self) -> Result<usize, ParquetError> {
        let wanted = BATCH.min(usize::try_from(self.left).unwrap_or(BATCH));
        let short = || ParquetError::General("a column has too few values".to_owned());
        for (column, values) in self.wide.iter_mut().zip(&mut self.wide_values) {
            values.clear();
            column.read_records(wanted, None, None, values)?;
            (values.len() == wanted).then_some(()).ok_or_else(short)?;
        }
        for (column, values) in self.narrow.iter_mut().zip(&mut self.narrow_values) {
            values.clear();
            column.read_records(wanted, None, None, values)?;
            (values.len() == wanted).then_some(()).ok_or_else(short)?;
        }
        Ok(wanted)
    }

    fn request(&self, row: usize) -> Result<Request, String> {
        let [at, file, offset] = [0, 1, 2].map(|column| self.wide_values[column][row] as u64);
        let [len, operation, handler, context] = [0, 1, 2, 3].map(|column| self.narrow_values[column][row] as u32);
        let operation = match operation {
            0 => Operation::Read,
            1 => Operation::Write,
            other => return Err(format!("{other} is no operation")),
        };
        if len == 0 || offset.checked_add(len.into()).is_none() {
            return Err(format!("{len} bytes at {offset} are no range"));
        }
        Ok(Request { at: Instant(at), file, offset, len, handler, context, operation })
    }
}

impl<C: ChunkReader + 'static> Rows<C> {
    fn batch(&mut self, batch: &mut Vec<Request>) -> Result<usize, String> {
        loop {
            if self.group.is_none() {
                let Some(&rows) = self.about.rows.get(self.groups) else { return Ok(0) };
                let group =
                    guarded(|| Group::of(&self.reader, self.groups, rows)).map_err(|error| error.to_string())?;
                self.group = Some(group);
                self.groups += 1;
            }
            let Some(group) = &mut self.group else { continue };
            let count = guarded(|| group.fill()).map_err(|error| error.to_string())?;
            let before = batch.len();
            for row in 0..count {
                batch.push(group.request(row)?);
                self.read += 1;
            }
            group.checksum = checksum(group.checksum, &batch[before..]);
            group.left -= count as u64;
            if group.left == 0 {
                let expected = self.about.checksums[self.groups - 1];
                if group.checksum != expected {
                    return Err(format!("the checksum of the row group that ends before it is not {expected:08x}"));
                }
                self.group = None;
            }
            if count > 0 {
                return Ok(count);
            }
        }
    }
}

impl<C: ChunkReader + 'static> Source for Rows<C> {
    fn read(&mut self, batch: &mut Vec<Request>) -> Result<usize, Error> {
        if self.failed {
            return Ok(0);
        }
        let result = self.batch(batch);
        self.failed = result.is_err();
        result.map_err(|reason| Error::Record { path: self.path.clone(), record: self.read + 1, reason })
    }

    fn shape(&self) -> Shape {
        self.about.shape
    }

    fn progress(&self) -> (u64, u64) {
        (self.read, self.about.rows.iter().fold(0, |sum, &rows| sum.saturating_add(rows)))
    }

    fn files(&self) -> Vec<FileInfo> {
        self.about.files.clone()
    }

    fn contexts(&self) -> Vec<ContextInfo> {
        self.about.contexts.clone()
    }

    fn origin(&self) -> Option<String> {
        self.about.origin.clone()
    }
}
