//! An open file: reading through the cache.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use forebay_core::{
    BlockKey, Caller, ContextId, DeviceId, Event, EventKind, Extent, FileId, FrameId, HandlerId, Referenced, level,
};
use forebay_source::striped::Stripes;
use forebay_source::{BLOCK, Label, Result};

use super::{Engine, Lease, PendingRead, State, Then};
use crate::arena::Arena;
use crate::label;

/// A file that can be read. Dropping it closes it.
pub struct OpenFile {
    engine: Arc<Engine>,
    file: FileId,
    /// Its device; the first of its devices, if it is striped.
    device: DeviceId,
    stripes: Option<Stripes>,
    size: u64,
}

impl OpenFile {
    pub(super) fn new(
        engine: Arc<Engine>,
        file: FileId,
        device: DeviceId,
        stripes: Option<Stripes>,
        size: u64,
    ) -> OpenFile {
        OpenFile { engine, file, device, stripes, size }
    }

    /// Its length in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The fate of its blocks that were read.
    pub fn referenced(&self) -> Referenced {
        self.engine.referenced
    }

    /// Reads into `buffer`; returns how many bytes there were, fewer than asked for only at the end
    /// of the file. Blocks until they are there. `handler` is the reader's number (a thread id).
    pub fn read(&self, handler: u32, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let len = self.clip(offset, buffer.len());
        let buffer = &mut buffer[..len];
        match self.hit(of(handler), offset, len, |arena, _, frame| Some(arena.begin_copy(frame))) {
            Some(copy) => copy.to(offset as usize % BLOCK, buffer),
            None => self.read_whole(handler, offset, buffer)?,
        }
        Ok(len)
    }

    /// A range within one block that is resident and whose reference tells the core nothing new:
    /// `then` makes sure that its frame stays.
    #[inline(always)]
    fn hit<'a, T>(
        &'a self,
        caller: Caller,
        offset: u64,
        len: usize,
        then: impl FnOnce(&'a Arena, &mut State, FrameId) -> Option<T>,
    ) -> Option<T> {
        let key = BlockKey::new(self.file, (offset / BLOCK as u64) as u32);
        let within = offset as usize % BLOCK + len <= BLOCK;
        if within { self.engine.hit(key, self.device_of(offset), caller, then) } else { None }
    }

    /// The device that a byte lies on.
    #[inline(always)]
    fn device_of(&self, offset: u64) -> DeviceId {
        match &self.stripes {
            None => self.device,
            Some(stripes) => DeviceId(self.device.0 + stripes.member(offset) as u16),
        }
    }

    /// Reads a range that is not a hit within one block: waits for one lease after another.
    #[cold]
    fn read_whole(&self, handler: u32, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let mut done = 0;
        while done < buffer.len() {
            let lease = self.lease(handler, offset + done as u64, buffer.len() - done)?;
            for slice in lease.slices() {
                buffer[done..done + slice.len()].copy_from_slice(slice);
                done += slice.len();
            }
        }
        Ok(())
    }

    /// Waits for the lease of [`read_then`](Self::read_then).
    fn lease(&self, handler: u32, offset: u64, len: usize) -> Result<Lease> {
        let outcome = Arc::new((Mutex::new(None), Condvar::new()));
        let told = Arc::clone(&outcome);
        self.read_then(handler, offset, len, move |result| {
            *told.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
            told.1.notify_one();
        });
        let mut result = outcome.0.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(result) = result.take() {
                return result;
            }
            result = outcome.1.wait(result).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Reads and calls `then` with the bytes. If everything is in memory, it is called at once, on
    /// this thread; otherwise later on a thread of the engine or of a source. At least 1 MiB is
    /// read whole; more may be cut short.
    pub fn read_then(&self, handler: u32, offset: u64, len: usize, then: impl FnOnce(Result<Lease>) + Send + 'static) {
        self.read_labelled_then(handler, offset, len, None, then);
    }

    /// The same for a caller whose program context is known.
    pub fn read_by_then(
        &self,
        caller: Caller,
        offset: u64,
        len: usize,
        then: impl FnOnce(Result<Lease>) + Send + 'static,
    ) {
        self.read_any_then(caller, offset, len, None, then);
    }

    /// The same for a request of a level above, with a label that tells its readers' part (SCM
    /// §4.2). If the request is cut short, the label's demand is, too; the caller gives
    /// [`Label::rest`] with the next read. Without a label all of the range is demand.
    pub fn read_labelled_then(
        &self,
        handler: u32,
        offset: u64,
        len: usize,
        label: Option<Label>,
        then: impl FnOnce(Result<Lease>) + Send + 'static,
    ) {
        self.read_any_then(of(handler), offset, len, label, then);
    }

    fn read_any_then(
        &self,
        caller: Caller,
        offset: u64,
        len: usize,
        label: Option<Label>,
        then: impl FnOnce(Result<Lease>) + Send + 'static,
    ) {
        let len = self.clip(offset, len);
        if len == 0 {
            return then(Ok(Lease::empty(Arc::clone(&self.engine))));
        }
        // The core must see a label, even where the bytes are there.
        let label = label.filter(|label| !label.is_plain(&(offset..offset + len as u64)));
        if label.is_none()
            && let Some(frame) = self.hit(caller, offset, len, |_, state, frame| state.core.pin(frame).then_some(frame))
        {
            return then(Ok(Lease::of_frame(Arc::clone(&self.engine), frame, offset as usize % BLOCK, len)));
        }
        let label = label.map(|label| {
            let blocks = |range| label::blocks(self.file, range, self.size);
            level::Label { demand: blocks(&label.demand), hits: blocks(&label.hits) }
        });
        self.engine.read(self.file, caller, offset, len, label, Box::new(then));
    }

    #[inline(always)]
    fn clip(&self, offset: u64, len: usize) -> usize {
        usize::try_from(self.size.saturating_sub(offset)).unwrap_or(usize::MAX).min(len)
    }
}

/// A handler whose program context is unknown.
#[inline(always)]
fn of(handler: u32) -> Caller {
    Caller { handler: HandlerId(handler), context: ContextId(0) }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        self.engine.close(self.file);
    }
}

impl Engine {
    /// A read that the core has to see, with the level above's label. `len` bytes from
    /// `offset` lie within the file.
    fn read(
        self: &Arc<Self>,
        file: FileId,
        caller: Caller,
        offset: u64,
        len: usize,
        label: Option<level::Label>,
        then: Then,
    ) {
        let mut state = self.state.lock();
        let start = (offset / BLOCK as u64) as u32;
        let skip = offset as usize % BLOCK;
        let longest = state.core.max_read() as usize * BLOCK;
        let len = len.min(longest - skip);
        let extent = Extent { file, start, len: (skip + len).div_ceil(BLOCK) as u32 };
        let at = self.now();
        let pending = PendingRead { caller, extent, skip, len, since: at, then };
        let (read, kind) = state.register(pending);
        if let Some(level::Label { demand, hits }) = label {
            let demand = demand.within(extent.start, extent.end());
            state.handle(Event { at, kind: EventKind::Labelled { read, demand, hits } });
        }
        state.handle(Event { at, kind });
        self.carry_out(state);
    }
}
