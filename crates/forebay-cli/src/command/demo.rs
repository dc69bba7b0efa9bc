//! `forebay demo`: a slow disk, modelled in real time. More and more handlers read it at once under
//! four policies, beside the throughput of an offline optimum.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use forebay_core::{DeviceCost, DeviceId};
use forebay_device::device;
use forebay_device::scheduler::Elevator;
use forebay_live::engine::{Config, Engine};
use forebay_play::handlers::{Load, Portion};
use forebay_source::Source;
use forebay_source::local::LocalSource;
use forebay_source::paced::PacedSource;
use indicatif::ProgressBar;
use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};

use crate::failure::Failure;
use crate::options::Demo;
use crate::size::about;
use crate::table::{Column, Table};
use crate::{bars, output, progress};

/// The disk of the papers (CP §2).
const DISK: &str = "ibm-10k";
const POLICIES: [&str; 4] = ["linux", "aggressive", "competitive", "auto"];
const HANDLERS: [u32; 4] = [1, 4, 16, 64];
const FILES: usize = 96;
const FILE_BYTES: u64 = 4 << 20;
/// A quarter of the data set, so that a file is gone long before its next turn.
const MEMORY: u64 = 96 << 20;
const SEED: u64 = 1;
/// How often to try to remove the folder when a signal ends the demo.
const TRIES: usize = 10;

/// The characters of a bar.
const WIDTH: usize = 40;

/// One measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Record {
    /// The policy.
    policy: String,
    /// How many readers at once.
    handlers: u32,
    /// Their throughput together, in 10^6 bytes a second.
    throughput_mb_s: f64,
    /// The throughput of an offline optimum: S / (S/R + C) (CP §3.2).
    optimum_mb_s: f64,
}

/// Measures, and shows the results.
pub(crate) fn run(options: &Demo) -> Result<(), Failure> {
    let bar = progress::bar("measuring", 1);
    let records = measure(options.seconds, &bar);
    bar.finish_and_clear();
    let records = records?;
    if options.json { output::json(&records) } else { output::print(&picture(&records)) }
}

/// Runs every policy with every number of handlers, within `seconds` in all.
fn measure(seconds: u16, bar: &ProgressBar) -> Result<Vec<Record>, Failure> {
    let folder = tempfile::Builder::new().prefix("forebay-demo-").tempdir();
    let folder = folder.map_err(|error| Failure::run(format!("cannot make a temporary folder: {error}")))?;
    let guard = guard(folder.path()).map_err(|error| Failure::run(format!("cannot take signals: {error}")))?;
    let files = data_set(folder.path()).map_err(|error| {
        Failure::run(format!("cannot write the data set into {}: {error}", folder.path().display()))
    })?;
    let runs = POLICIES.len() * HANDLERS.len();
    let each = Duration::from_secs_f64(f64::from(seconds) / runs as f64);
    bar.set_length(runs as u64);
    let mut records = Vec::new();
    for handlers in HANDLERS {
        for policy in POLICIES {
            bar.set_message(format!("{policy}, {handlers} handlers"));
            let load = Load {
                files: files.clone(),
                handlers,
                portion: Portion::Whole,
                warm_up: each.mul_f64(0.2),
                counted: each.mul_f64(0.75),
                seed: SEED,
            };
            records.push(run_one(folder.path(), policy, &load)?);
            bar.inc(1);
        }
    }
    guard.close();
    Ok(records)
}

/// From now on, a signal that ends the demo takes its folder of 400 MB with it.
fn guard(folder: &Path) -> std::io::Result<Handle> {
    let (mut signals, folder) = (Signals::new([SIGHUP, SIGINT, SIGTERM])?, folder.to_owned());
    let handle = signals.handle();
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            // A file that is being written just then keeps the folder from going at the first try.
            let gone = || std::fs::remove_dir_all(&folder).is_ok();
            let _ = (0..TRIES).any(|_| gone());
            // The exit code of a process that the signal ended, by the rule of shells.
            std::process::exit(128 + signal);
        }
    });
    Ok(handle)
}

