//! Any keys, however odd, give the names that a naive reading of the keys gives, page by page.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use crate::fresh;
use forebay_source::{Kind, RemoteSource, Source};
use futures::future::BoxFuture;
use object_store::list::{PaginatedListOptions, PaginatedListResult, PaginatedListStore};
use object_store::memory::InMemory;
use object_store::path::Path as Key;
use object_store::{ListResult, ObjectMeta, Result};
use proptest::prelude::*;

/// Lists as S3 does: raw keys in order, grouped by the delimiter, at most `most` a page. A page
/// with a key that is no path fails whole, as the client makes it fail.
struct Pages {
    keys: BTreeSet<String>,
    /// The most that this server gives, for any request.
    most: usize,
}

impl Pages {
    fn page(&self, prefix: &str, options: &PaginatedListOptions) -> Result<PaginatedListResult> {
        let after = options.page_token.as_ref().or(options.offset.as_ref());
        let delimiter = options.delimiter.as_ref().map(Borrow::<str>::borrow);
        let group = |key: &String| -> (String, bool) {
            let rest = &key[prefix.len()..];
            match delimiter.and_then(|delimiter| rest.find(delimiter)) {
                Some(at) => (key[..=prefix.len() + at].to_owned(), true),
                None => (key.clone(), false),
            }
        };
        // As with S3: the key decides whether it counts, or its group if the group has been given
        // already.
        let given = |key: &String, group: &String| after.is_some_and(|after| key <= after || group == after);
        let keys = self.keys.iter().filter(|key| key.starts_with(prefix)).map(|key| (key, group(key)));
        let mut groups: Vec<_> = keys.filter(|(key, (group, _))| !given(key, group)).map(|(_, group)| group).collect();
        groups.dedup();
        let room = options.max_keys.unwrap_or(1000).min(self.most);
        let page_token = (groups.len() > room).then(|| groups[room - 1].0.clone());
        let mut result = ListResult { common_prefixes: vec![], objects: vec![], extensions: Default::default() };
        for (name, is_prefix) in groups.into_iter().take(room) {
            let location = Key::parse(name)?;
            let last_modified = Default::default();
            match is_prefix {
                true => result.common_prefixes.push(location),
                false => {
                    result.objects.push(ObjectMeta { location, last_modified, size: 1, e_tag: None, version: None })
                }
            }
        }
        Ok(PaginatedListResult { result, page_token })
    }
}

impl PaginatedListStore for Pages {
    fn list_paginated<'a, 'b, 'c>(
        &'a self,
        prefix: Option<&'b str>,
        options: PaginatedListOptions,
    ) -> BoxFuture<'c, Result<PaginatedListResult>>
    where
        'a: 'c,
        'b: 'c,
    {
        Box::pin(async move { self.page(prefix.unwrap_or_default(), &options) })
    }
}

/// The names that a folder shows, by the words of the documentation.
fn expected(keys: &BTreeSet<String>, folder: &str) -> BTreeMap<String, Kind> {
    let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
    let nameable = |name: &str| !["", ".", ".."].contains(&name) && !name.contains(char::is_control);
    let mut names = BTreeMap::new();
    for rest in keys.iter().filter_map(|key| key.strip_prefix(&prefix)) {
        let (name, kind) = rest.split_once('/').map_or((rest, Kind::File), |(name, _)| (name, Kind::Folder));
        if nameable(name) && names.get(name) != Some(&Kind::Folder) {
            names.insert(name.to_owned(), kind);
        }
    }
    names
}

fn source(keys: &BTreeSet<String>, most: usize) -> RemoteSource {
    let pages = Arc::new(Pages { keys: keys.clone(), most });
    RemoteSource::of_store("pages", Arc::new(InMemory::new()), Some(pages), Key::ROOT, &fresh(8)).unwrap()
}

fn check(keys: &BTreeSet<String>, most: usize, folder: &str) {
    let source = source(keys, most);
    let below = format!("{folder}/");
    let exists = folder.is_empty() || keys.iter().any(|key| key.starts_with(&below));
    match source.list(Path::new(folder)) {
        Ok(entries) => {
            assert!(exists, "{folder:?} of {keys:?}");
            let count = entries.len();
            let names: BTreeMap<_, _> =
                entries.into_iter().map(|entry| (entry.name.into_string().unwrap(), entry.kind)).collect();
            assert_eq!((&names, names.len()), (&expected(keys, folder), count), "{folder:?} of {keys:?}");
        }
        Err(error) => assert!(!exists, "{error}: {folder:?} of {keys:?}"),
    }
    let folders = source.stat(Path::new(folder)).is_ok_and(|stat| stat.kind == Kind::Folder);
    assert_eq!(folders, exists, "{folder:?} of {keys:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn names_are_those_of_the_keys(
        keys in proptest::collection::btree_set("((a|b|cc|\\.|\\.\\.|\u{1}|)/){0,3}(a|b|cc|\\.|\u{1}|)", 0..40),
        most in 1usize..12,
    ) {
        let keys: BTreeSet<String> = keys.into_iter().filter(|key| !key.is_empty()).collect();
        for folder in ["", "a", "b", "a/a", "a/cc/b"] {
            check(&keys, most, folder);
        }
    }
}

#[test]
fn one_bad_key_among_thousands_hides_none() {
    let mut keys: BTreeSet<String> = (0..5000).map(|i| format!("folder/name-{i:04}")).collect();
    keys.extend(["folder/name-1234//x".into(), "folder/name-2000\u{7}".into(), "folder//y".into(), "folder/".into()]);
    check(&keys, 1000, "folder");
    assert_eq!(source(&keys, 1000).list(Path::new("folder")).unwrap().len(), 5000);
}
