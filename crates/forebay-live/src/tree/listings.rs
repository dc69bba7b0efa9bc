//! The memory of listings: many programs that have the same folder open share its names.

use std::collections::HashMap;

use forebay_source::{Held, Listing};
use parking_lot::Mutex;

use super::NodeId;

/// Folders that are remembered before those are forgotten whose listings nobody has.
const FEW: usize = 64;

/// The latest listing of each folder that somebody may still have.
#[derive(Default)]
pub(super) struct Listings(Mutex<Known>);

#[derive(Default)]
struct Known {
    latest: HashMap<NodeId, Held>,
    /// How many there may be before the next look.
    most: usize,
}

impl Listings {
    /// A listing that has just come, in the memory of the one before if nothing has changed.
    pub(super) fn share(&self, node: NodeId, listing: Listing) -> Listing {
        let before = self.0.lock().latest.get(&node).cloned();
        // Without the lock: names may be many.
        let listing = match before {
            Some(held) => listing.sharing(&held),
            None => listing,
        };
        let mut known = self.0.lock();
        known.latest.insert(node, listing.held());
        if known.latest.len() > known.most.max(FEW) {
            known.latest.retain(|_, held| !held.is_gone());
            known.most = known.latest.len() * 2;
        }
        listing
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use forebay_source::{Entry, Kind};

    use super::*;

    fn listing(names: &[&str]) -> Listing {
        let entry = |name: &&str| Entry { name: name.into(), kind: Kind::File, inode: 7, facts: None };
        Listing::new(names.iter().map(entry), Instant::now())
    }

    #[test]
    fn what_is_the_same_is_there_once() {
        let (listings, node) = (Listings::default(), NodeId(1));
        let first = listings.share(node, listing(&["a", "b"]));
        let same = listings.share(node, listing(&["a", "b"]));
        assert!(!listings.share(node, listing(&["a", "c"])).held().is_gone());
        let held = first.held();
        drop(first);
        assert!(!held.is_gone(), "the second one has it as well");
        drop(same);
        assert!(held.is_gone());
    }

    #[test]
    fn listings_that_nobody_has_are_forgotten() {
        let listings = Listings::default();
        let kept: Vec<Listing> = (0..10).map(|id| listings.share(NodeId(id), listing(&["a"]))).collect();
        (10..1000).for_each(|id| drop(listings.share(NodeId(id), listing(&["a"]))));
        assert!(listings.0.lock().latest.len() <= FEW + 1);
        assert!(kept.iter().enumerate().all(|(id, _)| listings.0.lock().latest.contains_key(&NodeId(id as u64))));
    }
}
