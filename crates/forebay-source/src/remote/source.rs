//! A remote storage as a tree of names.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant, SystemTime};

use super::advice::{self, Shows};
use super::asker::Asker;
use super::complaints::Complaints;
use super::fetch::RemoteObject;
use super::gate::Gate;
use super::names::{Known, Names};
use super::patience::Patience;
use super::{Remote, Told, Trouble, encryption, start, time};
use crate::{Attributes, Error, Identity, Kind, Listed, Listing, Name, Object, Result, Source, Then, Version};

/// A bucket, a web server, or a part of one. See the head of `remote/mod.rs`.
pub struct RemoteSource {
    view: Arc<View>,
    about: About,
}

/// The parts that answers are made of.
struct View {
    asker: Arc<Asker>,
    gate: Arc<Gate>,
    modes: Modes,
    /// The time that is shown for names without one.
    opened: SystemTime,
}

/// The names of a remote source.
pub(crate) struct About {
    /// For messages: `s3://bucket/prefix`.
    pub(crate) name: String,
    /// See [`Source::address`].
    pub(crate) address: Arc<str>,
    /// The server, for the message that it cannot be reached.
    pub(crate) server: String,
    /// The URL of its server, if the source speaks to it without encryption.
    pub(crate) plain: Option<String>,
    /// The credentials that the server is shown.
    pub(crate) shows: Shows,
}

/// Bounds on a remote source's resources.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Ranges under way at once.
    pub(crate) connections: usize,
    /// For how long answers about names are believed.
    pub(crate) ttl: Duration,
    /// Memory for answers about names, bytes.
    pub(crate) names: usize,
    /// For how long a storage that fails is asked again.
    pub(crate) patience: Duration,
}

/// Modes and owners that are shown of files and folders whose storage knows none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Modes {
    /// Permission bits of files.
    pub file: u32,
    /// Permission bits of folders.
    pub folder: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
}

impl Default for Modes {
    /// All users may read, and all belongs to the user of this process.
    fn default() -> Modes {
        let (uid, gid) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
        Modes { file: 0o444, folder: 0o555, uid, gid }
    }
}

impl RemoteSource {
    /// A source over a storage.
    pub(crate) fn new(remote: Arc<dyn Remote>, about: About, limits: Limits, modes: Modes) -> Result<RemoteSource> {
        let runtime = crate::runtime::shared()
            .map_err(|error| Error::Storage { name: about.name.clone(), reason: error.to_string() })?;
        let asker = Asker {
            remote,
            names: Names::new(limits.ttl, limits.names),
            patience: Patience(limits.patience),
            complaints: Complaints::new(about.name.clone()),
            runtime,
            address: Arc::clone(&about.address),
            told_of_names: AtomicBool::new(false),
        };
        let gate = Gate::new(limits.connections);
        let view = View { asker: Arc::new(asker), gate, modes, opened: SystemTime::now() };
        Ok(RemoteSource { view: Arc::new(view), about })
    }

    /// The memory that the names take, in bytes, about.
    #[cfg(test)]
    pub(super) fn remembered(&self) -> usize {
        self.view.asker.names.bytes()
    }

    /// [`check_telling`](RemoteSource::check_telling) the log.
    pub fn check(&self) -> Result<()> {
        self.check_telling(|line| log::warn!("{line}"))
    }

    /// Whether the storage answers, accepts our credentials and has the folder. A storage that is
    /// busy or silent is waited for as long as the patience lasts, and `tell` is told so. For a
    /// wrong address, or a refusal, the error comes at once.
    pub fn check_telling(&self, tell: fn(&str)) -> Result<()> {
        let asker = Arc::clone(&self.view.asker);
        let About { name, server, shows, .. } = &self.about;
        let shown = format!("{name}{server}");
        let answer = self.view.asker.runtime.wait(name, async move {
            match asker.remote.ready().await {
                Ok(()) => Ok(start::ask(asker.patience.0, &shown, tell, || asker.first_page()).await),
                Err(trouble) => Ok(Err(trouble)),
            }
        })?;
        let Err(trouble) = answer else { return Ok(()) };
        if let Some(error) = self.wants_encryption(&trouble) {
            return Err(error);
        }
        let with = |hint: &str| format!("{name} ({hint}; the server says {})", trouble.kind);
        Err(match trouble.error {
            // A web server that lists nothing: its files can be read by their names.
            Error::Refused { errno: libc::EOPNOTSUPP, .. } => {
                log::warn!("{name} cannot list names ({}); files can be opened by name only", trouble.kind);
                return Ok(());
            }
            // A web server has nothing there.
            Error::Refused { errno: libc::ENOENT, .. } => {
                Error::NotFound(format!("{name} ({}; check the path, or give the URL of one file)", trouble.kind))
            }
            Error::Refused { errno: libc::EIO, .. } => {
                Error::Storage { name: format!("{name}{server}"), reason: format!("not understood: {}", trouble.kind) }
            }
            Error::Refused { errno: libc::ENOTDIR, .. } => {
                let (folder, _) = name.trim_end_matches('/').rsplit_once('/').unwrap_or_default();
                let reason = format!("this is an object, not a folder; mount {folder} to see it");
                Error::Setting { name: name.clone(), reason, region: None }
            }
            Error::Refused { errno, .. } => Error::Refused { name: name.clone(), errno },
            Error::Denied(_) => Error::Barred {
                name: format!("{name}{server}"),
                reason: format!("the server says {}; {}", trouble.kind, shows.way_out(&trouble)),
            },
            Error::Setting { reason, region, .. } => Error::Setting { name: format!("{name}{server}"), reason, region },
            Error::Storage { ref reason, .. } => {
                let advice = advice::to_reach(&trouble, shows.is_object_store()).map(|advice| format!("; {advice}"));
                let reason = format!("{reason}{}", advice.unwrap_or_default());
                Error::Storage { name: format!("{name}{server}"), reason }
            }
            Error::NotFound(_) => Error::NotFound(with(shows.where_nothing_is(&trouble.kind))),
            error => error,
        })
    }
}

