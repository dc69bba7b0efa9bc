//! The FUSE adapter of Forebay: shows a [`Tree`](forebay_live::tree::Tree) as a read-only file
//! system.
//!
//! It decides nothing. Names, versions and errors are the tree's, bytes are the engine's; this
//! crate translates, mounts and unmounts. No request for bytes or names of a remote storage holds
//! one of its threads: the reply goes out from whichever thread has the answer.
//!
//! ```no_run
//! # use forebay_fuse::MountOptions;
//! # use forebay_live::tree::Tree;
//! fn serve(tree: std::sync::Arc<Tree>) -> Result<(), forebay_fuse::MountError> {
//!     let mounted = forebay_fuse::mount(tree, "/mnt/data".as_ref(), MountOptions::default())?;
//!     let unmounter = mounted.unmounter();
//!     std::thread::spawn(move || {
//!         // … when a signal has come
//!         unmounter.unmount()
//!     });
//!     mounted.wait()
//! }
//! ```
//!
//! Map: `mount` (options, the life of a mount), `point` (checks of the mount point), `table` (the
//! table of mounts), `device` (`/dev/fuse`, with and without root), `handed` (a descriptor of it
//! from the parent process), `filesystem` (the requests), `folders` (those for listings), `waiting`
//! (requests that wait, and readers that give up), `signals` (why they do), `attributes`
//! (translation), `permission` (access(2)), `handles`; `disk` shows a modelled disk as one file
//! instead of a tree.

mod attributes;
mod device;
mod disk;
mod filesystem;
mod folders;
mod handed;
mod handles;
mod hints;
mod mount;
mod permission;
mod point;
mod signals;
mod table;
mod waiting;

pub use mount::{MountError, MountOptions, Mounted, Unmounter, mount, mount_disk};
pub use point::check;
pub use table::mounts;
