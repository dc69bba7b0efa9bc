//! AMP's cache manager (AMP §3.2, Fig. 4): a partition for each looping context beside the default one.

/// The partitions of program contexts around a default replacement policy.
#[derive(Clone, Debug)]
pub struct Program {}
