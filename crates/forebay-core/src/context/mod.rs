//! What pattern a program context has (AMP §3.1), and by the baselines.
//!
//! ```text
//!   accesses of a context ──▶ recency (AMP) │ dear │ pcc ──▶ Pattern ──▶ its partition
//! ```

pub mod dear;
pub mod order;
pub mod pcc;
pub mod recency;

/// How a context accesses blocks (AMP §3.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Pattern {
    /// "One-time accesses."
    OneShot,
    /// "Repeated accesses to a series of blocks in the same or roughly the same order", consecutive or not.
    Looping,
    /// "Blocks accessed recently are more likely to be accessed in the future."
    Clustered,
    /// "None of the above", or nothing is known yet.
    Other,
}
