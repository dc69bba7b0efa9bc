//! A prefix of a bucket, or of a web server, as a tree of names.
//!
//! An object store has keys, not folders. A key's parts between slashes are the names here, so a prefix that has keys
//! is a folder; so is a *marker*, an object whose key ends in a slash. Where a key is both an object and a prefix, the
//! folder is shown and the object hidden: better one name less than a whole tree. Keys that no path can name (`a//b`,
//! `.`, `..`, control characters) are left out, with a line in the log.
//!
//! Requests run on a few threads that all stores share (`object/runtime.rs`). The calls of [`Source`] wait for them, so
//! they must not be made from a fetch's `done`, which runs on these very threads.

mod fetch;
mod gate;
mod listing;
mod open;
mod refusal;
mod runtime;
mod web;

use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use object_store::list::PaginatedListStore;
use object_store::path::Path as Key;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};

use super::identity::inode_number;
use super::{Attributes, Entry, Error, Identity, Kind, Name, Object, Result, Source, Space, Version};
use fetch::StoreObject;
use gate::Gate;
use listing::{Below, Listing};
use runtime::Shared;

pub use open::{SCHEMES, StoreOptions};
pub use web::{DEMAND, HITS, Token, TokenError};

/// How long [`StoreSource::check`] waits for an answer.
const CHECK: Duration = Duration::from_secs(4);

/// A prefix of an object store.
pub struct StoreSource {
    /// For messages: `s3://bucket/prefix`.
    name: String,
    address: Arc<str>,
    prefix: Key,
    store: Arc<dyn ObjectStore>,
    listing: Listing,
    gate: Arc<Gate>,
    runtime: Shared,
    /// The time that folders show, since stores keep none for them.
    opened: SystemTime,
    /// What to say about the server when it cannot be reached.
    about: String,
    /// What to do when it refuses us.
    hint: &'static str,
}

impl StoreSource {
    /// A source over any store; its name is its address. `pages` is the same store once more, if it
    /// can list page by page: then questions about folders cost little however large they are.
    /// `connections` bounds the fetches under way at once.
    pub fn new(
        name: impl Into<String>,
        store: Arc<dyn ObjectStore>,
        pages: Option<Arc<dyn PaginatedListStore>>,
        prefix: Key,
        connections: usize,
    ) -> Result<StoreSource> {
        let name = name.into();
        let runtime =
            runtime::shared().map_err(|error| Error::Storage { name: name.clone(), reason: error.to_string() })?;
        Ok(StoreSource {
            address: name.as_str().into(),
            name,
            prefix,
            listing: Listing::new(Arc::clone(&store), pages),
            store,
            gate: Gate::new(connections),
            runtime,
            opened: SystemTime::now(),
            about: String::new(),
            hint: "check the credentials",
        })
    }

    /// Opens `uri`: a scheme of [`SCHEMES`], then a bucket and a prefix, or a host and a path.
    pub fn open_uri(uri: &str, options: &StoreOptions) -> Result<StoreSource> {
        open::open(uri, options)
    }

    /// Whether the store answers, accepts our credentials and has the prefix. Within five seconds.
    pub fn check(&self) -> Result<()> {
        let (listing, prefix, name, about, hint) =
            (self.listing.clone(), self.prefix.clone(), self.name.clone(), self.about.clone(), self.hint);
        self.runtime.wait(&self.name, async move {
            let silent = || Error::Storage {
                name: format!("{name}{about}"),
                reason: format!("no answer within {} s", CHECK.as_secs()),
            };
            let probe = tokio::time::timeout(CHECK, listing.any(&prefix)).await;
            match probe.map_err(|_| silent())? {
                Ok(Below::Nothing) if !prefix.is_root() => Err(Error::NotFound(name)),
                Ok(_) => Ok(()),
                // A web server without WebDAV: its files can be read by those who know their names.
                Err(error) if refusal::cannot_list(&error) => {
                    log::warn!("{name} cannot list names; files can be opened by name only");
                    Ok(())
                }
                Err(error) => Err(refusal::at_opening(&name, &about, hint, &error)),
            }
        })
    }

    /// The key of a path; `None` if no key can have it.
    fn key(&self, path: &Path) -> Option<Key> {
        let parts = path.components().filter(|part| *part != Component::CurDir).map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        });
        let parts = (!self.prefix.is_root()).then_some(Some(self.prefix.as_ref())).into_iter().chain(parts);
        Key::parse(parts.collect::<Option<Vec<_>>>()?.join("/")).ok()
    }

    fn known_key(&self, path: &Path) -> Result<Key> {
        self.key(path).ok_or_else(|| Error::NotFound(path.display().to_string()))
    }

    fn identity(&self, path: &Path, version: Version) -> Identity {
        Identity { name: Name::path(&self.address, path), version }
    }

    fn head(&self, path: &Path) -> Result<(Key, ObjectMeta)> {
        let (key, name, store) = (self.known_key(path)?, path.display().to_string(), Arc::clone(&self.store));
        let pages = self.listing.has_pages();
        self.runtime.wait(&self.name, async move {
            let meta = store.head(&key).await.map_err(|error| refusal::of(&name, &error))?;
            Ok((key, if pages { of_an_object(&name, meta)? } else { meta }))
        })
    }

    fn folder(&self, path: &Path) -> Attributes {
        let mode = libc::S_IFDIR | 0o555;
        let identity = self.identity(path, Version::default());
        Attributes { links: 2, ..self.attributes(Kind::Folder, mode, self.opened, identity) }
    }

    fn file(&self, path: &Path, meta: &ObjectMeta) -> Attributes {
        let modified = SystemTime::from(meta.last_modified);
        self.attributes(Kind::File, libc::S_IFREG | 0o444, modified, self.identity(path, version(meta)))
    }

    fn attributes(&self, kind: Kind, mode: u32, modified: SystemTime, identity: Identity) -> Attributes {
        let (size, inode) = (identity.version.size, identity.name.number());
        Attributes {
            kind,
            size,
            allocated: size,
            mode,
            uid: rustix::process::getuid().as_raw(),
            gid: rustix::process::getgid().as_raw(),
            links: 1,
            rdev: 0,
            accessed: modified,
            modified,
            changed: modified,
            inode,
            identity,
        }
    }

    fn no_attribute<T>(&self, path: &Path) -> Result<T> {
        Err(Error::Refused { name: path.display().to_string(), errno: libc::ENODATA })
    }
}

