//! The command line of `mount.forebay`, as mount(8) and mount.fuse3 write it.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Parser;

/// Mount a source read-only through the cache of Forebay, for mount(8) and /etc/fstab.
///
/// The mount goes on in the background. Each option of `forebay mount` can stand behind -o, without
/// its dashes. Example of a line of /etc/fstab: `s3://bucket /mnt/data forebay
/// _netdev,nofail,memory=2GiB,allow-other 0 0`
#[derive(Debug, Parser)]
#[command(name = "mount.forebay", version, max_term_width = 110)]
pub(crate) struct Fstab {
    /// The source to read
    ///
    /// It is a folder, a URL such as s3://bucket/prefix, or NAME=SOURCE. More sources stand behind
    /// -o, as in `source=cold=s3://bucket`
    #[arg(value_name = "SOURCE")]
    pub(crate) source: OsString,

    /// The empty folder to mount at
    #[arg(value_name = "MOUNTPOINT")]
    pub(crate) point: PathBuf,

    /// Options of `forebay mount` and of mount(8), separated by commas
    ///
    /// A value with commas stands in double quotes. Example: `-o
    /// memory=2GiB,allow-other,source="fast=stripe:64KiB:/d1,/d2"`
    #[arg(short, value_name = "OPTIONS")]
    pub(crate) options: Vec<OsString>,

    /// Ignore options that are unknown
    #[arg(short)]
    pub(crate) sloppy: bool,

    /// Check the line, and mount nothing
    #[arg(short)]
    pub(crate) fake: bool,

    /// Accepted for mount(8): write no entry to /etc/mtab
    #[arg(short)]
    pub(crate) no_table: bool,

    /// Say when the mount is ready
    #[arg(short)]
    pub(crate) verbose: bool,

    /// Accepted for mount(8): mount read-only, as always
    #[arg(short)]
    pub(crate) read_only: bool,

    /// Accepted for mount(8): the mount is read-only nevertheless
    #[arg(short)]
    pub(crate) writable: bool,

    /// Accepted for mount(8): the type of file system
    #[arg(short = 't', value_name = "TYPE")]
    pub(crate) kind: Option<String>,
}
