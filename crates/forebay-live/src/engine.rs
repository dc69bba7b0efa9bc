//! The live engine: real time and real bytes around the policy core.
//!
//! ```text
//!   readers ── read ──▶ ┌────────────── one lock ──────────────┐ ── Fetch ──▶ sources
//!                       │ core: decides     tables: reads, files│
//!   readers ◀─ lease ── └───────────────────────────────────────┘ ◀─ bytes ──  (into the arena)
//! ```
//!
//! The lock is held while the core decides, never while bytes are copied or storage is waited for.
//! The thread that brought the event carries out the core's decisions afterwards
//! (`engine/dispatch.rs`). A [`Lease`] holds a reader's frames. The arena's memory is
//! touched only by the fetches and reads to which the core gave the frames.

mod audit;
mod dispatch;
mod failures;
mod file;
mod held;
mod lease;

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::Arc;

pub use forebay_core::Referenced;
use forebay_core::index::Hashed;
use forebay_core::numbered::Numbered;
use forebay_core::{
    Actions, Caller, Core, DeviceCost, DeviceId, Event, EventKind, Extent, FileId, HandlerId, Instant, IoId, Policy,
    ReadId, Setup,
};
use forebay_device::Profile;
use forebay_source::striped::Stripes;
use forebay_source::{BLOCK, Error, Fingerprint, Name, Object, Result, Run};
use parking_lot::Mutex;

use crate::arena::Arena;
use crate::budget::{Budget, TooLittleMemory};
use crate::figures::Clocks;
use crate::flight::FlightRecorder;
use crate::world::{Real, World};

pub use audit::Audit;
use dispatch::CallOff;
use failures::Failures;
pub use file::OpenFile;
pub(crate) use held::Held;
pub use lease::Lease;

/// Settings that an engine is started with.
#[derive(Clone, Debug)]
pub struct Config {
    /// The budget in bytes, for everything.
    pub memory: u64,
    /// The policy.
    pub policy: Policy,
    /// The fate of blocks that were read: kept here, or handed on to readers that keep them.
    pub referenced: Referenced,
    /// Where to write every event and action, if anywhere.
    pub record: Option<PathBuf>,
}

impl Config {
    /// A cache of `memory` bytes that keeps what was read and records nothing.
    pub fn new(memory: u64, policy: Policy) -> Config {
        Config { memory, policy, referenced: Referenced::Kept, record: None }
    }
}

/// Why an engine did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The budget does not even hold the bookkeeping.
    #[error(transparent)]
    TooLittleMemory(#[from] TooLittleMemory),
    /// The system refused the memory, or the file to record to.
    #[error("{what}: {source}")]
    System {
        /// The request to the system.
        what: String,
        /// The system's answer.
        source: std::io::Error,
    },
    /// A policy with a partition for each device has only this many lists.
    #[error(
        "{devices} devices are more than {policy} can have partitions, {most}; leave the partitions out, or take a simpler replacement, as lru"
    )]
    TooManyDevices {
        /// The policy.
        policy: String,
        /// How many devices there are.
        devices: usize,
        /// How many there can be.
        most: usize,
    },
}

/// Shared by everything that reads. See the module's head.
pub struct Engine {
    state: Mutex<State>,
    arena: Arc<Arena>,
    world: Arc<dyn World>,
    policy: Policy,
    referenced: Referenced,
    budget: Budget,
    /// The number of devices.
    devices: usize,
    pub(crate) clocks: Clocks,
    failures: Failures,
}

/// Called with the outcome once a read is over.
type Then = Box<dyn FnOnce(Result<Lease>) + Send>;

struct PendingRead {
    caller: Caller,
    extent: Extent,
    /// Bytes to skip in the first block, and bytes wanted in all.
    skip: usize,
    len: usize,
    /// When it came.
    since: Instant,
    then: Then,
}

/// Two opens with an equal `Known` are of one file. The device is part of it because a block
/// belongs to its device's partition. The engine keeps no more than this of a closed file's
/// identity.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Known {
    device: DeviceId,
    fingerprint: Fingerprint,
}

/// The order in which closed files are forgotten: files without blocks first, and among equals the
/// one that was closed first.
type Closed = (bool, u64);

struct FileEntry {
    known: Known,
    /// `None` while the file is closed, so that closed files cost no descriptor.
    object: Option<Arc<dyn Object>>,
    handles: u32,
    /// Told lists that name it, as far as they are fetched.
    holds: u32,
    /// Its place among the closed files, if it is closed.
    closed: Option<Closed>,
}

