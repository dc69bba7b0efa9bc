//! The findings of claims as data: for JSON a record a claim with its tables inside, for CSV a row
//! for each line of each table.

use forebay_repro::{CellFigure, Checked, Finding, Kind, Measure, Verdict};
use serde::Serialize;
use serde_json::{Map, Value};

use super::Record;
use crate::failure::Failure;
use crate::report::{self, Fields};

/// A claim with the tables of its page.
#[derive(Serialize)]
struct Whole<'a> {
    #[serde(flatten)]
    record: &'a Record,
    measures: Vec<Measured<'a>>,
    #[serde(skip_serializing_if = "<[CellFigure]>::is_empty")]
    cells: &'a [CellFigure],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    charts: Vec<Curves<'a>>,
}

/// A measure as the page has it.
#[derive(Serialize)]
struct Measured<'a> {
    measured: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    paper: &'a str,
    ours: &'a str,
    /// None if it is only shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    about: Option<Kind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<Verdict>,
}

/// A chart's values.
#[derive(Serialize)]
struct Curves<'a> {
    title: &'a str,
    x: &'a str,
    y: &'a str,
    curves: Vec<Curve<'a>>,
}

#[derive(Serialize)]
struct Curve<'a> {
    name: &'a str,
    /// Pairs of x and y.
    points: &'a [(f64, f64)],
}

/// A point of a chart, as a row.
#[derive(Serialize)]
struct Point<'a> {
    chart: &'a str,
    curve: &'a str,
    x: f64,
    y: f64,
}

impl Measured<'_> {
    fn of(measure: &Measure) -> Measured<'_> {
        let Measure { what, paper, ours, verdict, kind } = measure;
        Measured { measured: what, paper, ours, about: verdict.map(|_| *kind), verdict: *verdict }
    }
}

/// For JSON.
pub(super) fn whole(records: &[Record], findings: &[Checked]) -> Result<Vec<Fields>, Failure> {
    let of = |(record, checked): (_, &'_ Checked)| report::of_record(&tables(record, &checked.finding));
    records.iter().zip(findings).map(of).collect()
}

fn tables<'a>(record: &'a Record, finding: &'a Finding) -> Whole<'a> {
    let charts = finding.charts.iter().map(|chart| Curves {
        title: &chart.title,
        x: &chart.x.label,
        y: &chart.y.label,
        curves: chart.series.iter().map(|series| Curve { name: &series.name, points: &series.points }).collect(),
    });
    let measures = finding.measures.iter().map(Measured::of).collect();
    Whole { record, measures, cells: &finding.cells, charts: charts.collect() }
}

/// For CSV: each row says which claim it is of, and in `row` what it is.
pub(super) fn rows(records: &[Record], findings: &[Checked]) -> Result<Vec<Fields>, Failure> {
    let mut rows = Vec::new();
    for (record, Checked { finding, .. }) in records.iter().zip(findings) {
        let mut claim = report::of_record(record)?;
        claim.insert("row".to_owned(), "claim".into());
        rows.push(claim);
        let mut add = |kind: &str, fields: Fields| {
            let mut row = Map::from_iter([("id".to_owned(), Value::from(record.id.as_str()))]);
            row.insert("row".to_owned(), kind.into());
            row.extend(fields);
            rows.push(row);
        };
        for measure in &finding.measures {
            add("measure", report::of_record(&Measured::of(measure))?);
        }
        for cell in &finding.cells {
            add("cell", report::of_record(cell)?);
        }
        for chart in &finding.charts {
            for series in &chart.series {
                for &(x, y) in &series.points {
                    add("point", report::of_record(&Point { chart: &chart.title, curve: &series.name, x, y })?);
                }
            }
        }
    }
    Ok(rows)
}
