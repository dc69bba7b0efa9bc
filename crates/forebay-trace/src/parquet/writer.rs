//! Writes the own format.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::data_type::{Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use super::{ContextRow, FileRow, GROUP, SCHEMA, VERSION, checksum, code, key, shape_name};
use crate::{Request, Shape, Source};

/// Writes the own format into `W`.
pub(crate) struct Writer<W: Write + Send> {
    rows: SerializedFileWriter<W>,
    shape: Shape,
    group: Vec<Request>,
    checksums: Vec<u32>,
}

impl<W: Write + Send> Writer<W> {
    pub(crate) fn new(output: W, shape: Shape) -> Result<Writer<W>, ParquetError> {
        let properties = WriterProperties::builder()
            // Without a library's version: the same requests make the same bytes.
            .set_created_by("forebay".to_owned())
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
            // Neighbours differ by little, or by the same.
            .set_dictionary_enabled(false)
            .set_encoding(Encoding::DELTA_BINARY_PACKED)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .build();
        let schema = Arc::new(parse_message_type(SCHEMA)?);
        let rows = SerializedFileWriter::new(output, schema, Arc::new(properties))?;
        Ok(Writer { rows, shape, group: Vec::new(), checksums: Vec::new() })
    }

    pub(crate) fn write(&mut self, mut requests: &[Request]) -> Result<(), ParquetError> {
        while !requests.is_empty() {
            let (now, later) = requests.split_at(requests.len().min(GROUP - self.group.len()));
            self.group.extend_from_slice(now);
            requests = later;
            if self.group.len() == GROUP {
                self.end_group()?;
            }
        }
        Ok(())
    }

    /// Writes the rest, and the footer.
    pub(crate) fn finish(mut self, about: &dyn Source) -> Result<W, ParquetError> {
        self.end_group()?;
        let mut say = |key: &str, value: String| {
            self.rows.append_key_value_metadata(KeyValue::new(key.to_owned(), value));
        };
        say(key::VERSION, VERSION.to_owned());
        say(key::SHAPE, shape_name(self.shape).to_owned());
        if let Shape::Ranges { block_bytes } = self.shape {
            say(key::BLOCK_BYTES, block_bytes.to_string());
        }
        let json = |json: serde_json::Result<String>| json.map_err(|error| ParquetError::External(error.into()));
        let files: Vec<FileRow> = about.files().iter().map(FileRow::from).collect();
        if !files.is_empty() {
            say(key::FILES, json(serde_json::to_string(&files))?);
        }
        let contexts: Vec<ContextRow> = about.contexts().into_iter().map(ContextRow::from).collect();
        if !contexts.is_empty() {
            say(key::CONTEXTS, json(serde_json::to_string(&contexts))?);
        }
        if let Some(origin) = about.origin() {
            say(key::ORIGIN, origin);
        }
        let checksums: Vec<String> = self.checksums.iter().map(|sum| format!("{sum:08x}")).collect();
        say(key::CHECKSUMS, checksums.join(" "));
        self.rows.into_inner()
    }

    fn end_group(&mut self) -> Result<(), ParquetError> {
        if self.group.is_empty() {
            return Ok(());
        }
        self.checksums.push(checksum(0, &self.group));
        let mut group = self.rows.next_row_group()?;
        // Signed types carry the same bits.
        wide(&mut group, self.group.iter().map(|request| request.at.0 as i64))?;
        wide(&mut group, self.group.iter().map(|request| request.file as i64))?;
        wide(&mut group, self.group.iter().map(|request| request.offset as i64))?;
        narrow(&mut group, self.group.iter().map(|request| request.len as i32))?;
        narrow(&mut group, self.group.iter().map(|request| code(request.operation).into()))?;
        narrow(&mut group, self.group.iter().map(|request| request.handler as i32))?;
        narrow(&mut group, self.group.iter().map(|request| request.context as i32))?;
        group.close()?;
        self.group.clear();
        Ok(())
    }
}

fn wide<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: impl Iterator<Item = i64>,
) -> Result<(), ParquetError> {
    let mut column = group.next_column()?.ok_or_else(too_few)?;
    column.typed::<Int64Type>().write_batch(&values.collect::<Vec<_>>(), None, None)?;
    column.close()
}

fn narrow<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: impl Iterator<Item = i32>,
) -> Result<(), ParquetError> {
    let mut column = group.next_column()?.ok_or_else(too_few)?;
    column.typed::<Int32Type>().write_batch(&values.collect::<Vec<_>>(), None, None)?;
    column.close()
}

fn too_few() -> ParquetError {
    ParquetError::General("the schema has fewer columns than a request".to_owned())
}
