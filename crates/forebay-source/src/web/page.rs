//! The names in a folder.

use std::ffi::OsString;
use std::path::Path;

use reqwest::{Method, Url};

use super::ask::Question;
use super::beside::{First, beside};
use super::body::Body;
use super::children::{Children, Heard, Itself};
use super::entries::{CLASSES, Classes};
use super::head::Head;
use super::index::Link;
use super::learnt::{Propfind, SILENCE};
use super::look::{Name, cannot};
use super::names::{escape, segments};
use super::propfind::{Found, says_busy};
use super::trouble::{broken, not_found, refused};
use super::{Web, What, index, json, xml};
use crate::Error;
use crate::listing::Gathered;
use crate::remote::{Answer, Page, Told, Trouble};

/// How long the page of a folder may be, in bytes.
const PAGE: usize = 64 << 20;

/// How often PROPFIND may fail in ways that might pass before a page is asked for instead.
const FAILURES: u32 = 2;

/// A folder to list.
struct Folder<'a> {
    path: &'a Path,
    url: Url,
    shown: String,
}

impl Web {
    /// The names in a folder, with any tags that the server gives them.
    pub(super) async fn page_of(&self, path: &Path) -> Answer<Page> {
        let shown = self.name(path);
        if let What::File(name) = self.settle().await? {
            return self.page_of_one(path, name).await;
        }
        let url = self.address.folder(path).ok_or_else(|| not_found(&shown))?;
        let folder = Folder { path, url, shown };
        if let Propfind::Refused(status) = self.learnt.propfind() {
            match self.by_index(&folder, status).await {
                // PROPFIND may have been silent for a while only.
                Err(trouble)
                    if status == SILENCE && lists_nothing(&trouble) && self.learnt.failures.get() < FAILURES => {}
                page => return page,
            }
        }
        let works = self.learnt.propfind() == Propfind::Works;
        let below = escape(folder.path).and_then(|path| segments(path.as_bytes())).unwrap_or_default();
        let asked = self.begin_propfind::<Children>(folder.url.clone(), &folder.shown);
        let shares = if works { self.waits.known } else { self.waits.propfind };
        let reply = match beside(shares, asked, Box::pin(self.by_index(&folder, SILENCE))).await {
            First::Usual(reply) => reply,
            First::Other(page) => {
                match page {
                    Ok(_) => self.propfind_is_silent(),
                    Err(_) => drop(self.learnt.failures.add()),
                }
                return page;
            }
        };
        let found = self.end_propfind(reply, &folder.shown, |at| Children::of(at, below)).await;
        match found {
            Ok(Found::Listing(listing)) => self.of_multistatus(&folder, listing).await,
            Ok(Found::Missing) if works => self.of_missing(&folder, "PROPFIND is answered 404").await,
            Ok(Found::Garbage(reason)) if works => Err(broken(&folder.shown, &reason)),
            Ok(Found::Missing) => self.by_index(&folder, 404).await,
            Ok(Found::Refused(status)) => self.by_index(&folder, status).await,
            Ok(Found::Garbage(_) | Found::LacksSlash) => self.by_index(&folder, 207).await,
            Err(trouble) if works || says_busy(&trouble) || !trouble.error.is_transient() => Err(trouble),
            Err(trouble) => match (self.learnt.failures.add() >= FAILURES, trouble.kind == "timeout") {
                (true, _) => self.by_index(&folder, 500).await,
                (false, true) => self.by_index(&folder, SILENCE).await.map_err(|_| trouble),
                (false, false) => Err(trouble),
            },
        }
    }

    async fn page_of_one(&self, path: &Path, name: &OsString) -> Answer<Page> {
        if !path.as_os_str().is_empty() {
            let errno = if path == Path::new(name) { libc::ENOTDIR } else { libc::ENOENT };
            return Err(refused(&self.name(path), errno, "one file"));
        }
        let told = self.look_at(Path::new(name)).await?;
        Ok(Page { names: Gathered::from_iter([(name.clone(), told)]), next: None })
    }

    async fn of_multistatus(&self, folder: &Folder<'_>, children: Children) -> Answer<Page> {
        let Some(Heard { mut names, itself, left_out }) = children.heard() else {
            return Err(broken(&folder.shown, "the listing is not of this folder"));
        };
        if let Some(detail) = &left_out {
            self.say("entries of listings are left out", &format!(", as {detail}"));
            names.may_lack_names();
        }
        if names.is_empty()
            && let Some(trouble) = itself.and_then(|itself| of_itself(&folder.shown, &itself))
        {
            return Err(trouble);
        }
        if !self.agrees(folder, &names).await {
            names.forget_facts();
        }
        Ok(Page { names, next: None })
    }

    /// Whether the server's listings agree with its files, tried with one of them.
    async fn agrees(&self, folder: &Folder<'_>, names: &Gathered) -> bool {
        let vain = self.learnt.comparisons.get() as usize;
        if !self.learnt.compared.is_set()
            && let Some((name, facts)) = names.file(vain).or_else(|| names.file(0))
        {
            let path = folder.path.join(name);
            if let Some(url) = self.address.name(&path) {
                let name = Name { path: &path, url, shown: self.name(&path) };
                self.compared(&name, facts).await;
            }
        }
        !self.learnt.listings_lie.is_set()
    }

