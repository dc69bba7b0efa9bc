//! The functions that take the place of the C library's.

pub(crate) mod descriptors;
pub(crate) mod opening;
pub(crate) mod positions;
pub(crate) mod scanning;
pub(crate) mod stream;
pub(crate) mod streams;
pub(crate) mod writing;

/// Looks up the C library's function behind each of them.
pub(crate) fn prepare() {
    descriptors::prepare();
    opening::prepare();
    positions::prepare();
    scanning::prepare();
    streams::prepare();
    writing::prepare();
}
