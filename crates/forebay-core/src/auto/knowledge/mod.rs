//! The knowledge of how far a stream's readers will go: the length of its file, where its readers
//! stopped last time, and how long streams usually are.
//!
//! The first two are worth nothing by themselves: a file may be read in random portions, and
//! differently each time. So both are believed only while they keep coming true. All is known by
//! program context (AMP §6), as far as contexts are known, else by device. This goes past the
//! papers, which know none of it ("kernel-level prefetching […] does not have this knowledge", CP
//! §2).
//!
//! ```text
//!   a stream is over ──▶ Habits of its context, of its device: whole │ again │ goes on │ lengths
//!   a stream begins  ◀── those of its context if there were a few streams of it, else those of its device
//! ```

mod habits;
mod lengths;
mod share;

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

pub use habits::Habits;
pub use lengths::Lengths;
pub use share::Odds;

use crate::hint::Usual;
use crate::types::{BlockKey, ContextId, DeviceId};

/// The most program contexts that have habits of their own, those seen last. "Less than a dozen
/// different call stacks dominate most I/O requests" (AMP §2.3).
pub const MOST_CONTEXTS: usize = 64;

/// How far the last stream from a block came.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// The block; [`EMPTY`] if none.
    first: u64,
    /// The block after the last that was read.
    end: u32,
    /// The same of the stream before; zero if there was none.
    before: u32,
}

const EMPTY: u64 = u64::MAX;

/// The knowledge of a program context.
#[derive(Clone, Debug, Default)]
struct Known {
    habits: Habits,
    /// When its last stream ended, by the number of streams that had.
    seen: u64,
}

/// The knowledge of streams. The table of them is direct-mapped: a newer one overwrites another
/// that maps to the same place.
#[derive(Clone, Debug)]
pub struct Knowledge {
    table: Vec<Entry>,
    devices: Vec<Habits>,
    /// By context; context 0, the unknown one, has none.
    contexts: BTreeMap<u32, Known>,
    by_context: bool,
    now: u64,
}

/// The device and the context of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Whose {
    /// The device on which it lies.
    pub device: DeviceId,
    /// The context that reads it; 0 if unknown.
    pub context: ContextId,
}

impl Knowledge {
    /// Knows nothing yet, and will remember about `streams` streams.
    pub fn new(streams: u32, devices: usize) -> Knowledge {
        let entries = (streams as usize * 2).next_power_of_two();
        Knowledge {
            table: vec![Entry { first: EMPTY, end: 0, before: 0 }; entries],
            devices: vec![Habits::default(); devices],
            contexts: BTreeMap::new(),
            by_context: false,
            now: 0,
        }
    }

    /// Contexts are told apart from now on.
    #[must_use]
    pub fn by_context(mut self) -> Knowledge {
        self.by_context = true;
        self
    }

    /// A stream begins with block `first` of a file of `blocks` blocks. Returns the block up to
    /// which it is expected to go, if any.
    pub fn begins(&mut self, whose: Whose, first: BlockKey, blocks: u32) -> Option<u32> {
        let place = place(&self.table, first);
        let entry = &mut self.table[place];
        let known = entry.first == first.raw();
        let Entry { end, before, .. } = *entry;
        *entry = Entry { first: first.raw(), end: 0, before: if known { end } else { 0 } };
        if known && before > 0 {
            self.tell(whose, |habits| habits.again.saw(end == before));
        }
        let habits = self.habits(whose)?;
        match known.then_some(end) {
            Some(end) if habits.again.is_reliable() => Some(end.min(blocks)),
            _ if first.block() == 0 && habits.whole.is_reliable() => Some(blocks),
            _ => None,
        }
    }

    /// The stream that began with `first` was read up to `end`.
    pub fn goes_on(&mut self, first: BlockKey, end: u32) {
        let place = place(&self.table, first);
        let entry = &mut self.table[place];
        if entry.first == first.raw() {
            entry.end = entry.end.max(end);
        }
    }

    /// A stream from the beginning of a file is over: it came to the end, or its file was closed
    /// before.
    pub fn is_over(&mut self, whose: Whose, whole: bool) {
        self.tell(whose, |habits| habits.whole.saw(whole));
    }

    /// A stream is over that had `blocks`, and more than one read.
    pub fn was_long(&mut self, whose: Whose, blocks: u32) {
        self.tell(whose, |habits| habits.was_long(blocks));
    }

