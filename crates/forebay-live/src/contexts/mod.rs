//! Program contexts of readers (AMP §3.3): from the thread that reads to the context that the core
//! is told.
//!
//! ```text
//!   a read by a thread ─▶ in a table of its user's?  ─yes─▶ hash of its call stack ──▶ interned ──▶ ContextId 1, 2, 3 …
//!                              │ no (not preloaded)                                     │ the first time: its hint,
//!                              └─▶ hash of its executable and the file ────────────────▶┘ if an earlier mount kept one
//! ```
//!
//! [`Callers`] is asked before each read, but only under a policy that tells contexts apart.
//! Knowledge by the 64-bit number of a context ([`hints`]) outlives the mount. [`ContextId`]s are
//! dense, in order of first appearance, and do not outlive it.

pub mod hints;
mod interned;
mod keeper;
mod plain;
mod threads;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use forebay_core::Hint;
use forebay_core::seams::By;
use forebay_core::{Caller, ContextId, EventKind, HandlerId};
use parking_lot::Mutex;

use crate::engine::Engine;
use crate::stats::ContextStats;
use hints::{Hints, HintsError, Known, Origin};
use interned::Interned;
pub use keeper::Keeper;
use plain::Plain;
pub use plain::{Executable, FileName};
pub use threads::{Threads, place};

/// A reader, as the operating system numbers it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reader {
    /// The thread.
    pub thread: u32,
    /// Its user.
    pub user: u32,
}

/// Facts about readers' programs.
pub trait Programs: Send + Sync {
    /// The context that the reader's own program reports.
    fn context(&self, reader: Reader) -> Option<u64>;
    /// The executable that runs in a thread.
    fn executable(&self, thread: u32) -> Option<Executable>;
    /// The origins of contexts of a user's programs, of those among `wanted` that are known.
    fn origins(&self, user: u32, wanted: &[u64]) -> BTreeMap<u64, Origin>;
}

/// The meaning of a context.
#[derive(Clone, Debug)]
enum Means {
    /// The preload library, in a program of this user.
    Stack(u32),
    /// An executable and a file, or for want of numbers an executable alone.
    Plain(Arc<Executable>, Option<Arc<str>>),
}

/// Finds the program context of a read.
pub struct Callers {
    engine: Arc<Engine>,
    programs: Box<dyn Programs>,
    plain: Plain,
    interned: Interned,
    /// The hints of earlier mounts.
    known: BTreeMap<u64, Hint>,
    store: Option<Hints>,
    /// The hints that were kept last.
    kept: Mutex<Vec<(ContextId, Hint)>>,
}

impl Callers {
    /// Bytes that it may come to take, besides the engine's budget: numbers, names, hints.
    pub const BYTES: u64 = 4 << 20;

    /// Looks after the callers of an engine, with what `store` has kept. `None` if the engine's
    /// policy does not tell contexts apart. A store that cannot be read is an error; one that is
    /// damaged is begun anew.
    pub fn start(
        engine: &Arc<Engine>,
        programs: impl Programs + 'static,
        store: Option<Hints>,
    ) -> Result<Option<Arc<Callers>>, HintsError> {
        if !engine.tells_contexts_apart() {
            return Ok(None);
        }
        let known = store.as_ref().map(Hints::load).transpose()?.unwrap_or_default();
        let now = now();
        Ok(Some(Arc::new(Callers {
            engine: Arc::clone(engine),
            programs: Box::new(programs),
            plain: Plain::new(),
            interned: Interned::new(),
            known: known
                .into_iter()
                .filter(|(_, known)| !known.is_old(now))
                .map(|(id, known)| (id, known.hint))
                .collect(),
            store,
            kept: Mutex::default(),
        })))
    }

    /// The handler and context of a reader of `file`.
    pub fn caller(&self, reader: Reader, file: &FileName) -> Caller {
        let handler = HandlerId(reader.thread);
        let context = match self.programs.context(reader) {
            Some(id) => self.number(id, || Means::Stack(reader.user)),
            None => self.plain_context(reader.thread, file),
        };
        Caller { handler, context }
    }

