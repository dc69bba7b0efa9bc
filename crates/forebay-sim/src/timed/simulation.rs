//! The run itself: handles events until no reader asks any more.

mod below;

use forebay_core::level::Label;
use forebay_core::{Action, ContextId, Core, DeviceId, Event, EventKind, Extent, FileId, HandlerId, Instant, IoId};
use forebay_device::{Network, Request};
use forebay_trace::{Span, Workload};

use super::agenda::{Agenda, What};
use super::error::Error;
use super::files::{File, files};
use super::level::{Level, Want, levels};
use super::outcome::Outcome;
use super::placement::Place;
use super::readers::{Next, Processors, Readers};
use super::samples::Samples;
use super::setup::{Load, Setup, Writes};
use super::storage::Storage;
use super::striping::Stripes;
use super::tally::Tally;
use super::tier::{self, Tiered};
use super::told::Lists;
use crate::Watch;

/// A recorder of all that a core is told and answers.
pub trait Record {
    /// The core of `level` was told `event` and answered with `actions`.
    fn record(&mut self, level: usize, event: Event, actions: &[Action]);
    /// The ceiling of the prefetch cache of `level` (CPEM §4.1) is so many blocks from now on.
    fn ceiling(&mut self, _level: usize, _at: Instant, _blocks: u32) {}
    /// The core of `level` as it is after that: its streams, its devices.
    fn look(&mut self, _level: usize, _at: Instant, _core: &dyn Core) {}
    /// The core of `level` as it is when the run is over.
    fn end(&mut self, _level: usize, _at: Instant, _core: &dyn Core) {}
}

/// Runs `workload` through `setup`. Same setup, same workload, same outcome, to the bit.
pub fn run(setup: &Setup, workload: &Workload, watch: &dyn Watch) -> Result<Outcome, Error> {
    Simulation::new(setup, workload, None)?.run(watch)
}

/// The same, recorded; the outcome is the same.
pub fn run_recorded(
    setup: &Setup,
    workload: &Workload,
    watch: &dyn Watch,
    record: &mut dyn Record,
) -> Result<Outcome, Error> {
    Simulation::new(setup, workload, Some(record))?.run(watch)
}

/// The bit of a request's name that marks a write; the rest is the reader's number.
const WRITE: u64 = 1 << 63;

/// How many steps are taken between two reports to the observer.
const STEPS: u64 = 1 << 14;

struct Simulation<'a> {
    setup: &'a Setup,
    workload: &'a Workload,
    record: Option<&'a mut dyn Record>,
    agenda: Agenda,
    levels: Vec<Level>,
    /// The network between a level and the one below it. The network between the last level and the
    /// devices belongs to the storage.
    links: Vec<Option<Network>>,
    storage: Storage,
    tier: Option<Tiered>,
    files: Vec<File>,
    readers: Readers,
    processors: Processors,
    tally: Tally,
    /// The lists that readers tell beforehand.
    lists: Lists,
    /// Whether readers keep their names.
    pool: bool,
    /// How files are striped, if caches know of it.
    stripes: Option<Stripes>,
    over: bool,
    /// Epochs of level 0 at the last sample.
    epochs: u64,
}

