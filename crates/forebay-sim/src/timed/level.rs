//! A cache: a core, its reads under way, and its fetches.

use std::collections::BTreeMap;

use forebay_core::devices::Device;
use forebay_core::index::Hashed;
use forebay_core::level::{Label, Labels};
use forebay_core::share::Share;
use forebay_core::{
    Action, Actions, CALLED_OFF, Caller, ContextId, Core, Counters, DeviceCost, DeviceId, Event, EventKind, Extent,
    FileId, HandlerId, Instant, IoId, Policy, ReadId,
};
use forebay_device::Network;
use forebay_device::attached::COMMAND;

use super::error::Error;
use super::labels;
use super::samples::PartitionSample;
use super::setup::Setup;
use super::simulation::Record;
use super::storage::network;

/// A range of a file that a reader or a level above wants.
#[derive(Clone, Copy, Debug)]
pub(super) struct Want {
    /// A reader, at level 0; else the fetch of the level above.
    pub(super) asker: u32,
    pub(super) handler: HandlerId,
    pub(super) context: ContextId,
    pub(super) file: FileId,
    pub(super) device: DeviceId,
    /// The first byte that is not there yet.
    pub(super) offset: u64,
    /// The byte after the last.
    pub(super) end: u64,
    /// The label from the level above; `None` for a reader's request.
    pub(super) label: Option<Label>,
    /// For the part that is being read: blocks that readers wait for, and how many of these were
    /// here when it was asked for.
    pub(super) demanded: (u32, u32),
}

/// One level.
pub(super) struct Level {
    pub(super) policy: Policy,
    pub(super) frames: u32,
    core: Box<dyn Core>,
    /// Events for the core.
    events: Vec<Event>,
    /// Whether they must be told at this moment, before anything else.
    urgent: bool,
    batch: Vec<Event>,
    actions: Actions,
    /// From which action on which caller asked; `None` if the actions don't follow from a read.
    askers: Vec<(usize, Option<Caller>)>,
    /// Reads under way, by number.
    wants: Vec<Want>,
    free: Vec<ReadId>,
    /// Fetches under way, by number.
    fetches: Vec<Want>,
    /// Bytes of the longest read.
    longest: u64,
    /// Whether a read waits for fetches of its blocks before it is read (see
    /// [`Setup::unit_bytes`]).
    by_unit: bool,
    /// Fetches under way, if `by_unit`: by file and first block, the block after the last, and the
    /// fetch.
    under_way: BTreeMap<(FileId, u32), (u32, IoId)>,
    /// Reads that wait for a fetch before they are read.
    sleeping: BTreeMap<IoId, Vec<ReadId>>,
    block_shift: u32,
    /// When a tick is on the agenda.
    tick: Option<Instant>,
    /// The ceiling of the prefetch cache that was recorded last.
    ceiling: Option<u32>,
    /// The labels that it gets from the level above.
    labels: Labels,
    known: Known,
}

/// Counts over the true demand of all requests, whether levels send labels or not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Known {
    /// Blocks served to the level above that readers waited for. Blocks that are still waited for
    /// when a run ends do not count.
    pub(super) demanded: u64,
    /// Of these: here, or under way.
    pub(super) demanded_here: u64,
    /// Fetches with a part that readers wanted.
    pub(super) demand_fetches: u64,
    /// Bytes of labels sent to the level below.
    pub(super) label_bytes: u64,
}

/// The knowledge that a level gets of its requests.
#[derive(Clone, Copy)]
pub(super) struct Told {
    /// How many streams it remembers, if that is said.
    streams: Option<u32>,
    labels: Labels,
}

impl Level {
    /// An empty cache of `frames` blocks, with its number of streams and the labels that it gets.
    pub(super) fn new(
        policy: Policy,
        frames: u32,
        block_bytes: u32,
        unit_bytes: Option<u32>,
        told: Told,
        devices: Vec<DeviceCost>,
    ) -> Level {
        let setup = forebay_core::Setup {
            frames,
            block_bytes,
            // As the live engine does.
            streams: told.streams.unwrap_or((frames / 4).clamp(256, 16_384)),
            devices,
            referenced: Default::default(),
        };
        let core = policy.build::<Hashed>(setup);
        let longest = u64::from(core.max_read()) * u64::from(block_bytes);
        Level {
            policy,
            frames,
            events: Vec::new(),
            urgent: false,
            batch: Vec::new(),
            actions: Actions::new(),
            askers: Vec::new(),
            wants: Vec::new(),
            free: Vec::new(),
            fetches: Vec::new(),
            longest: unit_bytes.map_or(longest, |unit| longest.min(unit.into())),
            by_unit: unit_bytes.is_some(),
            under_way: BTreeMap::new(),
            sleeping: BTreeMap::new(),
            block_shift: block_bytes.trailing_zeros(),
            tick: None,
            ceiling: None,
            labels: told.labels,
            known: Known::default(),
            core,
        }
    }

