//! The papers' algorithms and their baselines, one obvious file each, as the papers have them.
//!
//! | file | paper | seam |
//! | --- | --- | --- |
//! | `cp` | competitive prefetching (CP §2) | prefetcher |
//! | `scm/` | trigger distances across streams (SCM §4.1) | prefetcher |
//! | `linux` `aggressive` | the kernel of CP and CPEM, and its larger windows | prefetcher |
//! | `one_block` `fixed` | one block lookahead, and the next four (SCM §5.3) | prefetcher |
//! | `sarc` `gill` | Gill and Modha 2005; Gill and Bathen 2007 | prefetcher |
//! | `cpem/` | the prefetch cache (CPEM §4) | reclaimer |
//! | `sac/` | storage-aware caching | divider |
//! | `amp/` | program contexts (AMP §3) | contexts |
//! | `dear` `pcc` `ubm` | other ways to tell patterns (AMP §2.2), with AMP's cache | contexts |
//!
//! Nothing here knows of [`auto`](crate::auto).

pub mod aggressive;
pub mod amp;
pub mod cp;
pub mod cpem;
pub mod dear;
pub mod fixed;
pub mod gill;
pub mod linux;
pub mod none;
pub mod one_block;
pub mod pcc;
pub mod sac;
pub mod sarc;
pub mod scm;
pub mod ubm;