    fn plain_context(&self, thread: u32, file: &FileName) -> ContextId {
        let Some(running) = self.plain.running(thread, || self.programs.executable(thread)) else {
            return ContextId(0);
        };
        let executable = &running.executable;
        let of_file = self.number(running.with(file), || Means::Plain(Arc::clone(executable), Some(file.name())));
        if of_file != ContextId(0) {
            return of_file;
        }
        self.number(running.id, || Means::Plain(Arc::clone(executable), None))
    }

    /// The dense number of a context. The first time, the hint on it goes to the core before any
    /// event with this number.
    #[inline]
    fn number(&self, id: u64, means: impl FnOnce() -> Means) -> ContextId {
        self.interned.get(id).unwrap_or_else(|| {
            self.interned.introduce(id, means, |context| {
                if let Some(&hint) = self.known.get(&id) {
                    self.engine.tell(EventKind::Hinted { context, hint });
                }
            })
        })
    }

    /// The 64-bit number that a context has between mounts, and its origin as far as it is known.
    pub fn origins(&self, contexts: &[ContextId]) -> BTreeMap<ContextId, (u64, Origin)> {
        let means: Vec<(ContextId, u64, Means)> = contexts
            .iter()
            .filter_map(|&context| self.interned.means(context).map(|(id, means)| (context, id, means)))
            .collect();
        let mut wanted: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
        for (_, id, means) in &means {
            if let Means::Stack(user) = means {
                wanted.entry(*user).or_default().push(*id);
            }
        }
        let named: BTreeMap<u32, BTreeMap<u64, Origin>> =
            wanted.into_iter().map(|(user, ids)| (user, self.programs.origins(user, &ids))).collect();
        let origin = |id: u64, means: Means| match means {
            Means::Stack(user) => named.get(&user).and_then(|named| named.get(&id)).cloned().unwrap_or_default(),
            Means::Plain(executable, file) => executable.origin(file.as_deref()),
        };
        means.into_iter().map(|(context, id, means)| (context, (id, origin(id, means)))).collect()
    }

    /// Adds the contexts' identities and origins.
    pub fn name(&self, contexts: &mut [ContextStats]) {
        let numbers: Vec<ContextId> = contexts.iter().map(|stats| ContextId(stats.context)).collect();
        let mut origins = self.origins(&numbers);
        for stats in contexts {
            if let Some((id, origin)) = origins.remove(&ContextId(stats.context)) {
                (stats.id, stats.origin) = (format!("{id:016x}"), origin);
            }
        }
    }

    /// Keeps the hints, if there are new ones. Contexts that appeared and have no pattern any more
    /// are forgotten. Returns the number of contexts kept.
    pub fn keep(&self) -> Result<usize, HintsError> {
        let Some(store) = &self.store else { return Ok(0) };
        let learnt = self.engine.hints();
        let mut kept = self.kept.lock();
        if *kept == learnt {
            return Ok(0);
        }
        let (hints, known): (BTreeMap<ContextId, Hint>, _) = (learnt.iter().copied().collect(), &self.known);
        let lost = self.interned.all().filter(|(context, id)| known.contains_key(id) && !hints.contains_key(context));
        let contexts: Vec<ContextId> = hints.keys().copied().chain(lost.map(|(context, _)| context)).collect();
        let seen = now();
        let known: BTreeMap<u64, Known> = self
            .origins(&contexts)
            .into_iter()
            .map(|(context, (id, origin))| {
                (id, Known { origin, hint: hints.get(&context).copied().unwrap_or(Hint::NOTHING), seen })
            })
            .collect();
        store.merge(&known)?;
        *kept = learnt;
        Ok(known.len())
    }
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

impl Engine {
    /// Whether the policy asks for program contexts.
    fn tells_contexts_apart(&self) -> bool {
        self.with_core(|_, _, _, core| core.contexts().is_some_and(|callers| callers.by() == By::Context))
    }

    /// The core's hints on contexts.
    fn hints(&self) -> Vec<(ContextId, Hint)> {
        self.with_core(|_, _, _, core| core.hints())
    }
}

#[cfg(test)]
mod tests;
