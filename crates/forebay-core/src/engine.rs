//! All control flow: look up, admit, trigger, fetch, make room, tell readers.
//!
//! One read, step by step (other files of the engine go by these numbers):
//!
//! ```text
//! Read ─ 1 split into blocks ─ admitted? ── no ──▶ queue, until frames come free
//!           │ yes: every block of it is pinned from here to Done
//!           ├ 2 resident      hit, or first use of a prefetched frame
//!           ├ 3 under way     wait for that fetch too
//!           └   absent        a free frame, else 6 a victim; part of a new fetch
//!        4 stream: found by position and moved on, or begun
//!        5 prefetch: the policy's plan, joined to the demand where they touch; for a read that a
//!          list names (`tell`): what the list names next, instead of both
//!        7 Ready at once, or when the last fetch that it waits for has arrived
//! ```
//!
//! These steps are the files `admit`, `ahead`, `tell`, `fetch` and `release`, which have no state.
//! That is in rooms, each of which alone touches its fields and knows at most the rooms below it:
//!
//! ```text
//!   requests     reads and fetches: who waits for which, and who for frames
//!   told         lists: what readers said that they will read, in order
//!   lookahead    streams and the prefetcher: whose a read is, what is wanted next
//!   memory       frames: where blocks are, who may keep them, whose frame goes
//!   storage      files and devices: where blocks lie, what it takes to go there
//! ```
//!
//! A read is admitted whole or waits holding nothing, in order of arrival; an admitted read needs
//! no further frame. So reads never wait for each other in a circle, however small the memory.

mod admit;
mod ahead;
mod check;
mod explain;
mod fetch;
mod hit;
mod interface;
mod lookahead;
mod memory;
mod release;
mod requests;
mod runs;
mod setup;
mod storage;
mod tell;
mod told;

use alloc::vec::Vec;

use hit::ShortCut;
use lookahead::Lookahead;
use memory::Memory;
use requests::Requests;
use runs::Runs;
use storage::Storage;
use told::Told;

use crate::device::DeviceCost;
use crate::event::{Action, Actions, Event, EventKind};
use crate::index::Index;
use crate::level::Label;
use crate::replacement::Replacement;
use crate::types::{Caller, Extent, FileId, Instant, ReadId};

pub use interface::Core;
pub use setup::{ContextSeat, Referenced, Seats, Setup};
pub use told::ToldList;

/// The errno of a read whose file the core does not know (EBADF).
const UNKNOWN_FILE: i32 = 9;

/// The longest read that is handled whole, in bytes; one FUSE request. Where it does not begin at a
/// block it spans one more.
const MAX_READ_BYTES: u32 = 1 << 20;

/// The engine: the sequence of steps, over rooms that have their own fields.
pub struct Engine<R, I: Index> {
    /// Files and devices: where blocks lie.
    storage: Storage,
    /// Frames: where blocks are, and who may keep them.
    memory: Memory<R, I>,
    /// Streams and the prefetcher: the blocks that are wanted next.
    lookahead: Lookahead,
    /// The lists of readers that said what they will read.
    told: Told,
    /// Reads and fetches, and who waits for which.
    requests: Requests,
    /// The hits that need no step of this.
    short_cut: ShortCut,
    /// The moment of the event being handled.
    now: Instant,
    /// Scratch: fetches of the read being admitted.
    runs: Runs,
    /// Scratch: what its reader will read next elsewhere.
    elsewhere: Vec<Extent>,
    /// Scratch: reads that waited for a fetch.
    woken: Vec<ReadId>,
    /// Forgotten files of which the driver holds a frame.
    lingering: Vec<FileId>,
}

