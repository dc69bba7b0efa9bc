//! A real web server on the loopback: nginx over a folder.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use crate::certificate::Certificate;
use crate::server::{Place, Server};
use crate::tools;

/// The module that answers PROPFIND, as [`tools::find`] finds it: `need!(nginx::DAV_MODULE)`.
pub const DAV_MODULE: &str = "ngx_http_dav_ext_module.so";

/// A running server. Stopped when dropped.
#[derive(Debug)]
pub struct Nginx(Server);

/// Abilities of nginx beyond sending files.
#[derive(Clone, Copy, Debug, Default)]
pub struct Features {
    /// Whether the kernel passes the bytes on; otherwise nginx reads them.
    pub sendfile: bool,
    /// Whether a folder is answered with a page of its entries; otherwise with 403.
    pub autoindex: bool,
    /// Whether that is a list in JSON instead of a page of HTML.
    pub json: bool,
    /// Whether PROPFIND and OPTIONS are answered; needs [`DAV_MODULE`]. Nothing can be written.
    pub dav: bool,
    /// Whether it speaks only with encryption, by a [`Certificate`] of its own.
    pub tls: bool,
}

impl Nginx {
    /// Serves the files of `root`, and nothing else. `sendfile` is that of [`Features`].
    pub fn start(nginx: &Path, root: &Path, sendfile: bool) -> io::Result<Nginx> {
        Nginx::start_with(nginx, root, Features { sendfile, ..Features::default() })
    }

    /// Serves `root` with `features`.
    pub fn start_with(nginx: &Path, root: &Path, features: Features) -> io::Result<Nginx> {
        let server = Server::start("nginx", |place| {
            let conf = place.folder.join("nginx.conf");
            fs::write(&conf, configuration(root, features, place)?)?;
            let mut command = Command::new(nginx);
            command.arg("-p").arg(place.folder).arg("-c").arg(&conf).args(["-e", "stderr"]);
            Ok(command)
        })?;
        Ok(Nginx(server))
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

/// One process in the foreground (a second one would outlive a killed test), as the present user,
/// which writes only in its folder. Threads read, so that one slow file does not hold up all
/// connections. With `?rate=N` a file is sent at N bytes a second.
fn configuration(root: &Path, features: Features, place: Place) -> io::Result<String> {
    let (root, folder, address) = (root.display(), place.folder.display(), place.address);
    let user = if rustix::process::geteuid().is_root() { "user root;" } else { "" };
    let on = |yes| if yes { "on" } else { "off" };
    let (sendfile, autoindex) = (on(features.sendfile), on(features.autoindex));
    let format = if features.json { "json" } else { "html" };
    let (mut module, mut methods) = (String::new(), "");
    if features.dav {
        let file = tools::find(DAV_MODULE).ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, DAV_MODULE))?;
        module = format!("load_module \"{}\";", file.display());
        methods = "dav_ext_methods PROPFIND OPTIONS;";
    }
    let (mut encrypted, mut files) = ("", String::new());
    if features.tls {
        let Certificate { certificate, key } = Certificate::make(place.folder)?;
        encrypted = " ssl";
        files = format!("ssl_certificate \"{}\"; ssl_certificate_key \"{}\";", certificate.display(), key.display());
    }
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    let temporary: String = temporary.map(|kind| format!("{kind}_temp_path \"{folder}/{kind}\"; ")).concat();
    Ok(format!(
        "{module} daemon off; master_process off; {user} pid \"{folder}/pid\";
         events {{ worker_connections 512; }}
         http {{
            access_log off; {temporary}
            sendfile {sendfile}; autoindex {autoindex}; autoindex_format {format}; aio threads;
            server {{ listen {address}{encrypted}; {files} root \"{root}\"; default_type application/octet-stream;
                      {methods}
                      if ($arg_rate) {{ set $limit_rate $arg_rate; }} }}
         }}"
    ))
}
