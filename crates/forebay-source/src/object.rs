//! A prefix of a bucket, as a tree of names.
//!
//! An object store has keys, not folders. A key's parts between slashes are the names here, so a
//! prefix that has keys is a folder; so is a *marker*, an object whose key ends in a slash. Where a
//! key is both an object and a prefix, the folder is shown and the object hidden: better one name
//! less than a whole tree. Keys that no path can name (`a//b`, `.`, `..`, and control characters
//! except in S3) are left out, with a line in the log.

mod amiss;
mod answers;
mod credentials;
#[doc(hidden)]
pub mod fuzzing;
mod keys;
mod listed;
mod listing;
mod open;
pub mod range;
mod refusal;
mod s3;
mod signer;
mod waits;

use std::path::{Component, Path};
use std::sync::Arc;

use async_trait::async_trait;
use object_store::list::PaginatedListStore;
use object_store::path::Path as Key;
use object_store::{Error as StoreError, ObjectMeta, ObjectStore, ObjectStoreExt};

use super::remote::{About, Answer, Next, Page, Range, Remote, RemoteSource, Shows, Told, Trouble};
use super::{Error, Facts, Result};
use crate::Segments;
use credentials::Credentials;
use keys::marked;
use listing::{Below, Listing};
use range::Unread;
use waits::Waits;

pub use open::{SCHEMES, StoreOptions};

/// A prefix of an object store.
struct Bucket {
    /// The prefix, without a slash at its end.
    prefix: String,
    store: Arc<dyn ObjectStore>,
    listing: Listing,
    /// For how long the server wants to be left alone.
    waits: Waits,
    /// Whether keys may have control characters.
    has_controls: bool,
    /// The credentials that requests are signed with, if no setting gives them.
    credentials: Option<Credentials>,
}

impl RemoteSource {
    /// A source over any store; its name is its address. `pages` is the same store once more, if it
    /// can list page by page: then questions about folders cost little however large they are.
    /// Options that tell how to reach a store do not count.
    pub fn of_store(
        name: impl Into<String>,
        store: Arc<dyn ObjectStore>,
        pages: Option<Arc<dyn PaginatedListStore>>,
        prefix: Key,
        options: &StoreOptions,
    ) -> Result<RemoteSource> {
        let name = name.into();
        let (address, shows) = (name.as_str().into(), Shows::Keys("see the options of the store"));
        let about = About { name, address, server: String::new(), plain: None, shows };
        let (listing, waits) = (Listing::new(Arc::clone(&store), pages), Waits::default());
        let prefix = prefix.into();
        let bucket = Bucket { prefix, listing, store, waits, has_controls: false, credentials: None };
        RemoteSource::new(Arc::new(bucket), about, options.limits(), options.modes)
    }

    /// Opens `uri`: a scheme of [`SCHEMES`], then a bucket and a prefix, or a host and a path.
    pub fn open_uri(uri: &str, options: &StoreOptions) -> Result<RemoteSource> {
        open::open(uri, options)
    }

    /// [`open_uri`](Self::open_uri), and a check of the source, which is reported to
    /// `options.tell`. A bucket of S3 that turns out to be in another region is opened there,
    /// unless a region is given.
    pub fn reach_uri(uri: &str, options: &StoreOptions) -> Result<RemoteSource> {
        let source = open::open(uri, options)?;
        let Err(error) = source.check_telling(options.tell) else { return Ok(source) };
        let Error::Setting { region: Some(region), .. } = &error else { return Err(error) };
        if s3::region_is_said(options) {
            return Err(error);
        }
        log::info!("{uri} is in the region {region}");
        let options = StoreOptions { region: Some(region.to_string()), ..options.clone() };
        let source = open::open(uri, &options)?;
        source.check_telling(options.tell).map(|()| source)
    }
}

