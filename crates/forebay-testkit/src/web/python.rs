//! Python's `http.server` over a folder: HTTP/1.0, pages of a folder's entries, no ranges and no
//! entity tags.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use crate::server::Server;

/// A running server. Stopped when dropped.
#[derive(Debug)]
pub struct Python(Server);

impl Python {
    /// Serves `root`; `python3` is the program: `Python::start(&need!("python3"), root)`.
    pub fn start(python3: &Path, root: &Path) -> io::Result<Python> {
        let server = Server::start("python", |place| {
            let mut command = Command::new(python3);
            command.args(["-m", "http.server", "--bind", "127.0.0.1", "--directory"]).arg(root);
            command.arg(place.address.port().to_string());
            Ok(command)
        })?;
        Ok(Python(server))
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.0.address()
    }

    /// Its address, as `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        self.0.url()
    }
}
