//! A recording: a folder with a log for each process, of slots of 48 bytes.
//!
//! A thread writes into a stretch of its process's log that it has to itself, through a shared
//! mapping. So written slots survive even if the process is killed at once, no descriptor stays
//! open, and threads do not wait for each other. Slots are whole in themselves, and their first
//! word is written last; one that is 0 was never finished, and counts for nothing.

pub(crate) mod read;
pub(crate) mod slot;
pub(crate) mod write;
