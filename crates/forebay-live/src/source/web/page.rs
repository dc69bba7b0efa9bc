//! The names in a folder.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::OsString;
use std::path::Path;

use reqwest::{Method, Url};

use super::address::path_of;
use super::ask::Question;
use super::learnt::Propfind;
use super::look::{Name, cannot, facts, time};
use super::multistatus::Response;
use super::names::{Marks, Relation, Segments, escape, relation, resolve, segments};
use super::propfind::{Depth, Found, Listing, says_busy};
use super::trouble::{broken, not_found, refused};
use super::{Web, What, index};
use crate::source::Error;
use crate::source::remote::{Answer, Page, Told, Trouble};

/// How long the page of a folder may be, in bytes.
const PAGE: usize = 64 << 20;

/// How often PROPFIND may fail in ways that might pass before a page is asked for instead.
const FAILURES: u32 = 2;

/// A folder whose names are asked for.
struct Folder<'a> {
    path: &'a Path,
    url: Url,
    shown: String,
}

impl Web {
    /// The names in a folder, with whatever tags the server gives them.
    pub(super) async fn page_of(&self, path: &Path) -> Answer<Page> {
        let shown = self.name(path);
        if let What::File(name) = self.settle().await? {
            return self.page_of_one(path, name).await;
        }
        let url = self.address.folder(path).ok_or_else(|| not_found(&shown))?;
        let folder = Folder { path, url, shown };
        if let Propfind::Refused(status) = self.learnt.propfind() {
            return self.by_index(&folder, status).await;
        }
        let works = self.learnt.propfind() == Propfind::Works;
        let found = self.propfind(folder.url.clone(), Depth::Names, &folder.shown).await;
        match found {
            Ok(Found::Listing(listing)) => self.of_multistatus(&folder, listing).await,
            Ok(Found::Missing) if works => self.of_missing(&folder).await,
            Ok(Found::Garbage(reason)) if works => Err(broken(&folder.shown, &reason)),
            Ok(Found::Missing) => self.by_index(&folder, 404).await,
            Ok(Found::Refused(status)) => self.by_index(&folder, status).await,
            Ok(Found::Garbage(_) | Found::LacksSlash) => self.by_index(&folder, 207).await,
            Err(trouble) if works || says_busy(&trouble) || !trouble.error.is_transient() => Err(trouble),
            Err(trouble) if self.learnt.failures.add() < FAILURES => Err(trouble),
            Err(_) => self.by_index(&folder, 500).await,
        }
    }

    async fn page_of_one(&self, path: &Path, name: &OsString) -> Answer<Page> {
        if !path.as_os_str().is_empty() {
            let errno = if path == Path::new(name) { libc::ENOTDIR } else { libc::ENOENT };
            return Err(refused(&self.name(path), errno, "one file"));
        }
        let told = self.look_at(Path::new(name)).await?;
        Ok(Page { names: vec![(name.clone(), told)], next: None })
    }

    async fn of_multistatus(&self, folder: &Folder<'_>, listing: Listing) -> Answer<Page> {
        let below = escape(folder.path).and_then(|path| segments(path.as_bytes())).unwrap_or_default();
        let Some(at) = listing.folder(&below) else {
            return Err(broken(&folder.shown, "the listing is not of this folder"));
        };
        let mut names = Names { at: &at, entries: HashMap::new(), itself: None, left_out: None };
        for response in &listing.responses {
            names.take(response, &listing.at);
        }
        if let Some(detail) = &names.left_out {
            self.say("entries of listings are left out", &format!(", as {detail}"));
        }
        if names.entries.is_empty()
            && let Some(trouble) = names.itself.and_then(|itself| of_itself(&folder.shown, itself))
        {
            return Err(trouble);
        }
        let lie = !self.agrees(folder, &names.entries).await?;
        let entries = names.entries.into_iter();
        let told = |told| if lie && matches!(told, Told::File(_)) { Told::Unmeasured } else { told };
        Ok(Page { names: entries.map(|(name, it)| (name, told(it))).collect(), next: None })
    }

    /// Whether the server's listings tell what its files are, tried with one of them.
    async fn agrees(&self, folder: &Folder<'_>, entries: &HashMap<OsString, Told>) -> Answer<bool> {
        let files = entries.iter().filter_map(|(name, told)| match told {
            Told::File(facts) => Some((name, facts)),
            _ => None,
        });
        if !self.learnt.compared.is_set()
            && let Some((name, facts)) = files.min_by_key(|(name, _)| *name)
        {
            let path = folder.path.join(name);
            if let Some(url) = self.address.name(&path) {
                let name = Name { path: &path, url, shown: self.name(&path) };
                self.compared(&name, facts.clone()).await?;
            }
        }
        Ok(!self.learnt.listings_lie.is_set())
    }

