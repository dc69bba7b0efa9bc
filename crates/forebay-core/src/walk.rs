//! Where the ceiling of a prefetch cache goes (CPEM §4.1), to be shown.

/// Where a ceiling goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum Course {
    /// Nowhere: it was set once, or no epoch is over.
    #[default]
    Fixed,
    /// Nowhere: next to nothing is missed.
    Rests,
    /// Up, since misses have not become obviously more since it turned.
    Up,
    /// Down, for the same reason.
    Down,
}

/// A ceiling's walk, as far as it is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct Walk {
    /// Where it goes.
    pub course: Course,
    /// Recent misses a second, of both kinds, in thousandths.
    pub misses: u64,
    /// The lowest that this was since it turned.
    pub lowest: u64,
}
