//! Between the engine and everything below it: its requests are judged, and what is brought to it
//! is compared with the reference.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use forebay_core::Instant;
use forebay_live::retry::{ATTEMPTS, back_off};
use forebay_live::world::World;
use forebay_source::striped::Stripes;
use forebay_source::{
    Attributes, BLOCK, Error, Fetch, FetchId, Identity, Listed, Listing, Object, Result, Run, Segments, Source, Then,
};
use parking_lot::Mutex;

use crate::agenda::Agenda;
use crate::reference::{Edition, Mishap, Mishaps};
use crate::storage::Storage;

/// See the file's head.
pub(crate) struct Witness {
    agenda: Agenda,
    storage: Arc<Storage>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    asked: HashMap<FetchId, Asked>,
    /// The memory of each request that is under way.
    memory: HashMap<FetchId, Vec<Range<usize>>>,
    mishaps: Mishaps,
}

/// A request by its name, as often as it was made.
struct Asked {
    tries: u32,
    /// The blocks of its first try.
    blocks: u32,
    urgent: bool,
    last: Last,
}

/// The fate of a request's last try.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Last {
    UnderWay,
    Brought,
    /// It failed at this moment, and may be tried again.
    Failed(Instant),
    Lost,
}

/// A request that is under way.
#[derive(Clone, Debug)]
struct Request {
    id: FetchId,
    edition: Edition,
    bytes: Range<u64>,
    since: Instant,
}

impl Witness {
    pub(crate) fn new(agenda: &Agenda, storage: &Arc<Storage>) -> Arc<Witness> {
        let (agenda, storage) = (agenda.clone(), Arc::clone(storage));
        Arc::new(Witness { agenda, storage, state: Mutex::default() })
    }

    /// A source as the engine sees it.
    pub(crate) fn before(self: &Arc<Self>, inner: Arc<dyn Source>) -> Arc<dyn Source> {
        Arc::new(Watched { witness: Arc::clone(self), inner })
    }

    /// Whether a read may have failed so: see [`Mishaps::explain`].
    pub(crate) fn explains(&self, edition: Edition, bytes: &Range<u64>, since: Instant, errno: i32) -> bool {
        self.state.lock().mishaps.explain(edition, bytes, since, errno)
    }

    /// A request is made: panics if it may not be.
    fn hear(&self, fetch: &Fetch) {
        let mut state = self.state.lock();
        let now = self.agenda.now();
        assert!(fetch.offset.is_multiple_of(BLOCK as u64) && !fetch.buffer.is_empty(), "a fetch of no block");
        let buffer = fetch.buffer.len();
        assert!(fetch.len <= buffer && fetch.len + BLOCK > buffer, "{} bytes into {buffer}", fetch.len);
        let memory: Vec<Range<usize>> = fetch.buffer.parts().iter().map(|part| addresses(*part)).collect();
        for other in state.memory.values().flatten() {
            let shared = memory.iter().any(|part| part.start < other.end && other.start < part.end);
            assert!(!shared, "a frame is filled by two fetches");
        }
        state.memory.insert(fetch.id, memory);
        let blocks = (buffer / BLOCK) as u32;
        let first = Asked { tries: 0, blocks, urgent: fetch.urgent, last: Last::UnderWay };
        let asked = state.asked.entry(fetch.id).or_insert(first);
        asked.tries += 1;
        if asked.tries > 1 {
            assert!(asked.urgent, "a prefetch is tried again");
            assert!(asked.tries <= ATTEMPTS + asked.blocks, "a request is made {} times", asked.tries);
        }
        match asked.last {
            Last::Failed(at) if asked.tries <= ATTEMPTS => {
                let pause = back_off(asked.tries - 2).as_nanos() as u64;
                assert!(now >= at.plus(pause), "try {} comes too soon", asked.tries);
            }
            Last::Failed(_) | Last::Brought => {
                assert!(asked.tries == 1 || blocks == 1 && asked.tries > ATTEMPTS, "a request is made once more");
            }
            Last::UnderWay => assert_eq!(asked.tries, 1, "a request is made while it is under way"),
            Last::Lost => panic!("a request is made again that cannot succeed"),
        }
        asked.last = Last::UnderWay;
    }

