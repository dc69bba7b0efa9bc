//! rclone over a folder, as a plain web server or as a WebDAV server.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use crate::server::Server;

/// A running server. Stopped when dropped.
#[derive(Debug)]
pub struct Rclone(Server);

/// The protocol of rclone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// `rclone serve http`: GET and HEAD, and pages of a folder's entries.
    Http,
    /// `rclone serve webdav`: PROPFIND as well. Nothing can be written.
    WebDav,
}

impl Rclone {
    /// Serves `root`; `rclone` is the program: `Rclone::start(&need!("rclone"), root,
    /// Protocol::Http)`.
    pub fn start(rclone: &Path, root: &Path, protocol: Protocol) -> io::Result<Rclone> {
        let server = Server::start("rclone", |place| {
            let mut command = Command::new(rclone);
            command.arg("serve").arg(if protocol == Protocol::Http { "http" } else { "webdav" }).arg(root);
            command.args(["--addr", &place.address.to_string(), "--read-only"]);
            // Neither the configuration nor the cache of the user; and a change of a folder shows
            // at once.
            command.args(["--config", "", "--dir-cache-time", "0s", "--cache-dir"]).arg(place.folder.join("cache"));
            Ok(command)
        })?;
        Ok(Rclone(server))
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