/// One load under one policy, on a disk and in a cache of its own.
fn run_one(folder: &Path, policy: &str, load: &Load) -> Result<Record, Failure> {
    let disk = device(DISK).and_then(|disk| disk.build(SEED)).map_err(Failure::run)?;
    let local: Arc<dyn Source> = Arc::new(LocalSource::new(folder).map_err(Failure::run)?);
    let paced = PacedSource::new(local, disk, Box::new(Elevator::default()), 1.0).map_err(Failure::run)?;
    let cost = paced.cost().unwrap_or_else(|| DeviceCost::flat(0, 0, 1));
    let source: Arc<dyn Source> = Arc::new(paced);
    let policy_of = |name: &str| name.parse().map_err(Failure::run);
    let config = Config::new(MEMORY, policy_of(policy)?);
    let engine = Engine::start(config, vec![cost.clone()]).map_err(Failure::run)?;
    let throughput_mb_s = load.run(&engine, &source, DeviceId(0)).map_err(Failure::run)?;
    let optimum_mb_s = cost.optimum(load.mean_request(FILE_BYTES));
    Ok(Record { policy: policy.to_owned(), handlers: load.handlers, throughput_mb_s, optimum_mb_s })
}

/// Files of 4 MB, as in CP §3.1, but fewer; they lie all over the modelled disk.
fn data_set(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let content = vec![0x5a; FILE_BYTES as usize];
    let names: Vec<PathBuf> = (0..FILES).map(|number| PathBuf::from(format!("clip-{number:03}"))).collect();
    for name in &names {
        std::fs::write(folder.join(name), &content)?;
    }
    Ok(names)
}

/// The records as bars, a group for each number of handlers; the mark is the optimum.
fn picture(records: &[Record]) -> String {
    let most = records.iter().flat_map(|r| [r.throughput_mb_s, r.optimum_mb_s]).fold(0.0, f64::max);
    let mut table = Table::new([
        Column::right("handlers"),
        Column::left("policy"),
        Column::right("MB/s"),
        Column::right("of optimum"),
        Column::left(""),
    ]);
    let mut group = None;
    for record in records {
        let first = group.replace(record.handlers) != Some(record.handlers);
        let share = 100.0 * record.throughput_mb_s / record.optimum_mb_s;
        table.row([
            if first { record.handlers.to_string() } else { String::new() },
            record.policy.clone(),
            format!("{:.1}", record.throughput_mb_s),
            if share.is_finite() { format!("{share:.0} %") } else { "–".into() },
            bars::bar(record.throughput_mb_s, record.optimum_mb_s, most, WIDTH),
        ]);
    }
    format!(
        "{table}
Handlers read files of {} from a modelled disk, through {} of memory.
`auto` is the default policy. │ is the offline optimum, which knows every read in advance.
",
        about(FILE_BYTES),
        about(MEMORY)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(policy: &str, handlers: u32, throughput_mb_s: f64, optimum_mb_s: f64) -> Record {
        Record { policy: policy.into(), handlers, throughput_mb_s, optimum_mb_s }
    }

    #[test]
    fn bars_in_groups() {
        let text = picture(&[
            record("linux", 4, 10.0, 40.0),
            record("competitive", 4, 30.0, 40.0),
            record("linux", 16, 0.0, 0.0),
        ]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "handlers  policy       MB/s  of optimum");
        assert_eq!(lines[1], format!("       4  linux        10.0        25 %  {}{}│", "█".repeat(10), " ".repeat(29)));
        assert_eq!(lines[2], format!("          competitive  30.0        75 %  {}{}│", "█".repeat(30), " ".repeat(9)));
        assert_eq!(lines[3], "      16  linux         0.0           –");
    }

    #[test]
    fn json_has_the_fields_of_a_record() {
        let text = serde_json::to_string(&[record("linux", 1, 2.5, 5.0)]).unwrap();
        assert_eq!(text, r#"[{"policy":"linux","handlers":1,"throughput_mb_s":2.5,"optimum_mb_s":5.0}]"#);
    }
}
