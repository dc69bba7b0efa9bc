//! Fetches under way and the reads that wait for them. A fetch serves all reads that wait for any
//! of its blocks.

use alloc::vec::Vec;

use crate::level::Label;
use crate::types::{ContextId, DeviceId, Extent, FileId, HandlerId, Instant, IoId, ReadId, StreamId};

/// A fetch under way.
#[derive(Clone, Copy, Debug)]
pub struct Fetch {
    /// Which blocks.
    pub extent: Extent,
    /// The part that readers asked for when it was issued.
    pub demand: Extent,
    /// The stream for which the rest is fetched.
    pub stream: StreamId,
    /// The handler that reads that stream.
    pub handler: HandlerId,
    /// The device.
    pub device: DeviceId,
    /// When it was issued.
    pub issued: Instant,
    /// Since when a reader waits for it, if one does.
    pub wanted: Option<Instant>,
    /// Whether the driver was asked to call it off.
    pub called_off: bool,
    /// For a pure prefetch: how many blocks readers want of the read that first waits for its first
    /// block. Zero before.
    pub awaited: u32,
    /// Whether a told list names it.
    pub told: bool,
    /// Whether a disk tier has brought it.
    pub near: bool,
    waiters: u32,
}

impl Fetch {
    /// A fetch of `extent`, of which readers want `demand`, for `stream` of `handler`, issued at
    /// `at`. No read waits for it yet.
    pub fn new(
        at: Instant,
        extent: Extent,
        demand: Extent,
        stream: StreamId,
        handler: HandlerId,
        device: DeviceId,
    ) -> Fetch {
        let (wanted, called_off, awaited, told, near) = (None, false, 0, false, false);
        Fetch {
            extent,
            demand,
            stream,
            handler,
            device,
            issued: at,
            wanted,
            called_off,
            awaited,
            told,
            near,
            waiters: END,
        }
    }
}

impl Fetch {
    /// Whether it brings what a told list names before anybody reads it.
    pub fn is_hint(&self) -> bool {
        self.stream == StreamId::TOLD
    }
}

/// A read that is not done.
#[derive(Clone, Copy, Debug)]
pub struct Read {
    /// Which blocks it wants.
    pub extent: Extent,
    /// The handler.
    pub handler: HandlerId,
    /// Its context.
    pub context: ContextId,
    /// The stream that it went on with, if it waits.
    pub stream: StreamId,
    /// The part of it that is wanted, if it comes from a level above.
    pub label: Option<Label>,
    /// Fetches that it still waits for.
    pub pending: u32,
    /// Whether its frames are held.
    pub admitted: bool,
    /// The error of one of its blocks. The reader gets it once no block of the read is under way.
    pub error: Option<i32>,
}

impl Read {
    /// The part of it that is wanted: all, unless a level above says otherwise.
    pub fn label(&self) -> Label {
        self.label.unwrap_or(Label::all(self.extent))
    }
}

/// A table whose entries come and go, by small numbers that are reused.
#[derive(Clone, Debug)]
struct Slots<T> {
    entries: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Slots<T> {
    fn add(&mut self, value: T) -> u32 {
        if let Some(at) = self.free.pop() {
            self.entries[at as usize] = Some(value);
            return at;
        }
        self.entries.push(Some(value));
        (self.entries.len() - 1) as u32
    }

    fn take(&mut self, at: u32) -> Option<T> {
        let value = self.entries.get_mut(at as usize)?.take()?;
        self.free.push(at);
        Some(value)
    }
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Slots { entries: Vec::new(), free: Vec::new() }
    }
}

const END: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Waiter {
    read: ReadId,
    next: u32,
}

/// All fetches under way and all reads that are not done.
#[derive(Clone, Debug, Default)]
pub struct InFlight {
    fetches: Slots<Fetch>,
    waiters: Slots<Waiter>,
    reads: Vec<Option<Read>>,
}

impl InFlight {
    /// A fetch is issued, as [`Fetch::new`] has it.
    pub fn issue(&mut self, fetch: Fetch) -> IoId {
        IoId(self.fetches.add(fetch))
    }

