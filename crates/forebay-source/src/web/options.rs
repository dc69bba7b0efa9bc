//! Options for reaching a web server.

use std::path::PathBuf;
use std::time::Duration;

use forebay_core::level::Labels;

use super::secrets::{Login, Token};

/// Options for reaching a web server. `Debug` shows no secrets.
#[derive(Clone, Debug)]
pub struct WebOptions {
    /// A token for the server. Servers that it redirects to do not get the token.
    pub token: Option<Token>,
    /// A user's name and password, unless the URL has them. They are kept as the token is, of which
    /// there should then be none.
    pub login: Option<Login>,
    /// A file of certificates in PEM that vouch for the server's, beside those that the system
    /// trusts.
    pub authority: Option<PathBuf>,
    /// How long a connection may stay silent within a request.
    pub silence: Duration,
    /// For how long a request is repeated. If one way to ask is not answered for a share of that
    /// time, another way is tried.
    pub patience: Duration,
    /// Connections that are kept open for later requests.
    pub connections: usize,
    /// How much of the readers' behaviour the server is told. Servers that are no level of ours
    /// ignore it.
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