impl<R: Replacement, I: Index> Engine<R, I> {
    /// An engine with nothing in it. At least one frame and one device are there whatever the setup
    /// says. With more devices than there can be partitions ([`Segments::most`]) it is not divided,
    /// nor with a single one. The caller asks first (`Policy::most_devices`).
    ///
    /// [`Segments::most`]: crate::partition::Segments::most
    pub fn new(setup: Setup, seats: Seats) -> Engine<R, I> {
        let Seats { prefetcher, reclaimer, divider, contexts } = seats;
        let mut memory = Memory::new(&setup, reclaimer, divider, contexts);
        let lookahead = Lookahead::new(&setup, prefetcher);
        let (hears, sample) = (memory.hears_references(), memory.sample());
        let short_cut = ShortCut::new(lookahead.needs(), setup.referenced, hears, sample);
        memory.tells_sample(short_cut.sampled());
        Engine {
            storage: Storage::new(&setup.devices, setup.block_bytes),
            short_cut,
            memory,
            lookahead,
            told: Told::new(setup.frames),
            requests: Requests::default(),
            now: Instant(0),
            runs: Runs::default(),
            elsewhere: Vec::new(),
            woken: Vec::new(),
            lingering: Vec::new(),
        }
    }

    fn handle_one(&mut self, event: Event, out: &mut Actions) {
        self.now = event.at;
        self.hear(event.kind, out);
        // Neighbours are told piece by piece, and fetched at once.
        if self.told.is_any() && !matches!(event.kind, EventKind::Told { .. }) {
            self.fetch_told(out);
        }
    }

    fn hear(&mut self, kind: EventKind, out: &mut Actions) {
        match kind {
            EventKind::Read { read, handler, context, file, offset, len } => {
                let caller = Caller { handler, context };
                match self.storage.begins_read(file, offset, len, self.longest_read()) {
                    Some(extent) => self.read(read, caller, extent, out),
                    None => out.push(Action::Error { read, error: UNKNOWN_FILE }),
                }
            }
            EventKind::Labelled { read, demand, hits } => self.requests.labels(read, Label { demand, hits }),
            EventKind::Done { read } => {
                if let Some(read) = self.requests.ends(read) {
                    self.release(read, out);
                }
                self.admit_queued(out);
            }
            EventKind::Near { io } => self.requests.is_near(io),
            EventKind::Arrived { io } => {
                self.arrived(io, out);
                self.admit_queued(out);
            }
            EventKind::Failed { io, valid, error } => {
                self.failed(io, valid, error, out);
                self.admit_queued(out);
            }
            EventKind::Tick => {
                self.forget_lingering(out);
                self.admit_queued(out);
            }
            EventKind::Hinted { context, hint } => {
                self.memory.hinted(context, hint);
                self.lookahead.hinted(context, hint.usual);
            }
            EventKind::Ran { handler } => self.memory.unread().ran(handler, self.now),
            EventKind::Exited { handler } => {
                self.lookahead.exited(handler);
                self.memory.unread().exited(handler);
            }
            EventKind::Told { .. } | EventKind::Untold { .. } => self.hear_of_list(kind),
            EventKind::Measured { device, first_byte, rate, channels } => {
                self.storage.is_measured(device, DeviceCost::flat(first_byte, rate, channels));
            }
            of_file => self.hear_of_file(of_file, out),
        }
    }

    /// An event of a file.
    fn hear_of_file(&mut self, kind: EventKind, out: &mut Actions) {
        match kind {
            EventKind::Open { file, device, bytes } => self.storage.open(file, device, bytes),
            EventKind::Striped { file, unit, devices } => self.storage.stripe(file, unit, devices),
            EventKind::Placed { extent, at_byte } => self.storage.place(extent, at_byte),
            EventKind::Handles { file, handles } => self.storage.set_handles(file, handles),
            EventKind::Close { file } => {
                self.storage.set_handles(file, 0);
                self.lookahead.rest(file, self.storage.blocks(file));
                self.call_off(file, out);
            }
            EventKind::Forget { file } => {
                self.storage.forget(file);
                self.forget_if_idle(file, out);
            }
            _ => {}
        }
    }
}
