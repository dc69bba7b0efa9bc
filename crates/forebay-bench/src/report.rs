//! What was measured, as a table or as JSON.

use serde::Serialize;

/// One figure.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    /// Which measurement.
    pub(crate) bench: &'static str,
    /// What of Forebay.
    pub(crate) what: String,
    /// Against what.
    pub(crate) against: String,
    /// The figure.
    pub(crate) ratio: f64,
    /// The least (or, for instructions, the most) that was wanted.
    pub(crate) wanted: Option<f64>,
    /// Both sides, with units.
    pub(crate) detail: String,
    /// Of `handlers`: what a picture is drawn of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) point: Option<Point>,
}

/// Throughputs of one number of handlers, in 10^6 bytes a second.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Point {
    /// What a request reads: `whole` files or `random` portions.
    pub(crate) portion: String,
    /// How many handlers.
    pub(crate) handlers: u32,
    /// Under `linux`, `aggressive`, `competitive`, and the offline optimum.
    pub(crate) mb_s: [f64; 4],
}

/// Prints rows to standard output.
pub(crate) fn print(rows: &[Row], json: bool) -> anyhow::Result<()> {
    if json {
        println!("{}", serde_json::to_string_pretty(rows)?);
        return Ok(());
    }
    println!("{:<14} {:<44} {:<30} {:>8} {:>8}  detail", "bench", "what", "against", "figure", "wanted");
    for row in rows {
        let wanted = row.wanted.map_or_else(String::new, |wanted| format!("{wanted:.2}"));
        println!(
            "{:<14} {:<44} {:<30} {:>8.2} {:>8}  {}",
            row.bench, row.what, row.against, row.ratio, wanted, row.detail
        );
    }
    Ok(())
}

/// The middle of some values; not a number if there are none.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[n / 2],
        n => (values[n / 2 - 1] + values[n / 2]) / 2.0,
    }
}