    /// The names in a folder by the page for browsers; PROPFIND was answered by the status `after`.
    async fn by_index(&self, folder: &Folder<'_>, after: u16) -> Answer<Page> {
        let question = Question::new(Method::GET, folder.url.clone(), &folder.shown);
        let reply = self.asker.ask(&question).await?;
        let status = reply.status().as_u16();
        let there = matches!(status, 200..300) || after != 404 && matches!(status, 403 | 404);
        if cannot(after) || there && !matches!(after, 401 | 403) || matches!(status, 200..300) {
            self.learnt.propfind_is_refused(after);
        }
        let unlisted = |kind: &str| Err(refused(&folder.shown, libc::EOPNOTSUPP, kind));
        match status {
            200 if reply.head.is_page() || reply.head.media.is_empty() => {
                let at = path_of(&reply.from);
                let body = reply.body(&folder.shown, PAGE).await?;
                match index::parse(&body, &at) {
                    Some(links) => Ok(of_links(links)),
                    None => unlisted("a page that is no listing"),
                }
            }
            200..300 => unlisted("a page that is no listing"),
            404 | 410 => self.of_missing(folder).await,
            403 if !matches!(after, 401 | 403) => unlisted("no listing"),
            _ => match reply.trouble(&folder.shown) {
                Trouble { error: Error::Refused { .. }, kind, .. } => unlisted(&kind),
                trouble => Err(trouble),
            },
        }
    }

    /// A folder that has no page either may be a file, or may have names that can be asked for.
    async fn of_missing(&self, folder: &Folder<'_>) -> Answer<Page> {
        if folder.path.as_os_str().is_empty() {
            if self.learnt.propfind() == Propfind::Works {
                return Err(not_found(&folder.shown));
            }
            self.say("nothing answers here", "; names below it may");
            return Err(refused(&folder.shown, libc::EOPNOTSUPP, "no listing"));
        }
        let name = self.named(folder.path).await?;
        match self.look_below(&name).await? {
            Told::Folder(_) => Err(refused(&folder.shown, libc::EOPNOTSUPP, "no listing")),
            Told::File(_) | Told::Unmeasured => Err(refused(&folder.shown, libc::ENOTDIR, "a file")),
        }
    }
}

/// The names of a listing as far as they have been taken.
struct Names<'a> {
    at: &'a Segments,
    entries: HashMap<OsString, Told>,
    itself: Option<&'a Response>,
    /// An entry that was left out.
    left_out: Option<String>,
}

impl<'a> Names<'a> {
    fn take(&mut self, response: &'a Response, asked: &Segments) {
        let to = resolve(&response.href, asked, Marks::Literal).filter(|_| !response.spoilt);
        let Some((to, relation)) = to.map(|to| (to.slash, relation(&to, self.at))) else {
            return self.leave_out(response);
        };
        match relation {
            Relation::Itself => {
                // An entry named `.` must not pass for the folder.
                if self.itself.is_none_or(|itself| itself.folder != Some(true)) {
                    self.itself = Some(response);
                }
            }
            Relation::Elsewhere => self.leave_out(response),
            Relation::Child(_) if response.refused() => self.leave_out(response),
            Relation::Child(name) => {
                let told = if response.folder.unwrap_or(to) {
                    Told::Folder(response.modified.and_then(time))
                } else {
                    facts(response).map_or(Told::Unmeasured, Told::File)
                };
                add(&mut self.entries, name, told);
            }
        }
    }

    fn leave_out(&mut self, response: &Response) {
        let href = || String::from_utf8_lossy(&response.href).escape_debug().collect();
        self.left_out.get_or_insert_with(href);
    }
}

/// Adds a name once; one that is both is a folder.
fn add(entries: &mut HashMap<OsString, Told>, name: OsString, told: Told) {
    match entries.entry(name) {
        Entry::Vacant(vacant) => drop(vacant.insert(told)),
        Entry::Occupied(mut there) => {
            if matches!(told, Told::Folder(_)) {
                there.insert(told);
            }
        }
    }
}

fn of_links(links: Vec<index::Link>) -> Page {
    let mut entries = HashMap::new();
    for link in links {
        add(&mut entries, link.name, if link.slash { Told::Folder(None) } else { Told::Unmeasured });
    }
    Page { names: entries.into_iter().collect(), next: None }
}

/// The trouble with a folder of no entries, if it is none.
fn of_itself(name: &str, itself: &Response) -> Option<Trouble> {
    match itself.status {
        Some(401 | 403) => Some(Trouble::new(Error::Denied(name.to_owned()), "403")),
        Some(404 | 410) => Some(not_found(name)),
        _ if itself.refused() => Some(refused(name, libc::EIO, "refused")),
        _ if itself.folder == Some(false) => Some(refused(name, libc::ENOTDIR, "a file")),
        _ => None,
    }
}
