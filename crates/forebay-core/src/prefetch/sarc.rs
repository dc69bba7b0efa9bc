//! SARC (Gill and Modha, USENIX 2005), its prefetching; its two lists are [`SarcLists`](crate::replacement::SarcLists).
//!
//! Sequential is a block whose predecessors up to a threshold were referenced one after another ("a sequential detect counter with every
//! track"); here the stream counts. A miss on such a block fetches it and the next m, "the degree of sequential read-ahead": synchronous
//! prefetching. Of the group so fetched one block, g from its end, is the asynchronous trigger: "When the asynchronous
//! trigger track is accessed, the next group of tracks is asynchronously read-ahead and a new asynchronous trigger is set."
//!
//! ```text
//!            x missed          trigger, g from the end
//!   ┄ ─ ─ ─ ─█──────── m ───────────█──────┤┄ next group of m
//!   threshold
//! ```
//!
//! m and g are "tunable", and no number is given for them in what of the paper we have. m is 32 blocks here, as much as the kernel's
//! windows grow to, with which SCM §5.3 compares; g is half of m, which "works best for the widest variety of workloads"
//! (Gill and Bathen, FAST 2007). The threshold is that of SCM §5.3. A track has eight pages there; here it is a block.

use super::{Plan, Reason, Sight};

/// "SARC […] happens to detect the sequentiality of accesses with a default threshold of 4 contiguous blocks" (SCM §5.3).
pub const THRESHOLD: u32 = 4;

pub(super) fn plan(sight: &Sight<'_>, threshold: u32, degree: u32, distance: u32) -> Plan {
    // With labels, what no reader wants does not count as a reference here, but may miss or trigger (SCM §4.2).
    if sight.stream.wanted.run < threshold {
        return Plan::NOTHING;
    }
    let degree = degree.min(sight.most);
    let asked = sight.stream.next.saturating_sub(sight.from());
    let piece = match sight.missed {
        Some(_) => asked.saturating_add(degree),
        // Only a group has a trigger: where none is ahead it takes a miss.
        None if sight.stream.piece > 0 && sight.stream.remaining() <= distance => degree,
        None => 0,
    };
    Plan { distance, ..Plan::one(piece) }.because(Reason::Policy, Reason::Policy)
}
