//! What a level is told by the one above (SCM §4.2), and how long that makes messages.

use forebay_core::level::{Label, Labels};

/// An extent in a message: its first block and how many, four bytes each. Which file, the request
/// says.
const EXTENT: u64 = 8;

/// What is told of a request about which all is known.
pub(super) fn told(labels: Labels, label: Label) -> Option<Label> {
    match labels {
        Labels::Off => None,
        Labels::Demand => Some(Label { hits: Default::default(), ..label }),
        Labels::Hits => Some(label),
    }
}

/// By how many bytes that makes a request longer. An empty note of hits is left out; a pure
/// prefetch must say so.
pub(super) fn bytes(labels: Labels, label: &Label) -> u64 {
    match labels {
        Labels::Off => 0,
        Labels::Hits if !label.hits.is_empty() => 2 * EXTENT,
        Labels::Demand | Labels::Hits => EXTENT,
    }
}
