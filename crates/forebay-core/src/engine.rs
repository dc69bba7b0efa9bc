//! All control flow: look up, admit, trigger, fetch, make room, tell readers.
//!
//! One read, step by step (the numbers are those of the design):
//!
//! ```text
//! Read ─ 1 split into blocks ─ admitted? ── no ──▶ queue, until frames come free
//!           │ yes: every block of it is pinned from here to Done
//!           ├ 2 resident      hit, or first use of a prefetched frame
//!           ├ 3 under way     wait for that fetch too
//!           └   absent        a free frame, else 6 a victim; part of a new fetch
//!        4 stream: found by position and moved on, or begun
//!        5 prefetch: the policy's plan, joined to the demand where they touch
//!        7 Ready at once, or when the last fetch that it waits for has arrived
//! ```
//!
//! A read is admitted whole or waits holding nothing, in order of arrival; an admitted read needs
//! no further frame. So reads never wait for each other in a circle, however small the memory.

mod admit;
mod check;
mod contexts;
mod explain;
mod feedback;
mod fetch;
mod gaps;
mod interface;
mod partition;
mod prefetch;
mod referenced;
mod release;
mod room;
mod sequence;

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec;
use alloc::vec::Vec;

use crate::counters::Counters;
use crate::demand::Demands;
use crate::device::DeviceCost;
use crate::devices::Device;
use crate::directory::Directory;
use crate::event::{Action, Actions, Event, EventKind};
use crate::explain::Explanation;
use crate::files::Files;
use crate::frames::{FETCHING, FREE, Slot};
use crate::hint::Hint;
use crate::history::EvictionHistory;
use crate::index::Index;
use crate::inflight::{InFlight, Read};
use crate::level::Label;
use crate::partition::{Callers, Segments};
use crate::replacement::Replacement;
use crate::seams::{Access, By, Divider, Loops, MAX_PIECE_BYTES, Needs, Placement, Prefetcher, Reclaimer};
use crate::stream::Streams;
use crate::types::{
    BlockKey, Caller, ContextId, DeviceId, Extent, FileId, FrameId, HandlerId, Instant, ReadId, StreamId,
};

pub use interface::Core;
pub use referenced::Referenced;

/// The errno of a read whose file the core does not know (EBADF).
const UNKNOWN_FILE: i32 = 9;

/// What an engine is made of.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Setup {
    /// Frames with a buffer.
    pub frames: u32,
    /// Bytes in a block, a power of two.
    pub block_bytes: u32,
    /// Streams that are known at a time.
    pub streams: u32,
    /// The devices, by number.
    pub devices: Vec<DeviceCost>,
    /// What becomes of blocks that were referenced.
    #[cfg_attr(feature = "serde", serde(default))]
    pub referenced: Referenced,
}

impl Setup {
    /// At least one frame and one device, and a block of a power of two, whatever it says.
    #[must_use]
    pub fn sound(mut self) -> Setup {
        self.frames = self.frames.max(1);
        self.block_bytes = self.block_bytes.next_power_of_two();
        if self.devices.is_empty() {
            self.devices.push(DeviceCost::flat(0, 0, 1));
        }
        self
    }
}

/// Who decides.
pub struct Seats {
    /// How much is fetched for a stream, and when.
    pub prefetcher: Box<dyn Prefetcher>,
    /// Which prefetched frame is given up, if they are kept apart from the rest.
    pub reclaimer: Option<Box<dyn Reclaimer>>,
    /// Whose frame goes, if the cache is divided among devices.
    pub divider: Option<Box<dyn Divider>>,
    /// Whether contexts have partitions.
    pub programs: Option<Programs>,
}

impl Seats {
    /// A prefetcher, and nobody else.
    pub fn of(prefetcher: Box<dyn Prefetcher>) -> Seats {
        Seats { prefetcher, reclaimer: None, divider: None, programs: None }
    }
}

/// Program contexts whose loops have partitions.
pub struct Programs {
    /// Who asks, and where the blocks go.
    pub callers: Callers,
    /// The loops of each partition of the cache.
    pub loops: Loops,
    /// Who has the last word of where blocks of each partition go; none if contexts have it.
    pub placements: Vec<Box<dyn Placement>>,
}

/// The longest read that is handled whole, in bytes; one FUSE request. Where it does not begin at a
/// block it spans one more.
const MAX_READ_BYTES: u32 = 1 << 20;

