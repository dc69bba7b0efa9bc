//! What commands must know of storage before they use it: how to reach it, and what reading from it costs.

use std::ffi::OsStr;
use std::sync::Arc;

use forebay_core::DeviceCost;
use forebay_live::profiler::{self, ProfileError, QUICK, Store, Target};
use forebay_live::source::Source;
use forebay_live::source::object::StoreOptions;
use forebay_live::source::uri::{self, Place};

/// How to reach an object store.
pub(crate) fn options(endpoint: Option<&String>, region: Option<&String>) -> StoreOptions {
    StoreOptions { endpoint: endpoint.cloned(), region: region.cloned(), ..StoreOptions::default() }
}

/// What there is to measure behind an argument: the folder itself, or the source that it was opened as.
pub(crate) fn target(arg: &OsStr, source: &Arc<dyn Source>) -> Target {
    match uri::parse(arg) {
        Ok((_, Place::Folder(folder))) => Target::Path(folder.to_path_buf()),
        _ => Target::Source(Arc::clone(source)),
    }
}

/// What reading from a source costs: as it says itself, or as was measured once, or as a quick measurement says now.
pub(crate) fn cost(arg: &OsStr, source: &Arc<dyn Source>) -> DeviceCost {
    if let Some(cost) = source.cost() {
        return cost;
    }
    measured(&target(arg, source)).unwrap_or_else(|error| {
        log::info!("{}: a usual device is assumed, since it cannot be measured: {error}", source.describe());
        // Between a disk and an object store nearby: 5 ms to the first byte, 100 MB/s on each of four connections.
        DeviceCost::flat(5_000_000, 100_000_000, 4)
    })
}

fn measured(target: &Target) -> Result<DeviceCost, ProfileError> {
    let store = Store::user();
    let device = profiler::identity(target)?;
    if let Some(profile) = store.as_ref().and_then(|store| store.load(&device)) {
        return Ok(profile.cost());
    }
    let profile = profiler::profile(target, QUICK, &mut |_| ())?;
    log::info!("{device}: measured quickly; `forebay profile` does it thoroughly");
    if let Some(Err(error)) = store.map(|store| store.save(&profile)) {
        log::warn!("the profile of {device} cannot be kept: {error}");
    }
    Ok(profile.cost())
}
