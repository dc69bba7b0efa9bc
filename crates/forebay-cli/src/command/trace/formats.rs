//! `forebay trace formats`: the formats that can be read.

use forebay_trace::{Format, WRITTEN};
use serde::Serialize;

use crate::failure::Failure;
use crate::options::TraceFormats;
use crate::table::{Column, Table};
use crate::{output, report};

/// A format.
#[derive(Serialize)]
struct Listed {
    format: &'static str,
    /// Other names of it.
    also: String,
    summary: &'static str,
    /// Where a public format is described.
    source: &'static str,
    /// Its columns, as `--columns` takes them.
    columns: &'static str,
    written: bool,
}

pub(super) fn run(formats: &TraceFormats) -> Result<(), Failure> {
    let listed: Vec<Listed> = Format::all().map(listed).collect();
    if formats.report.json || formats.report.csv {
        return report::show(&listed, &formats.report, || None);
    }
    let mut table = Table::new(["format", "what it is", "described by"].map(Column::left));
    for format in &listed {
        table.row([format.format, format.summary, format.source].map(str::to_owned));
    }
    output::print(&table.to_string())
}

fn listed(format: Format) -> Listed {
    let preset = format.preset();
    Listed {
        format: format.name(),
        also: preset.map_or(String::new(), |preset| preset.also().join(" ")),
        summary: format.summary(),
        source: preset.map_or("", |preset| preset.source()),
        columns: preset.map_or("", |preset| preset.described()),
        written: WRITTEN.contains(&format),
    }
}
