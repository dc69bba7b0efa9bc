//! One life: readers, storage and the engine between them, from the first event to the last.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use forebay_core::DeviceId;
use forebay_live::engine::{Config, Engine, Lease};
use forebay_live::told::{Mode, Named};
use forebay_live::tree::{Branch, Tree};
use forebay_live::world::World;
use forebay_source::striped::StripedSource;
use forebay_source::{BLOCK, Object, Result, Source};
use forebay_tier::TieredSource;
use parking_lot::Mutex;

use crate::agenda::Agenda;
use crate::bounds::Fault;
use crate::dice::{Dice, Who, mix};
use crate::disk::Meanwhile;
use crate::reader::{Entry, Opened, Reader, Reading, Step};
use crate::reference::Edition;
use crate::scenario::Scenario;
use crate::storage::Storage;
use crate::tier::{Session, Tier};
use crate::witness::Witness;

/// Jobs after readers have gone away within which everything must be over.
const AFTERWARDS: u64 = 200_000;

/// The longest file after a change.
const LONGEST: u64 = 4 << 20;

/// The outcome of a life, in numbers.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) events: AtomicU64,
    pub(crate) reads: AtomicU64,
    pub(crate) bytes: AtomicU64,
    pub(crate) errors: AtomicU64,
    pub(crate) fetches: AtomicU64,
    pub(crate) near: AtomicU64,
}

/// The parts of a life that outlive an engine.
pub(crate) struct Place {
    scenario: Arc<Scenario>,
    agenda: Agenda,
    storage: Arc<Storage>,
    witness: Arc<Witness>,
    tier: Option<Arc<Tier>>,
    tally: Arc<Tally>,
}

/// Everybody in a life, from the start of an engine to its end.
pub(crate) struct Life {
    place: Arc<Place>,
    tree: Arc<Tree>,
    session: Option<Arc<Session>>,
    readers: Vec<Mutex<Reader>>,
    author: Mutex<Dice>,
    /// Whether readers are to go away.
    over: AtomicBool,
    /// References to blocks until the last event.
    references: AtomicU64,
}

/// Lives the life of a scenario. Panics if anything is not as it must be.
pub(crate) fn lives(scenario: Scenario, tally: &Arc<Tally>) {
    let scenario = Arc::new(scenario);
    let agenda = Agenda::new(scenario.seed);
    let storage = Storage::new(&scenario, &agenda);
    let witness = Witness::new(&agenda, &storage);
    let tier = Tier::new(&scenario, &agenda, &storage);
    let (mut left, mut number) = (scenario.events, 0);
    let place = Arc::new(Place { scenario, agenda, storage, witness, tier, tally: Arc::clone(tally) });
    while left > 0 {
        let events = place.tier.as_ref().map_or(left, |tier| tier.length().min(left));
        place.lives_on(number, events);
        (left, number) = (left - events, number + 1);
    }
}

impl Place {
    /// An engine is started, lives through so many events, and ends.
    fn lives_on(self: &Arc<Self>, number: u64, events: u64) {
        let scenario = &self.scenario;
        let policy = scenario.policy.parse().expect("scenarios have policies that there are");
        let config = Config { referenced: scenario.referenced, ..Config::new(64 << 20, policy) };
        let world: Arc<dyn World> = Arc::new(self.agenda.clone());
        let engine = Engine::start_in(world, scenario.budget(), config, scenario.devices.clone());
        let engine = engine.unwrap_or_else(|error| panic!("the engine does not start: {error}"));
        // Readers come back once: what they read the second time may be in the tier.
        let seed = if number < 2 { scenario.seed } else { mix(scenario.seed ^ (number / 2)) };
        let life = Arc::new_cyclic(|life: &Weak<Life>| {
            let session = self.tier.as_ref().map(|tier| tier.open(Life::meanwhile(life)));
            let tree = self.tree(&engine, session.as_deref());
            let readers = 0..scenario.readers;
            let readers = readers.map(|number| Mutex::new(Reader::new(number, seed, scenario))).collect();
            let author = Mutex::new(Dice::of(seed, Who::Author));
            let (over, references) = (AtomicBool::new(false), AtomicU64::new(0));
            Life { place: Arc::clone(self), tree, session, readers, author, over, references }
        });
        life.begins();
        life.goes_on(&engine, events);
        life.ends(&engine);
    }

    /// The tree over all devices, each behind the tier, if there is one; or over the set of them.
    fn tree(&self, engine: &Arc<Engine>, session: Option<&Session>) -> Arc<Tree> {
        let branches = self.scenario.branches();
        let source = |device: usize| -> Arc<dyn Source> {
            let storage = self.storage(device);
            self.witness.before(match session {
                Some(session) => Arc::new(TieredSource::new(storage, Arc::clone(&session.tiers))),
                None => storage,
            })
        };
        let branch = |device: usize| Branch {
            name: (branches > 1).then(|| format!("d{device}").into()),
            source: source(device),
            device: DeviceId(device as u16),
        };
        let branches = (0..branches).map(branch).collect();
        Arc::new(Tree::new(Arc::clone(engine), branches).expect("sources with names of their own"))
    }

