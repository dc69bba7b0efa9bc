//! Pages that a server gives in place of files: a login to which it redirects, or the front page of
//! an application, which answers each name that does not exist.
//!
//! A page to which a redirect of a file led is no file, unless its name or its version says so. For
//! a page without a redirect the server is asked for a name that does not exist, once. An answer
//! that is the same as to that name is none.
//!
//! Known weaknesses: applications below the source's root are not found, unless the root answers
//! as they do. Nothing tells a folder from a name that does not exist at such a server, if it lists
//! nothing. Names without a dot count as folders there, so that names in them can be opened.

use std::ffi::OsStr;
use std::path::Path;

use reqwest::{Method, Url};

use super::Web;
use super::ask::{Led, Question, Reply};
use super::head::{Head, opaque};
use super::look::{Name, seconds};
use crate::remote::{Answer, Told, Trouble};
use crate::{Error, Facts, Version};

/// The kind of trouble with a page to which a redirect leads, as the log has it.
const REDIRECTED: &str = "redirected to a page that is not this file";

/// The kind of trouble with a name whose answer is the front page.
const FRONT: &str = "the front page";

/// The answer to a name that does not exist.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Front {
    size: Option<u64>,
    tag: Option<Box<str>>,
    modified: Option<i64>,
}

impl Reply {
    /// Whether redirects led to a page of another name.
    pub(super) fn is_page_elsewhere(&self) -> bool {
        self.led == Led::Away && self.head.is_page()
    }
}

impl Web {
    /// A file of `size` bytes by the answer to a look-up, unless the answer is a page in place of
    /// the file.
    pub(super) async fn file(&self, name: &Name<'_>, led: Led, head: &Head, size: u64) -> Answer<Told> {
        let facts = head.facts(size);
        if !head.is_page() {
            return Ok(Told::File(facts));
        }
        if led == Led::Below {
            return Ok(Told::Folder(None));
        }
        if led == Led::Away && (is_unversioned(head) || !is_name_of_page(name.path)) {
            return Err(elsewhere(&name.shown));
        }
        if is_first_page(name.path) || !self.is_front(name, &facts).await? {
            return Ok(Told::File(facts));
        }
        if may_be_folder(name.path) && !self.learnt.lists.is_set() {
            return Ok(Told::Folder(None));
        }
        Err(Trouble::new(Error::NotFound(name.shown.clone()), FRONT))
    }

    /// Whether a page with these facts is what the server answers to any name.
    async fn is_front(&self, name: &Name<'_>, facts: &Facts) -> Answer<bool> {
        let front = self.front.get_or_try_init(|| self.find_front(&name.shown)).await?;
        Ok(front.as_ref().is_some_and(|front| front.is(facts)))
    }

    async fn find_front(&self, shown: &str) -> Answer<Option<Front>> {
        let url = self.beside_itself(&format!("forebay-{:016x}", rand::random::<u64>()));
        for method in [Method::HEAD, Method::GET] {
            let mut question = Question::new(method.clone(), url.clone(), shown);
            if method == Method::GET {
                question = question.range(0, Some(1));
            }
            let reply = self.asker.ask(&question).await?;
            let head = &reply.head;
            let size = head.range.and_then(|range| range.total).or(head.length);
            match head.status.as_u16() {
                200..300 if head.is_page() && (size.is_some() || method == Method::GET) => {
                    return Ok(Some(Front { size, tag: head.tag.clone(), modified: head.modified }));
                }
                400 | 403..=405 | 410 | 501 | 200..300 if method == Method::HEAD => {}
                408 | 425 | 429 | 500.. => return Err(reply.trouble(shown)),
                _ => return Ok(None),
            }
        }
        Ok(None)
    }

    /// The address of a name in the root, or beside the one file that there is.
    fn beside_itself(&self, name: &str) -> Url {
        let one_file = matches!(self.what.get(), Some(super::What::File(_)));
        if let Some(url) = self.address.name(Path::new(name)).filter(|_| !one_file) {
            return url;
        }
        let mut url = self.address.itself().clone();
        // A web address has a path.
        if let Ok(mut names) = url.path_segments_mut() {
            names.pop().push(name);
        }
        url
    }
}

impl Front {
    fn is(&self, facts: &Facts) -> bool {
        let none = |tag: &Option<Box<str>>, modified: Option<i64>| tag.is_none() && modified.is_none();
        // A page that is made for each name has the name in it, so its length says nothing.
        let both_made = none(&self.tag, self.modified) && none(&facts.tag, facts.modified);
        let same = self.tag == facts.tag && self.modified == facts.modified;
        both_made || same && self.size.is_none_or(|size| size == facts.size)
    }
}

/// The trouble with a page of another name.
pub(super) fn elsewhere(name: &str) -> Trouble {
    Trouble::new(Error::Denied(name.to_owned()), REDIRECTED)
}

/// Whether the server has said that a name is missing, rather than given its front page.
pub(super) fn is_missing(trouble: &Trouble) -> bool {
    matches!(trouble.error, Error::NotFound(_)) && trouble.kind != FRONT
}

/// Whether `trouble` is about a page to which a redirect led.
pub(super) fn is_elsewhere(trouble: &Trouble) -> bool {
    trouble.kind == REDIRECTED
}

/// Whether an answer is of `version`, by its tag or its time.
pub(super) fn fits(version: &Version, head: &Head) -> bool {
    let tags = version.tag.as_deref().zip(head.tag.as_deref());
    let told = i64::try_from(version.modified).ok().map(seconds).filter(|&told| told != 0);
    let times = told.zip(head.modified.map(seconds));
    tags.is_some_and(|(told, now)| opaque(told) == opaque(now)) || times.is_some_and(|(told, now)| told == now)
}

fn is_unversioned(head: &Head) -> bool {
    head.tag.is_none() && head.modified.is_none()
}

/// Whether pages have such names.
fn is_name_of_page(path: &Path) -> bool {
    let ends = ["html", "htm", "xhtml", "shtml"];
    path.extension().and_then(OsStr::to_str).is_some_and(|end| ends.iter().any(|page| end.eq_ignore_ascii_case(page)))
}

/// Whether it may be the front page itself.
fn is_first_page(path: &Path) -> bool {
    let in_root = path.parent().is_some_and(|folder| folder.as_os_str().is_empty());
    in_root && is_name_of_page(path) && path.file_stem() == Some(OsStr::new("index"))
}

/// Whether a name is rather a folder's than a file's.
pub(super) fn may_be_folder(path: &Path) -> bool {
    path.file_name().is_some_and(|name| !name.as_encoded_bytes().contains(&b'.'))
}
