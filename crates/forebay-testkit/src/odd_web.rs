//! A web server on the loopback that is odd on purpose, over files in memory.
//!
//! Each [`Oddity`] comes with the right reaction of a client. A test can change the oddity while
//! the server runs, give some paths one of their own, and ask which requests came.

mod every;
mod oddity;
mod ranges;
mod reply;
mod site;
#[cfg(test)]
mod tests;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

pub use oddity::{Cut, Methods, Modified, Oddity, Outcome, PASSWORD, RetryAfter, Tag, To, USER};
pub(crate) use reply::{Framing, Manner, Reply};
pub(crate) use site::{Site, tag};

use crate::acceptor::Acceptor;
use crate::files::Files;
use crate::requests::Requests;
use crate::webdav_listing::Shape;

/// `Last-Modified` of every file, in the form that HTTP prefers.
pub const MODIFIED: &str = "Fri, 07 Sep 2018 08:49:58 GMT";

/// A running server. Stopped when dropped.
#[derive(Debug)]
pub struct OddWeb {
    site: Arc<Site>,
    acceptor: Acceptor,
}

impl OddWeb {
    /// Serves `files` as `oddity` says.
    pub fn start(files: impl Into<Files>, oddity: Oddity) -> io::Result<OddWeb> {
        OddWeb::with(Site::new(files.into(), oddity, Shape::Plain))
    }

    pub(crate) fn with(site: Site) -> io::Result<OddWeb> {
        let site = Arc::new(site);
        let serve = Arc::clone(&site);
        let acceptor = Acceptor::start("odd-web", move |stream, stop| serve.serve(stream, stop))?;
        Ok(OddWeb { site, acceptor })
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.acceptor.address()
    }

    /// Its address, as `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    /// The requests that came.
    pub fn requests(&self) -> &Requests {
        &self.site.requests
    }

    /// Adds a file, or replaces it.
    pub fn put(&self, path: impl AsRef<[u8]>, bytes: &[u8]) {
        self.site.put(path.as_ref(), bytes);
    }

    /// Is odd in another way from the next request on, but for the paths with an oddity of their
    /// own.
    pub fn set(&self, oddity: Oddity) {
        self.site.be(None, oddity);
    }

    /// Gives the file or folder at `path` an oddity of its own. The path has no slash at its begin.
    pub fn set_at(&self, path: impl AsRef<[u8]>, oddity: Oddity) {
        self.site.be(Some(path.as_ref()), oddity);
    }
}