/// The engine.
pub struct Engine<R, I> {
    setup: Setup,
    directory: Directory<I>,
    segments: Segments<R>,
    divider: Option<Box<dyn Divider>>,
    callers: Option<Callers>,
    loops: Option<Loops>,
    files: Files,
    streams: Streams,
    inflight: InFlight,
    devices: Vec<Device>,
    history: EvictionHistory,
    reclaimer: Option<Box<dyn Reclaimer>>,
    prefetcher: Box<dyn Prefetcher>,
    /// What that needs.
    needs: Needs,
    /// The moment of the event being handled.
    now: Instant,
    /// What the level above said of the read that comes next.
    label: Option<(ReadId, Label)>,
    /// Reads that wait for frames.
    queue: VecDeque<ReadId>,
    /// Resident frames that some read holds.
    pinned: u32,
    /// Whether hits may bypass the events.
    short_cut: bool,
    /// Whether they may, but partitions or contexts must hear of them.
    heard_short_cut: bool,
    /// Blocks whose hash is below this are in somebody's sample.
    sampled: u64,
    /// Scratch: fetches of the read being admitted.
    runs: Vec<Extent>,
    /// Scratch: reads that waited for a fetch.
    woken: Vec<ReadId>,
}

impl<R: Replacement, I: Index> Engine<R, I> {
    /// An engine with nothing in it. At least one frame and one device are there whatever the setup
    /// says. With more devices than there can be partitions ([`Segments::most`]) it is not divided,
    /// nor with a single one; whoever sets it up asks first (`Policy::most_partitions`).
    pub fn new(setup: Setup, seats: Seats) -> Engine<R, I> {
        let Seats { prefetcher, reclaimer, divider, programs } = seats;
        let needs = prefetcher.needs();
        let frames = setup.frames;
        let sizes: Vec<u32> = divider
            .as_ref()
            .map_or_else(|| vec![frames], |divider| divider.shares().iter().map(|share| share.size).collect());
        let loops = programs.as_ref().map(|programs| programs.loops);
        let short_cut = !needs.every_reference && setup.referenced == Referenced::Kept;
        let heard = loops.is_some() || divider.as_ref().is_some_and(|divider| divider.hears_references());
        let block_bytes = setup.block_bytes;
        let devices = setup.devices.iter().cloned().map(Device::new);
        let lag = if needs.late_parts { (MAX_READ_BYTES / block_bytes).max(1) } else { 1 };
        let mut streams = Streams::new(setup.streams, MAX_PIECE_BYTES / block_bytes, lag);
        if let Some(slot) = needs.demand {
            streams.measure(Demands::new(slot, setup.streams.max(1), setup.devices.len()));
        }
        let (callers, placements) =
            programs.map_or((None, Vec::new()), |programs| (Some(programs.callers), programs.placements));
        let segments = Segments::<R>::new(&sizes, loops).placed_by(placements);
        let sampled = match short_cut {
            true => divider.as_ref().map_or(0, |divider| divider.sample()).max(segments.bound()),
            false => u64::MAX,
        };
        Engine {
            directory: Directory::new(
                Segments::<R>::lists(sizes.len(), loops),
                frames,
                Segments::<R>::ghosts(frames, sizes.len(), loops.is_some()),
            ),
            segments,
            divider,
            callers,
            loops,
            files: Files::default(),
            streams,
            inflight: InFlight::default(),
            devices: devices.collect(),
            history: match &reclaimer {
                Some(reclaimer) if reclaimer.tells_histories_apart() => EvictionHistory::apart(frames),
                _ => EvictionHistory::new(frames),
            },
            reclaimer,
            prefetcher,
            needs,
            now: Instant(0),
            label: None,
            queue: VecDeque::new(),
            pinned: 0,
            short_cut: short_cut && !heard,
            heard_short_cut: short_cut && heard,
            sampled,
            runs: Vec::new(),
            woken: Vec::new(),
            setup,
        }
    }