    /// The storage of a branch.
    fn storage(&self, device: usize) -> Arc<dyn Source> {
        let Some(stripes) = self.scenario.stripes else { return self.storage.source(device) };
        let members = (0..self.scenario.devices.len()).map(|device| self.storage.source(device)).collect();
        Arc::new(StripedSource::new(stripes.unit(), members).expect("it was possible before"))
    }
}

impl Life {
    /// Jobs of the agenda while the tier's disk is at work.
    fn meanwhile(life: &Weak<Life>) -> Meanwhile {
        let life = Weak::clone(life);
        Arc::new(move || {
            if let Some(life) = life.upgrade() {
                life.steps(life.tree.engine());
            }
        })
    }

    fn begins(self: &Arc<Self>) {
        for number in 0..self.readers.len() {
            self.acts_later(number);
        }
        if self.place.scenario.often(Fault::Change) > 0 {
            self.changes_later();
        }
    }

    /// Events, each followed by a look at everything.
    fn goes_on(&self, engine: &Arc<Engine>, events: u64) {
        let until = self.place.tally.events.load(Ordering::Relaxed) + events;
        let is_up = || self.place.tier.as_ref().is_none_or(|tier| tier.disk.is_attached());
        while self.place.tally.events.load(Ordering::Relaxed) < until && is_up() && self.steps(engine) {}
    }

    /// Readers go away; nothing may be left of them.
    fn ends(self: Arc<Self>, engine: &Arc<Engine>) {
        self.over.store(true, Ordering::Relaxed);
        for number in 0..self.readers.len() {
            self.untells(number as u32);
        }
        if let Some(session) = &self.session {
            session.ends();
        }
        let mut jobs = 0;
        while self.steps(engine) {
            jobs += 1;
            assert!(jobs < AFTERWARDS, "readers have gone away, and there is no end");
        }
        let audit = engine.audit();
        assert!(audit.is_idle(), "readers have gone away, and there is left: {audit:?}");
        assert_eq!(self.place.storage.pending(), 0, "requests that nobody answers");
        let counters = engine.stats(&[]).counts;
        self.place.tally.fetches.fetch_add(counters.fetched_bytes, Ordering::Relaxed);
        if let Some(session) = &self.session {
            session.is_over();
            self.place.tally.near.fetch_add(session.figures().hit_bytes, Ordering::Relaxed);
        }
        let lives = Arc::strong_count(&self);
        assert_eq!(lives, 1, "somebody still waits for an answer");
        drop(self);
        assert_eq!(Arc::strong_count(engine), 1, "somebody still has the engine");
    }

    fn steps(&self, engine: &Arc<Engine>) -> bool {
        let more = self.place.agenda.step();
        self.place.tally.events.fetch_add(u64::from(more), Ordering::Relaxed);
        let references = engine.audit().references;
        // A hit is no event, so what lists may do for it is done with the next one.
        if self.references.swap(references, Ordering::Relaxed) == references {
            engine.audit_stillness();
            self.lists_follow(engine);
        }
        more
    }

    /// Where one reader alone reads a list, what it has read lies in the entries that it has
    /// passed, and in the one that it is at.
    fn lists_follow(&self, engine: &Arc<Engine>) {
        let scenario = &self.place.scenario;
        if scenario.readers > 1 || scenario.often(Fault::Away) > 0 || scenario.often(Fault::Told) == 0 {
            return;
        }
        let changed = if scenario.often(Fault::Change) > 0 { LONGEST } else { 0 };
        let longest = scenario.files.iter().copied().max().unwrap_or(0).max(changed).div_ceil(BLOCK as u64);
        for list in engine.audit_lists() {
            assert!(list.read <= (u64::from(list.passed) + 1) * longest, "a reader is ahead of its list: {list:?}");
        }
    }

    fn acts_later(self: &Arc<Self>, number: usize) {
        let (life, thinks) = (Arc::clone(self), self.readers[number].lock().thinks());
        self.place.agenda.later(thinks, move || life.acts(number));
    }

    /// A reader does its next step.
    fn acts(self: &Arc<Self>, number: usize) {
        if self.over.load(Ordering::Relaxed) {
            let closed = self.readers[number].lock().closes();
            return drop(closed);
        }
        let step = self.readers[number].lock().steps(&self.place.scenario, self.place.agenda.now());
        match step {
            Step::Nothing => {}
            Step::Open(file) => self.opens(number, file),
            Step::Read(opened, reading) => self.reads(opened, *reading),
            Step::Tell(entries, replaces) => self.tells(number, entries, replaces),
            Step::Untell => self.untells(number as u32),
            Step::Close(opened) => drop(opened),
        }
        self.acts_later(number);
    }