/// A file that the engine knows by number.
pub(crate) struct Identified {
    pub(crate) file: FileId,
    pub(crate) device: DeviceId,
    pub(crate) fingerprint: Fingerprint,
    /// `None` while the file is closed.
    pub(crate) name: Option<Name>,
}

struct State {
    core: Box<dyn Core>,
    actions: Actions,
    reads: Vec<Option<PendingRead>>,
    free_reads: Vec<ReadId>,
    files: Numbered<FileEntry>,
    known: HashMap<Known, FileId>,
    /// How many files are open.
    open: u64,
    /// The moment of the latest event.
    latest: Instant,
    /// Closed files whose blocks are kept.
    closed: BTreeMap<Closed, FileId>,
    closings: u64,
    /// Fetches that sources were asked for, or are about to be, and that are not over.
    under_way: HashMap<IoId, CallOff>,
    flight: Option<FlightRecorder>,
    /// When the core is told next that time has passed, if it asked for that.
    wakes: Option<Instant>,
    /// When the fetch began whose failure is told to the core, if its source has lost patience.
    given_up: Option<Instant>,
}

impl Engine {
    /// Starts an engine over the devices that its files will lie on.
    pub fn start(config: Config, devices: Vec<DeviceCost>) -> std::result::Result<Arc<Engine>, StartError> {
        let budget = Budget::divide(config.memory, config.policy)?;
        Engine::start_in(Arc::new(Real::default()), budget, config, devices)
    }

    /// Starts an engine in a world of the caller's, with a budget that is divided already. A
    /// simulation may have fewer frames than any budget allows.
    pub fn start_in(
        world: Arc<dyn World>,
        budget: Budget,
        config: Config,
        devices: Vec<DeviceCost>,
    ) -> std::result::Result<Arc<Engine>, StartError> {
        let most = config.policy.most_devices();
        if devices.len() > most {
            let policy = config.policy.to_string();
            return Err(StartError::TooManyDevices { policy, devices: devices.len(), most });
        }
        let system = |what: &str| {
            let what = what.to_owned();
            move |source| StartError::System { what, source }
        };
        let arena = Arena::new(budget.frames).map_err(system("memory for the frames"))?;
        let count = devices.len();
        let setup = Setup { referenced: config.referenced, ..budget.setup(devices) };
        let flight = match &config.record {
            Some(path) => {
                Some(FlightRecorder::create(path, config.policy, &setup).map_err(system(&path.display().to_string()))?)
            }
            None => None,
        };
        let mut core = config.policy.build::<Hashed>(setup);
        if flight.is_some() {
            core.no_short_cut();
        }
        let state = State {
            core,
            actions: Actions::new(),
            reads: Vec::new(),
            free_reads: Vec::new(),
            files: Numbered::default(),
            known: HashMap::new(),
            open: 0,
            latest: Instant(0),
            closed: BTreeMap::new(),
            closings: 0,
            under_way: HashMap::new(),
            flight,
            wakes: None,
            given_up: None,
        };
        Ok(Arc::new(Engine {
            state: Mutex::new(state),
            arena,
            world,
            policy: config.policy,
            referenced: config.referenced,
            budget,
            devices: count,
            clocks: Clocks::new(count),
            failures: Failures::default(),
        }))
    }

    /// Makes one version of a file readable. Opening the same version twice shares its blocks. A
    /// striped file lies on `device` and those that follow it, a device for each member. If there
    /// are fewer devices than members, it counts as a file of `device` alone.
    pub fn open(self: &Arc<Self>, object: Arc<dyn Object>, device: DeviceId) -> OpenFile {
        let known = Known { device, fingerprint: object.identity().fingerprint() };
        let stripes = self.stripes_of(&*object, device);
        // Asked outside the lock: the file system may take its time. A striped file that counts as
        // one device's has no layout on that device.
        let layout = if stripes == object.stripes() { object.layout() } else { Vec::new() };
        let mut state = self.state.lock();
        let file = state.known.get(&known).copied();
        let file = file.unwrap_or_else(|| state.introduce(self.now(), known, object.version().size, stripes, &layout));
        if let Some(entry) = state.files.get_mut(file.0) {
            entry.handles += 1;
            let closed = entry.closed.take();
            entry.object.get_or_insert_with(|| Arc::clone(&object));
            let handles = entry.handles;
            state.open += u64::from(handles == 1);
            let at = self.now();
            state.handle(Event { at, kind: EventKind::Handles { file, handles } });
            closed.and_then(|place| state.closed.remove(&place));
        }
        self.carry_out(state);
        OpenFile::new(Arc::clone(self), file, device, stripes, object.version().size)
    }

