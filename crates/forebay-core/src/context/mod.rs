//! What pattern a program context has (AMP §3.1), and by the baselines.

pub mod order;
pub mod recency;
