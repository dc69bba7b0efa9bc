//! `forebay serve`

use std::ffi::OsString;
use std::net::SocketAddr;

use clap::{Args, value_parser};

use forebay_core::level::Labels;

use super::{Clients, Reading, Sources, labels};
use crate::period::Period;

/// `forebay serve`
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// The sources to serve
    ///
    /// A source is a folder, a URL such as s3://bucket/prefix, or a set that files are striped
    /// over, as in stripe:64KiB:/d1,/d2. NAME=SOURCE gives a source a folder of its own; several
    /// sources need such names. Example: `hot=/ssd cold=s3://bucket`
    #[arg(num_args = 1.., value_name = "SOURCE")]
    pub(crate) places: Vec<OsString>,

    #[command(flatten)]
    pub(crate) sources: Sources,

    /// The address to listen at; port 0 is any free one
    ///
    /// An address that other machines can reach needs a token. Example: `--listen 0.0.0.0:7680`
    #[arg(long, short, value_name = "ADDRESS", default_value = "127.0.0.1:7680", value_parser = listen_address)]
    pub(crate) listen: SocketAddr,

    /// How they are read.
    #[command(flatten)]
    pub(crate) reading: Reading,

    /// The labels of a level above that the server uses
    ///
    /// A request without labels counts as demand in full. Example: `--labels demand`
    #[arg(long, default_value = "hits", value_parser = labels())]
    pub(crate) labels: Labels,

    /// The clients that it answers.
    #[command(flatten)]
    pub(crate) clients: Clients,

    /// Connections at once; more wait
    ///
    /// The default is as many as an eighth of the memory holds. Example: `--connections 64`
    #[arg(long, value_name = "COUNT", value_parser = value_parser!(u16).range(1..))]
    pub(crate) connections: Option<u16>,

    /// How long a connection may be idle, and a request's header may take
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub(crate) idle: Period,

    /// How long a client may pause in reading its answer
    #[arg(long, value_name = "TIME", default_value = "30s")]
    pub(crate) stall: Period,

    /// How long answers under way may take once the server is told to end
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub(crate) grace: Period,

    /// Print the server's address as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// An address to listen at; names are not looked up.
fn listen_address(text: &str) -> Result<SocketAddr, &'static str> {
    text.parse().map_err(|_| "give an IP address and a port, as in 127.0.0.1:7680, 0.0.0.0:7680 or [::1]:7680")
}