    /// How a file is striped, if there are as many devices as that takes.
    fn stripes_of(&self, object: &dyn Object, device: DeviceId) -> Option<Stripes> {
        let fits = |stripes: &Stripes| device.index() + usize::from(stripes.members()) <= self.devices;
        object.stripes().filter(fits)
    }

    /// Nanoseconds since the engine's world began.
    fn now(&self) -> Instant {
        self.world.now()
    }

    /// The world that it runs in.
    pub(crate) fn world(&self) -> &Arc<dyn World> {
        &self.world
    }

    /// The budget in bytes.
    pub fn memory(&self) -> u64 {
        self.budget.memory
    }

    /// The fate of blocks that were read.
    pub fn referenced(&self) -> Referenced {
        self.referenced
    }

    /// Tells the core an event and carries out the core's decisions.
    pub(crate) fn tell(self: &Arc<Self>, kind: EventKind) {
        let mut state = self.state.lock();
        // Under the lock, so that moments reach the core in order.
        let at = self.now();
        state.handle(Event { at, kind });
        self.carry_out(state);
    }

    /// A device whose cost was assumed has this profile.
    pub(crate) fn is_measured(self: &Arc<Self>, device: DeviceId, profile: &Profile) {
        let &Profile { first_byte, rate, channels, .. } = profile;
        self.tell(EventKind::Measured { device, first_byte, rate, channels });
    }

    /// How many files readers have open.
    pub(crate) fn open_files(&self) -> u64 {
        self.state.lock().open
    }

    /// Whether the policy asks about handlers between their reads.
    pub(crate) fn judges_handlers(&self) -> bool {
        self.state.lock().core.prefetch_cache().is_some()
    }

    /// The handlers that the policy asks about, in the order of their numbers behind `after`, at
    /// most `most`.
    pub(crate) fn handlers_in_question(&self, after: HandlerId, most: usize) -> Vec<HandlerId> {
        let mut found = Vec::new();
        self.state.lock().core.handlers_in_question(after, most, &mut found);
        found
    }

    /// Looks at the core: the policy's name, the budget, the moment, the core.
    pub(crate) fn with_core<T>(&self, look: impl FnOnce(String, u64, Instant, &dyn Core) -> T) -> T {
        let state = self.state.lock();
        look(self.policy.to_string(), self.budget.memory, self.now(), &*state.core)
    }

    /// The device, fingerprint and name of each of these files, without those that are not known.
    pub(crate) fn identified(&self, files: impl Iterator<Item = FileId>) -> Vec<Identified> {
        let state = self.state.lock();
        let known = files.filter_map(|file| {
            let entry = state.files.get(file.0)?;
            let Known { device, fingerprint } = entry.known;
            let name = entry.object.as_ref().map(|object| object.identity().name.clone());
            Some(Identified { file, device, fingerprint, name })
        });
        known.collect()
    }

    fn close(self: &Arc<Self>, file: FileId) {
        let mut state = self.state.lock();
        let Some(entry) = state.files.get_mut(file.0) else { return };
        entry.handles -= 1;
        let (handles, at) = (entry.handles, self.now());
        if handles > 0 {
            state.handle(Event { at, kind: EventKind::Handles { file, handles } });
            return self.carry_out(state);
        }
        let held = entry.holds > 0;
        let object = if held { None } else { entry.object.take() };
        state.open -= 1;
        state.handle(Event { at, kind: EventKind::Close { file } });
        if !held {
            self.rests(&mut state, at, file);
        }
        self.carry_out(state);
        drop(object);
    }

    /// Nobody has a file open or holds it: it is kept with its blocks, or forgotten.
    fn rests(&self, state: &mut State, at: Instant, file: FileId) {
        if state.core.frames_of(file) == 0 {
            state.forget(at, file);
        } else {
            state.keep_closed(file);
        }
        while state.closed.len() > self.budget.closed_files {
            let Some((_, first)) = state.closed.pop_first() else { break };
            state.forget(at, first);
        }
    }
}

/// The number that a version has unless another has it: the same in every process.
fn first_number(known: Known) -> u32 {
    let mut hasher = DefaultHasher::new();
    (known.device, known.fingerprint.fixed).hash(&mut hasher);
    hasher.finish() as u32
}

