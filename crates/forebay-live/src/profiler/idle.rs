//! A store that was never measured: its readers do not wait for a measurement. They read by usual
//! costs, and the store is measured while none of them reads.
//!
//! ```text
//!    readers   ▌▌ ▌▌▌▌▌▌  ▌▌▌                        ▌▌▌▌▌                     ▌▌
//!    measuring                 quiet ├ reads ─ ─ ─ ─ ┤      quiet ├ the rest ┤
//! ```
//!
//! The reads are ranges of a file that a reader opened, so that no name is asked for. They end when
//! a reader comes, and go on later. All of them together have at most [`MOST`] bytes.

use std::ffi::{OsStr, OsString};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use forebay_core::{DeviceCost, DeviceId};
use forebay_device::Profile;
use forebay_source::striped::Stripes;
use forebay_source::{
    Attributes, Fetch, FetchId, Identity, Listed, ListedIn, Listing, Object, Result, Run, Source, Space, Then,
    TierFigures,
};
use parking_lot::{Condvar, Mutex};

use super::measure::SMALLEST;
use super::object::SourceProbe;
use super::settle::Settling;
use super::{ProfileError, Store, now};
use crate::engine::Engine;

/// How long no reader has read before the store is measured.
const QUIET: Duration = Duration::from_secs(1);
/// Files that cannot be measured by before the usual costs stay.
const FAILURES: u32 = 3;

/// A source whose costs are not known yet. See the head of the module.
pub struct Unmeasured {
    inner: Arc<dyn Source>,
    watch: Arc<Watch>,
}

/// The readers' doings, and the file that is measured by.
struct Watch {
    /// The profile is kept under this, by this.
    device: String,
    store: Option<Store>,
    tells: OnceLock<(Weak<Engine>, DeviceId)>,
    state: Mutex<State>,
    changed: Condvar,
    /// There is nothing to measure any more.
    over: AtomicBool,
}

struct State {
    /// The readers' fetches that are under way, and when one last began or ended, or a file was
    /// opened.
    under_way: usize,
    last: Instant,
    /// How many there were.
    begun: u64,
    /// A file that is large enough.
    object: Option<Arc<dyn Object>>,
    started: bool,
    /// The source is gone.
    closed: bool,
}

impl Unmeasured {
    /// A source that is known as `device` among profiles, and will be measured. The profile is kept
    /// in `store`.
    pub fn new(inner: Arc<dyn Source>, device: String, store: Option<Store>) -> Unmeasured {
        let state = State { under_way: 0, last: Instant::now(), begun: 0, object: None, started: false, closed: false };
        let watch = Watch {
            device,
            store,
            tells: OnceLock::new(),
            state: Mutex::new(state),
            changed: Condvar::new(),
            over: AtomicBool::new(false),
        };
        Unmeasured { inner, watch: Arc::new(watch) }
    }

    /// The costs go to this engine once they are known; it knows the source as `device`.
    pub fn tells(&self, engine: &Arc<Engine>, device: DeviceId) {
        // An engine of its own is all that a source ever has.
        let _ = self.watch.tells.set((Arc::downgrade(engine), device));
    }
}

impl Drop for Unmeasured {
    fn drop(&mut self) {
        self.watch.state.lock().closed = true;
        self.watch.changed.notify_all();
    }
}

impl Watch {
    /// A reader has opened a file.
    fn opened(self: &Arc<Self>, object: &Arc<dyn Object>) {
        if object.version().size < SMALLEST || self.over.load(Ordering::Relaxed) {
            return;
        }
        let mut state = self.state.lock();
        // Its first read is about to come.
        state.last = Instant::now();
        let size = |object: &Arc<dyn Object>| object.version().size;
        // A file that failed is replaced by the next one.
        if state.object.as_ref().is_none_or(|known| size(known) < size(object)) {
            state.object = Some(Arc::clone(object));
            self.changed.notify_all();
        }
        if !std::mem::replace(&mut state.started, true) {
            let watch = Arc::clone(self);
            // Without a thread the usual costs stay.
            if std::thread::Builder::new().name("forebay-measure".into()).spawn(move || watch.measure()).is_err() {
                self.over.store(true, Ordering::Relaxed);
            }
        }
    }

    fn begins(&self) {
        let mut state = self.state.lock();
        (state.under_way, state.begun, state.last) = (state.under_way + 1, state.begun + 1, Instant::now());
    }

    fn ends(&self) {
        let mut state = self.state.lock();
        (state.under_way, state.last) = (state.under_way.saturating_sub(1), Instant::now());
    }