    /// The same of a stream counted as going nowhere:
    /// [`went_on_after_all`](Self::went_on_after_all) has told already that it goes on.
    pub fn was_long_after_all(&mut self, whose: Whose, blocks: u32) {
        self.tell(whose, |habits| habits.had(blocks));
    }

    /// A read has brought a stream to `blocks`, beyond its first read.
    pub fn came_to(&mut self, whose: Whose, blocks: u32) {
        if let Some(device) = self.devices.get_mut(whose.device.index()) {
            device.came_to(blocks);
        }
        if let Some(known) = self.contexts.get_mut(&whose.context.0) {
            known.habits.came_to(blocks);
        }
    }

    /// A stream is over that had one read.
    pub fn went_nowhere(&mut self, whose: Whose) {
        self.tell(whose, Habits::went_nowhere);
    }

    /// A stream goes on that was said to go nowhere.
    pub fn went_on_after_all(&mut self, whose: Whose) {
        self.tell(whose, Habits::went_on_after_all);
    }

    /// Takes what an earlier run learnt of a context, unless this run knows better.
    pub fn hint(&mut self, context: ContextId, usual: Usual) {
        if usual != Usual::UNKNOWN && !self.contexts.contains_key(&context.0) {
            self.tell_context(context, |habits| *habits = Habits::from(usual));
        }
    }

    /// How many blocks streams had in the mean; `None` before there were a few.
    pub fn mean_length(&self, whose: Whose) -> Option<u32> {
        self.habits(whose)?.mean_length()
    }

    /// The habits of streams like that: of its context, if there were a few, else of its device.
    pub fn habits(&self, whose: Whose) -> Option<&Habits> {
        self.of_context(whose).or_else(|| self.of_device(whose.device))
    }

    /// The same of its context alone, if there were a few.
    pub fn of_context(&self, whose: Whose) -> Option<&Habits> {
        let own = self.contexts.get(&whose.context.0).map(|known| &known.habits);
        own.filter(|habits| habits.is_known())
    }

    /// Those of all streams of a device.
    pub fn of_device(&self, device: DeviceId) -> Option<&Habits> {
        self.devices.get(device.index())
    }

    /// Weighs the odds of these by the cost of a switch, in blocks.
    pub fn weigh(&mut self, whose: Whose, switch: u32) {
        let own = self.contexts.get_mut(&whose.context.0).map(|known| &mut known.habits);
        let habits = own.filter(|habits| habits.is_known()).or_else(|| self.devices.get_mut(whose.device.index()));
        if let Some(habits) = habits {
            habits.weigh(switch);
        }
    }

    /// The habits of each context, in their order.
    pub fn contexts(&self) -> impl Iterator<Item = (ContextId, &Habits)> {
        self.contexts.iter().map(|(&context, known)| (ContextId(context), &known.habits))
    }

    /// Something is learnt of a stream's device and context.
    fn tell(&mut self, whose: Whose, what: impl Fn(&mut Habits)) {
        let Some(device) = self.devices.get_mut(whose.device.index()) else { return };
        what(device);
        self.tell_context(whose.context, what);
    }

    fn tell_context(&mut self, context: ContextId, what: impl Fn(&mut Habits)) {
        if !self.by_context || context == ContextId(0) {
            return;
        }
        self.now += 1;
        if self.contexts.len() >= MOST_CONTEXTS && !self.contexts.contains_key(&context.0) {
            let oldest = self.contexts.iter().min_by_key(|(_, known)| known.seen).map(|(&id, _)| id);
            oldest.and_then(|id| self.contexts.remove(&id));
        }
        let known = self.contexts.entry(context.0).or_default();
        known.seen = self.now;
        what(&mut known.habits);
    }

    /// The bytes that it takes.
    pub fn footprint(&self) -> usize {
        let habits = self.devices.iter().chain(self.contexts.values().map(|known| &known.habits));
        // An entry of a map has its part of a node.
        self.table.len() * size_of::<Entry>() + self.contexts.len() * 24 + habits.map(Habits::footprint).sum::<usize>()
    }
}

fn place(table: &[Entry], first: BlockKey) -> usize {
    let mixed = (first.raw() ^ first.raw().rotate_left(31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 32) as usize & (table.len() - 1)
}
