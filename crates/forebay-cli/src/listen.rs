//! Listening at an address: the token, encryption, and where a mount listens beside its mount
//! point.

use std::fs::{DirBuilder, Metadata};
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use forebay_live::tree::Tree;
use forebay_serve::{At, Control, Options, StartError, Tls, Token};

use crate::failure::Failure;
use crate::options::{Clients, ControlAt};

/// The variable that may hold the token. Not an option, since every user can see command lines.
const TOKEN: &str = "FOREBAY_TOKEN";

/// Adds the clients' token and encryption to options of a server at `address`.
pub(crate) fn at(address: SocketAddr, clients: &Clients, options: Options) -> Result<Options, Failure> {
    let (token, tls, names) = (token(clients)?, tls(clients)?, clients.host_names.clone());
    let options = Options { token, tls, names, ..options };
    if options.token.is_some() && options.tls.is_none() && !address.ip().is_loopback() {
        log::warn!("the token and all bytes pass in the clear: --tls-cert and --tls-key encrypt them");
    }
    Ok(options)
}

fn token(clients: &Clients) -> Result<Option<Token>, Failure> {
    let Some(Secret { place, text }) = secret(clients.token_file.as_deref())? else { return Ok(None) };
    Token::new(&text).map(Some).map_err(|error| Failure::input(format!("{place}: {error}")))
}

/// The text of a token, and the place that it comes from.
pub(crate) struct Secret {
    pub(crate) place: String,
    pub(crate) text: String,
}

/// The token from a file, or else from the variable, if there is one.
pub(crate) fn secret(file: Option<&Path>) -> Result<Option<Secret>, Failure> {
    match (file, std::env::var(TOKEN)) {
        (Some(file), _) => {
            let place = file.display().to_string();
            let text = std::fs::read_to_string(file);
            let text = text.map_err(|error| Failure::input(format!("cannot read the token {place}: {error}")))?;
            Ok(Some(Secret { place, text }))
        }
        (None, Ok(text)) => Ok(Some(Secret { place: TOKEN.to_owned(), text })),
        (None, Err(std::env::VarError::NotPresent)) => Ok(None),
        (None, Err(error)) => Err(Failure::input(format!("{TOKEN}: {error}"))),
    }
}

fn tls(clients: &Clients) -> Result<Option<Tls>, Failure> {
    match (&clients.tls_cert, &clients.tls_key) {
        (Some(certificate), Some(key)) => Tls::read(certificate, key).map(Some).map_err(Failure::input),
        (None, None) => Ok(None),
        // The command line refuses that by itself, but not a file.
        _ => Err(Failure::input("encryption needs tls-cert and tls-key; one of them is missing")),
    }
}

/// The places where a mount listens, with the options of each. `places` are those that are said.
pub(crate) fn planned(places: &[ControlAt], clients: &Clients) -> Result<Vec<(At, Options)>, Failure> {
    let base = || Options { metrics_paths: clients.metrics_paths, ..Options::control() };
    if places.contains(&ControlAt::Off) && places.len() > 1 {
        return Err(Failure::input("--control off stands alone; leave the other places out, or off"));
    }
    let mut planned = Vec::new();
    for place in places {
        planned.push(match place {
            ControlAt::Off => continue,
            ControlAt::Unix(path) => (At::Socket(path.clone()), base()),
            ControlAt::Address(address) => (At::Address(*address), self::at(*address, clients, base())?),
        });
    }
    let sockets = planned.iter().filter(|(at, _)| matches!(at, At::Socket(_))).count();
    if sockets > 1 || planned.len() - sockets > 1 {
        return Err(Failure::input("--control takes one socket and one address at most"));
    }
    if let Some((at, _)) = planned.iter().find(|(at, options)| at.is_open() && options.token.is_none()) {
        return Err(Failure::input(StartError::Open(at.clone())));
    }
    Ok(planned)
}

/// The control channels of a mount.
pub(crate) struct Controls(Vec<Control>);

impl Controls {
    /// Listens where it is said. Where no socket is said, it listens at one among the user's
    /// runtime files, if there are any.
    pub(crate) fn start(places: &[ControlAt], clients: &Clients, tree: &Arc<Tree>) -> Result<Controls, Failure> {
        let mut controls = Controls(Vec::new());
        for (at, options) in planned(places, clients)? {
            controls.0.push(Control::start(Arc::clone(tree), &at, options).map_err(Failure::input)?);
        }
        let said = places.iter().any(|place| matches!(place, ControlAt::Unix(_) | ControlAt::Off));
        if !said {
            let options = Options { metrics_paths: clients.metrics_paths, ..Options::control() };
            controls.0.extend(usual(tree, options));
        }
        Ok(controls)
    }

    /// Ends them, once no reader is left.
    pub(crate) fn stop(self) {
        for control in self.0 {
            control.stop();
        }
    }
}

/// Listens among the user's runtime files. A default place that can't be used is no reason to
/// refuse.
fn usual(tree: &Arc<Tree>, options: Options) -> Option<Control> {
    let folder = sockets()?;
    let socket = At::Socket(folder.join(format!("{}.sock", std::process::id())));
    let control = private(&folder)
        .map_err(|error| error.to_string())
        .and_then(|()| Control::start(Arc::clone(tree), &socket, options).map_err(|error| error.to_string()));
    control.inspect_err(|error| log::warn!("no control socket: {error}")).ok()
}

/// The folder of sockets in a folder of runtime files.
const FOLDER: &str = "forebay";

/// Checks that only this user can write to the folder of runtime files, and to that of sockets in
/// it, if that is there: others would put sockets of their own there.
pub(crate) fn own(runtime: &Path) -> io::Result<()> {
    let refused = |place: &Path| Err(io::Error::other(format!("{} is no folder of this user alone", place.display())));
    let is_own = |found: &Metadata| {
        found.is_dir() && found.uid() == rustix::process::geteuid().as_raw() && found.mode() & 0o022 == 0
    };
    let told = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", runtime.display()));
    let folder = runtime.join(FOLDER);
    match std::fs::metadata(runtime).map_err(told)? {
        found if !is_own(&found) => refused(runtime),
        _ => match std::fs::symlink_metadata(&folder) {
            Ok(found) if !is_own(&found) => refused(&folder),
            _ => Ok(()),
        },
    }
}

/// Makes the folder of sockets, where nobody else can write.
fn private(folder: &Path) -> io::Result<()> {
    let runtime = folder.parent().unwrap_or(Path::new("/"));
    own(runtime)?;
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => own(runtime),
    }
}

/// The folder of mounts' sockets among the user's runtime files.
pub(crate) fn sockets() -> Option<PathBuf> {
    Some(Path::new(&std::env::var_os("XDG_RUNTIME_DIR")?).join(FOLDER))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn sockets_lie_where_only_their_user_can_write() {
        let runtime = tempfile::tempdir().unwrap();
        let folder = runtime.path().join("forebay");
        let modes = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        private(&folder).unwrap();
        private(&folder).unwrap();
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
        modes(&folder, 0o770);
        assert!(private(&folder).is_err());
        modes(&folder, 0o700);
        modes(runtime.path(), 0o777);
        assert!(private(&folder).unwrap_err().to_string().contains("this user alone"));
        modes(runtime.path(), 0o700);
        fs::remove_dir(&folder).unwrap();
        symlink("/", &folder).unwrap();
        assert!(private(&folder).is_err(), "a link is no folder of ours");
        assert!(private(&runtime.path().join("missing/forebay")).is_err());
        assert!(!runtime.path().join("missing").exists());
    }
}
