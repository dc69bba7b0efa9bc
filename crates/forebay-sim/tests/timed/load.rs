//! Loads and devices whose outcome is known beforehand.

use forebay_core::Instant;
use forebay_device::{Description, ModelDescription, ssd};
use forebay_sim::Unwatched;
use forebay_sim::timed::{Outcome, Setup, Workload, run};
use forebay_trace::{Memory, Request, Shape};

/// Bytes of a read.
pub(crate) const READ: u32 = 64 << 10;

/// A drive on which 64 KiB take `latency_ms` and a millisecond more.
pub(crate) fn flat(latency_ms: f64, channels: u32) -> Description {
    let ssd = ssd::Description {
        capacity_gb: 1000.0,
        latency_ms,
        p99_ms: None,
        rate_mb_s: 65.536,
        channels,
        total_mb_s: None,
        page_kib: None,
        write: None,
        flash: None,
    };
    Description { name: "flat".into(), about: String::new(), model: ModelDescription::Ssd(ssd) }
}

pub(crate) fn workload(requests: Vec<Request>) -> Workload {
    Workload::load(&mut Memory::new(requests, Shape::Ranges { block_bytes: 4096 })).expect("it has requests")
}

/// `reads` sequential reads of 64 KiB of file `file`, by `handler`, the trace's times being `step`
/// ns apart.
pub(crate) fn sequential(file: u64, handler: u32, reads: u32, step: u64) -> impl Iterator<Item = Request> {
    (0..reads).map(move |i| Request {
        at: Instant(u64::from(i) * step),
        file,
        handler,
        offset: u64::from(i) * u64::from(READ),
        len: READ,
        ..Request::default()
    })
}

/// A cache of 64 MiB that fetches what is asked for, before `device`.
pub(crate) fn setup(policy: &str, device: Description, handlers: u32) -> Setup {
    Setup::new(policy.parse().expect("a policy"), 64 << 20, device, handlers)
}

pub(crate) fn outcome(setup: &Setup, workload: &Workload) -> Outcome {
    run(setup, workload, &Unwatched).expect("it runs")
}

pub(crate) fn near(got: f64, wanted: f64, share: f64) -> bool {
    (got - wanted).abs() <= share * wanted
}
