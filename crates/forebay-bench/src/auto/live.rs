//! The workloads in real time: an engine over paced stores, whose readers tell it their program
//! contexts.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use anyhow::{Context, ensure};
use forebay_core::{Caller, ContextId, DeviceId, HandlerId, Policy};
use forebay_device::device;
use forebay_device::scheduler::Elevator;
use forebay_live::engine::{Config, Engine, OpenFile};
use forebay_play::{Files, Play};
use forebay_sim::timed::Workload;
use forebay_source::Source;
use forebay_source::local::LocalSource;
use forebay_source::paced::PacedSource;

use super::workloads::Case;
use super::{MEMORY, Plan, store_of};

/// Stores at the paces of devices. A file's number decides its store.
pub(super) struct Stores(Vec<Arc<PacedSource>>);

impl Stores {
    /// Stores over files that were laid in a folder.
    pub(super) fn new(folder: &Path, devices: &[&str], seed: u64) -> anyhow::Result<Stores> {
        let paced = (seed..).zip(devices).map(|(seed, name)| {
            let local: Arc<dyn Source> = Arc::new(LocalSource::new(folder)?);
            let model = device(name)?.build(seed)?;
            Ok(Arc::new(PacedSource::new(local, model, Box::new(Elevator::default()), 1.0)?))
        });
        paced.collect::<anyhow::Result<_>>().map(Stores)
    }

    /// The byte of its device where a file begins; 0 for a device without places.
    pub(super) fn place(&self, file: u64) -> anyhow::Result<u64> {
        let layout = self.0[store_of(file, self.0.len())?].open(&name(file))?.layout();
        Ok(layout.first().map_or(0, |run| run.at_byte))
    }

    /// Runs a workload for the time of the plan. Returns the throughput in MB/s.
    pub(super) fn run(&self, case: &Case, workload: &Workload, policy: Policy, plan: Plan) -> anyhow::Result<f64> {
        let costs = self.0.iter().map(|store| store.cost().context("a model knows its cost"));
        let engine = Engine::start(Config::new(MEMORY, policy), costs.collect::<anyhow::Result<_>>()?)?;
        let files = Told { engine, stores: self, contexts: contexts(workload) };
        let play = Play { warm_up: plan.warm_up(case), limit: Some(plan.end()), ..Play::new(case.handlers) };
        let outcome = play.run(workload, &files, &|_, _| false)?;
        // A run of less than a second shows only that it runs. A fast machine may finish its tasks
        // before.
        let whole = plan.counted < 1.0 || !case.goes_on() || outcome.seconds > 0.9 * plan.counted;
        ensure!(whole, "{}: the load ended before its time", case.name);
        Ok(outcome.throughput_mb_s)
    }
}

/// The name of a laid file.
fn name(file: u64) -> PathBuf {
    format!("{file:06}").into()
}

/// The context of each task, by its handler.
fn contexts(workload: &Workload) -> BTreeMap<u32, ContextId> {
    let entries = (0..workload.requests() as u32).map(|place| workload.entry(place));
    entries.map(|entry| (entry.handler, ContextId(entry.context))).collect()
}

/// Files whose readers tell their contexts.
struct Told<'a> {
    engine: Arc<Engine>,
    stores: &'a Stores,
    contexts: BTreeMap<u32, ContextId>,
}

impl Files for Told<'_> {
    type Open = OpenFile;

    fn name(&self, file: u64) -> String {
        name(file).display().to_string()
    }

    fn open(&self, file: u64) -> io::Result<OpenFile> {
        let store = store_of(file, self.stores.0.len()).map_err(io::Error::other)?;
        let object = self.stores.0[store].open(&name(file)).map_err(io::Error::other)?;
        Ok(self.engine.open(object, DeviceId(store as u16)))
    }

    fn read(&self, open: &OpenFile, handler: u32, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let context = self.contexts.get(&handler).copied().unwrap_or_default();
        let caller = Caller { handler: HandlerId(handler), context };
        let (done, answer) = sync_channel(1);
        open.read_by_then(caller, offset, buffer.len(), move |result| {
            // The reader waits for the answer.
            let _ = done.send(result);
        });
        let lease = answer.recv().map_err(io::Error::other)?.map_err(io::Error::other)?;
        let mut copied = 0;
        for slice in lease.slices() {
            buffer[copied..copied + slice.len()].copy_from_slice(slice);
            copied += slice.len();
        }
        Ok(copied)
    }
}
