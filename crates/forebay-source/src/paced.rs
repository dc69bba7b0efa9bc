//! Any source at the pace of a modelled device, in real time: how a fast machine shows what a slow
//! disk would do.
//!
//! ```text
//!  fetch ──┬─▶ inner source ────────────▶ bytes ──┐
//!          └─▶ model's queue ─▶ pacer thread ─▶ due ──┴─▶ done, by whichever comes last
//! ```
//!
//! The bytes are fetched at once and wait for their moment, so that the pace is the model's as long
//! as the inner source is faster than it. Files lie at places drawn from their paths, spread over
//! the whole device; two may overlap, which costs nothing but an improbable hit in the disk's own
//! cache. The order of service is the scheduler's alone: a fetch for which a reader waits is not
//! preferred to a prefetch, as it was not in the papers' kernels.
//!
//! The holder of [`PacedSource::pace`] can slow it down and let it recover while it is mounted:
//!
//! ```no_run
//! # use std::sync::Arc;
//! # use forebay_source::{Source, paced::PacedSource, local::LocalSource};
//! # let queue = forebay_device::device("ibm-9lzx")?.queue(1, &Default::default())?;
//! let source = PacedSource::behind(Arc::new(LocalSource::new("/srv/data")?), queue, 1.0)?;
//! let pace = Arc::clone(source.pace());
//! // … hand `source` to a tree, mount it, read from it …
//! pace.slow_down(10.0); // from now on everything takes ten times as long
//! pace.slow_down(1.0); // and is as quick as ever again
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use forebay_core::DeviceCost;
use forebay_device::random::Random;
use forebay_device::scheduler::Scheduler;
use forebay_device::{DeviceQueue, Model, Queue, Request};

use super::{Attributes, Error, Fetch, FetchId, Identity, Listed, Listing, Object, Result, Run, Source, Space, Then};
use crate::pacer::{Ending, Pace, Pacer};

/// See the module's head.
pub struct PacedSource {
    inner: Arc<dyn Source>,
    pacer: Arc<Pacer>,
    capacity: u64,
    cost: DeviceCost,
}

impl PacedSource {
    /// `inner` at the pace of `model` behind `scheduler`, `speed` times as fast as the model says
    /// (1.0: in real time; values that are not positive count as 1). Starts a thread; fails if the
    /// system has none left.
    pub fn new(
        inner: Arc<dyn Source>,
        model: Box<dyn Model>,
        scheduler: Box<dyn Scheduler>,
        speed: f64,
    ) -> std::io::Result<PacedSource> {
        PacedSource::behind(inner, Box::new(DeviceQueue::new(model, scheduler)), speed)
    }

    /// The same at the pace of any queue: of an array, or of a device at the other end of a
    /// network.
    pub fn behind(inner: Arc<dyn Source>, queue: Box<dyn Queue>, speed: f64) -> std::io::Result<PacedSource> {
        let speed = if speed.is_finite() && speed > 0.0 { speed } else { 1.0 };
        let (capacity, cost) = (queue.capacity(), faster(queue.cost(), speed));
        Ok(PacedSource { inner, pacer: Arc::new(Pacer::start(queue, speed)?), capacity, cost })
    }

    /// Its pace: to slow it down while it is in use, and to see the modelled device's activity.
    pub fn pace(&self) -> &Arc<Pace> {
        self.pacer.pace()
    }
}

/// The place of a file of `size` bytes on a device of `capacity`: anywhere it fits, by its path.
fn place(capacity: u64, path: &Path, size: u64) -> u64 {
    let fnv = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    let hash = path.as_os_str().as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, fnv);
    Random::new(hash).below(capacity.saturating_sub(size)) / 4096 * 4096
}

/// The cost of a device that does everything `speed` times as fast.
fn faster(mut cost: DeviceCost, speed: f64) -> DeviceCost {
    let shorter = |nanos: u64| (nanos as f64 / speed) as u64;
    cost.seek.iter_mut().for_each(|point| point.1 = shorter(point.1));
    cost.zones.iter_mut().for_each(|zone| zone.1 = (zone.1 as f64 * speed) as u64);
    cost.half_revolution = shorter(cost.half_revolution);
    cost
}

impl Source for PacedSource {
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
        let (pacer, capacity, path) = (Arc::clone(&self.pacer), self.capacity, path.to_path_buf());
        self.inner.open_then(
            &path.clone(),
            Box::new(move |inner| {
                then(inner.map(|inner| {
                    let place = place(capacity, &path, inner.version().size);
                    Arc::new(PacedObject { inner, pacer, place, has_places: capacity > 0 }) as Arc<dyn Object>
                }));
            }),
        );
    }

    fn listed(&self, folder: &Path, listed: &Listed<'_>) -> Result<Option<Attributes>> {
        self.inner.listed(folder, listed)
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
        Some(self.cost.clone())
    }
}

struct PacedObject {
    inner: Arc<dyn Object>,
    pacer: Arc<Pacer>,
    place: u64,
    has_places: bool,
}

impl Object for PacedObject {
    fn identity(&self) -> &Identity {
        self.inner.identity()
    }

    fn layout(&self) -> Vec<Run> {
        let len = self.version().size;
        if len == 0 || !self.has_places {
            return Vec::new();
        }
        vec![Run { offset: 0, len, at_byte: self.place }]
    }

    fn fetch(&self, fetch: Fetch) {
        let pace = Arc::clone(self.pacer.pace());
        let start = self.place.saturating_add(fetch.offset);
        pace.submit(fetch.id.0, Request::read(start, fetch.len as u64));
        let Fetch { id, offset, buffer, len, urgent, label, done } = fetch;
        let arrived = move |buffer, outcome| {
            let deliver = move |ending| match ending {
                Ending::Due => done(buffer, outcome),
                Ending::CalledOff => done(buffer, Err(Error::CalledOff)),
            };
            pace.arrived(id.0, Box::new(deliver));
        };
        self.inner.fetch(Fetch { id, offset, buffer, len, urgent, label, done: Box::new(arrived) });
    }

    /// Takes effect if the modelled device has not begun with the fetch. Its bytes may be here by
    /// then: they don't count.
    fn call_off(&self, fetch: FetchId) {
        if self.pacer.pace().call_off(fetch.0) {
            self.inner.call_off(fetch);
        }
    }
}

#[cfg(test)]
mod tests;