    /// A request is over: its bytes are right, or the storage has failed.
    fn judge(&self, request: Request, buffer: &Segments, outcome: &Result<()>) {
        let Request { id, edition, bytes, since } = request;
        match outcome {
            Ok(()) => self.compare(edition, &bytes, buffer),
            Err(error) => {
                // Once a part of a set's file has changed, nothing more is read of any.
                let is_stale = matches!(error, Error::Stale(_)) && self.storage.has_changed(edition.file);
                let explained = is_stale || self.storage.explains(edition, &bytes, since, error.errno());
                assert!(explained, "the storage has not failed: {error}, of {bytes:?} of {edition:?}");
            }
        }
        let at = self.agenda.now();
        let mut state = self.state.lock();
        let State { asked, memory, mishaps } = &mut *state;
        memory.remove(&id);
        let Some(asked) = asked.get_mut(&id) else { return };
        asked.last = match outcome {
            Ok(()) => Last::Brought,
            Err(error) if error.is_transient() => Last::Failed(at),
            Err(_) => Last::Lost,
        };
        // No reader hears that a request was called off.
        if let Err(error) = outcome
            && !matches!(error, Error::CalledOff)
        {
            let worn = !error.is_transient() || asked.tries >= ATTEMPTS;
            mishaps.add(Mishap { edition, bytes, at, errno: error.errno(), worn });
        }
    }

    fn compare(&self, edition: Edition, bytes: &Range<u64>, buffer: &Segments) {
        let (mut at, len) = (bytes.start, (bytes.end - bytes.start) as usize);
        for part in buffer.bytes_in(0..len) {
            if let Some(wrong) = edition.differs(at, part) {
                panic!("byte {wrong} is brought wrong: {bytes:?} of {edition:?}");
            }
            at += part.len() as u64;
        }
    }
}

fn addresses(part: *mut [u8]) -> Range<usize> {
    let start = part.cast::<u8>() as usize;
    start..start + part.len()
}

/// A source whose requests are judged.
struct Watched {
    witness: Arc<Witness>,
    inner: Arc<dyn Source>,
}

impl Source for Watched {
    fn describe(&self) -> String {
        self.inner.describe()
    }

    fn address(&self) -> &Arc<str> {
        self.inner.address()
    }

    fn stat_then(&self, path: &Path, then: Then<Attributes>) {
        self.inner.stat_then(path, then);
    }

    fn list_then(&self, path: &Path, then: Then<Listing>) {
        self.inner.list_then(path, then);
    }

    fn open_then(&self, path: &Path, then: Then<Arc<dyn Object>>) {
        let (witness, number) = (Arc::clone(&self.witness), crate::storage::number(path));
        let watched = move |inner: Arc<dyn Object>| -> Arc<dyn Object> {
            let file = number.expect("only files of the storage can be opened");
            let edition = Edition { file, version: inner.version().modified as u32 };
            Arc::new(WatchedFile { witness, edition, inner })
        };
        self.inner.open_then(path, Box::new(move |inner| then(inner.map(watched))));
    }

    fn listed(&self, folder: &Path, listed: &Listed<'_>) -> Result<Option<Attributes>> {
        self.inner.listed(folder, listed)
    }

    fn members(&self) -> &[Arc<dyn Source>] {
        self.inner.members()
    }
}

struct WatchedFile {
    witness: Arc<Witness>,
    edition: Edition,
    inner: Arc<dyn Object>,
}

impl Object for WatchedFile {
    fn identity(&self) -> &Identity {
        self.inner.identity()
    }

    fn layout(&self) -> Vec<Run> {
        self.inner.layout()
    }

    fn stripes(&self) -> Option<Stripes> {
        self.inner.stripes()
    }

    fn fetch(&self, mut fetch: Fetch) {
        self.witness.hear(&fetch);
        if let Some(unit) = self.inner.stripes().map(|stripes| stripes.unit()) {
            let last = fetch.offset + fetch.len as u64 - 1;
            assert_eq!(fetch.offset / unit, last / unit, "a fetch of two members");
        }
        // The memory is not the engine's until the answer: readers of it must not see it.
        fetch.buffer.bytes_mut().for_each(|part| part.fill(0xdb));
        let bytes = fetch.offset..fetch.offset + fetch.len as u64;
        let request = Request { id: fetch.id, edition: self.edition, bytes, since: self.witness.agenda.now() };
        let (witness, done) = (Arc::clone(&self.witness), fetch.done);
        fetch.done = Box::new(move |buffer, outcome| {
            witness.judge(request, &buffer, &outcome);
            done(buffer, outcome);
        });
        self.inner.fetch(fetch);
    }

    fn call_off(&self, fetch: FetchId) {
        self.inner.call_off(fetch);
    }

    fn unread(&self, range: Range<u64>) {
        assert!(range.start < range.end && range.start < self.inner.version().size, "nothing of it was fetched");
        self.inner.unread(range);
    }
}
