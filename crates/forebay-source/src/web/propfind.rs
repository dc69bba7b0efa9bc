//! Questions by PROPFIND (RFC 4918, 9.1).

use reqwest::{Method, Url};

use super::Web;
use super::address::path_of;
use super::ask::{Question, Reply};
use super::multistatus::{self, Response};
use super::names::{Marks, Segments, resolve};
use super::trouble::is_busy;
use crate::Error;
use crate::remote::{Answer, Trouble};

/// How long the text of a listing may be, in bytes.
const LISTING: usize = 256 << 20;

/// Takes in a listing, response by response. If the answer turns out to be no listing, the
/// responses count for nothing.
pub(super) trait Hears: Send + 'static {
    /// The depth of the tree to ask for.
    const DEPTH: &'static str;

    fn hear(&mut self, response: Response);
}

/// The answer to a PROPFIND.
#[derive(Debug)]
pub(super) enum Found<H> {
    /// The listing.
    Listing(H),
    /// Nothing is there, or nothing that PROPFIND finds.
    Missing,
    /// The name is there, as a folder, but the address lacks a slash.
    LacksSlash,
    /// The server does not answer PROPFIND there.
    Refused(u16),
    /// The answer is not understood.
    Garbage(String),
}

/// A server's answer about a single name.
#[derive(Debug, Default)]
pub(super) struct Alone {
    /// The path at the server that answered.
    at: Segments,
    responses: usize,
    first: Option<Response>,
    /// The first response that is of the path that answered.
    same: Option<Response>,
}

impl Web {
    /// [`begin_propfind`](Web::begin_propfind), and [`end_propfind`](Web::end_propfind).
    pub(super) async fn propfind<H: Hears>(
        &self,
        to: Url,
        name: &str,
        begin: impl FnOnce(Segments) -> H,
    ) -> Answer<Found<H>> {
        let reply = self.begin_propfind::<H>(to, name).await;
        self.end_propfind(reply, name, begin).await
    }

    /// Asks once, for all properties: some servers do not read a list of them, and take the list
    /// for the next request.
    pub(super) async fn begin_propfind<H: Hears>(&self, to: Url, name: &str) -> Answer<Reply> {
        let method = Method::from_bytes(b"PROPFIND").unwrap_or(Method::OPTIONS);
        self.asker.ask(&Question::new(method, to, name).header(DEPTH, H::DEPTH)).await
    }

    /// The meaning of the answer. `begin` gets the path at the server that answers, and makes the
    /// receiver of the listing. An error is trouble that may pass.
    pub(super) async fn end_propfind<H: Hears>(
        &self,
        reply: Answer<Reply>,
        name: &str,
        begin: impl FnOnce(Segments) -> H,
    ) -> Answer<Found<H>> {
        let reply = match reply {
            // Redirects that lead nowhere may be those of PROPFIND alone.
            Err(Trouble { error: Error::Refused { .. }, kind, .. }) => return Ok(Found::Garbage(kind)),
            reply => reply?,
        };
        if reply.lacks_slash {
            return Ok(Found::LacksSlash);
        }
        match reply.status().as_u16() {
            404 | 410 => Ok(Found::Missing),
            // Some answer 200.
            207 | 200 if !reply.head.is_page() => {
                let mut hears = begin(path_of(&reply.from));
                let read = |body| multistatus::parse(body, |response| hears.hear(response)).map(|()| hears);
                Ok(match reply.read(name, LISTING, read).await? {
                    Ok(hears) => {
                        self.learnt.propfind_works();
                        Found::Listing(hears)
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

/// Whether trouble means that the server is busy, rather than that it cannot do the request.
pub(super) fn says_busy(trouble: &Trouble) -> bool {
    matches!(trouble.kind.as_str(), "408" | "425" | "429" | "503" | "connection")
}

impl Alone {
    pub(super) fn new(at: Segments) -> Alone {
        Alone { at, ..Alone::default() }
    }

    /// The answer about the name, and whether its address has a slash at the end.
    pub(super) fn response(self) -> Option<(Response, bool)> {
        let response = if self.responses == 1 { self.first } else { self.same }?;
        let slash = resolve(&response.href, &self.at, Marks::Literal).is_some_and(|to| to.slash);
        Some((response, slash))
    }
}

impl Hears for Alone {
    const DEPTH: &'static str = "0";

    fn hear(&mut self, response: Response) {
        self.responses += 1;
        let to = resolve(&response.href, &self.at, Marks::Literal);
        if self.same.is_none() && to.is_some_and(|to| to.names == self.at.names) {
            self.same = Some(response.clone());
        }
        self.first.get_or_insert(response);
    }
}
