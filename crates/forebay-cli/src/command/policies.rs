//! `forebay policies`: every policy by name, a line each, with its paper.

use forebay_core::presets::{Entry, entries};
use serde::Serialize;

use crate::failure::Failure;
use crate::options::Policies;
use crate::output;
use crate::table::{Side, Table};

/// A policy, as `--json` has it.
#[derive(Serialize)]
struct Record {
    name: &'static str,
    axis: &'static str,
    paper: &'static str,
    line: &'static str,
}

/// Lists them.
pub(crate) fn run(options: &Policies) -> Result<(), Failure> {
    if options.json {
        return output::json(&entries().map(record).collect::<Vec<_>>());
    }
    let left = Side::Left;
    let mut table = Table::new([("policy", left), ("axis", left), ("what it does", left), ("paper", left)]);
    for entry in entries() {
        table.row([entry.name, entry.axis, entry.line, entry.paper].map(str::to_owned));
    }
    output::print(&format!("{table}\nA prefetch policy and a replacement policy make one: competitive+lru.\n"))
}

fn record(entry: &Entry) -> Record {
    Record { name: entry.name, axis: entry.axis, paper: entry.paper, line: entry.line }
}
