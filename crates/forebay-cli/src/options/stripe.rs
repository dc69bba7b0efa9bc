//! `forebay stripe`

use std::ffi::OsString;

use clap::Args;

use super::Stores;

/// `forebay stripe`
#[derive(Debug, Args)]
pub(crate) struct Stripe {
    /// What to copy: a folder, a URL such as s3://bucket/prefix, or another set
    #[arg(value_name = "SOURCE")]
    pub(crate) source: OsString,

    /// Where to: the unit and the members, as in stripe:64KiB:/d1,/d2. Members are empty folders, or are made
    #[arg(value_name = "SET")]
    pub(crate) set: OsString,

    #[command(flatten)]
    pub(crate) stores: Stores,
}
