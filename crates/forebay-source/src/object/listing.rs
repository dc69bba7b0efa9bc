//! Names below a prefix.
//!
//! Stores that list page by page are asked page by page, so that only names are kept, never a whole
//! listing. Pages of S3 are read by `listed.rs`. Those of others are read by the `object_store`
//! crate, and a page with a key that no path can name must not hide the others: see
//! [`Listing::around`].

use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use object_store::list::{PaginatedListOptions, PaginatedListStore};
use object_store::path::{Error as KeyError, Path as Key};
use object_store::{Error, ListResult, ObjectStore, Result};

use super::facts;
use super::listed::{Entity, Entry, Keys};
use crate::listing::Gathered;
use crate::remote::{Next, Page, Told};

/// Keys a page: the most that S3 gives.
const PAGE: usize = 1000;

/// A store that can list.
#[derive(Clone)]
pub(super) struct Listing {
    store: Arc<dyn ObjectStore>,
    pages: Option<Arc<dyn PaginatedListStore>>,
    /// Whether an unusable key has been reported.
    told: Arc<AtomicBool>,
}

impl Listing {
    pub(super) fn new(store: Arc<dyn ObjectStore>, pages: Option<Arc<dyn PaginatedListStore>>) -> Listing {
        Listing { store, pages, told: Arc::default() }
    }

    /// Whether it lists page by page.
    pub(super) fn has_pages(&self) -> bool {
        self.pages.is_some()
    }

    /// Whether there are keys below `prefix`.
    pub(super) async fn any(&self, prefix: &str) -> Result<Below> {
        let Some(pages) = &self.pages else {
            return Ok(Below::of(prefix, &self.store.list_with_delimiter(Some(&Key::parse(prefix)?)).await?));
        };
        let options = PaginatedListOptions { max_keys: Some(1), ..PaginatedListOptions::default() };
        match pages.list_paginated(below(prefix).as_deref(), options).await {
            // Some key is there, though not one that can be shown.
            Err(Error::InvalidPath { .. }) => Ok(Below::Some),
            page => page.map(|page| Below::of(prefix, &page.result)),
        }
    }

