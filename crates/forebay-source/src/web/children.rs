//! The names in a folder, as the responses of a listing tell them one after the other.
//!
//! A server behind a proxy may know itself by another path than the one that it was asked by, and
//! may tell the folder itself at any place. So as long as no response belongs to the path that
//! answered, the folder may be any that has the names below the source's root at its end. Names are
//! gathered for each folder that they are in. In the end, of the folders that are told, the one
//! with the shortest path is taken.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use super::look::{facts, time};
use super::multistatus::Response;
use super::names::{Marks, Relation, Segments, relation, resolve};
use super::propfind::Hears;
use crate::listing::Gathered;
use crate::remote::Told;

/// Names of a path.
type Names = [Vec<u8>];

/// The names in a folder, as far as they have been told.
#[derive(Debug, Default)]
pub(super) struct Children {
    /// The path at the server that answered.
    at: Segments,
    /// The path from the source's root.
    below: Segments,
    /// Whether some response belongs to the path that answered; that path is the folder's then.
    certain: bool,
    /// The names in the folders that may be the one.
    names: HashMap<Vec<Vec<u8>>, Gathered>,
    /// The folder, or the one that is taken for it up to now.
    itself: Option<Itself>,
    /// A response that was left out.
    left_out: Option<String>,
}

/// The facts about the folder itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Itself {
    /// The names of its path.
    path: Vec<Vec<u8>>,
    /// As [`Response::status`].
    pub(super) status: Option<u16>,
    /// As [`Response::folder`].
    pub(super) folder: Option<bool>,
}

/// All names and facts of a listing.
#[derive(Debug)]
pub(super) struct Heard {
    /// In order, each once.
    pub(super) names: Gathered,
    pub(super) itself: Option<Itself>,
    /// A response that was left out, for messages.
    pub(super) left_out: Option<String>,
}

impl Children {
    /// For the folder that is `below` the source's root; `at` is the path at the server that
    /// answered.
    pub(super) fn of(at: Segments, below: Segments) -> Children {
        Children { at, below, ..Children::default() }
    }

    /// All names and facts; `None` if no response was of the folder.
    pub(super) fn heard(mut self) -> Option<Heard> {
        if self.certain {
            self.itself.get_or_insert(Itself { path: self.at.names, status: None, folder: None });
        }
        let itself = self.itself?;
        let mut names = self.names.remove(&itself.path).unwrap_or_default();
        names.put_in_order();
        let other = self.names.into_keys().find(|path| !itself.path.starts_with(path));
        let left_out = self.left_out.or(other.map(|path| shown(&path.join(&b'/'))));
        Some(Heard { names, itself: Some(itself), left_out })
    }

    /// Whether a path may be the folder's.
    fn fits(&self, path: &Names) -> bool {
        if self.certain { path == self.at.names } else { path.ends_with(&self.below.names) }
    }

    /// Whether a response tells more of the folder itself than is known.
    fn tells_more(&self, to: &Segments, response: &Response) -> bool {
        match &self.itself {
            // An entry named `.` must not pass for the folder.
            Some(itself) if itself.path == to.names => itself.folder != Some(true),
            _ if self.certain => self.fits(&to.names),
            other => {
                let shorter = other.as_ref().is_none_or(|other| to.names.len() < other.path.len());
                shorter && response.folder.unwrap_or(to.slash) && self.fits(&to.names)
            }
        }
    }

    /// Takes a response as one of a name in a folder; `None` if it is none, or cannot be seen.
    fn take(&mut self, mut to: Segments, response: &Response) -> Option<()> {
        let name = to.names.pop()?;
        if to.unnamed || response.refused() || !self.fits(&to.names) {
            return None;
        }
        let told = if response.folder.unwrap_or(to.slash) {
            Told::Folder(response.modified.and_then(time))
        } else {
            facts(response).map_or(Told::Unmeasured, Told::File)
        };
        let names = match self.names.get_mut(to.names.as_slice()) {
            Some(names) => names,
            None => self.names.entry(to.names).or_default(),
        };
        names.add(OsString::from_vec(name), told);
        Some(())
    }

    fn leave_out(&mut self, href: &[u8]) {
        self.left_out.get_or_insert_with(|| shown(href));
    }
}

impl Hears for Children {
    const DEPTH: &'static str = "1";

    fn hear(&mut self, response: Response) {
        let to = resolve(&response.href, &self.at, Marks::Literal).filter(|_| !response.spoilt);
        let Some(to) = to else { return self.leave_out(&response.href) };
        if !self.certain && relation(&to, &self.at) != Relation::Elsewhere {
            self.certain = true;
            self.itself = None;
            if let Some(path) = std::mem::take(&mut self.names).into_keys().next() {
                self.leave_out(&path.join(&b'/'));
            }
        }
        if self.tells_more(&to, &response) {
            let Response { status, folder, .. } = response;
            self.itself = Some(Itself { path: to.names.clone(), status, folder });
        }
        let may_be_itself = self.fits(&to.names);
        if self.take(to, &response).is_none() && !may_be_itself {
            self.leave_out(&response.href);
        }
    }
}