impl RemoteSource {
    /// The error for a first question without encryption to a server that wants it, if that is the
    /// trouble.
    fn wants_encryption(&self, trouble: &Trouble) -> Option<Error> {
        let About { name, server, plain, .. } = &self.about;
        let may_be = match &trouble.error {
            Error::Refused { .. } => trouble.kind.contains("400"),
            Error::Storage { .. } => !start::is_reached(trouble),
            _ => false,
        };
        let plain = plain.clone().filter(|_| may_be)?;
        let asked = async move { Ok(encryption::encrypted(&plain).await) };
        let url = self.view.asker.runtime.wait(name, asked).ok().flatten()?;
        let reason = format!("the server speaks only with encryption there: give {url}");
        Some(Error::Setting { name: format!("{name}{server}"), reason, region: None })
    }
}

/// A name that the storage has.
struct Found {
    told: Told,
    /// When the storage told it.
    at: Instant,
}

impl View {
    /// The attributes shown for a name; `None` for a file without a length.
    fn attributes(&self, path: &Path, told: &Told, at: Option<Instant>) -> Option<Attributes> {
        let Modes { file, folder, uid, gid } = self.modes;
        let (kind, mode, modified, version) = match told {
            Told::File(facts) => (Kind::File, libc::S_IFREG | file, facts.modified.map(time), facts.version()),
            Told::Folder(modified) => (Kind::Folder, libc::S_IFDIR | folder, *modified, Version::default()),
            Told::Unmeasured => return None,
        };
        let modified = modified.unwrap_or(self.opened);
        let links = if kind == Kind::Folder { 2 } else { 1 };
        let plain = Attributes::plain(kind, modified, self.identity(path, version));
        Some(Attributes { mode, uid, gid, links, told: at, ..plain })
    }

    fn identity(&self, path: &Path, version: Version) -> Identity {
        Identity { name: Name::path(&self.asker.address, path), version }
    }

    /// The meaning of a name; asked for if it is not known.
    fn look_up(&self, path: &Path, then: impl FnOnce(Result<Found>) + Send + 'static) {
        if path.as_os_str().is_empty() {
            return then(Ok(Found { told: Told::Folder(None), at: Instant::now() }));
        }
        let shown = path.display().to_string();
        let answer = move |known: Result<Known>| {
            then(known.and_then(|Known { told, at }| match told {
                Some(told) => Ok(Found { told, at }),
                None => Err(Error::NotFound(shown)),
            }))
        };
        self.asker.look_up(path, Box::new(answer));
    }

    /// The file that was found under a path.
    fn open(&self, path: &Path, told: &Told) -> Result<Arc<dyn Object>> {
        let refused = |errno| Err(Error::Refused { name: path.display().to_string(), errno });
        match told {
            Told::File(facts) => {
                let identity = self.identity(path, facts.version());
                Ok(Arc::new(RemoteObject::new(identity, Arc::clone(&self.asker), Arc::clone(&self.gate))))
            }
            Told::Folder(_) => refused(libc::EISDIR),
            Told::Unmeasured => refused(libc::EIO),
        }
    }
}

/// The names of a path, if a remote storage can have it: neither `..` nor an absolute one.
fn names_of(path: &Path) -> Result<PathBuf> {
    let parts = path.components().filter(|part| *part != Component::CurDir);
    let name = |part| match part {
        Component::Normal(name) => Ok(name),
        _ => Err(Error::NotFound(path.display().to_string())),
    };
    parts.map(name).collect()
}

impl Source for RemoteSource {
    fn describe(&self) -> String {
        self.about.name.clone()
    }

    fn address(&self) -> &Arc<str> {
        &self.view.asker.address
    }

    fn stat_then(&self, path: &Path, then: Then<Attributes>) {
        let path = match names_of(path) {
            Ok(path) => path,
            Err(error) => return then(Err(error)),
        };
        let view = Arc::clone(&self.view);
        self.view.look_up(&path.clone(), move |found| {
            then(found.and_then(|Found { told, at }| {
                let untold = || Error::Storage { name: path.display().to_string(), reason: "has no length".into() };
                view.attributes(&path, &told, Some(at)).ok_or_else(untold)
            }));
        });
    }

    fn list_then(&self, path: &Path, then: Then<Listing>) {
        match names_of(path) {
            Ok(path) => self.view.asker.list(&path, then),
            Err(error) => then(Err(error)),
        }
    }

    /// Sends no request if a look-up has answered: every range names the version that it wants.
    fn open_then(&self, path: &Path, then: Then<Arc<dyn Object>>) {
        let path = match names_of(path) {
            Ok(path) => path,
            Err(error) => return then(Err(error)),
        };
        let view = Arc::clone(&self.view);
        self.view.look_up(&path.clone(), move |found| then(found.and_then(|found| view.open(&path, &found.told))));
    }

    fn forget_names(&self, path: &Path) {
        if let Ok(path) = names_of(path) {
            self.view.asker.names.forget_below(&path);
        }
    }

    fn listed(&self, folder: &Path, listed: &Listed<'_>) -> Result<Option<Attributes>> {
        Ok(self.view.attributes(&folder.join(listed.name), &Told::of(listed), Some(listed.told)))
    }
}
