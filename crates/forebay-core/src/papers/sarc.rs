//! SARC (Gill and Modha, USENIX 2005), its prefetching; its two lists are
//! [`SarcLists`](crate::replacement::SarcLists).
//!
//! A block is sequential if its predecessors up to a threshold were referenced one after another
//! ("a sequential detect counter with every track"); here the stream counts. A miss on such a block
//! fetches it and the next m, "the degree of sequential read-ahead": synchronous prefetching. One
//! block of that group, g from its end, is the asynchronous trigger: "When the asynchronous trigger
//! track is accessed, the next group of tracks is asynchronously read-ahead and a new asynchronous
//! trigger is set."
//!
//! ```text
//!            x missed          trigger, g from the end
//!   ┄ ─ ─ ─ ─█──────── m ───────────█──────┤┄ next group of m
//!   threshold
//! ```
//!
//! m and g are "tunable", and the part of the paper that we have gives no number for them. m is 32
//! blocks here, as much as the kernel's windows grow to, with which SCM §5.3 compares. g is half of
//! m, which "works best for the widest variety of workloads" (Gill and Bathen, FAST 2007). The
//! threshold is that of SCM §5.3. A track has eight pages there; here it is a block.

use crate::reason::Reason;
use crate::seams::{Needs, Plan, Prefetcher, SEQUENTIAL, Sight};

/// "SARC […] happens to detect the sequentiality of accesses with a default threshold of 4
/// contiguous blocks" (SCM §5.3).
pub const THRESHOLD: u32 = SEQUENTIAL;

/// SARC's prefetching. Everything in blocks.
#[derive(Clone, Copy, Debug)]
pub struct Sarc {
    /// How many must have been wanted one after another.
    pub threshold: u32,
    /// m.
    pub degree: u32,
    /// g.
    pub distance: u32,
}

impl Prefetcher for Sarc {
    fn needs(&self) -> Needs {
        Needs { every_reference: true, late_parts: false, sequential: self.threshold, ..Needs::default() }
    }

    fn plan(&mut self, sight: &Sight<'_>) -> Plan {
        // With labels, a block that no reader wants does not count as a reference here, but may
        // miss or trigger (SCM §4.2).
        if sight.stream.wanted.run < self.threshold {
            return Plan::NOTHING;
        }
        let degree = self.degree.min(sight.most);
        let asked = sight.stream.next.saturating_sub(sight.from());
        let piece = match sight.missed {
            Some(_) => asked.saturating_add(degree),
            // Only a group has a trigger: where none is ahead it takes a miss.
            None if sight.stream.piece > 0 && sight.stream.remaining() <= self.distance => degree,
            None => 0,
        };
        Plan { distance: self.distance, ..Plan::one(piece) }.because(Reason::Policy, Reason::Policy)
    }
}
