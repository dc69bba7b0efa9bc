//! A real web server on the loopback: nginx over a folder.

use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::process::Running;

/// A running server. Stopped when dropped.
pub struct Nginx {
    address: SocketAddr,
    // Dropped in this order: first the server, then its files.
    _server: Running,
    _folder: tempfile::TempDir,
}

impl Nginx {
    /// Serves `root`. `sendfile` says whether the kernel passes the bytes on or nginx reads them.
    pub fn start(nginx: &Path, root: &Path, sendfile: bool) -> io::Result<Nginx> {
        let folder = tempfile::Builder::new().prefix("forebay-nginx-").tempdir()?;
        let mut tries = 0;
        loop {
            match serve(nginx, root, sendfile, folder.path()) {
                // Somebody else took the port between our looking and its listening.
                Err(error) if tries < 5 && error.kind() == io::ErrorKind::AddrInUse => tries += 1,
                Err(error) => return Err(error),
                Ok((server, address)) => return Ok(Nginx { address, _server: server, _folder: folder }),
            }
        }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

fn serve(nginx: &Path, root: &Path, sendfile: bool, folder: &Path) -> io::Result<(Running, SocketAddr)> {
    /// Longer than it ever takes; only a hanging server gets there.
    const PATIENCE: Duration = Duration::from_secs(60);
    let address = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?;
    let conf = folder.join("nginx.conf");
    fs::write(&conf, configuration(root, sendfile, folder, address))?;
    let mut command = Command::new(nginx);
    command.arg("-p").arg(folder).arg("-c").arg(&conf).arg("-e").arg(folder.join("error.log"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let server = Running::start(command)?;
    let begun = Instant::now();
    while TcpStream::connect(address).is_err() {
        if let Some(status) = server.ended()? {
            let log = fs::read_to_string(folder.join("error.log")).unwrap_or_default();
            let kind = if log.contains("in use") { io::ErrorKind::AddrInUse } else { io::ErrorKind::Other };
            return Err(io::Error::new(kind, format!("nginx ended: {status}: {log}")));
        }
        if begun.elapsed() > PATIENCE {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "nginx does not answer"));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok((server, address))
}

/// One process in the foreground (a second one would outlive a killed test), as the present user, with whatever it
/// writes in `folder`. Threads read, so that one slow file does not hold up all connections. With `?rate=N` a file is sent at
/// N bytes a second.
fn configuration(root: &Path, sendfile: bool, folder: &Path, address: SocketAddr) -> String {
    let (root, folder) = (root.display(), folder.display());
    let user = if rustix::process::geteuid().is_root() { "user root;" } else { "" };
    let sendfile = if sendfile { "on" } else { "off" };
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    let temporary: String = temporary.map(|kind| format!("{kind}_temp_path \"{folder}/{kind}\"; ")).concat();
    format!(
        "daemon off; master_process off; {user} pid \"{folder}/pid\";
         events {{ worker_connections 512; }}
         http {{
            access_log off; {temporary}
            sendfile {sendfile}; aio threads;
            server {{ listen {address}; root \"{root}\"; default_type application/octet-stream;
                      if ($arg_rate) {{ set $limit_rate $arg_rate; }} }}
         }}"
    )
}
