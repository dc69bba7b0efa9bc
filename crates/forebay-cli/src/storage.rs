//! What commands must know of storage before they use it: how to reach it, and what reading from it costs.

use std::ffi::{OsStr, OsString};
use std::sync::Arc;

use forebay_core::DeviceCost;
use forebay_live::profiler::{self, ProfileError, QUICK, Store, Target};
use forebay_live::source::Source;
use forebay_live::source::object::StoreOptions;
use forebay_live::source::uri::{self, Place};

/// What the buffers of a connection grow to while it carries large ranges: the HTTP library's own bound (hyper's
/// `DEFAULT_MAX_BUFFER_SIZE`), which its callers don't let us lower.
const CONNECTION: u64 = 408 << 10;

/// How to reach an object store.
pub(crate) fn options(endpoint: Option<&String>, region: Option<&String>) -> StoreOptions {
    StoreOptions { endpoint: endpoint.cloned(), region: region.cloned(), ..StoreOptions::default() }
}

/// How many connections each object store among `sources` gets within a budget, and the bytes that all of them take: an
/// eighth of the budget, between 8 connections and the usual number each.
pub(crate) fn connections(sources: &[OsString], memory: u64) -> (usize, u64) {
    let is_store = |arg: &&OsString| matches!(uri::parse(arg), Ok((_, Place::Store(_))));
    let stores = sources.iter().filter(is_store).count() as u64;
    let usual = StoreOptions::default().connections as u64;
    let each = (memory / 8 / CONNECTION / stores.max(1)).clamp(8, usual);
    (each as usize, each * stores * CONNECTION)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn connections_of(sources: &[&str], mib: u64) -> (usize, u64) {
        let sources: Vec<OsString> = sources.iter().map(OsString::from).collect();
        let (each, bytes) = connections(&sources, mib << 20);
        (each, bytes / CONNECTION)
    }

    #[test]
    fn connections_are_for_stores_and_within_their_share() {
        assert_eq!(connections_of(&["/srv", "b=/data"], 64).1, 0);
        assert_eq!(connections_of(&["s3://b"], 64), (20, 20));
        assert_eq!(connections_of(&["a=s3://b", "b=/srv", "c=gs://b"], 64), (10, 20));
        assert_eq!(connections_of(&["s3://b"], 4), (8, 8), "never fewer than it takes to be of use");
        assert_eq!(connections_of(&["s3://b"], 1 << 20), (64, 64));
    }
}
