//! How to reach a web server.

use std::path::PathBuf;
use std::time::Duration;

use forebay_core::level::Labels;

use super::secrets::{Login, Token};

/// How to reach a web server. Secrets are not shown.
#[derive(Clone, Debug)]
pub struct WebOptions {
    /// A token that the server is shown. It is not shown to servers that this one redirects to.
    pub token: Option<Token>,
    /// A user's name and password, unless the URL has them. As the token, of which there should
    /// then be none.
    pub login: Option<Login>,
    /// A file of certificates in PEM that vouch for the server's, beside those that the system
    /// trusts.
    pub authority: Option<PathBuf>,
    /// How long a connection may stay silent within a request.
    pub silence: Duration,
    /// For how long a request is repeated. If one way to ask is not answered for a share of it,
    /// another way is tried.
    pub patience: Duration,
    /// Connections that are kept open for later requests.
    pub connections: usize,
    /// How much the server is told of what readers do. Servers that are no level of ours ignore it.
    pub labels: Labels,
}

impl Default for WebOptions {
    fn default() -> Self {
        WebOptions {
            token: None,
            login: None,
            authority: None,
            silence: Duration::from_secs(10),
            patience: Duration::from_secs(30),
            connections: 64,
            labels: Labels::Hits,
        }
    }
}