    /// A fetch that is under way.
    pub fn fetch(&self, io: IoId) -> Option<&Fetch> {
        self.fetches.entries.get(io.index())?.as_ref()
    }

    /// Marks the fetches of `file` that no read waits for as called off, those for told lists
    /// apart, and tells `each` of those that were not yet, in the order of their numbers. Walks
    /// over all fetches under way.
    pub fn call_off(&mut self, file: FileId, mut each: impl FnMut(IoId)) {
        for (number, entry) in self.fetches.entries.iter_mut().enumerate() {
            let idle = |fetch: &&mut Fetch| {
                fetch.extent.file == file && fetch.waiters == END && !fetch.called_off && !fetch.told
            };
            if let Some(fetch) = entry.as_mut().filter(idle) {
                fetch.called_off = true;
                each(IoId(number as u32));
            }
        }
    }

    /// A fetch is over. The reads that waited for it go to `waiters`, the latest first.
    pub fn over(&mut self, io: IoId, waiters: &mut Vec<ReadId>) -> Option<Fetch> {
        let fetch = self.fetches.take(io.0)?;
        let mut at = fetch.waiters;
        while let Some(waiter) = self.waiters.take(at) {
            waiters.push(waiter.read);
            at = waiter.next;
        }
        Some(fetch)
    }

    /// A read waits for a fetch, from `at` on. It is entered once, however many blocks the two
    /// share.
    pub fn wait(&mut self, at: Instant, read: ReadId, io: IoId) {
        let Some(next) = self.fetch(io).map(|fetch| fetch.waiters) else { return };
        let already = self.waiters.entries.get(next as usize).copied().flatten();
        // Blocks are visited in order and a fetch is one extent: a read that waits already is the
        // latest waiter.
        if already.is_some_and(|waiter| waiter.read == read) {
            return;
        }
        let waiter = self.waiters.add(Waiter { read, next });
        if let Some(fetch) = self.fetches.entries[io.index()].as_mut() {
            fetch.waiters = waiter;
            fetch.wanted.get_or_insert(at);
        }
        if let Some(read) = self.read_mut(read) {
            read.pending += 1;
        }
    }

    /// A prefetched block that a fetch is bringing is referenced by a read of which readers want
    /// `wanted`.
    pub fn awaits(&mut self, io: IoId, block: u32, wanted: Extent) {
        let Some(fetch) = self.fetches.entries.get_mut(io.index()).and_then(Option::as_mut) else { return };
        if fetch.demand.is_empty() && block == fetch.extent.start && wanted.has(block) {
            fetch.awaited = wanted.len;
        }
    }

    /// A disk tier brings a fetch.
    pub fn is_near(&mut self, io: IoId) {
        if let Some(fetch) = self.fetches.entries.get_mut(io.index()).and_then(Option::as_mut) {
            fetch.near = true;
        }
    }

    /// A read begins.
    pub fn begin(&mut self, id: ReadId, read: Read) {
        if id.index() >= self.reads.len() {
            self.reads.resize(id.index() + 1, None);
        }
        self.reads[id.index()] = Some(read);
    }

    /// A read that is not done.
    pub fn read(&self, id: ReadId) -> Option<Read> {
        self.reads.get(id.index()).copied().flatten()
    }

    /// A read that is not done.
    pub fn read_mut(&mut self, id: ReadId) -> Option<&mut Read> {
        self.reads.get_mut(id.index())?.as_mut()
    }

    /// A read is done.
    pub fn end(&mut self, id: ReadId) -> Option<Read> {
        self.reads.get_mut(id.index())?.take()
    }

    /// How many fetches are under way.
    pub fn under_way(&self) -> usize {
        self.fetches.entries.len() - self.fetches.free.len()
    }

    /// The bytes that the tables take.
    pub fn footprint(&self) -> usize {
        self.fetches.entries.capacity() * core::mem::size_of::<Option<Fetch>>()
            + self.waiters.entries.capacity() * core::mem::size_of::<Option<Waiter>>()
            + self.reads.capacity() * core::mem::size_of::<Option<Read>>()
    }
}
