//! Apache over a folder, with pages of a folder's entries and, if asked for, WebDAV.

use std::fmt::Write;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use rustix::fs::{Mode, OFlags};

use crate::server::{Place, Server};
use crate::tools;

/// A running server. Stopped when dropped.
#[derive(Debug)]
pub struct Apache(Server);

/// The form of the page that lists a folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Index {
    /// A list of names (`<ul>`), which is Apache's own default.
    #[default]
    Names,
    /// Preformatted lines with dates and sizes (`IndexOptions FancyIndexing`).
    Lines,
    /// A table with dates and sizes (`IndexOptions FancyIndexing HTMLTable`), as Debian sets it.
    Table,
}

/// Abilities of Apache beyond sending files and listing folders.
#[derive(Clone, Copy, Debug, Default)]
pub struct Features {
    /// The form of the page that lists a folder.
    pub index: Index,
    /// Whether `mod_dav` answers PROPFIND. The files can then be written, too.
    pub dav: bool,
}

impl Apache {
    /// Serves `root`; `apache2` is the program: `Apache::start(&need!("apache2"), root, features)`.
    pub fn start(apache2: &Path, root: &Path, features: Features) -> io::Result<Apache> {
        let server = Server::start("apache", |place| {
            let conf = place.folder.join("apache2.conf");
            fs::write(&conf, configuration(root, features, place)?)?;
            let mut command = Command::new(apache2);
            // One process in the foreground: a second one would outlive a killed test.
            command.arg("-X").arg("-d").arg(place.folder).arg("-f").arg(&conf);
            if rustix::process::geteuid().is_root() {
                // SAFETY: the closure calls only functions that are async-signal-safe, and touches
                // no memory but its own.
                unsafe { command.pre_exec(appear_ordinary) };
            }
            Ok(command)
        })?;
        Ok(Apache(server))
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

fn configuration(root: &Path, features: Features, place: Place) -> io::Result<String> {
    let (root, folder, address) = (root.display(), place.folder.display(), place.address);
    let dav: &[&str] = if features.dav { &["dav", "dav_fs", "dav_lock"] } else { &[] };
    let mut text = String::new();
    for name in ["mpm_event", "authz_core", "dir", "autoindex"].iter().chain(dav) {
        let file = format!("mod_{name}.so");
        let path = tools::find(&file).ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, file))?;
        let _ = writeln!(text, "LoadModule {name}_module \"{}\"", path.display());
    }
    let index = match features.index {
        Index::Names => "-FancyIndexing",
        Index::Lines => "FancyIndexing VersionSort NameWidth=* DescriptionWidth=* Charset=UTF-8",
        Index::Table => "FancyIndexing VersionSort HTMLTable NameWidth=* DescriptionWidth=* Charset=UTF-8",
    };
    // Locks in files: a killed server would leave those of System V in the kernel.
    let _ = write!(
        text,
        "ServerRoot \"{folder}\"
         ServerName {address}
         Listen {address}
         PidFile \"{folder}/pid\"
         ErrorLog \"{folder}/log\"
         Mutex \"file:{folder}\" default
         DocumentRoot \"{root}\"
         DirectoryIndex disabled
         IndexOptions {index}
         <Directory />
            Options +Indexes +FollowSymLinks
            AllowOverride None
            Require all granted
         </Directory>
        "
    );
    if features.dav {
        let _ = write!(
            text,
            "DavLockDB \"{folder}/locks\"
             <Location />
                Dav On
                DavDepthInfinity On
             </Location>
            "
        );
    }
    Ok(text)
}

/// Makes the process a user other than root in a user namespace of its own, with the files of root
/// as its files. Apache refuses to serve as root, and another user could not read the tests'
/// folders.
fn appear_ordinary() -> io::Result<()> {
    let write = |path, text: &[u8]| -> io::Result<()> {
        let file = rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
        rustix::io::write(&file, text)?;
        Ok(())
    };
    // SAFETY: the call touches no memory, and the process has one thread since it was forked.
    if unsafe { libc::unshare(libc::CLONE_NEWUSER) } != 0 {
        return Err(io::Error::last_os_error());
    }
    write(c"/proc/self/setgroups", b"deny")?;
    write(c"/proc/self/uid_map", b"1000 0 1")?;
    write(c"/proc/self/gid_map", b"1000 0 1")
}