impl<'a> Simulation<'a> {
    fn new(
        setup: &'a Setup,
        workload: &'a Workload,
        record: Option<&'a mut dyn Record>,
    ) -> Result<Simulation<'a>, Error> {
        setup.check()?;
        if workload.requests() == 0 {
            return Err(Error::Empty);
        }
        if matches!(setup.load, Load::Open { .. }) && !workload.is_timed() {
            return Err(Error::NoTimes);
        }
        let storage = Storage::new(setup)?;
        let readers = Readers::new(&setup.load, setup.buffered, workload);
        let (levels, links) = levels(setup, storage.costs())?;
        let files = files(setup, workload, &storage)?;
        let (processors, tally) = (Processors::new(&setup.load), Tally::default());
        let agenda = Agenda::default();
        Ok(Simulation {
            setup,
            workload,
            record,
            agenda,
            levels,
            links,
            storage,
            tier: tier::of(setup)?,
            files,
            readers,
            processors,
            tally,
            lists: Lists::new(setup, workload),
            pool: matches!(setup.load, Load::Closed { pool: true, .. }),
            stripes: setup.stripes(),
            over: false,
            epochs: 0,
        })
    }

    fn run(mut self, watch: &dyn Watch) -> Result<Outcome, Error> {
        self.begin();
        let mut steps = 0;
        while !self.over {
            if let Some(what) = self.agenda.due() {
                self.step(what);
                self.settle_all();
                self.sample_epoch();
            } else if self.readers.are_done() || !self.pass() {
                break;
            }
            steps += 1;
            if steps % STEPS == 0 {
                let (done, all) = self.progress();
                watch.progress(done, all);
                if watch.stopped() {
                    return Err(Error::Stopped);
                }
            }
        }
        debug_assert!(self.over || self.readers.are_done(), "somebody waits for nothing");
        if !self.tally.has_begun(self.setup) {
            return Err(Error::AllWarmUp);
        }
        if let Some(record) = &mut self.record {
            for (number, level) in self.levels.iter().enumerate() {
                record.end(number, self.agenda.now(), level.core());
            }
        }
        Ok(self.tally.outcome(self.setup, self.agenda.now(), &self.levels, self.storage, self.tier.as_ref()))
    }

    fn begin(&mut self) {
        self.sample_second();
        for reader in 0..self.readers.handlers() {
            self.agenda.put(Instant(0), What::Ask(reader));
        }
        if let Some(at) = self.readers.next_arrival(self.workload) {
            self.agenda.put(at, What::Arrival);
        }
        for (span, what) in [(self.setup.warm_up, What::WarmedUp), (self.setup.limit, What::End)] {
            if let Some(Span::Seconds(seconds)) = span {
                self.agenda.put(Instant((seconds * 1e9) as u64), what);
            }
        }
    }

    /// Takes a sample if the setup wants one an epoch, and an epoch is over.
    fn sample_epoch(&mut self) {
        if self.setup.samples == Some(Samples::Epochs) {
            let epochs = self.levels[0].epochs();
            if epochs != std::mem::replace(&mut self.epochs, epochs) {
                self.tally.sample(self.agenda.now(), &self.levels[0]);
            }
        }
    }

    /// Takes a sample if the setup wants them by time, and puts the next one on the agenda.
    fn sample_second(&mut self) {
        let now = self.agenda.now();
        if let Some(Samples::Seconds(seconds)) = self.setup.samples {
            self.tally.sample(now, &self.levels[0]);
            self.agenda.put(now.plus((seconds * 1e9) as u64), What::Sample);
        }
    }

    /// Tells the cores the rest of this moment's events, then time goes on. `false` if no event is
    /// left.
    fn pass(&mut self) -> bool {
        while self.levels.iter_mut().any(Level::hurry) {
            self.settle_all();
        }
        for (number, level) in self.levels.iter_mut().enumerate() {
            if let Some(at) = level.deadline() {
                self.agenda.put(at, What::Tick(number as u8));
            }
        }
        self.agenda.is_at_work() || self.agenda.advance()
    }

    fn progress(&self) -> (u64, u64) {
        match self.setup.limit {
            Some(Span::Seconds(seconds)) => (self.agenda.now().0, (seconds * 1e9) as u64),
            Some(Span::Requests(requests)) => (self.tally.all_requests(), requests.min(self.workload.requests())),
            None => (self.tally.all_requests(), self.workload.requests()),
        }
    }

    fn step(&mut self, what: What) {
        match what {
            What::Ask(reader) => self.ask(reader),
            What::Computed(reader) => {
                if let Some(next) = self.processors.release() {
                    self.compute(next);
                }
                self.go_on(reader);
            }
            What::Arrival => {
                let reader = self.readers.arrive();
                self.ask(reader);
                if let Some(at) = self.readers.next_arrival(self.workload) {
                    self.agenda.put(at, What::Arrival);
                }
            }
            What::Device(device) => self.look_at(device),
            What::Below(level, io) => self.below(usize::from(level), IoId(io)),
            What::Arrived(level, io) => {
                let now = self.agenda.now();
                self.levels[usize::from(level)].arrived(now, IoId(io));
            }
            What::Tick(level) => self.tell_now(usize::from(level), EventKind::Tick),
            What::Sample => self.sample_second(),
            What::WarmedUp => self.warmed_up(),
            What::End => self.over = true,
        }
    }

    fn tell_now(&mut self, level: usize, kind: EventKind) {
        let now = self.agenda.now();
        self.levels[level].tell_now(now, kind);
    }

    /// The name under which a reader reads: its own, or that of its task.
    fn name(&self, reader: u32) -> HandlerId {
        if self.pool {
            HandlerId(reader + 1)
        } else {
            HandlerId(self.workload.entry(self.readers.get(reader).entry).handler)
        }
    }

    /// A reader asks for its next request.
    fn ask(&mut self, reader: u32) {
        let now = self.agenda.now();
        let state = self.readers.get_mut(reader);
        state.begun = now;
        let task = state.task_begun.is_none().then_some(state.task);
        state.task_begun.get_or_insert(now);
        let entry = *self.workload.entry(state.entry);
        if entry.writes() {
            return self.write(reader);
        }
        if let Some(task) = task
            && let Some(list) = self.lists.begins(reader, task, self.workload)
        {
            self.levels[0].tell(now, EventKind::Untold { list });
            self.tell_lists();
        }
        let handler = self.name(reader);
        self.open(reader, entry.file());
        let file = &mut self.files[entry.file() as usize];
        (file.handler, file.context) = (handler, ContextId(entry.context));
        let want = Want {
            asker: reader,
            handler: file.handler,
            context: file.context,
            file: FileId(entry.file()),
            device: DeviceId(file.place.device),
            offset: entry.offset,
            end: entry.end(),
            label: None,
            demanded: (0, 0),
        };
        self.want(0, want);
    }

    fn write(&mut self, reader: u32) {
        self.tally.writes += 1;
        if self.setup.writes == Writes::Skip {
            return self.go_on(reader);
        }
        let parts: Vec<_> = self.parts(reader).collect();
        self.readers.get_mut(reader).writing = parts.len() as u32;
        for (device, start, len) in parts {
            let request = Request::write(start, len).by(self.name(reader).0);
            self.submit(device, WRITE | u64::from(reader), request);
        }
    }

    /// The places of a reader's request: devices, the first byte there, and how many.
    fn parts(&self, reader: u32) -> impl Iterator<Item = (u16, u64, u64)> + use<> {
        let entry = self.workload.entry(self.readers.get(reader).entry);
        let Place { device, at_byte } = self.files[entry.file() as usize].place;
        let striped = self.stripes.map(|stripes| stripes.parts(entry.offset, entry.end()));
        let whole = self.stripes.is_none().then_some((device, entry.offset, u64::from(entry.len)));
        let parts = striped.into_iter().flatten().chain(whole);
        parts.map(move |(device, start, len)| (device, at_byte + start, len))
    }

    /// The cores learn of a file.
    fn introduce(&mut self, number: u32) {
        let (now, block) = (self.agenda.now(), u64::from(self.setup.block_bytes));
        let entry = &mut self.files[number as usize];
        let File { place, bytes, .. } = *entry;
        if !std::mem::replace(&mut entry.known, true) {
            let file = FileId(number);
            let (share, has_places) = match self.stripes {
                None => (bytes, self.storage.has_places(place.device)),
                Some(stripes) => (stripes.share(bytes), self.storage.smallest().is_some()),
            };
            let extent = Extent::between(file, 0, share.div_ceil(block) as u32);
            for level in &mut self.levels {
                level.tell(now, EventKind::Open { file, device: DeviceId(place.device), bytes });
                if let Some(Stripes { unit, devices }) = self.stripes {
                    let (unit, devices) = ((unit / block) as u32, devices as u16);
                    level.tell(now, EventKind::Striped { file, unit, devices });
                }
                if has_places {
                    level.tell(now, EventKind::Placed { extent, at_byte: place.at_byte });
                }
            }
        }
    }

    /// A reader is about to read a file: its task has it open from now on.
    fn open(&mut self, reader: u32, number: u32) {
        self.introduce(number);
        let (now, entry) = (self.agenda.now(), &mut self.files[number as usize]);
        let reader = self.readers.get_mut(reader);
        if self.workload.names_handlers() && entry.opener != reader.task + 1 {
            entry.opener = reader.task + 1;
            if !reader.files.contains(&number) {
                reader.files.push(number);
                entry.handles += 1;
                let kind = EventKind::Handles { file: FileId(number), handles: entry.handles };
                self.levels[0].tell(now, kind);
            }
        }
    }

    /// A level is asked.
    fn want(&mut self, level: usize, want: Want) {
        let now = self.agenda.now();
        self.levels[level].read(now, want);
        self.settle(level);
    }

    /// A level has read a want: it goes to the level above, or to the reader.
    fn give(&mut self, level: usize, want: &Want) {
        let now = self.agenda.now();
        let Some(above) = level.checked_sub(1) else { return self.answered(want.asker) };
        let wanted = self.levels[above].fetch(IoId(want.asker));
        let at = match &mut self.links[above] {
            Some(link) => link.send(now, 1, 0, wanted.end - wanted.offset),
            None => now,
        };
        self.agenda.put(at, What::Arrived(above as u8, want.asker));
    }

    /// A reader has what it asked for.
    fn answered(&mut self, reader: u32) {
        let now = self.agenda.now();
        let state = self.readers.get(reader);
        self.tally.answer(now.since(state.begun), self.workload.entry(state.entry).len);
        let answered = Some(Span::Requests(self.tally.all_requests()));
        if self.setup.warm_up == answered {
            self.warmed_up();
        }
        self.over |= self.setup.limit == answered;
        if self.computation(reader) == 0 {
            self.go_on(reader);
        } else if self.processors.take(reader) {
            self.compute(reader);
        }
    }

    /// Counting begins.
    fn warmed_up(&mut self) {
        self.tally.warmed_up(self.agenda.now(), &self.levels, &mut self.storage);
        if let Some(tier) = &mut self.tier {
            tier.clear();
        }
    }

    /// How long a reader computes with its answer, nanoseconds.
    fn computation(&self, reader: u32) -> u64 {
        self.processors.time(self.workload.entry(self.readers.get(reader).entry).len)
    }

    /// A reader has a processor.
    fn compute(&mut self, reader: u32) {
        let now = self.agenda.now();
        let handler = self.name(reader);
        self.levels[0].tell(now, EventKind::Ran { handler });
        self.agenda.put(now.plus(self.computation(reader)), What::Computed(reader));
    }

    /// A reader has computed: it thinks, and asks again.
    fn go_on(&mut self, reader: u32) {
        let now = self.agenda.now();
        let (begun, handler) = (self.readers.get(reader).task_begun, self.name(reader));
        let next = self.readers.go_on(reader, now, self.workload);
        if !matches!(next, Next::Ask(_)) {
            self.tally.end_task(now.since(begun.unwrap_or(now)));
            if self.workload.names_handlers() {
                self.end_task(reader, handler);
            }
        }
        if let Next::Ask(think) | Next::Task(think) = next {
            self.agenda.put(now.plus(think), What::Ask(reader));
        }
    }

    /// A task is over: its files are closed, and its handler is gone unless it is of a pool. An
    /// open loop has none.
    fn end_task(&mut self, reader: u32, handler: HandlerId) {
        if self.setup.load.handlers() == 0 {
            return;
        }
        let now = self.agenda.now();
        let mut open = std::mem::take(&mut self.readers.get_mut(reader).files);
        for number in open.drain(..) {
            let file = &mut self.files[number as usize];
            file.handles -= 1;
            match file.handles {
                0 => self.levels[0].tell_now(now, EventKind::Close { file: FileId(number) }),
                handles => self.levels[0].tell(now, EventKind::Handles { file: FileId(number), handles }),
            }
        }
        self.readers.get_mut(reader).files = open;
        if !self.pool {
            self.levels[0].tell(now, EventKind::Exited { handler });
            self.storage.exited(now, handler.0);
        }
    }

    fn settle_all(&mut self) {
        for level in 0..self.levels.len() {
            self.settle(level);
        }
        self.tell_lists();
    }

    /// Tells the first cache more of each list that has room.
    fn tell_lists(&mut self) {
        let (now, block) = (self.agenda.now(), u64::from(self.setup.block_bytes));
        let core = self.levels[0].core();
        let told = self.lists.next(self.workload, block, |list| core.told_room(list));
        for &(file, kind) in &told {
            self.introduce(file);
            self.levels[0].tell_now(now, kind);
        }
        if !told.is_empty() {
            self.tell_now(0, EventKind::Tick);
            self.settle(0);
        }
    }

    /// Tells a core the urgent events and carries out its answers, until none is left.
    fn settle(&mut self, level: usize) {
        while self.levels[level].is_urgent() {
            let actions = self.levels[level].handle(level, &mut self.record);
            for (number, &action) in actions.iter().enumerate() {
                self.carry_out(level, number, action);
            }
            self.levels[level].recycle(actions);
        }
    }

    fn carry_out(&mut self, level: usize, number: usize, action: Action) {
        let now = self.agenda.now();
        match action {
            Action::Fetch { io, extent, device, demand, hits, .. } => {
                let asker = self.levels[level].asker(number);
                self.fetch(level, io, extent, Label { demand, hits }, device, asker);
            }
            Action::CallOff { io } => self.call_off(level, io),
            Action::Ready { read } => {
                if let Some(want) = self.levels[level].ready(now, read) {
                    self.give(level, &want);
                }
            }
            Action::Error { read, error } => {
                debug_assert!(false, "{read:?} failed with {error}, and nothing here fails");
                let want = self.levels[level].refused(read);
                self.give(level, &want);
            }
            Action::Evict { unread: Some(key), .. } if level + 1 == self.levels.len() => {
                self.tier.iter_mut().for_each(|tier| tier.unread(key));
            }
            Action::Emptied { .. } | Action::Forgotten { .. } | Action::Evict { .. } => {}
        }
    }
}
