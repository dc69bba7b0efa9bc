//! Traces that are in memory: numbers of objects from a buffer, or the columns of an Arrow stream.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;
use forebay_cli::embedded::MemoryTrace;
use forebay_core::Instant;
use forebay_trace::{BATCH, Error, Operation, Request, Shape, Source};
use pyo3::buffer::{Element, PyBuffer};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::arrow;

/// A trace in memory, which many simulations can share.
#[pyclass(frozen, module = "forebay._forebay")]
pub(crate) struct Trace {
    given: MemoryTrace,
    requests: usize,
}

#[pymethods]
impl Trace {
    /// A trace of whole objects, from a buffer of whole numbers in one dimension.
    #[staticmethod]
    fn of_ids(py: Python<'_>, buffer: &Bound<'_, PyAny>) -> PyResult<Trace> {
        let ids: Arc<[u64]> = ids(py, buffer)?.into();
        let requests = ids.len();
        Ok(Trace { given: MemoryTrace::new(move || Box::new(Ids { ids: Arc::clone(&ids), next: 0 })), requests })
    }

    /// A trace from the columns of an Arrow stream: `file` and, as far as they are there, `offset`,
    /// `length`, `time`, `operation`, `handler` and `context`.
    #[staticmethod]
    #[pyo3(signature = (stream, block_bytes = 4096))]
    fn of_stream(stream: &Bound<'_, PyAny>, block_bytes: u32) -> PyResult<Trace> {
        let mut columns = Columns::default();
        for batch in arrow::read(stream)? {
            let batch = batch.map_err(|error| PyValueError::new_err(format!("the Arrow stream failed: {error}")))?;
            columns.append(&batch).map_err(PyValueError::new_err)?;
        }
        let shape = if columns.ranges { Shape::Ranges { block_bytes: block_bytes.max(1) } } else { Shape::Objects };
        let (rows, count): (Arc<[Request]>, usize) = (columns.requests.into(), columns.rows);
        Ok(Trace {
            given: MemoryTrace::new(move || Box::new(Rows { rows: Arc::clone(&rows), next: 0, shape })),
            requests: count,
        })
    }

    /// How many requests it has.
    fn __len__(&self) -> usize {
        self.requests
    }
}

impl Trace {
    pub(crate) fn given(&self) -> MemoryTrace {
        self.given.clone()
    }
}

/// The numbers in a buffer.
fn ids(py: Python<'_>, buffer: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    fn of<T: Element + Copy + Send>(
        py: Python<'_>,
        buffer: &PyBuffer<T>,
        number: fn(T) -> Option<u64>,
    ) -> PyResult<Vec<u64>> {
        let numbers = buffer.to_vec(py)?;
        let numbers: Option<Vec<u64>> = py.detach(|| numbers.into_iter().map(number).collect());
        numbers.ok_or_else(|| PyValueError::new_err("an id of the trace is negative; ids are 0 and above"))
    }
    macro_rules! try_types {
        ($($t:ty),*) => {
            $(if let Ok(buffer) = PyBuffer::<$t>::get(buffer) {
                if buffer.dimensions() != 1 {
                    let shape = buffer.shape().to_vec();
                    return Err(PyValueError::new_err(format!("a trace of ids has one dimension, not shape {shape:?}")));
                }
                return of(py, &buffer, |id: $t| u64::try_from(id).ok());
            })*
        };
    }
    try_types!(i64, u64, i32, u32, i16, u16, i8, u8);
    Err(PyTypeError::new_err("a trace of ids is a buffer of whole numbers, as numpy.array([1, 2, 1])"))
}

/// A trace of objects by their numbers.
struct Ids {
    ids: Arc<[u64]>,
    next: usize,
}

/// The next batch of `of` requests.
fn batch(next: &mut usize, of: usize) -> Range<usize> {
    let end = of.min(*next + BATCH);
    std::mem::replace(next, end)..end
}

impl Source for Ids {
    fn read(&mut self, requests: &mut Vec<Request>) -> Result<usize, Error> {
        let range = batch(&mut self.next, self.ids.len());
        let count = range.len();
        requests.extend(self.ids[range].iter().map(|&file| Request { file, len: 1, ..Request::default() }));
        Ok(count)
    }

    fn shape(&self) -> Shape {
        Shape::Objects
    }

    fn progress(&self) -> (u64, u64) {
        (self.next as u64, self.ids.len() as u64)
    }
}

/// A trace of whole requests.
struct Rows {
    rows: Arc<[Request]>,
    next: usize,
    shape: Shape,
}

impl Source for Rows {
    fn read(&mut self, requests: &mut Vec<Request>) -> Result<usize, Error> {
        let range = batch(&mut self.next, self.rows.len());
        let count = range.len();
        requests.extend_from_slice(&self.rows[range]);
        Ok(count)
    }

    fn shape(&self) -> Shape {
        self.shape
    }

    fn progress(&self) -> (u64, u64) {
        (self.next as u64, self.rows.len() as u64)
    }
}

