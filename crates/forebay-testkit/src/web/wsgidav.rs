//! wsgidav over a folder: a WebDAV server in Python, on the web server cheroot.

use std::io;
use std::net::SocketAddr;
use std::path::Path;

use crate::server::Server;
use crate::tools;

/// A running server, which lets every client read and write. Stopped when dropped.
#[derive(Debug)]
pub struct Wsgidav(Server);

impl Wsgidav {
    /// Serves `root`; `wsgidav` is the program: `Wsgidav::start(&need!("wsgidav"), root)`.
    pub fn start(wsgidav: &Path, root: &Path) -> io::Result<Wsgidav> {
        let server = Server::start("wsgidav", |place| {
            let mut command = tools::python_program(wsgidav);
            command.args(["--no-config", "--auth=anonymous", "--server=cheroot", "--host=127.0.0.1", "--port"]);
            command.arg(place.address.port().to_string()).arg("--root").arg(root);
            Ok(command)
        })?;
        Ok(Wsgidav(server))
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