    /// The names in a folder from the page for browsers; PROPFIND was answered by the status
    /// `after`.
    async fn by_index(&self, folder: &Folder<'_>, after: u16) -> Answer<Page> {
        let question = Question::new(Method::GET, folder.url.clone(), &folder.shown);
        let reply = self.asker.ask(&question).await?;
        let status = reply.status().as_u16();
        let there = matches!(status, 200..300) || after != 404 && matches!(status, 403 | 404);
        let refused_by = cannot(after) || there && !matches!(after, 401 | 403) || matches!(status, 200..300);
        if refused_by && after != SILENCE {
            self.learnt.propfind_is_refused(after);
        }
        let why = |what: &str| format!("{}, GET is answered {what}", of_propfind(after));
        let unlisted = |kind: &str| Err(refused(&folder.shown, libc::EOPNOTSUPP, kind));
        match (status, Form::of(&reply.head)) {
            (200, Some(form)) => {
                let at = index::Folder::at(&reply.from);
                let read = move |body| form.names(body, &at);
                let Some(mut names) = reply.read(&folder.shown, PAGE, read).await? else {
                    return unlisted(&why("by a page that is no listing"));
                };
                self.learnt.lists.set();
                names.put_in_order();
                // Servers hide names from browsers, such as those that begin with a dot.
                names.may_lack_names();
                Ok(Page { names, next: None })
            }
            (200..300, _) => unlisted(&why("by a page that is no listing")),
            (404 | 410, _) => self.of_missing(folder, &why("404")).await,
            (403, _) if !matches!(after, 401 | 403) => unlisted(&why("403")),
            _ => match reply.trouble(&folder.shown) {
                Trouble { error: Error::Refused { .. }, kind, .. } => unlisted(&kind),
                trouble => Err(trouble),
            },
        }
    }

    /// A folder that has no page either may be a file, or may have names that can be asked for.
    async fn of_missing(&self, folder: &Folder<'_>, why: &str) -> Answer<Page> {
        if folder.path.as_os_str().is_empty() {
            if self.learnt.propfind() == Propfind::Works {
                return Err(not_found(&folder.shown));
            }
            // A server may have no page of its root, but another path may be mistyped.
            let root = self.address.last_name().is_none();
            return Err(refused(&folder.shown, if root { libc::EOPNOTSUPP } else { libc::ENOENT }, why));
        }
        let name = self.named(folder.path).await?;
        match self.look_below(&name).await? {
            Told::Folder(_) => Err(refused(&folder.shown, libc::EOPNOTSUPP, "no listing")),
            Told::File(_) | Told::Unmeasured => Err(refused(&folder.shown, libc::ENOTDIR, "a file")),
        }
    }
}

/// The form of a folder's page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    Html,
    Json,
    Xml,
}

impl Form {
    fn of(head: &Head) -> Option<Form> {
        match head.media.as_str() {
            _ if head.is_page() => Some(Form::Html),
            "" => Some(Form::Html),
            "application/json" => Some(Form::Json),
            "text/xml" | "application/xml" => Some(Form::Xml),
            _ => None,
        }
    }

    /// The names in the page, if it is a listing.
    fn names(self, body: Body, at: &index::Folder) -> Option<Gathered> {
        let mut names: [Gathered; CLASSES] = Default::default();
        let all = |is_listing: bool| is_listing.then_some(Classes::ALL);
        let mut add = |class: usize, link: Link| names[class].add(link.name, told(link.slash));
        let count = match self {
            Form::Html => index::parse(body, at, |class, link| add(class.number(), link))?,
            Form::Json => all(json::parse(body, |link| add(0, link)))?,
            Form::Xml => all(xml::parse(body, |link| add(0, link)))?,
        };
        let mut counted = Gathered::default();
        let classes = names.into_iter().enumerate().filter(|(class, _)| count.has(*class));
        classes.for_each(|(_, names)| counted.append(names));
        Some(counted)
    }
}

/// Whether names cannot be listed there.
fn lists_nothing(trouble: &Trouble) -> bool {
    matches!(trouble.error, Error::Refused { errno: libc::EOPNOTSUPP, .. })
}

/// The answer to PROPFIND, in words.
fn of_propfind(status: u16) -> String {
    match status {
        SILENCE => "PROPFIND is not answered".into(),
        207 => "PROPFIND is answered by no listing".into(),
        status => format!("PROPFIND is answered {status}"),
    }
}

/// The meaning of a link.
fn told(slash: bool) -> Told {
    if slash { Told::Folder(None) } else { Told::Unmeasured }
}

/// The trouble with a listing without entries, if it is not a folder's.
fn of_itself(name: &str, itself: &Itself) -> Option<Trouble> {
    match itself.status {
        Some(401 | 403) => Some(Trouble::new(Error::Denied(name.to_owned()), "403")),
        Some(404 | 410) => Some(not_found(name)),
        Some(status) if !(200..300).contains(&status) => Some(refused(name, libc::EIO, "refused")),
        _ if itself.folder == Some(false) => Some(refused(name, libc::ENOTDIR, "a file")),
        _ => None,
    }
}
