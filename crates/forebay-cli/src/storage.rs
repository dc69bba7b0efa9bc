//! Facts about storage that commands need before they use it: the costs of connections and of
//! reading.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use forebay_core::{DeviceCost, DeviceId};
use forebay_live::engine::Engine;
use forebay_live::profiler::{self, ProfileError, Store, Target, Unmeasured};
use forebay_source::Source;
use forebay_source::object::StoreOptions;
use forebay_source::uri::{self, Place};

/// The size to which the buffers of a connection grow while it carries large ranges: the HTTP
/// library's own bound (hyper's `DEFAULT_MAX_BUFFER_SIZE`), which its callers can't lower.
const CONNECTION: u64 = 408 << 10;

/// The part of a budget that each object store or web server among the sources may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Share {
    /// Connections: for all stores an eighth of the budget, each between 8 and the usual number.
    pub(crate) connections: usize,
    /// Bytes for remembered names: for all stores a sixteenth of the budget.
    pub(crate) names: usize,
    /// Bytes that all stores take together.
    pub(crate) all: u64,
}

impl Share {
    /// The shares of a budget of `memory` bytes.
    pub(crate) fn of(sources: &[OsString], memory: u64) -> Share {
        // An invalid place is refused later, by the code that opens it.
        let places = sources.iter().filter_map(|arg| uri::parse(arg).ok());
        let stores = |place: &Place| place.devices().iter().filter(|device| matches!(device, Place::Store(_))).count();
        let stores = places.map(|(_, place)| stores(&place) as u64).sum::<u64>();
        let usual = StoreOptions::default().connections as u64;
        let connections = (memory / 8 / CONNECTION / stores.max(1)).clamp(8, usual);
        let names = memory / 16 / stores.max(1);
        Share {
            connections: connections as usize,
            names: names as usize,
            all: (connections * CONNECTION + names) * stores,
        }
    }
}

/// The target of a measurement: the folder itself, or the source that the place was opened as.
pub(crate) fn target(place: &Place<'_>, source: &Arc<dyn Source>) -> Target {
    match place {
        Place::Folder(folder) => Target::Path(folder.to_path_buf()),
        Place::Store(_) | Place::Set(..) => Target::Source(Arc::clone(source)),
    }
}

/// A usual device, between a disk and an object store nearby: 5 ms to the first byte, 100 MB/s on
/// each of four connections.
pub(crate) fn assumed() -> DeviceCost {
    DeviceCost::flat(5_000_000, 100_000_000, 4)
}

/// A usual object store, or web server over the internet: 20 ms to the first byte, and 90 MB/s on
/// each connection, of which fourteen fill 10 Gb/s.
fn assumed_far() -> DeviceCost {
    DeviceCost::flat(20_000_000, 90_000_000, 14)
}

/// The costs of reading from devices.
#[derive(Default)]
pub(crate) struct Costs {
    /// Of local devices, each measured once.
    local: Vec<(String, DeviceCost)>,
    /// All, by the number of the device.
    all: Vec<DeviceCost>,
    unmeasured: Vec<(DeviceId, Arc<Unmeasured>)>,
}

impl Costs {
    /// Adds the next device. Its cost is its own statement, else a kept profile, else a disk is
    /// measured quickly now. A store has a usual cost until it is measured, while nobody reads from
    /// the source that this returns.
    pub(crate) fn add(&mut self, place: &Place<'_>, source: Arc<dyn Source>) -> Arc<dyn Source> {
        let (cost, source) = match (source.cost(), place) {
            (Some(cost), _) => (cost, source),
            (None, Place::Folder(folder)) => (self.of_folder(folder, &source.describe()), source),
            (None, Place::Store(uri)) => self.of_store(uri, source),
            (None, Place::Set(..)) => (assumed(), source),
        };
        self.all.push(cost);
        source
    }

    /// The number of the next device. An engine refuses more devices than there are numbers.
    pub(crate) fn next(&self) -> DeviceId {
        DeviceId(u16::try_from(self.all.len()).unwrap_or(u16::MAX))
    }

    /// By the number of the device.
    pub(crate) fn all(&self) -> &[DeviceCost] {
        &self.all
    }

    /// The engine hears of costs that are measured later.
    pub(crate) fn tell(&self, engine: &Arc<Engine>) {
        self.unmeasured.iter().for_each(|(device, source)| source.tells(engine, *device));
    }

    fn of_store(&mut self, uri: &str, source: Arc<dyn Source>) -> (DeviceCost, Arc<dyn Source>) {
        let (device, store) = (source.address().to_string(), Store::user());
        if let Some(profile) = store.as_ref().and_then(|store| store.load(&device)) {
            return (profile.cost(), source);
        }
        let is_near = uri.get(..7).is_some_and(|scheme| scheme.eq_ignore_ascii_case("http://"));
        let cost = if is_near { assumed() } else { assumed_far() };
        let source = Arc::new(Unmeasured::new(source, device, store));
        self.unmeasured.push((self.next(), Arc::clone(&source)));
        (cost, source)
    }

    fn of_folder(&mut self, folder: &Path, name: &str) -> DeviceCost {
        self.measured(folder).unwrap_or_else(|error| {
            log::info!("{name}: a usual device is assumed, since it cannot be measured: {error}");
            assumed()
        })
    }

    fn measured(&mut self, folder: &Path) -> Result<DeviceCost, ProfileError> {
        let device = profiler::identity(&Target::Path(folder.to_owned()))?;
        // Two folders may be on the same device.
        if let Some((_, cost)) = self.local.iter().find(|(known, _)| *known == device) {
            return Ok(cost.clone());
        }
        let store = Store::user();
        let profile = match store.as_ref().and_then(|store| store.load(&device)) {
            Some(profile) => profile,
            None => {
                let profile = profiler::quick(folder)?;
                log::info!("{device}: measured quickly; `forebay profile` does it thoroughly");
                if let Some(Err(error)) = store.map(|store| store.save(&profile)) {
                    log::warn!("the profile of {device} cannot be kept: {error}");
                }
                profile
            }
        };
        self.local.push((device, profile.cost()));
        Ok(profile.cost())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(sources: &[&str], mib: u64) -> Share {
        let sources: Vec<OsString> = sources.iter().map(OsString::from).collect();
        Share::of(&sources, mib << 20)
    }

    #[test]
    fn connections_and_names_are_for_stores_and_within_their_share() {
        assert_eq!(share(&["/srv", "b=/data"], 64).all, 0);
        let one = share(&["s3://b"], 64);
        assert_eq!((one.connections, one.names), (20, 4 << 20));
        assert_eq!(one.all, 20 * CONNECTION + (4 << 20));
        let two = share(&["a=s3://b", "b=/srv", "c=gs://b"], 64);
        assert_eq!((two.connections, two.names), (10, 2 << 20));
        assert_eq!(two.all, one.all);
        assert_eq!(share(&["a=stripe:64KiB:s3://b,/srv,gs://b"], 64), two, "a store each");
        assert_eq!(share(&["s3://b"], 4).connections, 8, "never fewer than it takes to be of use");
        assert_eq!(share(&["s3://b"], 1 << 20).connections, 64);
    }
}