impl Bucket {
    /// The key of a path, as the bucket has it.
    fn key(&self, path: &Path) -> Answer<String> {
        let missing = || Trouble::new(Error::NotFound(path.display().to_string()), "no key");
        let parts = path.components().filter(|part| *part != Component::CurDir).map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        });
        let parts = (!self.prefix.is_empty()).then_some(Some(&*self.prefix)).into_iter().chain(parts);
        let key = parts.collect::<Option<Vec<_>>>().ok_or_else(missing)?.join("/");
        let unfit = |char: char| char == '\0' || char.is_ascii_control() && !self.has_controls;
        if key.contains(unfit) { Err(missing()) } else { Ok(key) }
    }

    /// A key as the store takes it.
    fn location(&self, path: &Path, key: &str) -> Answer<Key> {
        let location = if self.has_controls { Key::parse(marked(key)) } else { Key::parse(key) };
        location.map_err(|_| Trouble::new(Error::NotFound(path.display().to_string()), "no key"))
    }

    /// Takes an answer as an object's. A store tells a tag or a time of each object. An empty
    /// answer without either comes from a proxy in between that answers 200 to everything, and must
    /// not pass for an empty file. (For an object with bytes, each range's tag and time are
    /// compared with these.)
    fn of_an_object(&self, path: &Path, meta: &ObjectMeta) -> Answer<Told> {
        let untold = meta.e_tag.is_none() && meta.version.is_none() && meta.last_modified.timestamp() == 0;
        if self.listing.has_pages() && untold && meta.size == 0 {
            let reason = "the answer has neither length, tag nor time, so it is not the store's".into();
            let error = Error::Storage { name: path.display().to_string(), reason };
            return Err(Trouble::new(error, "untold"));
        }
        Ok(Told::File(facts(meta)))
    }

    /// The trouble of a request concerning `path` that failed; `means` translates the error. A
    /// refusal of the credentials is tried again, if others can be had.
    fn trouble(&self, path: &Path, means: fn(&str, &StoreError) -> Error, error: &StoreError) -> Trouble {
        let trouble = self.waits.trouble(path, means, error);
        let Some(credentials) = &self.credentials else { return trouble };
        if !refusal::is_of_credentials(&trouble.kind) || !credentials.doubt() {
            return trouble;
        }
        let reason = format!("the server no longer takes the credentials ({})", trouble.kind);
        Trouble { error: Error::Storage { name: path.display().to_string(), reason }, ..trouble }
    }
}

#[async_trait]
impl Remote for Bucket {
    async fn ready(&self) -> Answer<()> {
        let Some(credentials) = &self.credentials else { return Ok(()) };
        let missing = match credentials.get().await {
            Ok(_) => return Ok(()),
            Err(missing) => missing,
        };
        let error = Error::Storage { name: String::new(), reason: missing.to_string() };
        Err(Trouble::new(error, refusal::CREDENTIALS))
    }

    /// Asks at once for the object and for a key below it: two requests, the time of one.
    async fn look(&self, path: &Path) -> Answer<Told> {
        let key = self.key(path)?;
        let location = self.location(path, &key)?;
        let (object, below) = futures::join!(self.store.head(&location), self.listing.any(&key));
        let refused = |error| self.trouble(path, refusal::of, &error);
        match (below.map_err(refused)?, object) {
            (Below::Some, _) => Ok(Told::Folder(None)),
            (Below::Nothing, object) => self.of_an_object(path, &object.map_err(refused)?),
        }
    }

    async fn page(&self, folder: &Path, next: Option<&Next>) -> Answer<Page> {
        let key = self.key(folder)?;
        let refused = |error| self.trouble(folder, refusal::of, &error);
        let (page, below) = self.listing.page(&key, next).await.map_err(refused)?;
        if below == Below::Some || next.is_some() || key.is_empty() {
            return Ok(page);
        }
        // No key has this prefix. It may be a file's name.
        match self.store.head(&self.location(folder, &key)?).await {
            Ok(_) => {
                let error = Error::Refused { name: folder.display().to_string(), errno: libc::ENOTDIR };
                Err(Trouble::new(error, "not a folder"))
            }
            Err(error) => Err(refused(error)),
        }
    }

    fn pages_are_cheap(&self) -> bool {
        self.listing.has_pages()
    }

    /// Names the version that it wants (`If-Match`), and compares the answer with it all the same.
    async fn read(&self, range: Range<'_>, buffer: &mut Segments) -> Answer<()> {
        let Range { path, version, offset, len, patience, .. } = range;
        let location = self.location(path, &self.key(path)?)?;
        let wanted = offset..offset + len as u64;
        let read = range::read(&*self.store, &location, version, wanted, patience, buffer).await;
        let storage = |reason: String| Error::Storage { name: path.display().to_string(), reason };
        read.map_err(|unread| match unread {
            Unread::Refused(error) => self.trouble(path, refusal::of_range, &error),
            Unread::Changed => Trouble::new(Error::Stale(path.display().to_string()), "changed"),
            Unread::Slow(slow) => Trouble::new(storage(slow.to_string()), "slow"),
            Unread::Broken(reason) => Trouble::new(storage(reason.into()), "broken answer"),
        })
    }
}

/// The facts that a store tells about an object. Its tag is the entity tag, else the version.
pub fn facts(meta: &ObjectMeta) -> Facts {
    let tag = meta.e_tag.clone().filter(|tag| !tag.is_empty()).or_else(|| meta.version.clone());
    let modified = Some(meta.last_modified).filter(|time| time.timestamp() != 0);
    let modified = modified.and_then(|time| time.timestamp_nanos_opt());
    Facts { size: meta.size, modified, tag: tag.map(String::into_boxed_str) }
}
