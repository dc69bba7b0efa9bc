//! The labels that a level gets from the one above (SCM §4.2), and the length that they add to
//! messages.

use forebay_core::level::{Label, Labels};

/// An extent in a message: its first block and how many, four bytes each. The request names the
/// file.
const EXTENT: u64 = 8;

/// The label that is sent, from the full one.
pub(super) fn told(labels: Labels, label: Label) -> Option<Label> {
    match labels {
        Labels::Off => None,
        Labels::Demand => Some(Label { hits: Default::default(), ..label }),
        Labels::Hits => Some(label),
    }
}

/// The bytes that a label adds to a request. An empty note of hits is left out; a pure prefetch
/// must say so.
pub(super) fn bytes(labels: Labels, label: &Label) -> u64 {
    match labels {
        Labels::Off => 0,
        Labels::Hits if !label.hits.is_empty() => 2 * EXTENT,
        Labels::Demand | Labels::Hits => EXTENT,
    }
}
