//! The files of a simulation: their places, and the tasks that have them open.

use forebay_core::{ContextId, HandlerId};
use forebay_trace::{Workload, workload};

use super::error::Error;
use super::placement::{Place, Room};
use super::setup::Setup;
use super::storage::Storage;
use super::striping::Stripes;

/// A file, as levels know it.
#[derive(Clone, Copy)]
pub(super) struct File {
    pub(super) place: Place,
    pub(super) bytes: u64,
    /// Whether the cores know it.
    pub(super) known: bool,
    /// How many tasks have it open.
    pub(super) handles: u32,
    /// The task that opened it last, plus one.
    pub(super) opener: u32,
    /// The handler that read it last, and the context. Fetches ahead are made in its name, though
    /// another handler may have waited for memory meanwhile.
    pub(super) handler: HandlerId,
    pub(super) context: ContextId,
}

/// The files of a workload, each at its place.
pub(super) fn files(setup: &Setup, workload: &Workload, storage: &Storage) -> Result<Vec<File>, Error> {
    let block_bytes = setup.block_bytes;
    let table = workload.file_table();
    if let Some(file) = table.iter().find(|file| file.bytes.div_ceil(u64::from(block_bytes)) > u64::from(u32::MAX)) {
        return Err(Error::FileTooLong { file: file.name, bytes: file.bytes, block_bytes });
    }
    let places = match setup.stripes() {
        Some(stripes) => striped(setup, table, stripes, storage)?,
        None => {
            let rooms: Vec<Room<'_>> = storage.rooms().map(|(name, capacity)| Room { name, capacity }).collect();
            setup.placement.place(table, &rooms, u64::from(block_bytes), setup.seed)?
        }
    };
    let file = |(place, bytes)| File {
        place,
        bytes,
        known: false,
        handles: 0,
        opener: 0,
        handler: HandlerId(0),
        context: ContextId(0),
    };
    Ok(places.into_iter().zip(table.iter().map(|file| file.bytes)).map(file).collect())
}

/// The places of striped files: the same on all devices, and so within the smallest.
fn striped(setup: &Setup, table: &[workload::File], stripes: Stripes, storage: &Storage) -> Result<Vec<Place>, Error> {
    let shares = table.iter().map(|file| workload::File { bytes: stripes.share(file.bytes), ..*file });
    let shares: Vec<workload::File> = shares.collect();
    let (number, name, capacity) = storage.smallest().unwrap_or((0, "", 0));
    let places = setup.placement.place(&shares, &[Room { name, capacity }], u64::from(setup.block_bytes), setup.seed);
    places.map_err(|error| match error {
        Error::DeviceFull { name, needed, capacity, .. } => {
            Error::DeviceFull { device: number, name, needed, capacity }
        }
        error => error,
    })
}
