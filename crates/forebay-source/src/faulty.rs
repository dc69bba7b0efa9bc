//! A source that fails on purpose, by seed.
//!
//! # The fault model
//!
//! - *Transient*: a fetch fails with a storage error and leaves its buffer as it was; the same
//!   fetch may succeed when repeated.
//! - *Short*: the storage delivers the first part of a fetch and then fails: a storage error, with
//!   right bytes in front of stale ones in the buffer. Repeating helps.
//! - *Bad range*: bytes that always fail, as on a disk with a bad sector. Only fetches that touch
//!   one of them fail.
//! - *Delay*: an answer comes later than it could, so that answers overtake each other.
//! - *Lookup*: `stat`, `list` and `open` fail with a storage error; repeating helps.
//! - *Down*: everything fails from one moment to another, as when a server is gone ([`Switch`]).
//!   Fetches that were under way are answered, and open files stay open.
//!
//! Not in the model: wrong bytes with a good outcome (storage is trusted to tell), and answers that
//! never come (the stores bound their own requests in time).
//!
//! A hash decides which request fails: of the seed, the path, the offset and how often the same
//! request came before. There is no running generator: threads that race meet the same faults in
//! every run.

mod delay;

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use forebay_core::DeviceCost;
use parking_lot::Mutex;

use super::striped::Stripes;
use super::{Attributes, Error, Fetch, FetchId, Identity, Listed, Listing, Object, Result, Run, Source, Space, Then};
use delay::Timer;

/// Which faults to make, and how often. Probabilities are between 0 and 1.
#[derive(Clone, Debug, Default)]
pub struct FaultPlan {
    /// Decides every fault.
    pub seed: u64,
    /// How likely a fetch fails without delivering anything.
    pub transient: f64,
    /// How likely a fetch fails after delivering a part.
    pub short: f64,
    /// How likely an answer is delayed.
    pub delayed: f64,
    /// The longest delay.
    pub delay: Duration,
    /// How likely a `stat`, `list` or `open` fails.
    pub lookup: f64,
    /// Bytes that can never be read, by file.
    pub bad: Vec<(PathBuf, Range<u64>)>,
}

/// How many faults of each kind were made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Injected {
    /// Fetches that failed at once.
    pub transient: u64,
    /// Fetches that failed half-way.
    pub short: u64,
    /// Answers that were delayed.
    pub delayed: u64,
    /// Names that could not be looked up.
    pub lookup: u64,
    /// Fetches that touched a bad range.
    pub bad: u64,
    /// Requests that came while the source was down.
    pub down: u64,
}

#[derive(Default)]
struct Counters {
    transient: AtomicU64,
    short: AtomicU64,
    delayed: AtomicU64,
    lookup: AtomicU64,
    bad: AtomicU64,
    down: AtomicU64,
}

/// Turns a source off and on.
#[derive(Debug, Default)]
pub struct Switch {
    down: AtomicBool,
}

impl Switch {
    /// From now on every request fails, or none does.
    pub fn set_down(&self, down: bool) {
        self.down.store(down, Ordering::SeqCst);
    }

    /// Whether requests fail.
    pub fn is_down(&self) -> bool {
        self.down.load(Ordering::SeqCst)
    }
}

/// A source that fails on purpose.
pub struct FaultySource {
    inner: Arc<dyn Source>,
    faults: Arc<Faults>,
}

struct Faults {
    plan: FaultPlan,
    switch: Arc<Switch>,
    counters: Counters,
    /// How often each request has come, by its hash.
    seen: Mutex<HashMap<u64, u64>>,
    timer: Timer,
}

/// A request; each is unlucky on its own.
#[derive(Clone, Copy, Hash)]
enum Asked {
    Lookup,
    Fetch { offset: u64, len: usize },
}

/// The dice of one request, independent of each other.
struct Dice(u64);

impl Dice {
    /// Whether something of probability `p` happens; `kind` tells the dice of one request apart.
    fn falls(&self, kind: u64, p: f64) -> bool {
        self.between(kind) < p
    }