    fn handle_one(&mut self, event: Event, out: &mut Actions) {
        let at = event.at;
        self.now = at;
        match event.kind {
            EventKind::Read { read, handler, context, file, offset, len } => {
                let caller = Caller { handler, context };
                match self.split(file, offset, len) {
                    Some(extent) => self.read(read, caller, extent, out),
                    None => out.push(Action::Error { read, error: UNKNOWN_FILE }),
                }
            }
            EventKind::Labelled { read, demand, hits } => self.label = Some((read, Label { demand, hits })),
            EventKind::Done { read } => {
                if let Some(read) = self.inflight.end(read) {
                    self.release(read, out);
                }
                self.admit_queued(at, out);
            }
            EventKind::Arrived { io } => {
                self.arrived(io, out);
                self.admit_queued(at, out);
            }
            EventKind::Failed { io, valid, error } => {
                self.failed(at, io, valid, error, out);
                self.admit_queued(at, out);
            }
            EventKind::Tick => self.admit_queued(at, out),
            EventKind::Hinted { context, hint } => {
                if let Some(callers) = &mut self.callers {
                    callers.hint(context, hint);
                }
                self.prefetcher.hinted(context, hint.usual);
            }
            EventKind::Ran { handler } => self.has_run(handler),
            EventKind::Exited { handler } => {
                self.streams.exited(handler);
                if let Some(reclaimer) = &mut self.reclaimer {
                    reclaimer.exited(handler);
                }
            }
            of_file => self.hear_of_file(of_file, out),
        }
    }

    /// What happens to files.
    fn hear_of_file(&mut self, kind: EventKind, out: &mut Actions) {
        match kind {
            EventKind::Open { file, device, bytes } => {
                let device = DeviceId(device.0.min(self.devices.len() as u16 - 1));
                self.files.open(file, device, bytes, self.setup.block_bytes);
            }
            EventKind::Striped { file, unit, devices } => self.files.stripe(file, unit, devices, self.devices.len()),
            EventKind::Placed { extent, at_byte } => self.files.place(extent, at_byte),
            EventKind::Handles { file, handles } => self.files.set_handles(file, handles),
            EventKind::Close { file } => {
                self.files.set_handles(file, 0);
                self.rest(file);
                self.call_off(file, out);
            }
            EventKind::Forget { file } => {
                if let Some(entry) = self.files.get_mut(file) {
                    entry.forgotten = true;
                    self.forget_if_idle(file, out);
                }
            }
            _ => {}
        }
    }

    /// A handler was seen running, or reads.
    fn has_run(&mut self, handler: HandlerId) {
        if let Some(reclaimer) = &mut self.reclaimer {
            reclaimer.ran(handler, self.now);
        }
    }

    /// A read begins: it is admitted, or waits for frames behind those that wait already.
    fn read(&mut self, read: ReadId, caller: Caller, extent: Extent, out: &mut Actions) {
        let Caller { handler, context } = caller;
        self.has_run(handler);
        let blocks = self.files.get(extent.file).map_or(0, |file| file.blocks);
        let label = self.label.take().filter(|&(labelled, _)| labelled == read);
        let label = label.map(|(_, label)| label.of(extent, blocks));
        let stream = StreamId::NONE;
        let begun = Read { extent, handler, context, stream, label, pending: 0, admitted: false, error: None };
        self.inflight.begin(read, begun);
        if !self.queue.is_empty() || !self.admit(self.now, read, out) {
            self.queue.push_back(read);
        }
    }

    /// Step 1: the blocks of a range of bytes, clipped to the file and to the longest read.
    fn split(&mut self, file: FileId, offset: u64, len: u32) -> Option<Extent> {
        let longest = self.longest_read();
        self.files.is_read(file);
        let entry = self.files.get_mut(file).filter(|entry| !entry.forgotten)?;
        entry.reads += 1;
        let shift = self.setup.block_bytes.trailing_zeros();
        let end = offset.saturating_add(u64::from(len)).min(entry.bytes);
        if offset >= end {
            return Some(Extent { file, start: entry.blocks, len: 0 });
        }
        let start = (offset >> shift) as u32;
        let blocks = ((end - 1) >> shift) as u32 - start + 1;
        Some(Extent { file, start, len: blocks.min(longest) })
    }

    fn pin(&mut self, slot: Slot) {
        let pins = self.directory.frames.pins(slot);
        self.directory.frames.set_pins(slot, pins + 1);
        if pins == 0 && self.directory.frames.list(slot) != FETCHING {
            self.pinned += 1;
        }
    }

    fn unpin_slot(&mut self, slot: Slot) {
        let pins = self.directory.frames.pins(slot);
        debug_assert!(pins > 0, "unpinned more often than pinned");
        self.directory.frames.set_pins(slot, pins.saturating_sub(1));
        if pins == 1 && self.directory.frames.list(slot) != FETCHING {
            self.pinned -= 1;
        }
    }

    fn longest_read(&self) -> u32 {
        (MAX_READ_BYTES / self.setup.block_bytes + 1).min(self.setup.frames / 4).max(1)
    }

