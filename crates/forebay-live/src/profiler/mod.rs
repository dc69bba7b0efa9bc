//! Measures the costs of reading: switch cost against distance and rate against place for a disk,
//! time to first byte and rate for everything else.
//!
//! [`measure`] chooses the reads and decides when they are enough. It takes its samples through a
//! [`Probe`], which reads a real file ([`disk`]), the objects of a source ([`object`]) or, in
//! tests, a device model in virtual time. The fits are [`forebay_device::fit`]. [`store`] keeps
//! profiles between runs, [`chart`] draws them. A store that was never measured is read by usual
//! costs, and measured while nobody reads from it ([`Unmeasured`], by few bytes: [`settle`]).

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use forebay_device::Profile;
use forebay_source::Source;

mod abreast;
pub mod chart;
pub mod disk;
mod idle;
pub mod measure;
#[cfg(test)]
mod modelled;
pub mod object;
pub mod settle;
pub mod store;

pub use idle::Unmeasured;
pub use store::Store;

/// How long to measure unless told otherwise.
pub const BUDGET: Duration = Duration::from_secs(10);
/// The longest that it makes sense to measure.
pub const LONGEST: Duration = Duration::from_secs(120);
/// The time that a mount without a profile of its disk spends on measuring one.
pub const QUICK: Duration = Duration::from_millis(700);

/// The device to measure.
#[derive(Clone)]
pub enum Target {
    /// A folder, a file or a block device.
    Path(PathBuf),
    /// A source that is not on a local file system.
    Source(Arc<dyn Source>),
}

/// Why there is no profile.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// There is nothing at that path, or it may not be read.
    #[error("{}: {source}", .path.display())]
    Path {
        /// The path.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Reading failed.
    #[error("reading to measure: {0}")]
    Read(#[from] std::io::Error),
    /// The source failed.
    #[error(transparent)]
    Source(#[from] forebay_source::Error),
    /// There is too little to read.
    #[error("{what} holds too little to measure: {bytes} bytes where {} are needed at least", measure::SMALLEST)]
    TooSmall {
        /// The target.
        what: String,
        /// The largest file found.
        bytes: u64,
    },
    /// Readers came; it can go on later.
    #[error("readers came")]
    Disturbed,
    /// There are no bytes left that it may read.
    #[error("readers came too often")]
    Spent,
    /// The times make no sense: they don't rise with the bytes read.
    #[error("{what}: the measured times fit no device; is something else using it?")]
    Unfit {
        /// The target.
        what: String,
    },
}

/// Something whose reads can be timed. Places and lengths are in bytes.
pub trait Probe {
    /// How many bytes there are to read.
    fn capacity(&self) -> u64;
    /// The longest read that it can do in one piece.
    fn longest(&self) -> u64;
    /// Reads `len` bytes from `place`, both multiples of 4096 or cut at the end; returns
    /// nanoseconds until the bytes are there.
    fn read(&mut self, place: u64, len: u64) -> Result<u64, ProfileError>;
    /// Reads `len` bytes from each of `places`, `at_once` of them at a time; returns each read's
    /// nanoseconds.
    fn read_all(&mut self, places: &[u64], len: u64, at_once: usize) -> Result<Vec<u64>, ProfileError>;
}

/// Measures `target` for about `budget` ([`LONGEST`] at most; a slow device takes the time of a
/// minimum of samples). `progress` is told the share that is done, 0 to 1, never falling.
pub fn profile(target: &Target, budget: Duration, progress: &mut dyn FnMut(f64)) -> Result<Profile, ProfileError> {
    let plan = measure::Plan { budget: budget.min(LONGEST), seed: 1 };
    measured(target, plan, progress)
}

/// Measures a folder, a file or a block device within the time of a mount ([`QUICK`]). A store is
/// measured while nobody reads from it: [`Unmeasured`].
pub fn quick(path: &Path) -> Result<Profile, ProfileError> {
    measured(&Target::Path(path.to_owned()), measure::Plan { budget: QUICK, seed: 1 }, &mut |_| ())
}

fn measured(target: &Target, plan: measure::Plan, progress: &mut dyn FnMut(f64)) -> Result<Profile, ProfileError> {
    let mut profile = match target {
        Target::Path(path) => disk::profile(path, plan, progress)?,
        Target::Source(source) => object::profile(source, plan, progress)?,
    };
    profile.device = identity(target)?;
    profile.measured = now();
    Ok(profile)
}

/// Seconds since the epoch.
fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The same string for the same device, at any time: profiles are kept by it.
pub fn identity(target: &Target) -> Result<String, ProfileError> {
    match target {
        Target::Path(path) => disk::identity(path),
        Target::Source(source) => Ok(source.address().to_string()),
    }
}
