//! Where prefetched frames live, as a value.

use alloc::boxed::Box;

use crate::auto::cache::{Cache, CacheParts};
use crate::engine::{Referenced, Setup};
use crate::papers::cpem::{PrefetchCache, Settings};
use crate::seams::Reclaimer;

/// Where prefetched, unreferenced frames live until their first reference.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reclaim {
    /// With the rest, under the replacement policy.
    #[default]
    WithTheRest,
    /// In a queue of their own, the prefetch cache (CPEM §4).
    PrefetchCache(Settings),
    /// In that of `auto`.
    Auto(Settings, CacheParts),
}

impl Reclaim {
    /// The settings of a prefetch cache, if there is one.
    pub fn settings(&self) -> Option<&Settings> {
        match self {
            Reclaim::WithTheRest => None,
            Reclaim::PrefetchCache(settings) | Reclaim::Auto(settings, _) => Some(settings),
        }
    }

    /// The same, to change.
    pub fn settings_mut(&mut self) -> Option<&mut Settings> {
        match self {
            Reclaim::WithTheRest => None,
            Reclaim::PrefetchCache(settings) | Reclaim::Auto(settings, _) => Some(settings),
        }
    }

    /// Makes it.
    pub(super) fn build(self, setup: &Setup) -> Option<Box<dyn Reclaimer>> {
        let bound = |settings| bound(setup.referenced, settings);
        match self {
            Reclaim::WithTheRest => None,
            Reclaim::PrefetchCache(settings) => Some(Box::new(PrefetchCache::new(setup.frames, bound(settings)))),
            Reclaim::Auto(settings, parts) => Some(Box::new(Cache::new(setup.frames, bound(settings), parts))),
        }
    }
}

/// A prefetch cache without an LRU cache beside it has nothing to weigh: f_lru(x) is another
/// cache's, and the ceiling is x_max (CPEM §4.1).
fn bound(referenced: Referenced, settings: Settings) -> Settings {
    match referenced {
        Referenced::Kept => settings,
        Referenced::HandedOn => Settings { start: Referenced::ALL_BUT_A_TENTH, epoch_ms: 0, ..settings },
    }
}
