//! Which device a file lies on, and where on it.

use std::collections::BTreeMap;

/// How files are placed.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Placement {
    /// On which device.
    pub mapping: Mapping,
    /// Where on it.
    pub spread: Spread,
}

/// Which device a file lies on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mapping {
    /// One after the other, in order of first appearance.
    #[default]
    RoundRobin,
    /// By a hash of the trace's number of the file, and the seed.
    Hash,
    /// By the trace's number of the file, modulo the number of devices.
    Modulo,
}

/// Where files lie on their device; each in one piece that begins at a block.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Spread {
    /// One after the other from the device's beginning, in order of first appearance.
    #[default]
    Packed,
    /// Anywhere, by the seed and the trace's number of the file; two may overlap, which costs nothing but an improbable hit
    /// in a disk's own cache.
    Scattered,
    /// From these bytes on, by the trace's number of the file; files that are not named lie at byte 0.
    Known(BTreeMap<u64, u64>),
}
