//! `forebay explain`: the reasons for what a cache does. A mount or a server publishes them itself;
//! a trace is simulated up to a moment.

mod tables;
pub(super) mod words;

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

use forebay_core::{Core, FileId, Instant};
use forebay_live::explain::{Explained, STREAMS};
use forebay_sim::timed;

use super::sim::timed::{Prepared, prepare};
use crate::failure::Failure;
use crate::options::{At, Explain, Sim};
use crate::output;
use crate::progress::Progress;
use crate::published::{Place, published};
use crate::traces;

/// The attribute of a mount's root whose value is the explanation as JSON.
const ATTRIBUTE: &str = "user.forebay.explain";

/// Explains a mount or a trace.
pub(crate) fn run(options: Explain) -> Result<(), Failure> {
    let json = options.json;
    let is_mount = Place::of(&options.what).is_asked();
    let explained = if is_mount { of_mount(&options)? } else { of_trace(&options.simulation())? };
    if json { output::json(&explained) } else { output::print(&tables::text(&explained)) }
}

fn of_mount(options: &Explain) -> Result<Explained, Failure> {
    let point = &options.what;
    if options.at != At::End || !options.time.device.is_empty() {
        return Err(Failure::input(format!(
            "{}: is no trace, so it must be a mount; --at and --device are for traces",
            point.display()
        )));
    }
    parse(point, &published(point, ATTRIBUTE, &options.access)?)
}

fn parse(point: &Path, text: &str) -> Result<Explained, Failure> {
    serde_json::from_str(text)
        .map_err(|error| Failure::run(format!("{}: its explanation is not understood: {error}", point.display())))
}

fn of_trace(sim: &Sim) -> Result<Explained, Failure> {
    let found = std::fs::symlink_metadata(&sim.trace);
    let nowhere = found.is_err_and(|error| error.kind() == ErrorKind::NotFound);
    if nowhere && sim.trace != Path::new("-") && !traces::is_synthetic(&sim.trace) {
        return Err(Failure::input(format!(
            "{}: there is no such folder or file, nor a synthetic trace of this name; `forebay trace generate --help` \
             lists these",
            sim.trace.display()
        )));
    }
    if sim.time.device.is_empty() {
        return Err(Failure::input(format!(
            "{}: is no folder, so it must be a trace, which needs a device: give --device ibm-10k or another of \
             `forebay device list`",
            sim.trace.display()
        )));
    }
    let Prepared { setups, workload, files } = prepare(sim)?;
    let [setup] = &setups[..] else {
        return Err(Failure::input(format!("one run is explained, not {}: give one of each option", setups.len())));
    };
    let progress = Progress::new("simulating", 1);
    let mut end =
        End { policy: setup.levels[0].policy.to_string(), memory: setup.levels[0].memory_bytes, explained: None };
    let outcome = timed::run_recorded(setup, &workload, &progress.run(), &mut end);
    progress.clear();
    outcome.map_err(|error| match error {
        timed::Error::Stopped => Failure::run("interrupted"),
        error => Failure::input(error),
    })?;
    let mut explained = end.explained.ok_or_else(|| Failure::run("the run has no end to explain"))?;
    let names: Vec<String> = setup.devices.iter().map(|device| device.description.name.clone()).collect();
    explained.name_devices(&names);
    let named: BTreeMap<u64, String> = files.into_iter().filter_map(|file| Some((file.file, file.name?))).collect();
    explained.name_files(|FileId(number)| {
        let file = workload.file_table().get(number as usize)?.name;
        Some(named.get(&file).cloned().unwrap_or_else(|| file.to_string()))
    });
    Ok(explained)
}

/// The cache next to the readers as it is at the end.
struct End {
    policy: String,
    memory: u64,
    explained: Option<Explained>,
}

impl timed::Record for End {
    fn record(&mut self, _level: usize, _event: forebay_core::Event, _actions: &[forebay_core::Action]) {}

    fn end(&mut self, level: usize, at: Instant, core: &dyn Core) {
        if level == 0 {
            let policy = std::mem::take(&mut self.policy);
            self.explained = Some(Explained::new(policy, self.memory, at.0, core.explain(at, STREAMS)));
        }
    }
}
