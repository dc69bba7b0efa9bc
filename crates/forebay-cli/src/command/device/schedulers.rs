//! `forebay device schedulers`

use forebay_device::scheduler::SchedulerKind;
use serde::Serialize;

use crate::failure::Failure;
use crate::options::DeviceSchedulers;
use crate::report;

/// A scheduler.
#[derive(Serialize)]
struct Record {
    scheduler: &'static str,
    what_it_does: &'static str,
    /// With their defaults, as they may follow its name and a colon.
    parameters: String,
}

/// Lists them.
pub(super) fn run(schedulers: &DeviceSchedulers) -> Result<(), Failure> {
    let record = |(scheduler, what_it_does): (&'static str, &'static str)| {
        let kind: SchedulerKind = scheduler.parse().map_err(Failure::run)?;
        Ok(Record { scheduler, what_it_does, parameters: kind.parameters() })
    };
    let records: Vec<Record> = SchedulerKind::KNOWN.into_iter().map(record).collect::<Result<_, Failure>>()?;
    report::show(&records, &schedulers.report, || None)
}
