//! `--kernel-cache`: where blocks stay after they were read.

use clap::ValueEnum;
use forebay_core::Policy;
use forebay_core::presets::Partition;
use forebay_core::presets::Replacement;
use forebay_live::engine::Referenced;

/// The place of blocks after they were read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum KernelCache {
    /// In the kernel's page cache; --memory is for prefetched blocks
    #[value(alias = "true")]
    On,
    /// In the mount's memory, under its policy
    #[value(alias = "false")]
    Off,
    /// On, unless the policy names a replacement other than lru or divides memory
    Auto,
}

/// The options ask for something that would have no effect.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("--kernel-cache on: the kernel would keep read blocks, but {0} divides them; give --kernel-cache off")]
pub(crate) struct NothingToDivide(String);

impl KernelCache {
    /// The policy under this setting. Where the kernel keeps read blocks, `auto` has nothing to
    /// divide and divides nothing; if the policy names partitions explicitly,
    /// [`referenced`](Self::referenced) refuses.
    pub(crate) fn applied_to(self, policy: Policy) -> Policy {
        let auto = Policy::default();
        if self != KernelCache::On || !policy.prefetch.is_like(&auto.prefetch) {
            return policy;
        }
        Policy {
            partition: if policy.partition == auto.partition { Partition::Whole } else { policy.partition },
            context: policy.context.filter(|_| policy.context != auto.context),
            ..policy
        }
    }

    /// The setting in the engine's terms. The kernel's own replacement is near LRU, so it can stand
    /// in for LRU, and for no other. It knows neither devices nor contexts, so a partition must
    /// hold its blocks itself.
    pub(crate) fn referenced(self, policy: Policy) -> Result<Referenced, NothingToDivide> {
        let divided = policy.partition != Partition::Whole || policy.context.is_some();
        match self {
            KernelCache::On if divided => Err(NothingToDivide(policy.to_string())),
            KernelCache::On => Ok(Referenced::HandedOn),
            KernelCache::Off => Ok(Referenced::Kept),
            KernelCache::Auto if policy.replacement == Replacement::Lru && !divided => Ok(Referenced::HandedOn),
            KernelCache::Auto => Ok(Referenced::Kept),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_names_a_replacement_wants_it_used() {
        let referenced = |cache: KernelCache, policy: &str| cache.referenced(policy.parse().unwrap()).unwrap();
        let auto = |policy: &str| referenced(KernelCache::Auto, policy);
        assert_eq!(auto("competitive"), Referenced::HandedOn);
        assert_eq!(auto("none+lru"), Referenced::HandedOn);
        assert_eq!(auto("competitive+arc"), Referenced::Kept);
        assert_eq!(auto("competitive+lazy-lru"), Referenced::Kept);
        assert_eq!(referenced(KernelCache::On, "arc"), Referenced::HandedOn);
        assert_eq!(referenced(KernelCache::Off, "lru"), Referenced::Kept);
    }

    #[test]
    fn auto_divides_what_is_kept_here_and_nothing_else() {
        let applied = |cache: KernelCache, policy: &str| {
            let policy = cache.applied_to(policy.parse().unwrap());
            (policy.to_string(), cache.referenced(policy).ok())
        };
        assert_eq!(applied(KernelCache::Auto, "auto"), ("auto".into(), Some(Referenced::Kept)));
        assert_eq!(applied(KernelCache::Off, "auto"), ("auto".into(), Some(Referenced::Kept)));
        let (name, referenced) = applied(KernelCache::On, "auto:without=near");
        assert_eq!((name.as_str(), referenced), ("auto:without=near/devices/contexts", Some(Referenced::HandedOn)));
        assert_eq!(applied(KernelCache::On, "auto+eager").1, None, "asked for by name");
        assert_eq!(applied(KernelCache::On, "amp").1, None);
    }

    #[test]
    fn what_is_divided_is_kept_here() {
        for policy in ["static", "eager-lru", "lazy-lru", "competitive+lazy+lru", "lazy-clock"] {
            let policy = policy.parse().unwrap();
            assert_eq!(KernelCache::Auto.referenced(policy), Ok(Referenced::Kept), "{policy}");
            assert_eq!(KernelCache::Off.referenced(policy), Ok(Referenced::Kept), "{policy}");
            let error = KernelCache::On.referenced(policy).unwrap_err().to_string();
            assert!(error.contains(&policy.to_string()) && error.contains("--kernel-cache off"), "{error}");
        }
    }
}
