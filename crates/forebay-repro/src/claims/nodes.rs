//! Claims that a sheet judges by one sweep over the server of CP and CPEM: cp-…, em-….

use crate::line::Line;
use crate::server::{Parameters, Point, Table};
use crate::sheet::{Asked, Columns};
use crate::{Context, Error, Experiment, Finding};

pub(super) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    experiment.finding(&experiment.parameters::<Parameters>()?.run(experiment, context)?)
}

impl Columns for Table {
    /// By numbers of handlers; what may be named besides the policy is a benchmark.
    fn column(&self, name: &str, asked: &Asked<'_>) -> Option<Line> {
        let of = match name {
            "throughput" => Point::throughput,
            "response" => Point::response,
            "thrashing" => Point::thrashing,
            _ => return None,
        };
        let first = || self.points.first().map_or("", |point| &point.benchmark);
        Some(self.line(asked.of.unwrap_or_else(first), asked.policy, of))
    }
}