    fn free_frames(&self) -> u32 {
        self.directory.frames.len(FREE)
    }

    /// Frames that could be had now: free ones, and resident ones that no read holds.
    fn available(&self) -> u32 {
        self.setup.frames - self.directory.frames.len(FETCHING) - self.pinned
    }
}

impl<R: Replacement + Send, I: Index + Send> Core for Engine<R, I> {
    fn handle(&mut self, events: &[Event], out: &mut Actions) {
        for &event in events {
            self.handle_one(event, out);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        None
    }

    fn hit(&mut self, key: BlockKey, device: DeviceId, caller: Caller) -> Option<FrameId> {
        if self.short_cut { self.plain_hit(key, device) } else { self.heard_hit(key, device, caller) }
    }

    fn no_short_cut(&mut self) {
        self.short_cut = false;
        (self.heard_short_cut, self.sampled) = (false, u64::MAX);
    }

    fn pin(&mut self, frame: FrameId) -> bool {
        let first = self.directory.frames.hold(self.directory.frames.slot(frame));
        self.pinned += u32::from(first == Some(true));
        first.is_some()
    }

    fn unpin(&mut self, frame: FrameId) -> bool {
        let last = self.directory.frames.let_go(self.directory.frames.slot(frame));
        self.pinned -= u32::from(last);
        !self.queue.is_empty()
    }

    fn frame(&self, key: BlockKey) -> Option<FrameId> {
        let slot = self.directory.find(key)?;
        (!self.directory.frames.is_ghost(slot)).then(|| self.directory.frames.frame(slot))
    }

    fn max_read(&self) -> u32 {
        self.longest_read()
    }

    fn counters(&self) -> Counters {
        let mut sum = Counters::default();
        for device in &self.devices {
            sum += device.counters;
        }
        sum
    }

    fn devices(&self) -> &[Device] {
        &self.devices
    }

    fn streams(&self) -> &Streams {
        &self.streams
    }

    fn reclaimer(&self) -> Option<&dyn Reclaimer> {
        self.reclaimer.as_deref()
    }

    fn prefetch_cache(&self) -> Option<crate::explain::Cache> {
        Some(self.reclaimer.as_ref()?.explain(&self.directory.frames))
    }

    fn divider(&self) -> Option<&dyn Divider> {
        self.divider.as_deref()
    }

    fn contexts(&self) -> Option<&Callers> {
        self.callers.as_ref()
    }

    fn hints(&self) -> Vec<(ContextId, Hint)> {
        let Some(callers) = self.callers.as_ref().filter(|callers| callers.by() == By::Context) else {
            return Vec::new();
        };
        let mut hints: BTreeMap<ContextId, Hint> = callers.hints().into_iter().collect();
        let mut learnt = Vec::new();
        self.prefetcher.learnt(&mut learnt);
        for (context, usual) in learnt {
            hints.entry(context).or_insert(Hint::NOTHING).usual = usual;
        }
        hints.into_iter().collect()
    }

    fn program(&self, partition: usize, sizes: &mut Vec<u32>) {
        if let Some(program) = self.segments.program(partition) {
            sizes.extend(program.sizes(&self.directory.frames));
        }
    }

    fn unread(&self) -> u32 {
        self.reclaimer.as_ref().map_or(0, |reclaimer| reclaimer.len(&self.directory.frames))
    }

    fn handlers_in_question(&self, after: HandlerId, most: usize, out: &mut Vec<HandlerId>) {
        if let Some(reclaimer) = &self.reclaimer {
            reclaimer.in_question(after, most, out);
        }
    }

    fn frames_of(&self, file: FileId) -> u32 {
        self.files.get(file).map_or(0, |file| file.frames)
    }

    fn frames(&self) -> (u32, u32) {
        (self.setup.frames, self.free_frames())
    }

    fn footprint(&self) -> usize {
        self.directory.footprint()
            + self.files.footprint()
            + self.streams.footprint()
            + self.inflight.footprint()
            + self.history.footprint()
            + self.reclaimer.as_ref().map_or(0, |reclaimer| reclaimer.footprint())
            + self.prefetcher.footprint()
            + self.segments.footprint()
            + self.callers.as_ref().map_or(0, Callers::footprint)
            + self.divider.as_ref().map_or(0, |divider| divider.footprint())
    }

    fn explain(&self, now: Instant, most: usize) -> Explanation {
        self.explanation(now, most)
    }

    fn check(&self) {
        self.check_invariants();
    }
}
