//! `--kernel-cache`: who keeps what was read.

use clap::ValueEnum;
use forebay_live::engine::Referenced;

/// Who keeps what was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum KernelCache {
    /// The kernel keeps what was read in its page cache; the memory of the mount is for what is fetched ahead
    #[value(alias = "true")]
    On,
    /// All is kept within the memory of the mount, under its policy
    #[value(alias = "false")]
    Off,
}

impl KernelCache {
    /// In terms of the engine.
    pub(crate) fn referenced(self) -> Referenced {
        match self {
            KernelCache::On => Referenced::HandedOn,
            KernelCache::Off => Referenced::Kept,
        }
    }
}
