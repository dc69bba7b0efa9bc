//! The formats, by name.

/// A format of traces. Compression (gzip, xz, zstd) is told by itself and is not part of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Format {
    /// A block number a line; a line with `*` is skipped.
    Lirs,
}
