//! `forebay serve`

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, value_parser};

use forebay_core::level::Labels;

use super::{Reading, labels};
use crate::period::Period;

/// `forebay serve`
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// What to serve: a folder, a URL such as s3://bucket/prefix, or a set of such that files are striped over,
    /// stripe:64KiB:/d1,/d2; NAME=SOURCE gives it a folder of its own, which several sources need
    #[arg(required = true, num_args = 1.., value_name = "SOURCE")]
    pub(crate) sources: Vec<OsString>,

    /// Where to listen; port 0 is any that is free. An address that others can reach needs a token
    #[arg(long, short, value_name = "ADDRESS", default_value = "127.0.0.1:7680")]
    pub(crate) listen: SocketAddr,

    /// How they are read.
    #[command(flatten)]
    pub(crate) reading: Reading,

    /// What to heed of what a level above tells of its readers; who tells nothing wants all that it asks for
    #[arg(long, default_value = "hits", value_parser = labels())]
    pub(crate) labels: Labels,

    /// The file with the token that clients must show; without it the variable FOREBAY_TOKEN may hold the token itself
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,

    /// The certificate to encrypt with, in PEM format, with those that vouch for it behind it
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,

    /// The certificate's private key, in PEM format
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,

    /// Connections at once; more wait. Unless said as many as an eighth of the memory holds
    #[arg(long, value_name = "COUNT", value_parser = value_parser!(u16).range(1..))]
    pub(crate) connections: Option<u16>,

    /// How long a connection may be idle, and a request's head may take
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub(crate) idle: Period,

    /// How long a client may take nothing of its answer
    #[arg(long, value_name = "TIME", default_value = "30s")]
    pub(crate) stall: Period,

    /// How long answers that are under way may take when the server is told to end
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub(crate) grace: Period,

    /// Say in JSON where it listens
    #[arg(long)]
    pub(crate) json: bool,
}