    /// A number in 0..1.
    fn between(&self, kind: u64) -> f64 {
        (hash(&(self.0, kind)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// `DefaultHasher::new` has fixed keys: the same in every run, though not in every release of the
/// standard library.
fn hash(what: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

impl FaultySource {
    /// Puts faults in front of a source.
    pub fn new(inner: Arc<dyn Source>, plan: FaultPlan) -> FaultySource {
        let faults = Faults {
            plan,
            switch: Arc::default(),
            counters: Counters::default(),
            seen: Mutex::default(),
            timer: Timer::default(),
        };
        FaultySource { inner, faults: Arc::new(faults) }
    }

    /// The switch that turns this source off and on.
    pub fn switch(&self) -> Arc<Switch> {
        Arc::clone(&self.faults.switch)
    }

    /// The faults made until now.
    pub fn injected(&self) -> Injected {
        let Counters { transient, short, delayed, lookup, bad, down } = &self.faults.counters;
        let [transient, short, delayed, lookup, bad, down] =
            [transient, short, delayed, lookup, bad, down].map(|counter| counter.load(Ordering::Relaxed));
        Injected { transient, short, delayed, lookup, bad, down }
    }
}

impl Faults {
    fn dice(&self, path: &Path, asked: Asked) -> Dice {
        let request = hash(&(self.plan.seed, path, asked));
        let mut seen = self.seen.lock();
        let times = seen.entry(request).or_default();
        *times += 1;
        Dice(hash(&(request, *times)))
    }

    fn fail(&self, path: &Path, counter: &AtomicU64, reason: &str) -> Error {
        counter.fetch_add(1, Ordering::Relaxed);
        Error::Storage { name: path.display().to_string(), reason: format!("{reason} (injected)") }
    }

    fn up(&self, path: &Path) -> Result<()> {
        if self.switch.is_down() { Err(self.fail(path, &self.counters.down, "the source is gone")) } else { Ok(()) }
    }

    fn lookup(&self, path: &Path) -> Result<()> {
        self.up(path)?;
        if self.plan.lookup > 0.0 && self.dice(path, Asked::Lookup).falls(0, self.plan.lookup) {
            return Err(self.fail(path, &self.counters.lookup, "the lookup failed"));
        }
        Ok(())
    }

    /// Whether a fetch fails before it reaches the storage.
    fn fetch(&self, path: &Path, fetch: &Fetch, dice: &Dice) -> Result<()> {
        self.up(path)?;
        let wanted = fetch.offset..fetch.offset + fetch.len as u64;
        let touches = |bad: &Range<u64>| bad.start < wanted.end && wanted.start < bad.end;
        if self.plan.bad.iter().any(|(file, bad)| file == path && touches(bad)) {
            return Err(self.fail(path, &self.counters.bad, "a bad sector"));
        }
        if dice.falls(1, self.plan.transient) {
            return Err(self.fail(path, &self.counters.transient, "the request failed"));
        }
        Ok(())
    }
}

impl Source for FaultySource {
    fn describe(&self) -> String {
        format!("{} (with faults, seed {})", self.inner.describe(), self.faults.plan.seed)
    }

    fn address(&self) -> &Arc<str> {
        self.inner.address()
    }

    fn stat_then(&self, path: &Path, then: Then<Attributes>) {
        match self.faults.lookup(path) {
            Ok(()) => self.inner.stat_then(path, then),
            Err(error) => then(Err(error)),
        }
    }

    fn list_then(&self, path: &Path, then: Then<Listing>) {
        match self.faults.lookup(path) {
            Ok(()) => self.inner.list_then(path, then),
            Err(error) => then(Err(error)),
        }
    }

    fn open_then(&self, path: &Path, then: Then<Arc<dyn Object>>) {
        if let Err(error) = self.faults.lookup(path) {
            return then(Err(error));
        }
        let (faults, name) = (Arc::clone(&self.faults), path.to_path_buf());
        let faulty = |inner| Arc::new(FaultyObject { inner, path: name, faults }) as Arc<dyn Object>;
        self.inner.open_then(path, Box::new(move |inner| then(inner.map(faulty))));
    }

    fn listed(&self, folder: &Path, listed: &Listed<'_>) -> Result<Option<Attributes>> {
        self.faults.lookup(&folder.join(listed.name)).and_then(|()| self.inner.listed(folder, listed))
    }

    fn forget_names(&self, path: &Path) {
        self.inner.forget_names(path);
    }

    fn read_link(&self, path: &Path) -> Result<PathBuf> {
        self.faults.lookup(path).and_then(|()| self.inner.read_link(path))
    }

    fn xattr(&self, path: &Path, name: &OsStr) -> Result<Vec<u8>> {
        self.faults.lookup(path).and_then(|()| self.inner.xattr(path, name))
    }

    fn xattrs(&self, path: &Path) -> Result<Vec<OsString>> {
        self.faults.lookup(path).and_then(|()| self.inner.xattrs(path))
    }

    fn space(&self) -> Result<Space> {
        self.faults.up(Path::new("")).and_then(|()| self.inner.space())
    }

    fn cost(&self) -> Option<DeviceCost> {
        self.inner.cost()
    }

    fn members(&self) -> &[Arc<dyn Source>] {
        self.inner.members()
    }
}

struct FaultyObject {
    inner: Arc<dyn Object>,
    path: PathBuf,
    faults: Arc<Faults>,
}

impl Object for FaultyObject {
    fn identity(&self) -> &Identity {
        self.inner.identity()
    }

    fn stripes(&self) -> Option<Stripes> {
        self.inner.stripes()
    }

    fn layout(&self) -> Vec<Run> {
        self.inner.layout()
    }

    fn fetch(&self, fetch: Fetch) {
        let faults = &self.faults;
        let dice = faults.dice(&self.path, Asked::Fetch { offset: fetch.offset, len: fetch.len });
        let late = dice.falls(2, faults.plan.delayed).then(|| faults.plan.delay.mul_f64(dice.between(3)));
        let run: Box<dyn FnOnce() + Send> = match faults.fetch(&self.path, &fetch, &dice) {
            Err(error) => Box::new(move || fetch.finish(Err(error))),
            Ok(()) if dice.falls(4, faults.plan.short) => {
                let error = faults.fail(&self.path, &faults.counters.short, "the answer ended early");
                let (inner, part) = (Arc::clone(&self.inner), (fetch.len as f64 * dice.between(5)) as usize);
                Box::new(move || inner.fetch(shortened(fetch, part, error)))
            }
            Ok(()) => {
                let inner = Arc::clone(&self.inner);
                Box::new(move || inner.fetch(fetch))
            }
        };
        match late {
            None => run(),
            Some(delay) => {
                faults.counters.delayed.fetch_add(1, Ordering::Relaxed);
                faults.timer.after(delay, run);
            }
        }
    }

    /// A fetch that still waits for its delay is not called off.
    fn call_off(&self, fetch: FetchId) {
        self.inner.call_off(fetch);
    }
}

/// A fetch that reads only `part` bytes, tells `error`, and spoils the rest of its buffer, so that
/// no reader relies on it.
fn shortened(fetch: Fetch, part: usize, error: Error) -> Fetch {
    let Fetch { id, offset, buffer, len, urgent, label, done } = fetch;
    let spoil = move |mut buffer: crate::Segments, outcome| {
        let error = match outcome {
            Err(Error::CalledOff) => Error::CalledOff,
            _ => error,
        };
        let rest = buffer.len() - part;
        buffer.write(part, &vec![0xA5; rest]);
        done(buffer, Err(error));
    };
    Fetch { id, offset, buffer, len: len.min(part), urgent, label, done: Box::new(spoil) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dice_are_fair_and_repeatable() {
        let faults = |seed| Faults {
            plan: FaultPlan { seed, ..FaultPlan::default() },
            switch: Arc::default(),
            counters: Counters::default(),
            seen: Mutex::default(),
            timer: Timer::default(),
        };
        let falls = |faults: &Faults| -> Vec<bool> {
            let asked = |i: u64| Asked::Fetch { offset: i % 100 * 4096, len: 4096 };
            (0..10_000).map(|i| faults.dice(Path::new("file"), asked(i)).falls(1, 0.25)).collect()
        };
        let first = falls(&faults(1));
        assert_eq!(first, falls(&faults(1)));
        assert_ne!(first, falls(&faults(2)));
        let share = first.iter().filter(|&&fell| fell).count();
        assert!((2_300..2_700).contains(&share), "{share} of 10,000 at p = 0.25");
    }
}
