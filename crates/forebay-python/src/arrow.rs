//! Tables by the Arrow C stream interface: capsules that pandas, polars, pyarrow and DuckDB make
//! and take.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::types::{Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchIterator, StringArray,
};
use arrow_schema::{DataType, Field, Schema};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi::c_str;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use serde_json::Value;
use std::ffi::CStr;

/// The name of a capsule with a stream, by the interface.
const NAME: &CStr = c_str!("arrow_array_stream");

/// Reads the stream of an object that has `__arrow_c_stream__`.
pub(crate) fn read(object: &Bound<'_, PyAny>) -> PyResult<RecordBatchStreamReader> {
    let capsule = object.call_method0("__arrow_c_stream__")?;
    let capsule =
        capsule.cast::<PyCapsule>().map_err(|_| PyTypeError::new_err("__arrow_c_stream__ gave no capsule"))?;
    let pointer = capsule.pointer_checked(Some(NAME))?;
    // SAFETY: a capsule of this name holds such a struct; it is moved out, and what stays is marked
    // as released, so that the capsule's destructor does not release it again.
    let reader = unsafe { RecordBatchStreamReader::from_raw(pointer.as_ptr().cast::<FFI_ArrowArrayStream>()) };
    reader.map_err(|error| PyValueError::new_err(format!("the Arrow stream cannot be read: {error}")))
}

/// A column of whole numbers from 0 on; `None` if it is anything else.
pub(crate) fn whole_numbers(column: &ArrayRef) -> Option<Vec<u64>> {
    if column.null_count() > 0 {
        return None;
    }
    macro_rules! of {
        ($type:ty) => {
            column.as_primitive::<$type>().values().iter().map(|&number| u64::try_from(number).ok()).collect()
        };
    }
    match column.data_type() {
        DataType::Int8 => of!(Int8Type),
        DataType::Int16 => of!(Int16Type),
        DataType::Int32 => of!(Int32Type),
        DataType::Int64 => of!(Int64Type),
        DataType::UInt8 => of!(UInt8Type),
        DataType::UInt16 => of!(UInt16Type),
        DataType::UInt32 => of!(UInt32Type),
        DataType::UInt64 => Some(column.as_primitive::<UInt64Type>().values().to_vec()),
        _ => None,
    }
}

/// A column of texts, of whichever width.
pub(crate) fn cast_text(column: &ArrayRef) -> Result<Vec<Option<String>>, String> {
    let owned = |text: Option<&str>| text.map(str::to_owned);
    match column.data_type() {
        DataType::Utf8 => Ok(column.as_string::<i32>().iter().map(owned).collect()),
        DataType::LargeUtf8 => Ok(column.as_string::<i64>().iter().map(owned).collect()),
        DataType::Utf8View => Ok(column.as_string_view().iter().map(owned).collect()),
        other => Err(format!("a column of texts is wanted, not of {other}")),
    }
}

/// A capsule with the stream of a table whose rows are given as JSON: an array of flat objects.
#[pyfunction]
pub(crate) fn stream_of_rows<'py>(py: Python<'py>, rows: &str) -> PyResult<Bound<'py, PyCapsule>> {
    let wrong = |error: &dyn std::fmt::Display| PyValueError::new_err(format!("these are no rows of a table: {error}"));
    let rows: Vec<serde_json::Map<String, Value>> = serde_json::from_str(rows).map_err(|error| wrong(&error))?;
    let mut names: Vec<&String> = Vec::new();
    for name in rows.iter().flat_map(|row| row.keys()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let columns: Vec<ArrayRef> = names.iter().map(|name| column(&rows, name)).collect();
    let fields: Vec<Field> =
        names.iter().zip(&columns).map(|(name, column)| Field::new(*name, column.data_type().clone(), true)).collect();
    let schema = Arc::new(Schema::new(fields));
    let batches = if names.is_empty() { Vec::new() } else { vec![RecordBatch::try_new(Arc::clone(&schema), columns)] };
    let stream = FFI_ArrowArrayStream::new(Box::new(RecordBatchIterator::new(batches, schema)));
    PyCapsule::new_with_value(py, stream, NAME)
}

/// A column by the kind of its values: whole numbers, numbers, booleans, else texts.
fn column(rows: &[serde_json::Map<String, Value>], name: &str) -> ArrayRef {
    let values = || rows.iter().map(|row| row.get(name).filter(|value| !value.is_null()));
    let all = |is: fn(&Value) -> bool| values().flatten().all(is);
    if all(Value::is_i64) {
        Arc::new(values().map(|value| value.and_then(Value::as_i64)).collect::<Int64Array>())
    } else if all(Value::is_number) {
        Arc::new(values().map(|value| value.and_then(Value::as_f64)).collect::<Float64Array>())
    } else if all(Value::is_boolean) {
        Arc::new(values().map(|value| value.and_then(Value::as_bool)).collect::<BooleanArray>())
    } else {
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Arc::new(values().map(|value| value.map(text)).collect::<StringArray>())
    }
}