/// The requests of the batches so far.
#[derive(Default)]
struct Columns {
    requests: Vec<Request>,
    rows: usize,
    /// Whether requests are ranges: there is a column of offsets.
    ranges: bool,
    /// Names of files that are texts, numbered in order of appearance.
    names: HashMap<String, u64>,
}

/// The columns that a trace may have, as in Forebay's Parquet.
const KNOWN: [&str; 7] = ["time", "file", "offset", "length", "operation", "handler", "context"];

impl Columns {
    fn append(&mut self, batch: &RecordBatch) -> Result<(), String> {
        let schema = batch.schema();
        if let Some(field) = schema.fields().iter().find(|field| !KNOWN.contains(&field.name().as_str())) {
            return Err(format!("a trace has no column '{}'; known are {}", field.name(), KNOWN.join(", ")));
        }
        let Some(files) = batch.column_by_name("file") else {
            return Err(format!("the trace has no column 'file'; known are {}", KNOWN.join(", ")));
        };
        let files = self.files(files)?;
        self.ranges |= batch.column_by_name("offset").is_some();
        let numbers = |name: &str| batch.column_by_name(name).map(|column| numbers(name, column)).transpose();
        let offsets = numbers("offset")?;
        let lengths = numbers("length")?;
        let (handlers, contexts) = (numbers("handler")?, numbers("context")?);
        let times = batch.column_by_name("time").map(times).transpose()?;
        let operations = batch.column_by_name("operation").map(operations).transpose()?;
        for (row, file) in files.into_iter().enumerate() {
            let of = |column: &Option<Vec<u64>>, other| column.as_ref().map_or(other, |column| column[row]);
            let narrow = |name: &str, value: u64| {
                u32::try_from(value)
                    .map_err(|_| format!("row {row} of the trace: {name} {value} is above {}", u32::MAX))
            };
            self.requests.push(Request {
                at: Instant(of(&times, 0)),
                file,
                offset: of(&offsets, 0),
                len: narrow("length", of(&lengths, 1).max(1))?,
                handler: narrow("handler", of(&handlers, 0))?,
                context: narrow("context", of(&contexts, 0))?,
                operation: operations.as_ref().map_or(Operation::Read, |column| column[row]),
            });
            self.rows += 1;
        }
        Ok(())
    }

    fn files(&mut self, column: &ArrayRef) -> Result<Vec<u64>, String> {
        let text = matches!(column.data_type(), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
        if !text {
            return numbers("file", column);
        }
        let column = arrow::cast_text(column)?;
        let mut named = |name: Option<&str>| {
            let name = name.ok_or("column 'file' of the trace has a null")?;
            let next = self.names.len() as u64;
            Ok(*self.names.entry(name.to_owned()).or_insert(next))
        };
        column.iter().map(|name| named(name.as_deref())).collect()
    }
}

/// A column of whole numbers.
fn numbers(name: &str, column: &ArrayRef) -> Result<Vec<u64>, String> {
    let column = arrow::whole_numbers(column).ok_or_else(|| {
        let given = match column.data_type() {
            _ if column.null_count() > 0 => "it has a null".to_owned(),
            kind if kind.is_integer() => "it has a number below 0".to_owned(),
            kind => format!("not {kind}"),
        };
        format!("column '{name}' of the trace must be whole numbers from 0 on, without nulls: {given}")
    })?;
    Ok(column)
}

/// Nanoseconds: whole numbers are these, floating ones are seconds.
fn times(column: &ArrayRef) -> Result<Vec<u64>, String> {
    match column.data_type() {
        DataType::Float64 if column.null_count() == 0 => {
            let nanos = |(row, &seconds): (usize, &f64)| match Duration::try_from_secs_f64(seconds) {
                Ok(time) if time.as_nanos() <= u64::MAX.into() => Ok(time.as_nanos() as u64),
                _ => Err(format!("row {row} of the trace: time {seconds} is no number of seconds from 0 on")),
            };
            column.as_primitive::<Float64Type>().values().iter().enumerate().map(nanos).collect()
        }
        _ => numbers("time", column),
    }
}

/// Reads and writes: 0 and 1, or texts that begin with r and w.
fn operations(column: &ArrayRef) -> Result<Vec<Operation>, String> {
    let wrong =
        |given: &str| format!("column 'operation' of the trace has {given}; 0 or 'read' and 1 or 'write' are known");
    if matches!(column.data_type(), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) {
        let of = |text: Option<String>| match text.as_deref().map(|text| text.as_bytes().first().copied()) {
            Some(Some(b'r' | b'R')) => Ok(Operation::Read),
            Some(Some(b'w' | b'W')) => Ok(Operation::Write),
            _ => Err(wrong(&text.map_or("a null".to_owned(), |text| format!("{text:?}")))),
        };
        return arrow::cast_text(column)?.into_iter().map(of).collect();
    }
    let of = |number: u64| match number {
        0 => Ok(Operation::Read),
        1 => Ok(Operation::Write),
        other => Err(wrong(&other.to_string())),
    };
    numbers("operation", column)?.into_iter().map(of).collect()
}
