//! Results: flat records, as a table on a terminal, as JSON, as CSV, and as a picture.

use forebay_sim::chart::{self, Chart};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::options::Report;
use crate::output;
use crate::size::count;
use crate::table::{Column, Side, Table};

/// Fields that describe a run rather than a row. If all rows have the same value, it stands below
/// the table, once.
const SETTINGS: [&str; 9] =
    ["trace", "folder", "device", "scheduler", "labels", "block_bytes", "handlers", "requests", "seed"];

/// Fields that a table of several rows has no room for. JSON, CSV and the list of a single record
/// have them.
const DETAILS: [&str; 8] =
    ["p50_ms", "p90_ms", "bytes", "device_requests", "mean_request_kb", "called_off", "unread", "writes"];

/// Whether a table of several rows has no room for a field. Of each level's figures it has the hit
/// ratio and the wasted blocks.
fn is_detail(name: &str) -> bool {
    let of_level =
        name.strip_prefix('l').and_then(|name| name.split_once('_')).filter(|(n, _)| n.parse::<u32>().is_ok());
    DETAILS.contains(&name) || of_level.is_some_and(|(_, figure)| !matches!(figure, "hit_ratio" | "wasted"))
}

/// A record: fields and their values, in order.
pub(crate) type Fields = Map<String, Value>;

/// Shows `records` as the options say. A record is a struct of numbers, texts and booleans: its
/// field names are the keys of JSON, the columns of CSV and, with their underscores as spaces, of
/// the table. `chart` is drawn if a picture is asked for.
pub(crate) fn show<T: Serialize>(
    records: &[T],
    options: &Report,
    chart: impl FnOnce() -> Option<Chart>,
) -> Result<(), Failure> {
    let records = fields(records)?;
    if options.json {
        output::json(&records)?;
    } else if options.csv {
        output::print(&csv(&records)?)?;
    } else {
        output::print(&text(&records))?;
    }
    let Some(path) = &options.plot else { return Ok(()) };
    match chart().filter(|chart| !chart.is_empty()) {
        Some(chart) => chart.write(path).map_err(|error| match error {
            chart::Error::Ending { .. } => Failure::input(error),
            chart::Error::Write { .. } => Failure::run(error),
        }),
        None => {
            Err(Failure::run(format!("{} is not drawn: there is nothing in these results to draw", path.display())))
        }
    }
}

/// Records as their fields.
pub(crate) fn fields<T: Serialize>(records: &[T]) -> Result<Vec<Fields>, Failure> {
    records.iter().map(of_record).collect()
}

/// A record as its fields.
pub(crate) fn of_record(record: &impl Serialize) -> Result<Fields, Failure> {
    match serde_json::to_value(record) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err(Failure::run("a result is no record")),
        Err(error) => Err(Failure::run(format!("cannot write JSON: {error}"))),
    }
}

/// The names of all fields, in the order in which they first appear.
fn columns(records: &[Fields]) -> Vec<&str> {
    let mut columns: Vec<&str> = Vec::new();
    for name in records.iter().flat_map(Fields::keys) {
        if !columns.contains(&name.as_str()) {
            columns.push(name);
        }
    }
    columns
}

/// Comma-separated values with a heading (RFC 4180, but lines end in a line feed). A field that a
/// record lacks stays empty.
fn csv(records: &[Fields]) -> Result<String, Failure> {
    let failed = |error: String| Failure::run(format!("cannot write CSV: {error}"));
    let columns = columns(records);
    if columns.is_empty() {
        return Ok(String::new());
    }
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(&columns).map_err(|error| failed(error.to_string()))?;
    for record in records {
        let cells = columns.iter().map(|&name| match record.get(name) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
        });
        writer.write_record(cells).map_err(|error| failed(error.to_string()))?;
    }
    let bytes = writer.into_inner().map_err(|error| failed(error.to_string()))?;
    String::from_utf8(bytes).map_err(|error| failed(error.to_string()))
}

/// For a terminal: one record as a list, several as a table with the settings that they share below
/// it.
fn text(records: &[Fields]) -> String {
    match records {
        [] => String::new(),
        [record] => list(record),
        records => table(records),
    }
}

fn list(record: &Fields) -> String {
    let one = std::slice::from_ref(record);
    let mut rows = record.iter().map(|(name, value)| (heading(name), cell(name, value, decimals(one, name))));
    let Some((name, value)) = rows.next() else { return String::new() };
    let mut table = Table::new([Column::left(&name), Column::left(&value)]);
    rows.for_each(|(name, value)| table.row([name, value]));
    table.to_string()
}

