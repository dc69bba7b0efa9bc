//! From sources and the options for reading them to a tree of names over an engine, which `mount`
//! and `serve` show, each in its way.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use forebay_core::{DeviceCost, DeviceId};
use forebay_device::Queue;
use forebay_device::scheduler::SchedulerKind;
use forebay_live::budget::{Budget, TooLittleMemory};
use forebay_live::engine::{Config, Engine, Referenced, StartError};
use forebay_live::tree::{Branch, Tree};
use forebay_source::object::StoreOptions;
use forebay_source::paced::PacedSource;
use forebay_source::uri::{self, Place, open_place};
use forebay_source::{Modes, Source};
use forebay_tier::Tiers;

use crate::failure::Failure;
use crate::options::Reading;
use crate::storage::{Costs, Share, assumed};
use crate::{machine, tier};

/// How a command shows the tree.
pub(crate) struct Shows {
    /// Where blocks stay after they were read.
    pub(crate) referenced: Referenced,
    /// Bytes of the budget that the command takes itself.
    pub(crate) apart: u64,
    /// Modes of files and folders whose storage has none.
    pub(crate) modes: Modes,
}

/// Opens the sources and starts an engine over them. The engine gets the memory that the command
/// and the stores leave. `check` may refuse a place once it is opened. Also returns what reading
/// from each device costs.
pub(crate) fn open(
    options: &Reading,
    sources: &[OsString],
    shows: Shows,
    check: impl Fn(&Place<'_>) -> Result<(), Failure>,
) -> Result<(Tree, Vec<DeviceCost>), Failure> {
    let Share { connections, names, .. } = Share::of(sources, options.memory.bytes());
    let modes = shows.modes;
    let ttl = options.ttl_of_stores();
    let stores = options.stores.options().map_err(Failure::input)?;
    let stores = StoreOptions { connections, names, ttl, modes, ..stores };
    machine::holds(options.memory)?;
    for arg in sources {
        tier::apart(&options.tier, &uri::parse(arg)?.1)?;
    }
    let tiers = tier::open(&options.tier)?;
    let (mut branches, mut costs) = (Vec::new(), Costs::default());
    for arg in sources {
        let (name, place) = uri::parse(arg)?;
        let device = costs.next();
        let source = open_place(&place, &stores, |place, source| {
            let source = match &options.pace {
                Some(device) => paced(source, device)?,
                None => source,
            };
            Ok::<_, Failure>(costs.add(place, source))
        })?;
        check(&place)?;
        branches.push(Branch { name: name.map(Into::into), source: tier::behind(&tiers, source), device });
    }
    let tree = start(options, branches, costs.all(), Beside { sources, shows, tiers })?;
    costs.tell(tree.engine());
    Ok((tree, costs.all().to_vec()))
}

/// An engine over a source that is open already, which takes no memory of the budget for itself.
pub(crate) fn over(options: &Reading, source: Arc<dyn Source>, shows: Shows) -> Result<Tree, Failure> {
    machine::holds(options.memory)?;
    let costs = [source.cost().unwrap_or_else(assumed)];
    let tiers = tier::open(&options.tier)?;
    let branches = vec![Branch { name: None, source: tier::behind(&tiers, source), device: DeviceId(0) }];
    start(options, branches, &costs, Beside { sources: &[], shows, tiers })
}

/// The takers of memory beside the engine.
struct Beside<'a> {
    sources: &'a [OsString],
    shows: Shows,
    tiers: Option<Arc<Tiers>>,
}

/// Starts the engine with the memory that the others leave.
fn start(
    options: &Reading,
    branches: Vec<Branch>,
    costs: &[DeviceCost],
    Beside { sources, shows: Shows { referenced, apart, .. }, tiers }: Beside<'_>,
) -> Result<Tree, Failure> {
    let tier = tiers.map_or(0, |tiers| tiers.memory());
    let apart = apart + tier;
    let given = options.memory.bytes();
    let memory = given.saturating_sub(Share::of(sources, given).all + apart);
    let config = Config { memory, policy: options.policy, referenced, record: options.record.clone() };
    let beside = |memory| Share::of(sources, memory).all + apart;
    let engine = Engine::start(config, costs.to_vec()).map_err(|error| match refusal(error, given, beside) {
        Failure::Input(reason) if tier > 0 => Failure::input(format!(
            "{reason}; the disk tier takes {} MiB of them, and less with a smaller --disk-size",
            tier.div_ceil(1 << 20)
        )),
        failure => failure,
    })?;
    let mut tree = Tree::new(engine, branches).map_err(Failure::input)?;
    tree.was_given(given);
    Ok(tree)
}

/// Refuses files of Forebay's own below a mount point, which would hide them.
pub(crate) fn outside(options: &Reading, point: &Path) -> Result<(), Failure> {
    let Ok(point) = point.canonicalize() else { return Ok(()) };
    let disks = options.tier.disk.iter().map(|dir| ("--disk", dir));
    for (option, path) in disks.chain(options.record.iter().map(|file| ("--record", file))) {
        let there = std::path::absolute(path).unwrap_or_else(|_| path.clone());
        let there = there.ancestors().find_map(|path| path.canonicalize().ok());
        if there.is_some_and(|there| there.starts_with(&point)) {
            let (path, point) = (path.display(), point.display());
            let hidden = format!("{option} {path}: lies in the mount point {point}, which would hide it");
            return Err(Failure::input(format!("{hidden}; choose a place outside it")));
        }
    }
    Ok(())
}

/// Refuses a budget that is too little for an engine over these sources, as [`open`] does. `apart`
/// is as in [`Shows`]. The memory of a disk tier is known only once that is open, and is left out.
pub(crate) fn has_room(options: &Reading, sources: &[OsString], apart: u64) -> Result<(), Failure> {
    let given = options.memory.bytes();
    let beside = |memory| Share::of(sources, memory).all + apart;
    let divided = Budget::divide(given.saturating_sub(beside(given)), options.policy);
    divided.map(drop).map_err(|error| refusal(error.into(), given, beside))
}

/// The engine's refusal to start, in terms of the whole budget `given`; `beside` says how many
/// bytes of a budget are not the engine's.
fn refusal(error: StartError, given: u64, beside: impl Fn(u64) -> u64) -> Failure {
    match error {
        StartError::TooLittleMemory(TooLittleMemory { needed: by_engine, .. }) => {
            // The bytes beside the engine grow with the budget, though more slowly.
            let mut needed = by_engine + beside(given);
            while needed < by_engine + beside(needed) {
                needed = by_engine + beside(needed);
            }
            Failure::input(TooLittleMemory { given, needed })
        }
        error => Failure::input(error),
    }
}

/// A modelled device that sources are slowed down to.
pub(crate) fn queue(device: &str) -> Result<Box<dyn Queue>, Failure> {
    let queue = forebay_device::device(device).and_then(|device| device.queue(1, &SchedulerKind::Elevator));
    queue.map_err(Failure::input)
}

/// A source at the pace of a modelled device, in real time.
fn paced(source: Arc<dyn Source>, device: &str) -> Result<Arc<dyn Source>, Failure> {
    let paced = PacedSource::behind(source, queue(device)?, 1.0);
    let paced = paced.map_err(|error| Failure::run(format!("cannot start the pace of {device}: {error}")))?;
    Ok(Arc::new(paced))
}
