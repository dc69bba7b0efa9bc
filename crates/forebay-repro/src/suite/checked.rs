//! A suite as a description has it, looked through before anything runs.

use std::collections::BTreeSet;
use std::path::Path;

use forebay_device::device;
use forebay_trace::generate::kinds;

use super::{Load, Suite};
use crate::{Error, Experiment};

impl Suite {
    /// An error that names the key, if a part of it makes no sense.
    pub(crate) fn check(&self, experiment: &Experiment) -> Result<(), Error> {
        let wrong = |reason: &str| Err(experiment.wrong(&format!("suite: {reason}")));
        if self.loads.is_empty() || self.devices.is_empty() || self.memory.is_empty() || self.policies.is_empty() {
            return wrong("`loads`, `devices`, `memory` and `policies` have one entry each at least");
        }
        for &share in &self.memory {
            experiment.share("suite: `memory`", share)?;
        }
        for load in &self.loads {
            load.check(experiment)?;
        }
        for name in &self.devices {
            device(name).map_err(|error| experiment.wrong(&format!("suite: `devices`: {error}")))?;
        }
        for name in self.all() {
            experiment.policy(name)?;
        }
        // A cell is known by what it is of.
        let memory: Vec<String> = self.memory.iter().map(f64::to_string).collect();
        let loads: Vec<&str> = self.loads.iter().map(|load| load.name.as_str()).collect();
        once(experiment, "loads", loads)?;
        once(experiment, "devices", self.devices.iter().map(String::as_str))?;
        once(experiment, "memory", memory.iter().map(String::as_str))?;
        once(experiment, "policies", self.all().map(String::as_str))
    }
}

/// An error if a list has an entry twice.
fn once<'a>(experiment: &Experiment, key: &str, list: impl IntoIterator<Item = &'a str>) -> Result<(), Error> {
    let mut seen = BTreeSet::new();
    match list.into_iter().find(|&entry| !seen.insert(entry)) {
        Some(entry) => Err(experiment.wrong(&format!("suite: `{key}` has `{entry}` twice"))),
        None => Ok(()),
    }
}

impl Load {
    /// An error that names the key, if a part of it makes no sense.
    pub(crate) fn check(&self, experiment: &Experiment) -> Result<(), Error> {
        let wrong = |reason: String| Err(experiment.wrong(&format!("load `{}`: {reason}", self.name)));
        if self.handlers == 0 {
            return wrong("`handlers` is 0, and nobody reads".to_owned());
        }
        match (&self.workload, &self.trace) {
            (Some(name), None) if !kinds().any(|kind| kind.name == *name) => wrong(format!(
                "unknown workload `{name}`; `forebay trace generate --help` lists them, and a file is a `trace`"
            )),
            (Some(_), None) => Ok(()),
            (None, Some(_)) if self.parameters.is_empty() => Ok(()),
            (None, Some(_)) => wrong("a `trace` has no `parameters`".to_owned()),
            _ => wrong("it has a `workload` to generate, or a `trace`, the path of a file".to_owned()),
        }
    }
}

/// Makes the paths of traces in a description's parameters, which are relative to its folder, paths
/// of this process.
pub(crate) fn place(parameters: &mut toml::Table, folder: &Path) {
    for (key, value) in parameters.iter_mut() {
        match value {
            toml::Value::String(path) if key == "trace" => {
                *path = folder.join(&*path).to_string_lossy().into_owned();
            }
            toml::Value::Table(table) => place(table, folder),
            toml::Value::Array(list) => {
                list.iter_mut().filter_map(toml::Value::as_table_mut).for_each(|table| place(table, folder));
            }
            _ => {}
        }
    }
}
