//! Questions by PROPFIND (RFC 4918, 9.1).

use reqwest::{Method, Url};

use super::Web;
use super::address::path_of;
use super::ask::Question;
use super::multistatus::{self, Response};
use super::names::{Marks, Segments, relation, resolve};
use super::trouble::is_busy;
use crate::source::remote::{Answer, Trouble};

/// How long the text of a listing may be, in bytes.
const LISTING: usize = 256 << 20;

/// How much of a tree is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Depth {
    /// The name itself.
    Itself,
    /// And those in it.
    Names,
}

/// The answer to a PROPFIND.
#[derive(Debug)]
pub(super) enum Found {
    /// What was asked for.
    Listing(Listing),
    /// Nothing is there, or nothing that PROPFIND finds.
    Missing,
    /// It is there, as a folder, which the address does not say.
    LacksSlash,
    /// The server does not answer PROPFIND there.
    Refused(u16),
    /// The answer is not understood.
    Garbage(String),
}

/// What a server said of names.
#[derive(Debug)]
pub(super) struct Listing {
    pub(super) responses: Vec<Response>,
    /// The path at the server that answered.
    pub(super) at: Segments,
}

impl Web {
    /// Asks once, for all properties: some servers do not read a list of them, and take it for the
    /// next request. An error is trouble that may pass.
    pub(super) async fn propfind(&self, to: Url, depth: Depth, name: &str) -> Answer<Found> {
        let method = Method::from_bytes(b"PROPFIND").unwrap_or(Method::OPTIONS);
        let depth = if depth == Depth::Itself { "0" } else { "1" };
        let question = Question::new(method, to, name).header(DEPTH, depth);
        let reply = self.asker.ask(&question).await?;
        if reply.lacks_slash {
            return Ok(Found::LacksSlash);
        }
        match reply.status().as_u16() {
            404 | 410 => Ok(Found::Missing),
            // Some answer 200.
            207 | 200 if !reply.head.is_page() => {
                let at = path_of(&reply.from);
                let body = reply.body(name, LISTING).await?;
                Ok(match multistatus::parse(&body) {
                    Ok(responses) => {
                        self.learnt.propfind_works();
                        Found::Listing(Listing { responses, at })
                    }
                    Err(error) => Found::Garbage(error.to_string()),
                })
            }
            207 => Ok(Found::Garbage("not a WebDAV listing: a page".into())),
            500 | 502.. if reply.trouble(name).error.is_transient() => Err(reply.trouble(name)),
            _ if is_busy(reply.status()) => Err(reply.trouble(name)),
            status => Ok(Found::Refused(status)),
        }
    }
}

const DEPTH: reqwest::header::HeaderName = reqwest::header::HeaderName::from_static("depth");

/// Whether trouble says that the server is busy, rather than that it cannot do what was asked.
pub(super) fn says_busy(trouble: &Trouble) -> bool {
    matches!(trouble.kind.as_str(), "408" | "425" | "429" | "503" | "connection")
}

impl Listing {
    /// What is said of the name that was asked for by itself.
    pub(super) fn itself(&self) -> Option<&Response> {
        if let [only] = self.responses.as_slice() {
            return Some(only);
        }
        let same = |response: &&Response| {
            let to = resolve(&response.href, &self.at, Marks::Literal);
            to.is_some_and(|to| to.names == self.at.names)
        };
        self.responses.iter().find(same)
    }

    /// The path of the folder as its entries have it, which ends with the names of `below`: a
    /// server behind a proxy may know itself by another path. `None` if no entry belongs to it.
    pub(super) fn folder(&self, below: &Segments) -> Option<Segments> {
        use super::names::Relation::Elsewhere;
        let resolved = || {
            let good = self.responses.iter().filter(|response| !response.spoilt);
            good.filter_map(|response| Some((response, resolve(&response.href, &self.at, Marks::Literal)?)))
        };
        if resolved().any(|(_, to)| relation(&to, &self.at) != Elsewhere) {
            return Some(self.at.clone());
        }
        let folders = resolved().filter(|(response, to)| response.folder.unwrap_or(to.slash));
        let fitting = folders.map(|(_, to)| to).filter(|to| to.names.ends_with(&below.names));
        fitting.min_by_key(|to| to.names.len())
    }
}
