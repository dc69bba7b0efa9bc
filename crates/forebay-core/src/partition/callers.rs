//! The callers of a cache, and where their blocks go: [`Contexts`], which the cache asks as seldom
//! as it can.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::hint::{Hint, Learnt};
use crate::random::hash;
use crate::seams::{Access, By, Contexts, Standing};
use crate::types::{BlockKey, Caller, ContextId};

/// Contexts, and their last answer.
pub struct Callers {
    contexts: Box<dyn Contexts>,
    by: By,
    /// The bound of the samples of dividers and placements: blocks whose hash is below it.
    sampled: u64,
    /// The larger of that and the detector's. A hit of a block below it must be asked about.
    sample: u64,
    /// Accesses so far: virtual time.
    now: u64,
    /// The caller of the last access.
    last: u32,
    standing: Standing,
}

impl Callers {
    /// Before the first access.
    pub fn new(contexts: Box<dyn Contexts>) -> Callers {
        Callers {
            by: contexts.by(),
            contexts,
            sampled: 0,
            sample: u64::MAX,
            now: 0,
            last: 0,
            standing: Standing::NOTHING,
        }
    }

    /// The key that tells callers apart.
    pub fn by(&self) -> By {
        self.by
    }

    /// Blocks whose hash is below `sampled` are in the sample of somebody else from now on.
    pub(crate) fn set_sampled(&mut self, sampled: u64) {
        (self.sampled, self.sample) = (sampled, u64::MAX);
    }

    /// A block is accessed: where does it go?
    pub fn access(&mut self, caller: Caller, key: BlockKey) -> Access {
        match self.stands(self.id(caller, key), hash(key.raw()), self.standing.sample) {
            Some((&access, now)) => {
                self.passes();
                Access { now, ..access }
            }
            None => self.ask(caller, key),
        }
    }

    /// The same, if the last answer stands for this access and the block, which has that hash, is
    /// in nobody's sample, as for most; its time is told apart. [`passes`](Self::passes) then
    /// counts the access. Where callers are files or handlers no answer stands: only most caches,
    /// which go by contexts, are worth the comparison.
    #[inline(always)]
    pub(crate) fn expects(&self, caller: Caller, hash: u64) -> Option<(&Access, u64)> {
        let known = || self.stands(caller.context.0, hash, self.sample);
        if self.by == By::Context { known() } else { None }
    }

    /// The last answer, if it stands for blocks whose hash is not below `sample`.
    #[inline(always)]
    fn stands(&self, caller: u32, hash: u64, sample: u64) -> Option<(&Access, u64)> {
        let now = self.now + 1;
        let known = caller == self.last && hash >= sample && now < self.standing.due;
        known.then_some((&self.standing.access, now))
    }

    /// An access was as [expected](Self::expects).
    #[inline(always)]
    pub(crate) fn passes(&mut self) {
        self.now += 1;
    }

    #[inline(never)]
    fn ask(&mut self, caller: Caller, key: BlockKey) -> Access {
        self.now += 1;
        self.last = self.id(caller, key);
        self.standing = self.contexts.accessed(self.last, key, self.now);
        self.sample = self.standing.sample.max(self.sampled);
        Access { now: self.now, ..self.standing.access }
    }

    fn id(&self, caller: Caller, key: BlockKey) -> u32 {
        match self.by {
            By::Context => caller.context.0,
            By::File => key.file().0,
            By::Handler => caller.handler.0,
        }
    }

    /// An earlier run learnt this of a context. Only program contexts outlive a run: no other hint
    /// is taken.
    pub fn hint(&mut self, context: ContextId, hint: Hint) {
        if self.by == By::Context {
            self.contexts.hinted(context, hint, self.now);
            (self.standing, self.sample) = (Standing::NOTHING, u64::MAX);
        }
    }

    /// Hints for the next run, in the order of contexts.
    pub fn hints(&self) -> Vec<(ContextId, Hint)> {
        self.contexts.hints()
    }

    /// The knowledge of each context, in the order of their numbers.
    pub fn learnt(&self) -> Vec<Learnt> {
        self.contexts.learnt(self.now)
    }

    /// The bytes that they take.
    pub fn footprint(&self) -> usize {
        size_of::<Callers>() + self.contexts.footprint()
    }
}