    /// Tells the core of an event, at the latest before time goes on.
    pub(super) fn tell(&mut self, at: Instant, kind: EventKind) {
        self.events.push(Event { at, kind });
    }

    /// Tells the core of an event that it may answer.
    pub(super) fn tell_now(&mut self, at: Instant, kind: EventKind) {
        self.tell(at, kind);
        self.urgent = true;
    }

    /// Reads the next part of a want: as much as the core takes at a time.
    pub(super) fn read(&mut self, at: Instant, want: Want) {
        let read = self.free.pop().unwrap_or_else(|| {
            self.wants.push(want);
            ReadId(self.wants.len() as u32 - 1)
        });
        self.wants[read.index()] = want;
        self.go_on(at, read);
    }

    fn go_on(&mut self, at: Instant, read: ReadId) {
        let Want { handler, context, file, offset, end, label, .. } = self.wants[read.index()];
        if let Some(io) = self.by_unit.then(|| self.filling(file, (offset >> self.block_shift) as u32)).flatten() {
            return self.sleeping.entry(io).or_default().push(read);
        }
        let len = self.part(offset, end) as u32;
        if let Some(label) = label {
            self.wants[read.index()].demanded = self.demanded(file, offset, len, &label);
            if let Some(Label { demand, hits }) = labels::told(self.labels, label) {
                self.tell(at, EventKind::Labelled { read, demand, hits });
            }
        }
        self.tell_now(at, EventKind::Read { read, handler, context, file, offset, len });
    }

    /// How many blocks of a request readers wait for, and how many of these are here, or under way
    /// already.
    fn demanded(&self, file: FileId, offset: u64, len: u32, label: &Label) -> (u32, u32) {
        let block = |byte: u64| (byte >> self.block_shift) as u32;
        let read = Extent::between(file, block(offset), block(offset + u64::from(len) - 1) + 1);
        let demand = label.of(read, read.end()).demand;
        let here = demand.keys().filter(|&key| self.core.frame(key).is_some()).count();
        (demand.len, here as u32)
    }

    /// The fetch that brings a block.
    fn filling(&self, file: FileId, block: u32) -> Option<IoId> {
        let (_, &(end, io)) = self.under_way.range((file, 0)..=(file, block)).next_back()?;
        (block < end).then_some(io)
    }

    /// A fetch is over, and the core has been told: the reads that waited for it go on.
    fn wake(&mut self, at: Instant, io: IoId) {
        if !self.by_unit {
            return;
        }
        let Want { file, offset, .. } = self.fetches[io.index()];
        self.under_way.remove(&(file, (offset >> self.block_shift) as u32));
        for read in self.sleeping.remove(&io).unwrap_or_default() {
            self.go_on(at, read);
        }
    }

    /// A disk tier brought all of a fetch.
    pub(super) fn near(&mut self, at: Instant, io: IoId) {
        self.tell(at, EventKind::Near { io });
    }

    /// A fetch brought everything.
    pub(super) fn arrived(&mut self, at: Instant, io: IoId) {
        self.tell_now(at, EventKind::Arrived { io });
        self.wake(at, io);
    }

    /// A fetch was taken back.
    pub(super) fn called_off(&mut self, at: Instant, io: IoId) {
        self.tell_now(at, EventKind::Failed { io, valid: 0, error: CALLED_OFF });
        self.wake(at, io);
    }

    /// How much of `offset..end` is read at a time.
    fn part(&self, offset: u64, end: u64) -> u64 {
        let skip = offset & ((1 << self.block_shift) - 1);
        (end - offset).min(self.longest - skip)
    }

    /// A part is ready. Returns the want once all parts are.
    pub(super) fn ready(&mut self, at: Instant, read: ReadId) -> Option<Want> {
        self.tell(at, EventKind::Done { read });
        let want = self.wants[read.index()];
        self.known.demanded += u64::from(want.demanded.0);
        self.known.demanded_here += u64::from(want.demanded.1);
        let next = want.offset + self.part(want.offset, want.end);
        if next < want.end {
            // The core takes the part of the label for this read; it has the note of hits by now.
            let label = want.label.map(|label| Label { hits: Default::default(), ..label });
            self.wants[read.index()] = Want { offset: next, label, ..want };
            self.go_on(at, read);
            return None;
        }
        self.free.push(read);
        Some(want)
    }

    /// A read that cannot be served is over.
    pub(super) fn refused(&mut self, read: ReadId) -> Want {
        self.free.push(read);
        self.wants[read.index()]
    }

    /// A fetch is under way; `demanded` says whether readers wait for a part of it. Its label has
    /// so many bytes.
    pub(super) fn begin_fetch(&mut self, io: IoId, want: Want, demanded: bool, label_bytes: u64) {
        self.known.demand_fetches += u64::from(demanded);
        self.known.label_bytes += label_bytes;
        if io.index() >= self.fetches.len() {
            self.fetches.resize(io.index() + 1, want);
        }
        self.fetches[io.index()] = want;
        if self.by_unit {
            let block = |byte: u64| (byte >> self.block_shift) as u32;
            self.under_way.insert((want.file, block(want.offset)), (block(want.end - 1) + 1, io));
        }
    }