    fn opens(self: &Arc<Self>, number: usize, file: u32) {
        let device = file as usize % self.place.scenario.branches();
        let life = Arc::clone(self);
        let then = move |object: Result<Arc<dyn Object>>| life.has_opened(number, file, device, object);
        self.tree.branches()[device].source.open_then(format!("f{file}").as_ref(), Box::new(then));
    }

    fn has_opened(&self, number: usize, file: u32, device: usize, object: Result<Arc<dyn Object>>) {
        let Ok(object) = object else { return self.readers[number].lock().has_not_opened() };
        let edition = Edition { file, version: object.version().modified as u32 };
        assert!(self.place.storage.is_current(edition), "an old version is opened");
        let file = Arc::new(self.tree.engine().open(object, DeviceId(device as u16)));
        let late = {
            let mut reader = self.readers[number].lock();
            reader.has_opened(Opened { file, edition });
            if self.over.load(Ordering::Relaxed) { reader.closes() } else { None }
        };
        drop(late);
    }

    fn reads(self: &Arc<Self>, opened: Opened, reading: Reading) {
        let Reading { caller, offset, len, .. } = reading;
        let life = Arc::clone(self);
        let label = reading.label.clone();
        let then = move |outcome| life.is_answered(reading, outcome);
        match label {
            None => opened.file.read_by_then(caller, offset, len, then),
            label => opened.file.read_labelled_then(caller.handler.0, offset, len, label, then),
        }
    }

    fn is_answered(self: &Arc<Self>, reading: Reading, outcome: Result<Lease>) {
        let open = self.readers[reading.reader as usize].lock().is_answered(&reading);
        self.place.tally.reads.fetch_add(1, Ordering::Relaxed);
        let lease = match outcome {
            Ok(lease) => lease,
            Err(error) => return self.fails(&reading, open, error.errno()),
        };
        assert!(!lease.is_empty() && lease.len() <= reading.len, "{} bytes for {reading:?}", lease.len());
        compares(&reading, &lease);
        self.place.tally.bytes.fetch_add(lease.len() as u64, Ordering::Relaxed);
        if let Some(held) = reading.held {
            self.place.agenda.later(held, move || {
                compares(&reading, &lease);
                drop(lease);
            });
        }
    }

    /// A read failed: that must have a reason.
    fn fails(&self, reading: &Reading, open: bool, errno: i32) {
        self.place.tally.errors.fetch_add(1, Ordering::Relaxed);
        let Reading { edition, offset, len, since, .. } = *reading;
        // Its file may have been forgotten since it was closed.
        if errno == libc::ESTALE && !open {
            return;
        }
        // A fetch brings whole blocks.
        let bytes = offset..offset + len as u64;
        let explained = self.place.witness.explains(edition, &bytes, since, errno);
        assert!(explained, "error {errno} for no reason: {reading:?}");
    }

    fn tells(&self, number: usize, entries: Vec<Entry>, replaces: bool) {
        let named = |Entry { file, range }: Entry| Named { path: self.path(file), range };
        let mode = if replaces { Mode::Replace } else { Mode::Append };
        let told = self.tree.tell(&format!("r{number}"), mode, entries.into_iter().map(named));
        assert!(told.is_ok(), "{told:?}");
    }

    fn untells(&self, number: u32) {
        let told = self.tree.tell(&format!("r{number}"), Mode::Clear, []);
        assert!(told.is_ok(), "{told:?}");
    }

    /// The path of a file in the tree.
    fn path(&self, file: u32) -> PathBuf {
        match self.place.scenario.branches() {
            1 => format!("f{file}").into(),
            branches => format!("d{}/f{file}", file as usize % branches).into(),
        }
    }

    fn changes_later(self: &Arc<Self>) {
        let often = self.place.scenario.often(Fault::Change);
        let pause = self.author.lock().scale(10_000_000, 1_000_000_000_000 / often.max(1));
        let life = Arc::clone(self);
        self.place.agenda.later(pause, move || life.changes());
    }

    /// A file changes.
    fn changes(self: &Arc<Self>) {
        if self.over.load(Ordering::Relaxed) {
            return;
        }
        let mut author = self.author.lock();
        let file = author.below(self.place.scenario.files.len() as u64) as u32;
        let (other, size) = (author.chance(500), author.scale(1, LONGEST));
        drop(author);
        let size = if other { size } else { self.place.scenario.files[file as usize] };
        self.place.storage.change(file, size);
        self.changes_later();
    }
}

/// Every byte is as it must be.
fn compares(reading: &Reading, lease: &Lease) {
    let mut at = reading.offset;
    for slice in lease.slices() {
        if let Some(wrong) = reading.edition.differs(at, slice) {
            panic!("byte {wrong} is wrong: {reading:?}");
        }
        at += slice.len() as u64;
    }
}