impl Source for StoreSource {
    fn describe(&self) -> String {
        self.name.clone()
    }

    fn address(&self) -> &Arc<str> {
        &self.address
    }

    /// Asks at once for the object and for a key below it: two requests, the time of one.
    fn stat(&self, path: &Path) -> Result<Attributes> {
        let key = self.known_key(path)?;
        if key == self.prefix {
            return Ok(self.folder(path));
        }
        let (store, listing, name) = (Arc::clone(&self.store), self.listing.clone(), path.display().to_string());
        let found = self.runtime.wait(&self.name, async move {
            let (object, below) = futures::join!(store.head(&key), listing.any(&key));
            let below = match below {
                Err(error) if refusal::cannot_list(&error) => Below::Nothing,
                below => below.map_err(|error| refusal::of(&name, &error))?,
            };
            match (below, object) {
                // What is listed and is no file is an empty folder.
                (Below::Some, _) | (Below::Listed, Err(object_store::Error::NotFound { .. })) => Ok(None),
                (_, object) => {
                    let meta = object.map_err(|error| refusal::of(&name, &error))?;
                    Ok(Some(if listing.has_pages() { of_an_object(&name, meta)? } else { meta }))
                }
            }
        })?;
        Ok(found.map_or_else(|| self.folder(path), |meta| self.file(path, &meta)))
    }

    fn list(&self, path: &Path) -> Result<Vec<Entry>> {
        let (key, name) = (self.known_key(path)?, path.display().to_string());
        let (listing, store, root) = (self.listing.clone(), Arc::clone(&self.store), key == self.prefix);
        let (address, folder) = (Arc::clone(&self.address), path.to_path_buf());
        self.runtime.wait(&self.name, async move {
            let (names, below) = listing.names(&key).await.map_err(|error| refusal::of(&name, &error))?;
            let entries = names.into_iter().map(|(name, kind)| {
                let inode = inode_number(&address, &folder.join(&name));
                Entry { name: OsString::from(name), kind, inode }
            });
            let entries = entries.collect();
            if below == Below::Some || root {
                return Ok(entries);
            }
            match store.head(&key).await {
                Ok(_) => Err(Error::Refused { name, errno: libc::ENOTDIR }),
                Err(object_store::Error::NotFound { .. }) if below == Below::Listed => Ok(entries),
                Err(error) => Err(refusal::of(&name, &error)),
            }
        })
    }

    fn read_link(&self, path: &Path) -> Result<PathBuf> {
        Err(Error::Refused { name: path.display().to_string(), errno: libc::EINVAL })
    }

    fn xattr(&self, path: &Path, _name: &OsStr) -> Result<Vec<u8>> {
        self.no_attribute(path)
    }

    fn xattrs(&self, _path: &Path) -> Result<Vec<OsString>> {
        Ok(Vec::new())
    }

    fn space(&self) -> Result<Space> {
        Ok(Space::default())
    }

    fn open(&self, path: &Path) -> Result<Arc<dyn Object>> {
        if self.known_key(path)? == self.prefix {
            return Err(Error::Refused { name: path.display().to_string(), errno: libc::EISDIR });
        }
        let (key, meta) = self.head(path)?;
        let identity = self.identity(path, version(&meta));
        let (store, gate, runtime) = (Arc::clone(&self.store), Arc::clone(&self.gate), self.runtime.clone());
        Ok(Arc::new(StoreObject::new(identity, store, key, gate, runtime)))
    }
}

/// Takes an answer for an object's. A store tells a tag or a time of each object; an answer of no
/// bytes without either is somebody's in between who says 200 to everything, and must not pass for
/// an empty file. (Of one with bytes these are compared with what each range brings.)
fn of_an_object(name: &str, meta: ObjectMeta) -> Result<ObjectMeta> {
    let untold = meta.e_tag.is_none() && meta.version.is_none() && meta.last_modified.timestamp() == 0;
    if untold && meta.size == 0 {
        let reason = "the answer has neither length, tag nor time, so it is not the store's".into();
        return Err(Error::Storage { name: name.into(), reason });
    }
    Ok(meta)
}

/// What tells two versions of an object apart: its entity tag, else its version, else (weakly) size and time.
fn version(meta: &ObjectMeta) -> Version {
    let tag = meta.e_tag.clone().filter(|tag| !tag.is_empty()).or_else(|| meta.version.clone());
    // Times of listings and of single answers differ in precision, so they count only where there is nothing better.
    let nanos = meta.last_modified.timestamp_nanos_opt().unwrap_or_default();
    let modified = if tag.is_none() { i128::from(nanos) } else { 0 };
    Version { size: meta.size, modified, changed: 0, tag: tag.map(String::into_boxed_str) }
}
