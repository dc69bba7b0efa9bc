//! A web source against servers of all kinds, asked as `Remote` is.

mod labels;
mod listings;
mod long;
mod odd;
mod pages;
mod parsing;
mod places;
mod scripted;
mod servers;
mod silent;
mod slices;
mod start;
mod urls;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::future::Future;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use super::{Web, WebOptions};
use crate::remote::{Answer, Range, Remote, Room, Told, Trouble};
use crate::{Error, Facts, Label, Listing, Segments, Version};

/// A source and the threads that its requests run on.
struct Tried {
    web: Web,
    runtime: tokio::runtime::Runtime,
}

/// So short that silent servers don't hold up the tests.
fn impatient() -> WebOptions {
    WebOptions { silence: Duration::from_millis(400), ..WebOptions::default() }
}

impl Tried {
    fn new(url: &str) -> Tried {
        Tried::with(url, &impatient())
    }

    fn with(url: &str, options: &WebOptions) -> Tried {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Tried { web: Web::open(url, options).unwrap(), runtime }
    }

    fn once<T>(&self, request: impl Future<Output = Answer<T>>) -> Answer<T> {
        self.runtime.block_on(request)
    }

    /// Tries as `RemoteSource` does, only less patiently.
    fn patiently<T, F: Future<Output = Answer<T>>>(&self, request: impl Fn() -> F) -> Result<T, Trouble> {
        for _ in 0..3 {
            match self.once(request()) {
                Err(trouble) if trouble.error.is_transient() => {
                    std::thread::sleep(trouble.wait.unwrap_or_default().min(Duration::from_secs(3)));
                }
                answer => return answer,
            }
        }
        self.once(request())
    }

    fn look(&self, path: impl AsRef<OsStr>) -> Result<Told, Error> {
        let path = Path::new(path.as_ref());
        self.patiently(|| self.web.look(path)).map_err(|trouble| trouble.error)
    }

    fn facts(&self, path: impl AsRef<OsStr>) -> Result<Facts, Error> {
        match self.look(path)? {
            Told::File(facts) => Ok(facts),
            told => panic!("no file: {told:?}"),
        }
    }

    /// The names of a folder, with the meaning of each.
    fn page(&self, path: impl AsRef<OsStr>) -> Result<BTreeMap<OsString, Told>, Error> {
        let path = Path::new(path.as_ref());
        let page = self.patiently(|| self.web.page(path, None)).map_err(|trouble| trouble.error)?;
        assert_eq!(page.next, None);
        let listing = Listing::in_order(page.names, Instant::now());
        Ok(listing.iter().map(|listed| (listed.name.to_owned(), Told::of(&listed))).collect())
    }

    /// The names in a folder, those of folders with a slash.
    fn names(&self, path: &str) -> Result<Vec<String>, Error> {
        let names = self.page(path)?.into_iter();
        let shown = |(name, told): (OsString, Told)| {
            let slash = if matches!(told, Told::Folder(_)) { "/" } else { "" };
            format!("{}{slash}", name.display())
        };
        Ok(names.map(shown).collect())
    }

    fn read(&self, path: impl AsRef<OsStr>, version: &Version, bytes: std::ops::Range<u64>) -> Result<Vec<u8>, Error> {
        let (path, len) = (Path::new(path.as_ref()), (bytes.end - bytes.start) as usize);
        let label = Label::all(bytes.clone());
        let read = async || {
            let mut buffer = Segments::own(len);
            let range = Range {
                path,
                version,
                offset: bytes.start,
                len,
                label: &label,
                room: Room::default(),
                patience: Duration::from_secs(30),
            };
            self.web.read(range, &mut buffer).await?;
            Ok(buffer.to_vec()[..len].to_vec())
        };
        self.patiently(|| Box::pin(read())).map_err(|trouble| trouble.error)
    }

    /// All bytes, in odd pieces, the last one first. A file that is stale at once is looked at
    /// again, as by a reader that opens it anew.
    fn read_all(&self, path: impl AsRef<OsStr>) -> Result<Vec<u8>, Error> {
        let path = path.as_ref();
        let read = || {
            let facts = self.facts(path)?;
            let mut bytes = vec![0; facts.size as usize];
            let version = facts.version();
            let starts: Vec<u64> = (0..facts.size).step_by(99_991).collect();
            for start in starts.into_iter().rev() {
                let end = (start + 99_991).min(facts.size);
                let part = self.read(path, &version, start..end)?;
                bytes[start as usize..end as usize].copy_from_slice(&part);
            }
            Ok(bytes)
        };
        match read() {
            Err(Error::Stale(_)) => read(),
            other => other,
        }
    }
}

fn os(name: &[u8]) -> &OsStr {
    OsStr::from_bytes(name)
}
