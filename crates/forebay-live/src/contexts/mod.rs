//! Program contexts of readers (AMP §3.3).

pub mod hints;
