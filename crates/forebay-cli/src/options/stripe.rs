//! `forebay stripe`

use std::ffi::OsString;

use clap::Args;

use super::Stores;

/// `forebay stripe`
#[derive(Debug, Args)]
pub(crate) struct Stripe {
    /// The source to copy: a folder, a URL such as s3://bucket/prefix, or another set
    #[arg(value_name = "SOURCE")]
    pub(crate) source: OsString,

    /// The unit and the members of the set
    ///
    /// Members are empty folders, or are made. Example: `stripe:64KiB:/d1,/d2`
    #[arg(value_name = "SET")]
    pub(crate) set: OsString,

    #[command(flatten)]
    pub(crate) stores: Stores,
}
