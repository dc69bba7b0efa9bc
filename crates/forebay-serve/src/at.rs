//! Places to listen at: an address, or a Unix socket of its owner alone.

use std::fmt;
use std::fs::{self, Permissions};
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixStream as Probe;
use std::path::{Path, PathBuf};

use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

use crate::server::StartError;

/// A place to listen at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum At {
    /// An address; any port if that is zero.
    Address(SocketAddr),
    /// A Unix socket, which only its owner can open.
    Socket(PathBuf),
}

impl At {
    /// Whether other machines can connect.
    pub fn is_open(&self) -> bool {
        matches!(self, At::Address(address) if !address.ip().to_canonical().is_loopback())
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            At::Address(address) => address.fmt(f),
            At::Socket(path) => path.display().fmt(f),
        }
    }
}

/// A place that is listened at.
pub(crate) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// A connection that came there.
pub(crate) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    /// The address of the other end, if it has one.
    pub(crate) fn peer(&self) -> Option<SocketAddr> {
        if let Stream::Tcp(stream) = self { stream.peer_addr().ok() } else { None }
    }
}

impl Listener {
    /// Listens. A socket at which no process listens any more is replaced. Also says where it is,
    /// with the port that was free.
    pub(crate) async fn bind(at: &At) -> Result<(Listener, At), StartError> {
        let refused = |source| StartError::Listen { at: at.clone(), source };
        match at {
            At::Address(address) => {
                let listener = TcpListener::bind(address).await.map_err(refused)?;
                let bound = At::Address(listener.local_addr().map_err(refused)?);
                Ok((Listener::Tcp(listener), bound))
            }
            At::Socket(path) => {
                clear(path)?;
                let listener = UnixListener::bind(path).map_err(refused)?;
                fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(refused)?;
                Ok((Listener::Unix(listener), at.clone()))
            }
        }
    }

    /// The next connection.
    pub(crate) async fn accept(&self) -> io::Result<Stream> {
        match self {
            Listener::Tcp(listener) => listener.accept().await.map(|(stream, _)| Stream::Tcp(stream)),
            Listener::Unix(listener) => listener.accept().await.map(|(stream, _)| Stream::Unix(stream)),
        }
    }
}

/// Removes a socket at which no process listens.
fn clear(path: &Path) -> Result<(), StartError> {
    let Ok(found) = fs::symlink_metadata(path) else { return Ok(()) };
    if !found.file_type().is_socket() {
        return Err(StartError::NoSocket(path.to_owned()));
    }
    if Probe::connect(path).is_ok() {
        return Err(StartError::Taken(path.to_owned()));
    }
    let refused = |source| StartError::Listen { at: At::Socket(path.to_owned()), source };
    fs::remove_file(path).map_err(refused)
}