/// An address as messages show it.
fn shown(href: &[u8]) -> String {
    String::from_utf8_lossy(href).escape_debug().collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Instant;

    use proptest::prelude::*;

    use super::*;
    use crate::Listing;
    use crate::web::names::segments;

    type All = (BTreeMap<OsString, Told>, Option<(Option<u16>, Option<bool>)>, bool);

    /// The same with all responses at hand: first the folder's path, then its names.
    fn naive(responses: &[Response], at: &Segments, below: &Segments) -> Option<All> {
        let resolved = |response: &Response| resolve(&response.href, at, Marks::Literal).filter(|_| !response.spoilt);
        let good = || responses.iter().filter_map(|response| Some((response, resolved(response)?)));
        let certain = good().any(|(_, to)| relation(&to, at) != Relation::Elsewhere);
        let folders = good().filter(|(response, to)| response.folder.unwrap_or(to.slash)).map(|(_, to)| to);
        let fitting = folders.filter(|to| to.names.ends_with(&below.names));
        let folder = if certain { Some(at.clone()) } else { fitting.min_by_key(|to| to.names.len()) }?;
        let (mut names, mut itself, mut left_out) = (BTreeMap::new(), None, false);
        for response in responses {
            let to = resolved(response);
            match to.as_ref().map_or(Relation::Elsewhere, |to| relation(to, &folder)) {
                Relation::Itself => {
                    if itself.is_none_or(|(_, folder)| folder != Some(true)) {
                        itself = Some((response.status, response.folder));
                    }
                }
                Relation::Child(name) if !response.refused() => {
                    let is_folder = response.folder.unwrap_or(to.unwrap().slash);
                    let file = || facts(response).map_or(Told::Unmeasured, Told::File);
                    let told = if is_folder { Told::Folder(response.modified.and_then(time)) } else { file() };
                    let known = names.entry(name).or_insert_with(|| told.clone());
                    if is_folder && !matches!(known, Told::Folder(_)) {
                        *known = told;
                    }
                }
                _ => left_out = true,
            }
        }
        Some((names, itself, left_out))
    }

    fn all(heard: Heard) -> All {
        let listing = Listing::in_order(heard.names, Instant::now());
        let names = listing.iter().map(|listed| (listed.name.to_owned(), Told::of(&listed))).collect();
        let told = heard.itself.map(|itself| (itself.status, itself.folder));
        (names, told.filter(|told| *told != (None, None)), heard.left_out.is_some())
    }

    fn path() -> impl Strategy<Value = String> {
        let name = prop::sample::select(vec!["a", "b", "p", ".", "..", "x%2Fy"]);
        let path = (prop::collection::vec(name, 0..4), any::<bool>(), any::<bool>());
        path.prop_map(|(names, first, last)| {
            format!("{}{}{}", if first { "/" } else { "" }, names.join("/"), if last { "/" } else { "" })
        })
    }

    fn response() -> impl Strategy<Value = Response> {
        let status = prop::sample::select(vec![None, None, Some(200), Some(404)]);
        let kind = prop::sample::select(vec![None, Some(true), Some(false)]);
        let facts = (any::<Option<u16>>(), any::<Option<u32>>());
        let response = (path(), status, kind, facts, prop::bool::weighted(0.05));
        response.prop_map(|(href, status, folder, (length, modified), spoilt)| Response {
            href: href.into_bytes(),
            status,
            folder,
            length: length.map(u64::from),
            modified: modified.map(i64::from),
            tag: None,
            spoilt,
        })
    }

    proptest! {
        #[test]
        fn one_after_the_other_is_as_all_at_hand(
            responses in prop::collection::vec(response(), 0..12),
            at in path(),
            below in path(),
        ) {
            let at = segments(format!("/{at}").as_bytes()).unwrap_or_default();
            let below = segments(below.as_bytes()).unwrap_or_default();
            let mut children = Children::of(at.clone(), below.clone());
            responses.iter().cloned().for_each(|response| children.hear(response));
            let (heard, expected) = (children.heard().map(all), naive(&responses, &at, &below));
            let expected = expected.map(|(names, itself, left_out)| {
                (names, itself.filter(|told| *told != (None, None)), left_out)
            });
            let what = |all: &Option<All>| all.clone().map(|(names, itself, _)| (names, itself));
            prop_assert_eq!(what(&heard), what(&expected));
            // A response that might have been about the folder itself is left out in silence.
            let left_out = |all: Option<All>| all.is_some_and(|(.., left_out)| left_out);
            prop_assert!(!left_out(heard) || left_out(expected), "nothing was left out");
        }
    }

    #[test]
    fn a_server_that_knows_itself_by_another_path_may_tell_the_folder_last() {
        let response = |href: &str, folder| Response { href: href.into(), folder: Some(folder), ..Response::default() };
        let told = ["/inner/d/x", "/inner/d/y", "/inner/d/sub/deep"].map(|href| response(href, false));
        let mut children = Children::of(segments(b"/outer/d").unwrap(), segments(b"d").unwrap());
        told.into_iter().chain([response("/inner/d/", true)]).for_each(|response| children.hear(response));
        let heard = children.heard().unwrap();
        assert_eq!(heard.left_out.as_deref(), Some("/inner/d/sub/deep"));
        assert_eq!(all(heard).0.into_keys().collect::<Vec<_>>(), ["x", "y"]);
    }
}