    /// Waits until there is a file and no reader reads. Returns it, and the number of fetches until
    /// now; `None` once the source is gone.
    fn quiet(&self) -> Option<(Arc<dyn Object>, u64)> {
        let mut state = self.state.lock();
        loop {
            if state.closed {
                return None;
            }
            let since = state.last.elapsed();
            match &state.object {
                None => self.changed.wait(&mut state),
                Some(object) if state.under_way == 0 && since >= QUIET => {
                    return Some((Arc::clone(object), state.begun));
                }
                Some(_) => drop(self.changed.wait_for(&mut state, QUIET.saturating_sub(since).max(QUIET / 10))),
            }
        }
    }

    fn is_disturbed(&self, begun: u64) -> bool {
        let state = self.state.lock();
        state.closed || state.begun != begun
    }

    /// Measures, and tells the engine.
    fn measure(self: Arc<Self>) {
        let (mut settling, mut failures) = (Settling::default(), 0);
        while let Some((object, begun)) = self.quiet() {
            let watch = Arc::clone(&self);
            let mut probe = SourceProbe::of_object(Arc::clone(&object), move || watch.is_disturbed(begun));
            match settling.measure(&self.device, &mut probe) {
                Ok(profile) => return self.is_measured(Profile { measured: now(), ..profile }),
                Err(ProfileError::Disturbed) => {}
                Err(ProfileError::Spent) => break,
                Err(_) if failures + 1 >= FAILURES => break,
                Err(error) => {
                    failures += 1;
                    log::debug!("{}: not measured by this file: {error}", self.device);
                    let mut state = self.state.lock();
                    let same = |known: &mut Arc<dyn Object>| Arc::ptr_eq(known, &object);
                    drop(state.object.take_if(same));
                }
            }
        }
        self.over.store(true, Ordering::Relaxed);
    }

    fn is_measured(&self, profile: Profile) {
        self.over.store(true, Ordering::Relaxed);
        log::info!("{}: measured while nobody read; `forebay profile` does it thoroughly", self.device);
        if let Some((engine, device)) = self.tells.get()
            && let Some(engine) = engine.upgrade()
        {
            engine.is_measured(*device, &profile);
        }
        if let Some(Err(error)) = self.store.as_ref().map(|store| store.save(&profile)) {
            log::warn!("the profile of {} cannot be kept: {error}", self.device);
        }
    }
}

impl Source for Unmeasured {
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
        let watch = Arc::clone(&self.watch);
        let watched = move |inner: Arc<dyn Object>| -> Arc<dyn Object> {
            watch.opened(&inner);
            Arc::new(Watched { inner, watch })
        };
        self.inner.open_then(path, Box::new(move |inner| then(inner.map(watched))));
    }

    fn listed(&self, folder: &Path, listed: &Listed<'_>) -> Result<Option<Attributes>> {
        self.inner.listed(folder, listed)
    }

    fn listed_in<'a>(&'a self, folder: &'a Path) -> ListedIn<'a> {
        self.inner.listed_in(folder)
    }

    fn forget_names(&self, path: &Path) {
        self.inner.forget_names(path);
    }

    fn read_link(&self, path: &Path) -> Result<PathBuf> {
        self.inner.read_link(path)
    }

    fn xattr(&self, path: &Path, name: &OsStr) -> Result<Vec<u8>> {
        self.inner.xattr(path, name)
    }

    fn xattrs(&self, path: &Path) -> Result<Vec<OsString>> {
        self.inner.xattrs(path)
    }

    fn space(&self) -> Result<Space> {
        self.inner.space()
    }

    fn cost(&self) -> Option<DeviceCost> {
        self.inner.cost()
    }

    fn tiers(&self) -> Vec<TierFigures> {
        self.inner.tiers()
    }

    fn members(&self) -> &[Arc<dyn Source>] {
        self.inner.members()
    }
}

/// A file of such a source.
struct Watched {
    inner: Arc<dyn Object>,
    watch: Arc<Watch>,
}

impl Object for Watched {
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
        if self.watch.over.load(Ordering::Relaxed) {
            return self.inner.fetch(fetch);
        }
        self.watch.begins();
        let Fetch { done, .. } = fetch;
        let watch = Arc::clone(&self.watch);
        let done = Box::new(move |buffer, outcome| {
            watch.ends();
            done(buffer, outcome);
        });
        self.inner.fetch(Fetch { done, ..fetch });
    }

    fn call_off(&self, fetch: FetchId) {
        self.inner.call_off(fetch);
    }

    fn unread(&self, range: Range<u64>) {
        self.inner.unread(range);
    }
}