    /// A fetch that is under way.
    pub(super) fn fetch(&self, io: IoId) -> &Want {
        &self.fetches[io.index()]
    }

    /// Whether the core is to be told an event that it may answer.
    pub(super) fn is_urgent(&self) -> bool {
        self.urgent
    }

    /// The events for the core can wait no longer. Returns whether there are any.
    pub(super) fn hurry(&mut self) -> bool {
        self.urgent = !self.events.is_empty();
        self.urgent
    }

    /// Tells the core its events and returns its answers, for [`recycle`](Self::recycle)
    /// afterwards.
    pub(super) fn handle(&mut self, number: usize, record: &mut Option<&mut dyn Record>) -> Actions {
        self.urgent = false;
        let mut actions = std::mem::take(&mut self.actions);
        std::mem::swap(&mut self.events, &mut self.batch);
        self.askers.clear();
        for &event in &self.batch {
            let from = actions.len();
            self.core.handle(&[event], &mut actions);
            if actions.len() > from {
                let asker = match event.kind {
                    EventKind::Read { handler, context, .. } => Some(Caller { handler, context }),
                    _ => None,
                };
                self.askers.push((from, asker));
            }
            if let Some(record) = record {
                let ceiling = self.core.prefetch_cache().map(|cache| cache.ceiling);
                if let Some(blocks) = ceiling.filter(|_| ceiling != self.ceiling) {
                    record.ceiling(number, event.at, blocks);
                    self.ceiling = ceiling;
                }
                record.record(number, event, &actions[from..]);
                record.look(number, event.at, self.core.as_ref());
            }
        }
        self.batch.clear();
        actions
    }

    /// The reader that asked for an action of the last [`handle`](Self::handle), by the action's
    /// number; `None` if no read did.
    pub(super) fn asker(&self, action: usize) -> Option<Caller> {
        let after = self.askers.partition_point(|&(from, _)| from <= action);
        self.askers.get(after.checked_sub(1)?)?.1
    }

    /// Takes the buffer of [`handle`](Self::handle) back.
    pub(super) fn recycle(&mut self, mut actions: Vec<Action>) {
        actions.clear();
        self.actions = actions;
    }

    /// When the core wants a tick, if that is news.
    pub(super) fn deadline(&mut self) -> Option<Instant> {
        let deadline = self.core.deadline()?;
        (self.tick.replace(deadline) != Some(deadline)).then_some(deadline)
    }

    pub(super) fn core(&self) -> &dyn Core {
        &*self.core
    }

    pub(super) fn counters(&self) -> Counters {
        self.core.counters()
    }

    pub(super) fn known(&self) -> Known {
        self.known
    }

    /// How often the sizes of partitions were looked at; 0 if there are none.
    pub(super) fn epochs(&self) -> u64 {
        self.core.divider().map_or(0, |divider| divider.epochs())
    }

    /// The partitions, by device.
    pub(super) fn partitions(&self) -> Vec<PartitionSample> {
        let shares = self.core.divider().map_or(&[][..], |divider| divider.shares());
        let sample = |(share, device): (&Share, &Device)| PartitionSample {
            size: share.size,
            frames: device.frames,
            wait_ns: share.wait,
            relative: share.relative,
            state: share.state,
        };
        shares.iter().zip(self.core.devices()).map(sample).collect()
    }

    pub(super) fn device_counters(&self) -> impl Iterator<Item = Counters> {
        self.core.devices().iter().map(|device| device.counters)
    }
}

/// The caches, and the networks between them. A level takes the device costs of the one below it,
/// the messages added.
pub(super) fn levels(setup: &Setup, mut costs: Vec<DeviceCost>) -> Result<(Vec<Level>, Vec<Option<Network>>), Error> {
    let (mut levels, mut links) = (Vec::new(), Vec::new());
    for (number, level) in setup.levels.iter().enumerate().rev() {
        if number + 1 < setup.levels.len() {
            let link = level.link.as_ref().map(|link| network(link, 2)).transpose()?;
            if let Some(link) = &link {
                costs.iter_mut().for_each(|cost| add_messages(cost, link));
            }
            links.push(link);
        }
        let unit_bytes = setup.unit_bytes.filter(|_| number == 0);
        let frames = setup.frames(number)?;
        let told = Told { streams: setup.streams, labels: level.labels };
        levels.push(Level::new(level.policy, frames, setup.block_bytes, unit_bytes, told, costs.clone()));
    }
    levels.reverse();
    links.reverse();
    Ok((levels, links))
}

/// A switch costs the two messages in addition; a stream comes at the rate of the slower.
fn add_messages(cost: &mut DeviceCost, link: &Network) {
    let messages = link.alone(COMMAND).saturating_add(link.alone(1));
    cost.seek.iter_mut().for_each(|point| point.1 = point.1.saturating_add(messages));
    cost.zones.iter_mut().for_each(|zone| zone.1 = zone.1.min(link.rate()));
}
