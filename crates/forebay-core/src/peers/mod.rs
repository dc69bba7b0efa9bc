//! The rules of other systems, one obvious file each, from their public descriptions. They stand
//! beside the papers so that loads can be run under them.
//!
//! | file | system | looks ahead by |
//! | --- | --- | --- |
//! | `mountpoint` | Mountpoint for Amazon S3 1.24 | a window that doubles when its reader stalls |
//! | `gcsfs` | gcsfs 2026.8 | a window that grows by a read with each block taken |
//! | `arrow` | Apache Arrow | merging a read with the next one over a small hole |
//! | `mithril` | MITHRIL (SoCC 2017) | what was missed at nearly the same times |
//!
//! Each system has memory of its own for each open file. Here all readers share one cache, and a
//! rule is told how much of it a stream may use. `handles` tells which stream an open file is at.
//!
//! Nothing here knows of [`auto`](crate::auto) or of [`papers`](crate::papers).

pub mod arrow;
pub mod gcsfs;
mod handles;
pub mod mithril;
pub mod mountpoint;
