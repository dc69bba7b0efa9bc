//! Files that a told list names: held for it, so that they can be fetched before anybody opens
//! them. The core does not count a hold as a handle: nobody reads through it.

use std::sync::Arc;

use forebay_core::{DeviceId, Event, EventKind, Extent, FileId, ToldId, ToldList};
use forebay_source::{BLOCK, Object};

use super::{Engine, Known};

/// A file that is held. Dropping it lets go.
pub(crate) struct Held {
    engine: Arc<Engine>,
    file: FileId,
    size: u64,
}

impl Held {
    /// Its length in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// The blocks of a range of bytes.
    pub(crate) fn blocks(&self, start: u64, end: u64) -> Extent {
        let block = BLOCK as u64;
        let (start, end) = (start.min(self.size) / block, end.min(self.size).div_ceil(block));
        Extent::between(self.file, start as u32, end as u32)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.engine.lets_go(self.file);
    }
}

impl Engine {
    /// Holds one version of a file for a told list.
    pub(crate) fn hold(self: &Arc<Self>, object: Arc<dyn Object>, device: DeviceId) -> Held {
        let known = Known { device, fingerprint: object.identity().fingerprint() };
        let stripes = self.stripes_of(&*object, device);
        let layout = if stripes == object.stripes() { object.layout() } else { Vec::new() };
        let size = object.version().size;
        let mut state = self.state.lock();
        let file = state.known.get(&known).copied();
        let file = file.unwrap_or_else(|| state.introduce(self.now(), known, size, stripes, &layout));
        if let Some(entry) = state.files.get_mut(file.0) {
            entry.holds += 1;
            let closed = entry.closed.take();
            entry.object.get_or_insert_with(|| Arc::clone(&object));
            closed.and_then(|place| state.closed.remove(&place));
        }
        self.carry_out(state);
        Held { engine: Arc::clone(self), file, size }
    }

    fn lets_go(self: &Arc<Self>, file: FileId) {
        let mut state = self.state.lock();
        let Some(entry) = state.files.get_mut(file.0) else { return };
        entry.holds -= 1;
        if entry.holds > 0 || entry.handles > 0 {
            return;
        }
        let object = entry.object.take();
        let at = self.now();
        self.rests(&mut state, at, file);
        self.carry_out(state);
        drop(object);
    }

    /// Tells the core more of a list, in order; or that it is over.
    pub(crate) fn tell_list(self: &Arc<Self>, list: ToldId, extents: &[Extent]) {
        let mut state = self.state.lock();
        let at = self.now();
        for &extent in extents {
            state.handle(Event { at, kind: EventKind::Told { list, extent } });
        }
        state.handle(Event { at, kind: EventKind::Tick });
        self.carry_out(state);
    }

    /// A list is over.
    pub(crate) fn untell(self: &Arc<Self>, list: ToldId) {
        self.tell(EventKind::Untold { list });
    }

    /// How many items more the core takes of a list, and the state of all lists.
    pub(crate) fn lists(&self, list: ToldId) -> (u32, Vec<ToldList>) {
        let state = self.state.lock();
        (state.core.told_room(list), state.core.told_lists())
    }
}