fn table(records: &[Fields]) -> String {
    let shared = |name: &str| SETTINGS.contains(&name) && records.iter().all(|r| r.get(name) == records[0].get(name));
    let shown = columns(records).into_iter().filter(|name| !is_detail(name));
    let (settings, columns): (Vec<&str>, Vec<&str>) = shown.partition(|name| shared(name));
    let headings: Vec<(String, Side)> = columns.iter().map(|name| (heading(name), side(records, name))).collect();
    let mut table = Table::new(headings.iter().map(|(name, side)| Column { name, side: *side }));
    let decimals: Vec<usize> = columns.iter().map(|name| decimals(records, name)).collect();
    for record in records {
        let cells = columns.iter().zip(&decimals);
        table.row(cells.map(|(name, &decimals)| record.get(*name).map_or_else(dash, |v| cell(name, v, decimals))));
    }
    let settings: Vec<String> = settings
        .into_iter()
        .filter_map(|name| Some((name, records[0].get(name).filter(|value| !value.is_null())?)))
        .map(|(name, value)| format!("{} {}", heading(name), cell(name, value, 0)))
        .collect();
    let below = if settings.is_empty() { String::new() } else { format!("\n{}\n", settings.join(", ")) };
    format!("{table}{below}")
}

/// A field's name for people: `throughput_mb_s` is `throughput MB/s`.
fn heading(name: &str) -> String {
    let name = match (name.strip_suffix("_mb_s"), name.strip_suffix("_kb")) {
        (Some(name), _) => format!("{name} MB/s"),
        (None, Some(name)) => format!("{name} KB"),
        (None, None) => name.to_owned(),
    };
    name.replace('_', " ")
}

fn dash() -> String {
    "–".to_owned()
}

/// Texts to the left, numbers to the right.
fn side(records: &[Fields], name: &str) -> Side {
    let text = records.iter().filter_map(|record| record.get(name)).any(|value| value.is_string());
    if text { Side::Left } else { Side::Right }
}

/// How many decimals a column needs: four digits of its largest value; shares and ratios have four
/// decimals, so that they can be compared across tables.
fn decimals(records: &[Fields], name: &str) -> usize {
    let values = records.iter().filter_map(|record| record.get(name)).filter(|value| value.is_f64());
    let most = values.filter_map(Value::as_f64).map(f64::abs).fold(0.0, f64::max);
    if name.ends_with("ratio") || name.ends_with("share") {
        return 4;
    }
    match most {
        most if most >= 1000.0 => 0,
        most if most >= 100.0 => 1,
        most if most >= 10.0 => 2,
        _ => 3,
    }
}

fn cell(name: &str, value: &Value, decimals: usize) -> String {
    match value {
        Value::Null => dash(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::String(text) => text.clone(),
        // A seed is copied, so it has no separators.
        Value::Number(number) if name == "seed" => number.to_string(),
        Value::Number(number) => match (number.as_u64(), number.as_f64()) {
            (Some(whole), _) => count(whole),
            (None, Some(value)) => format!("{value:.decimals$}"),
            (None, None) => number.to_string(),
        },
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Row {
        policy: &'static str,
        capacity_blocks: u64,
        miss_ratio: f64,
        response_ms: Option<f64>,
        trace: &'static str,
        seed: u64,
    }

    fn rows() -> Vec<Fields> {
        let row = |policy, capacity_blocks, miss_ratio, response_ms| Row {
            policy,
            capacity_blocks,
            miss_ratio,
            response_ms,
            trace: "a, \"b\".trace",
            seed: 1234567,
        };
        [row("lru", 1000, 0.5, Some(12.345)), row("s3-fifo", 12_000, 0.123456, None)]
            .iter()
            .map(|row| of_record(row).unwrap_or_default())
            .collect()
    }

    #[test]
    fn a_table_has_settings_below_and_numbers_to_the_right() {
        let expected = "\
policy   capacity blocks  miss ratio  response ms
lru                1,000      0.5000        12.35
s3-fifo           12,000      0.1235            –

trace a, \"b\".trace, seed 1234567
";
        assert_eq!(text(&rows()), expected);
    }

    #[test]
    fn one_record_is_a_list() {
        let expected = "\
policy           lru
capacity blocks  1,000
miss ratio       0.5000
response ms      12.35
trace            a, \"b\".trace
seed             1234567
";
        assert_eq!(text(&rows()[..1]), expected);
        assert_eq!(text(&[]), "");
    }

    #[test]
    fn csv_is_quoted_where_it_must_be() {
        let expected = "\
policy,capacity_blocks,miss_ratio,response_ms,trace,seed
lru,1000,0.5,12.345,\"a, \"\"b\"\".trace\",1234567
s3-fifo,12000,0.123456,,\"a, \"\"b\"\".trace\",1234567
";
        assert_eq!(csv(&rows()).unwrap(), expected);
        assert_eq!(csv(&[]).unwrap(), "");
    }

    #[test]
    fn json_is_an_array_of_flat_records() {
        let expected = r#"[{"policy":"lru","capacity_blocks":1000,"miss_ratio":0.5,"response_ms":12.345,"trace":"a, \"b\".trace","seed":1234567}]"#;
        assert_eq!(serde_json::to_string(&rows()[..1]).unwrap(), expected);
        assert!(of_record(&7).is_err());
    }

    #[test]
    fn records_may_lack_fields() {
        let mut rows = rows();
        rows[0].shift_remove("capacity_blocks");
        rows[1].insert("more".into(), Value::Bool(true));
        assert_eq!(columns(&rows), ["policy", "miss_ratio", "response_ms", "trace", "seed", "capacity_blocks", "more"]);
        assert!(text(&rows).lines().nth(1).unwrap().contains('–'));
    }
}
