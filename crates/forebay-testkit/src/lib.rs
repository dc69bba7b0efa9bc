//! Real parts for tests: programs that must be installed, servers that are started and stopped,
//! servers and proxies that are odd on purpose, trees of odd files.
//!
//! Programs and servers that are started here stop when their value is dropped, and die with the
//! test process if that is killed.

mod acceptor;
pub mod answers;
pub mod asking;
pub mod breaking;
pub mod browser;
pub mod bucket;
pub mod certificate;
pub mod cloud;
pub mod delay;
pub mod far;
pub mod files;
pub mod header;
pub mod loop_disk;
pub mod memory_group;
pub mod moto;
pub mod mounts;
pub mod nginx;
pub mod odd_web;
pub mod preloaded;
pub mod process;
pub mod prometheus;
pub mod requests;
pub mod s3;
pub mod scratch;
pub mod served;
pub mod server;
pub mod tools;
pub mod trees;
pub mod web;
pub mod webdav_listing;
