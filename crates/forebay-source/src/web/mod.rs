//! Web servers: all that speak HTTP, from WebDAV servers to those that only send files.
//!
//! A file needs only a length. It comes from a listing, from HEAD, or from a range of one byte,
//! whichever the server has; date and tag come with it. Names come from WebDAV (`propfind.rs`) or
//! from the pages that servers make for browsers (`index.rs`) or for programs (`json.rs`). If there
//! is none of these, files can still be opened by name. If a server is silent to a question,
//! another one is asked beside it (`beside.rs`). Listings are parsed as they come (`body.rs`). The
//! ways of a server are learnt (`learnt.rs`), so that one way is used for all of its files: the
//! version of a file must be the same however it is asked for.
//!
//! A URL may name one file. Then the source has only that file.

mod address;
mod ask;
mod beside;
mod body;
mod children;
mod coding;
mod elsewhere;
mod entries;
#[doc(hidden)]
pub mod fuzzing;
mod head;
mod index;
mod json;
mod labels;
mod learnt;
mod look;
mod multistatus;
mod names;
mod options;
mod page;
mod propfind;
mod ranges;
mod read;
mod secrets;
mod settle;
mod trouble;
mod untrue;
mod utf8;
mod versions;
mod xml;

#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use forebay_core::level::Labels;
use tokio::sync::OnceCell;

use super::remote::{Answer, Next, Page, Range, Remote, Told};
use super::uri::without_user;
use super::{Error, Result};
use crate::Segments;
use address::{Address, Parsed};
use ask::Asker;
use beside::Waits;
use elsewhere::Front;
use learnt::Learnt;

pub use labels::{DEMAND, HITS};
pub use options::WebOptions;
pub use secrets::{Login, LoginError, Token, TokenError};

/// A folder of a web server, or one file of it.
#[derive(Debug)]
pub(crate) struct Web {
    address: Address,
    description: String,
    identity: Arc<str>,
    asker: Asker,
    labels: Labels,
    waits: Waits,
    learnt: Learnt,
    what: OnceCell<What>,
    /// Whether it finds names that do not exist: see [`Web::finds_any_name`].
    finds_any: OnceCell<bool>,
    /// The answer to a name that does not exist, if it is a page: see [`Web::is_front`].
    front: OnceCell<Option<Front>>,
}

/// The kind of thing that the URL names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum What {
    /// A folder, or a name that cannot be told from one.
    Folder,
    /// One file, which has this name.
    File(OsString),
}

impl Web {
    /// The source at `url`, `http://` or `https://`. Sends no request yet: see [`Web::settle`]. An
    /// error if the URL or the file of certificates is not understood; the error shows neither with
    /// a secret.
    pub(crate) fn open(url: &str, options: &WebOptions) -> Result<Web> {
        let shown = without_secrets(url);
        let refuse = |reason: String| Error::Storage { name: shown.clone(), reason };
        let Parsed { address, login, user } = Address::parse(url).map_err(|error| refuse(error.to_string()))?;
        let login = login.or_else(|| options.login.clone());
        let user = login.as_ref().map(|login| login.user().to_owned()).or(user);
        let token = options.token.as_ref().map(Token::header);
        let secret = token.or_else(|| login.as_ref().map(Login::header));
        let asker = Asker::new(address.server(), secret, options).map_err(refuse)?;
        Ok(Web {
            description: address.description(),
            identity: address.identity(user.as_deref()).into(),
            address,
            asker,
            labels: options.labels,
            waits: Waits::new(options.silence, options.patience),
            learnt: Learnt::default(),
            what: OnceCell::new(),
            finds_any: OnceCell::new(),
            front: OnceCell::new(),
        })
    }

    /// Whether the server is shown a secret.
    pub(crate) fn shows_a_secret(&self) -> bool {
        self.asker.shows_a_secret()
    }

    /// Whether the URL has a query, which may be a signature.
    pub(crate) fn has_query(&self) -> bool {
        self.address.itself().query().is_some()
    }

    /// For messages: the URL without user, password and query.
    pub(crate) fn describe(&self) -> &str {
        &self.description
    }

    /// Tells it from other sources: with the user, without password and signatures.
    pub(crate) fn identity(&self) -> &Arc<str> {
        &self.identity
    }

    /// How `path` is named in messages.
    fn name(&self, path: &Path) -> String {
        if path.as_os_str().is_empty() { self.description.clone() } else { trouble::name(path) }
    }

    fn say(&self, kind: &'static str, detail: &str) {
        self.learnt.say(&self.description, kind, detail);
    }
}

#[async_trait]
impl Remote for Web {
    async fn look(&self, path: &Path) -> Answer<Told> {
        Ok(self.settled_tag(self.look_at(path).await?))
    }

    async fn look_unlisted(&self, path: &Path) -> Answer<Told> {
        let told = match self.look(path).await {
            Err(trouble) if !elsewhere::is_elsewhere(&trouble) => return Err(trouble),
            told => told,
        };
        if self.finds_any_name(path).await { Err(trouble::not_found(&self.name(path))) } else { told }
    }

    async fn page(&self, folder: &Path, _next: Option<&Next>) -> Answer<Page> {
        let mut page = self.page_of(folder).await?;
        if self.learnt.tags_flip.is_set() {
            page.names.forget_tags();
        }
        Ok(page)
    }

    fn pages_are_cheap(&self) -> bool {
        false
    }

    async fn read(&self, range: Range<'_>, buffer: &mut Segments) -> Answer<()> {
        self.read_range(&range, buffer).await
    }
}

/// A URL as messages may show it.
fn without_secrets(url: &str) -> String {
    let shown = without_user(url);
    shown.split(['?', '#']).next().unwrap_or_default().to_owned()
}