    /// A page of the names in the folder `prefix`, and whether there are keys below it.
    pub(super) async fn page(&self, prefix: &str, next: Option<&Next>) -> Result<(Page, Below)> {
        let Some(pages) = &self.pages else {
            let all = self.store.list_with_delimiter(Some(&Key::parse(prefix)?)).await?;
            return Ok((Page { names: names(prefix, &all), next: None }, Below::of(prefix, &all)));
        };
        let mut options = PaginatedListOptions {
            delimiter: Some("/".into()),
            max_keys: Some(PAGE),
            page_token: next.map(|next| next.0.clone().into_string()),
            ..PaginatedListOptions::default()
        };
        let below = below(prefix);
        let mut found = Below::Nothing;
        loop {
            match pages.list_paginated(below.as_deref(), options.clone()).await {
                Ok(page) => {
                    let names = names(prefix, &page.result);
                    let found = if found == Below::Some { found } else { Below::of(prefix, &page.result) };
                    return Ok((
                        Page { names, next: page.page_token.map(|token| Next(token.into_boxed_str())) },
                        found,
                    ));
                }
                Err(Error::InvalidPath { source }) => {
                    found = Below::Some;
                    options = self.around(options, source)?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The way on after a page that failed because one of its keys cannot be a path: smaller pages,
    /// until the key stands alone, then the page behind it. The failed page tells no more than that
    /// key.
    fn around(&self, options: PaginatedListOptions, source: KeyError) -> Result<PaginatedListOptions> {
        match (options.max_keys, source) {
            (Some(keys @ 2..), _) => Ok(PaginatedListOptions { max_keys: Some(keys / 2), ..options }),
            (_, KeyError::EmptySegment { path } | KeyError::BadSegment { path, .. }) => {
                if !self.told.swap(true, Ordering::Relaxed) {
                    log::warn!("{path:?} and other keys that no path can name are left out");
                }
                // A listed prefix stands for all keys below it: go behind the last of them.
                let behind = if path.ends_with('/') { path + "\u{10FFFF}" } else { path };
                Ok(PaginatedListOptions { offset: Some(behind), page_token: None, max_keys: Some(PAGE), ..options })
            }
            (_, source) => Err(Error::InvalidPath { source }),
        }
    }
}

/// Whether there are keys below a prefix.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Below {
    /// Nothing.
    #[default]
    Nothing,
    /// Some key.
    Some,
}

impl Below {
    /// As a page of the folder `prefix` shows it. A key from elsewhere, which a server may have
    /// sent all the same, makes no folder of a file.
    fn of(prefix: &str, page: &ListResult) -> Below {
        let below = below(prefix).unwrap_or_default();
        // The crate's keys lack the slash at the end of a folder's own marker.
        let has = |key: &Key| key.as_ref() == prefix || key.as_ref().starts_with(&below);
        let own = keys(page).is_some_and(|keys| keys.entries.iter().any(|entry| entry.key.starts_with(&below)));
        let found = own || page.objects.iter().any(|object| has(&object.location));
        if found || page.common_prefixes.iter().any(has) { Below::Some } else { Below::Nothing }
    }
}

/// The prefix that only keys below `key` have.
fn below(key: &str) -> Option<String> {
    (!key.is_empty()).then(|| format!("{key}/"))
}

/// The keys of a page of S3.
fn keys(page: &ListResult) -> Option<&Keys> {
    page.extensions.get::<Arc<Keys>>().map(|keys| &**keys)
}

/// The names of a page, and their meaning.
fn names(prefix: &str, page: &ListResult) -> Gathered {
    if let Some(keys) = keys(page) {
        return names_of_keys(&below(prefix).unwrap_or_default(), keys);
    }
    let files =
        page.objects.iter().filter_map(|object| Some((name(prefix, &object.location)?, Told::File(facts(object)))));
    let folders = page.common_prefixes.iter().filter_map(|folder| Some((name(prefix, folder)?, Told::Folder(None))));
    files.chain(folders).collect()
}

/// The names of keys that begin with `below`; none for the folder's own marker. Names that no file
/// system can hold are left out later (`remote/asker.rs`).
fn names_of_keys(below: &str, keys: &Keys) -> Gathered {
    let name = |entry: &Entry| {
        let rest = entry.key.strip_prefix(below).filter(|rest| !rest.is_empty())?;
        let (rest, told) = match &entry.told {
            Entity::Prefix => (rest.strip_suffix('/').unwrap_or(rest), Told::Folder(None)),
            Entity::Object(Some(facts)) => (rest, Told::File(facts.clone())),
            Entity::Object(None) => (rest, Told::Unmeasured),
        };
        Some((rest.into(), told))
    };
    keys.entries.iter().filter_map(name).collect()
}

/// The name of `key` in the folder `prefix`; none for the folder's own marker.
fn name(prefix: &str, key: &Key) -> Option<OsString> {
    let rest = if prefix.is_empty() { key.as_ref() } else { key.as_ref().strip_prefix(prefix)?.strip_prefix('/')? };
    (!rest.is_empty() && !rest.contains('/')).then(|| rest.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(keys: &[&str]) -> ListResult {
        let entries = keys.iter().map(|key| Entry { key: (*key).into(), told: Entity::Object(None) });
        let mut page = ListResult { objects: Vec::new(), common_prefixes: Vec::new(), extensions: Default::default() };
        page.extensions.insert(Arc::new(Keys { entries: entries.collect(), next: None }));
        page
    }

    #[test]
    fn only_keys_below_a_name_make_it_a_folder() {
        for (keys, below) in [
            (&["file/"][..], Below::Some),
            (&["file/a"], Below::Some),
            (&["elsewhere/a", "file/a"], Below::Some),
            (&["elsewhere/a", "file", "filed/a", "File/a"], Below::Nothing),
            (&[], Below::Nothing),
        ] {
            assert_eq!(Below::of("file", &page(keys)), below, "{keys:?}");
        }
        assert_eq!(Below::of("", &page(&["a"])), Below::Some);
        let meta = |key: &str| object_store::ObjectMeta {
            location: Key::from(key),
            last_modified: Default::default(),
            size: 1,
            e_tag: None,
            version: None,
        };
        for (keys, below) in [(&["file"][..], Below::Some), (&["file/a"], Below::Some), (&["filed"], Below::Nothing)] {
            let objects = keys.iter().map(|key| meta(key)).collect();
            let page = ListResult { objects, common_prefixes: Vec::new(), extensions: Default::default() };
            assert_eq!(Below::of("file", &page), below, "{keys:?}: read by the crate");
        }
    }
}
