//! `--kernel-cache`: who keeps what was read.

use clap::ValueEnum;
use forebay_core::Policy;
use forebay_core::partition::Partition;
use forebay_core::presets::Replacement;
use forebay_live::engine::Referenced;

/// Who keeps what was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum KernelCache {
    /// The kernel keeps what was read in its page cache; the mount's memory is for what is fetched ahead
    #[value(alias = "true")]
    On,
    /// All is kept within the mount's memory, under its policy
    #[value(alias = "false")]
    Off,
    /// On, unless the policy names a replacement other than lru, or divides the cache among devices
    Auto,
}

impl KernelCache {
    /// In terms of the engine. The kernel's own replacement is near LRU, so it does for LRU, and for no other.
    pub(crate) fn referenced(self, policy: Policy) -> Referenced {
        match self {
            KernelCache::On => Referenced::HandedOn,
            KernelCache::Off => Referenced::Kept,
            KernelCache::Auto if policy.partition == Partition::Whole && policy.replacement == Replacement::Lru => {
                Referenced::HandedOn
            }
            KernelCache::Auto => Referenced::Kept,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_names_a_replacement_wants_it_used() {
        let auto = |policy: &str| KernelCache::Auto.referenced(policy.parse().unwrap());
        assert_eq!(auto("competitive"), Referenced::HandedOn);
        assert_eq!(auto("none+lru"), Referenced::HandedOn);
        assert_eq!(auto("competitive+arc"), Referenced::Kept);
        assert_eq!(auto("competitive+lazy-lru"), Referenced::Kept);
        assert_eq!(KernelCache::On.referenced("arc".parse().unwrap()), Referenced::HandedOn);
        assert_eq!(KernelCache::Off.referenced("lru".parse().unwrap()), Referenced::Kept);
    }
}
