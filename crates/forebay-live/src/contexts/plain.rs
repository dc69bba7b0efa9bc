//! Contexts of programs without the preload library: an executable and a file.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::hints::Origin;

/// For how long the answer about a thread's program is trusted: the thread may have exec'd, or
/// ended and left its number to another.
const FRESH: Duration = Duration::from_secs(1);

/// How many threads are remembered, by the lower bits of their ids.
const THREADS: usize = 1024;

/// Something that runs: one build of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Executable {
    /// Its path.
    pub path: String,
    /// The mark that tells it from others at that path: inode, size, time.
    pub build: String,
}

impl Executable {
    /// The number of the context of everything that it reads.
    fn id(&self) -> u64 {
        hash(hash(0, self.path.as_bytes()), self.build.as_bytes()).max(1)
    }

    pub(super) fn origin(&self, file: Option<&str>) -> Origin {
        Origin {
            executable: self.path.clone(),
            build: self.build.clone(),
            frames: Vec::new(),
            file: Some(file.unwrap_or("*").to_owned()),
        }
    }
}

/// An executable that a thread runs.
pub(super) struct Running {
    pub(super) executable: Arc<Executable>,
    /// [`Executable::id`]
    pub(super) id: u64,
}

impl Running {
    fn new(executable: Executable) -> Running {
        Running { id: executable.id(), executable: Arc::new(executable) }
    }

    /// The number of the context of its reads of a file.
    pub(super) fn with(&self, file: &FileName) -> u64 {
        hash(self.id, &file.id.to_le_bytes()).max(1)
    }
}

/// A file's name in messages and hints.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileName {
    id: u64,
    name: Arc<str>,
}

impl FileName {
    /// A file of this name.
    pub fn new(name: String) -> FileName {
        FileName { id: hash(0, name.as_bytes()), name: name.into() }
    }

    pub(super) fn name(&self) -> Arc<str> {
        Arc::clone(&self.name)
    }
}

/// FNV-1a, going on from `before`, then mixed (MurmurHash3's finaliser), as the lower bits are
/// indexes.
fn hash(before: u64, bytes: &[u8]) -> u64 {
    let fnv = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    let hash = bytes.iter().fold(before ^ 0xcbf2_9ce4_8422_2325, fnv);
    let hash = (hash ^ hash >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let hash = (hash ^ hash >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ hash >> 33
}

/// The programs of threads, looked up once a second at most for each.
pub(super) struct Plain {
    slots: Box<[Mutex<Option<Slot>>]>,
}

struct Slot {
    thread: u32,
    looked: Instant,
    running: Option<Arc<Running>>,
}

impl Plain {
    pub(super) fn new() -> Plain {
        Plain { slots: (0..THREADS).map(|_| Mutex::new(None)).collect() }
    }

    /// The program of a thread, as `look` says or said.
    pub(super) fn running(&self, thread: u32, look: impl FnOnce() -> Option<Executable>) -> Option<Arc<Running>> {
        let mut slot = self.slots[thread as usize % THREADS].lock();
        let now = Instant::now();
        if let Some(seen) = &*slot
            && seen.thread == thread
            && now.duration_since(seen.looked) < FRESH
        {
            return seen.running.clone();
        }
        let running = look().map(Running::new).map(Arc::new);
        *slot = Some(Slot { thread, looked: now, running: running.clone() });
        running
    }
}
