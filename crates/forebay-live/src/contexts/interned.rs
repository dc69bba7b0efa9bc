//! Dense numbers for contexts, in order of first appearance.
//!
//! Numbers are never taken back: the core keeps its knowledge by them. So there are [`MOST`] at
//! most. Contexts beyond that are unknown (0); the log warns of that, and only a mount that has
//! served thousands of programs gets there. Half of them are for contexts of the preload library,
//! so that a walk over a large tree by a plain program cannot use them up.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use forebay_core::ContextId;
use parking_lot::RwLock;

use super::Means;

/// The most contexts of a mount.
pub(super) const MOST: usize = 8192;

/// Slots of the front, a power of two.
const FRONT: usize = 1024;

/// From 64-bit numbers to dense ones.
pub(super) struct Interned {
    /// The context that was looked for last, by the lower bits of its number: a hint that
    /// [`ids`](Self::ids) proves.
    front: Box<[AtomicU32]>,
    /// The number of each context, written once.
    ids: Box<[AtomicU64]>,
    all: RwLock<All>,
}

#[derive(Default)]
struct All {
    numbers: HashMap<u64, ContextId>,
    /// The meaning of each; the first is context 1.
    means: Vec<Means>,
    plain: usize,
    full: bool,
}

impl Interned {
    pub(super) fn new() -> Interned {
        Interned {
            front: (0..FRONT).map(|_| AtomicU32::new(0)).collect(),
            ids: (0..=MOST).map(|_| AtomicU64::new(0)).collect(),
            all: RwLock::default(),
        }
    }

    /// The number of a context that has one.
    #[inline]
    pub(super) fn get(&self, id: u64) -> Option<ContextId> {
        let slot = &self.front[id as usize % FRONT];
        let context = slot.load(Ordering::Relaxed);
        // Zero is the number of no reader and of no context.
        if id != 0 && self.ids[context as usize].load(Ordering::Relaxed) == id {
            return Some(ContextId(context));
        }
        let found = self.all.read().numbers.get(&id).copied()?;
        slot.store(found.0, Ordering::Relaxed);
        Some(found)
    }

    /// Gives a context a number and calls `first` with it before any other thread can have it; 0 if
    /// all are taken.
    pub(super) fn introduce(&self, id: u64, means: impl FnOnce() -> Means, first: impl FnOnce(ContextId)) -> ContextId {
        let mut all = self.all.write();
        if let Some(&context) = all.numbers.get(&id) {
            return context;
        }
        let means = means();
        let by_file = matches!(means, Means::Plain(_, Some(_)));
        if id == 0 || by_file && all.plain == MOST / 2 {
            return ContextId(0);
        }
        if all.means.len() == MOST {
            if !std::mem::replace(&mut all.full, true) {
                log::warn!("{MOST} program contexts were seen; those that appear from now on are not told apart");
            }
            return ContextId(0);
        }
        all.plain += usize::from(by_file);
        all.means.push(means);
        let context = ContextId(all.means.len() as u32);
        first(context);
        all.numbers.insert(id, context);
        self.ids[context.index()].store(id, Ordering::Relaxed);
        context
    }

    /// All contexts, with their 64-bit numbers.
    pub(super) fn all(&self) -> impl Iterator<Item = (ContextId, u64)> {
        let count = self.all.read().means.len();
        (1..=count).map(|number| (ContextId(number as u32), self.ids[number].load(Ordering::Relaxed)))
    }

    /// The 64-bit number of a context, and its meaning.
    pub(super) fn means(&self, context: ContextId) -> Option<(u64, Means)> {
        let id = self.ids.get(context.index())?.load(Ordering::Relaxed);
        let means = self.all.read().means.get(context.index().checked_sub(1)?)?.clone();
        Some((id, means))
    }
}
