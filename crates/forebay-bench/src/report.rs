//! Results, as a table or as JSON.

use serde::Serialize;

/// One figure.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    /// The bench.
    pub(crate) bench: &'static str,
    /// The measured figure of Forebay.
    pub(crate) what: String,
    /// Its opponent.
    pub(crate) against: String,
    /// The figure.
    pub(crate) ratio: f64,
    /// The least (or, for instructions, the most) that is wanted.
    pub(crate) wanted: Option<f64>,
    /// Both sides, with units.
    pub(crate) detail: String,
    /// Values for a picture or a table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) point: Option<Beside>,
}

/// Values that some rows have beside their figure.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Beside {
    /// Of `handlers`.
    Point(Point),
    /// Of `peers`.
    Line(Line),
}

/// A line of the table of loads and tools.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Line {
    /// The connections to the server, in words; empty if they make no difference.
    pub(crate) setting: String,
    pub(crate) load: String,
    pub(crate) unit: String,
    /// All tools. A tool that failed has a value that is not a number.
    pub(crate) tools: Vec<Cell>,
}

/// The figures of one tool; medians.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Cell {
    pub(crate) tool: String,
    /// In the line's unit.
    pub(crate) value: f64,
    /// Answers of the server, by the request's method.
    pub(crate) gets: f64,
    pub(crate) heads: f64,
    pub(crate) lists: f64,
    pub(crate) others: f64,
    /// Bytes that the server sent, and bytes that readers got.
    pub(crate) fetched_bytes: f64,
    pub(crate) read_bytes: f64,
    /// Bytes that the tool wrote to its cache on disk, if it is measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) written_bytes: Option<f64>,
    /// The most memory that the tool's processes had.
    pub(crate) peak_bytes: u64,
}

/// Throughputs of one number of handlers, in 10^6 bytes a second.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Point {
    /// The portion of a file that a request reads: `whole` files or `random` portions.
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
    let lines = rows.iter().filter_map(|row| match &row.point {
        Some(Beside::Line(line)) => Some(line),
        _ => None,
    });
    print_lines(&lines.collect::<Vec<_>>());
    Ok(())
}

/// A table of loads and tools, a line a load. A cell has the figure, and in parentheses the number
/// of requests, the bytes that they returned, and those that were written to a disk.
fn print_lines(lines: &[&Line]) {
    let mut tools: Vec<&str> = Vec::new();
    for cell in lines.iter().flat_map(|line| &line.tools) {
        if !tools.contains(&cell.tool.as_str()) {
            tools.push(&cell.tool);
        }
    }
    let mut setting = None;
    for line in lines {
        if setting != Some(&line.setting) {
            println!("\n| {} | {} |", line.setting, tools.join(" | "));
            println!("| --- |{}", " --- |".repeat(tools.len()));
            setting = Some(&line.setting);
        }
        let cell = |tool: &&str| match line.tools.iter().find(|cell| cell.tool == *tool) {
            Some(cell) if cell.value.is_finite() => cell.words(),
            _ => "–".into(),
        };
        println!("| {}, {} | {} |", line.load, line.unit, tools.iter().map(cell).collect::<Vec<_>>().join(" | "));
    }
}

impl Cell {
    fn words(&self) -> String {
        let requests = self.gets + self.heads + self.lists + self.others;
        let value = if self.value < 100.0 { format!("{:.2}", self.value) } else { format!("{:.0}", self.value) };
        match self.written_bytes {
            Some(written) => {
                format!("{value} ({requests:.0}; {:.1} MB; {:.1} MB)", self.fetched_bytes / 1e6, written / 1e6)
            }
            None if requests == 0.0 => value,
            None => format!("{value} ({requests:.0}; {:.1} MB)", self.fetched_bytes / 1e6),
        }
    }
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