impl State {
    fn handle(&mut self, event: Event) {
        self.latest = event.at;
        let from = self.actions.len();
        if let EventKind::Arrived { io } | EventKind::Failed { io, .. } = event.kind {
            // Not the object's last owner: the caller that brings the event still has the errand.
            self.under_way.remove(&io);
        }
        self.core.handle(&[event], &mut self.actions);
        if let Some(flight) = &self.flight {
            flight.record(event, &self.actions[from..]);
        }
    }

    /// Gives a version a number and tells the core of it.
    fn introduce(&mut self, at: Instant, known: Known, bytes: u64, stripes: Option<Stripes>, layout: &[Run]) -> FileId {
        let (file, device) = (self.number(known), known.device);
        self.known.insert(known, file);
        self.files.insert(file.0, FileEntry { known, object: None, handles: 0, holds: 0, closed: None });
        self.handle(Event { at, kind: EventKind::Open { file, device, bytes } });
        let block = BLOCK as u64;
        if let Some(stripes) = stripes {
            let (unit, devices) = ((stripes.unit() / block) as u32, stripes.members());
            self.handle(Event { at, kind: EventKind::Striped { file, unit, devices } });
        }
        for run in layout {
            let extent =
                Extent::between(file, (run.offset / block) as u32, (run.offset + run.len).div_ceil(block) as u32);
            self.handle(Event { at, kind: EventKind::Placed { extent, at_byte: run.at_byte } });
        }
        file
    }

    /// A number for a version that has none. It is the same whenever the version comes back, so
    /// that the core's memory of its blocks goes to no other version. If another version has that
    /// number now, it is the next free one.
    fn number(&self, known: Known) -> FileId {
        let mut number = first_number(known);
        while self.files.get(number).is_some() {
            number = number.wrapping_add(1);
        }
        FileId(number)
    }

    /// Keeps the blocks of a file whose last handle closed, until many others were closed.
    fn keep_closed(&mut self, file: FileId) {
        self.closings += 1;
        let Some(entry) = self.files.get_mut(file.0) else { return };
        let place = (true, self.closings);
        entry.closed = Some(place);
        self.closed.insert(place, file);
    }

    /// The policy has let go of the last block of a closed file. This file is forgotten before
    /// those that still have blocks. In the order of closing alone, an older file whose blocks are
    /// in a loop's partition would go instead.
    fn emptied(&mut self, file: FileId) {
        let Some(entry) = self.files.get_mut(file.0) else { return };
        // It may be open again, or on its way to be forgotten.
        let Some(before) = entry.closed.filter(|place| self.closed.remove(place).is_some()) else { return };
        let place = (false, before.1);
        entry.closed = Some(place);
        self.closed.insert(place, file);
    }

    /// Tells the core that a closed file will not be read under this number again.
    fn forget(&mut self, at: Instant, file: FileId) {
        let Some(entry) = self.files.get(file.0).filter(|entry| entry.handles == 0 && entry.holds == 0) else { return };
        if self.known.get(&entry.known) == Some(&file) {
            self.known.remove(&entry.known);
            self.handle(Event { at, kind: EventKind::Forget { file } });
        }
    }

    /// Gives a read a number, and makes the event that tells the core of it.
    fn register(&mut self, pending: PendingRead) -> (ReadId, EventKind) {
        let read = self.free_reads.pop().unwrap_or_else(|| {
            self.reads.push(None);
            ReadId(self.reads.len() as u32 - 1)
        });
        let PendingRead { caller: Caller { handler, context }, extent, skip, len, .. } = pending;
        let offset = u64::from(extent.start) * BLOCK as u64 + skip as u64;
        let kind = EventKind::Read { read, handler, context, file: extent.file, offset, len: len as u32 };
        self.reads[read.index()] = Some(pending);
        (read, kind)
    }

    /// Whether a read came so late to a fetch that was given up that the storage has had little
    /// time for it: less than half of its patience. Its own fetch will be given all of it.
    fn came_late(&self, read: &PendingRead) -> bool {
        let waited = self.latest.since(read.since);
        self.given_up.is_some_and(|begun| waited < self.latest.since(begun) / 2)
    }

    fn object(&self, file: FileId) -> Result<Arc<dyn Object>> {
        self.files
            .get(file.0)
            .and_then(|entry| entry.object.clone())
            .ok_or_else(|| Error::Stale("a closed file".into()))
    }
}

#[cfg(test)]
mod tests;
