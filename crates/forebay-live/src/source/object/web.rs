//! What a web server is told beyond the request: labels, and a token.
//!
//! A server that is a level itself (`forebay serve`) learns by two headers which bytes readers wait for, and what they have read
//! since the request before (SCM §4.2). Bytes are those of the file, the last one is included, as in `Range`:
//!
//! ```text
//! Range: bytes=65536-131071
//! Forebay-Demand: bytes=65536-69631      or: none
//! Forebay-Hits: bytes=4096-65535         if there are any
//! ```
//!
//! Other servers ignore headers that they don't know, and proxies hand them on. A cache in between answers some requests itself, of which the
//! server then hears nothing: it takes the readers for slower than they are, and brings no wrong bytes.

use std::fmt;
use std::ops::Range;
use std::path::Path;

use async_trait::async_trait;
use object_store::client::{
    ClientOptions, HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
    ReqwestConnector,
};
use object_store::{HeaderMap, HeaderValue};

use forebay_core::level::Labels;

use crate::label::Label;

/// The header with the bytes that readers wait for.
pub const DEMAND: &str = "forebay-demand";

/// The header with the bytes that readers have read since the request before.
pub const HITS: &str = "forebay-hits";

/// A secret that a server wants to see with every request (`Authorization: Bearer …`). Never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(HeaderValue);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// Why something is no token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The file that holds it cannot be read.
    #[error("{file}: {source}")]
    Unreadable {
        /// The file.
        file: String,
        /// Why.
        source: std::io::Error,
    },
    /// It is empty, or holds what a header cannot.
    #[error("{0}: a token is one line of printable ASCII without spaces")]
    Malformed(String),
}

impl Token {
    /// The token in a file: its text without white space around it.
    pub fn of_file(file: &Path) -> Result<Token, TokenError> {
        let file_name = || file.display().to_string();
        let text = std::fs::read_to_string(file);
        let text = text.map_err(|source| TokenError::Unreadable { file: file_name(), source })?;
        Token::parse(&text, &file_name())
    }

    /// The token that `text` is, without white space around it; `whence` is for the message.
    pub fn parse(text: &str, whence: &str) -> Result<Token, TokenError> {
        let malformed = || TokenError::Malformed(whence.to_owned());
        let text = text.trim();
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(malformed());
        }
        let mut value = HeaderValue::from_str(&format!("Bearer {text}")).map_err(|_| malformed())?;
        value.set_sensitive(true);
        Ok(Token(value))
    }
}

/// Makes clients that tell a web server what it is to be told.
#[derive(Debug)]
pub(super) struct WebConnector {
    pub(super) labels: Labels,
    pub(super) token: Option<Token>,
}

impl HttpConnector for WebConnector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let inner = ReqwestConnector::default().connect(options)?;
        Ok(HttpClient::new(WebService { inner, labels: self.labels, token: self.token.clone() }))
    }
}

/// The status that says that nothing has this name.
const NOT_FOUND: u16 = 404;

/// The status of an answer with names (RFC 4918, 11.1).
const LISTED: u16 = 207;

/// Marks a listing that a server gave: the client takes "not found" for an empty one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Listed;

#[derive(Debug)]
struct WebService {
    inner: HttpClient,
    labels: Labels,
    token: Option<Token>,
}

#[async_trait]
impl HttpService for WebService {
    async fn call(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        if let Some(token) = &self.token {
            request.headers_mut().insert("authorization", token.0.clone());
        }
        if let Some(label) = request.extensions().get::<Label>().cloned() {
            write(&label, self.labels, request.headers_mut());
        }
        request.headers_mut().insert("accept-encoding", const { HeaderValue::from_static("identity") });
        let head = request.method().as_str() == "HEAD";
        let mut response = self.inner.execute(request).await?;
        // What a server compresses all the same are not the file's bytes.
        let coding = response.headers().get("content-encoding").filter(|coding| *coding != "identity");
        if let Some(coding) = coding {
            let said = format!("the server answered in the coding {coding:?}, which was not asked for");
            return Err(HttpError::new(HttpErrorKind::Unknown, std::io::Error::other(said)));
        }
        // A page that is made as it is sent, as a folder's, is no file.
        if head
            && response.status().is_success()
            && !response.headers().contains_key("content-length")
            && let Ok(not_found) = NOT_FOUND.try_into()
        {
            *response.status_mut() = not_found;
        }
        if response.status().as_u16() == LISTED {
            response.extensions_mut().insert(Listed);
        }
        Ok(response)
    }
}

/// Says of what a label says as much as `labels` allows.
fn write(label: &Label, labels: Labels, headers: &mut HeaderMap) {
    if labels == Labels::Off {
        return;
    }
    headers.insert(DEMAND, bytes(&label.demand).unwrap_or(const { HeaderValue::from_static("none") }));
    if labels == Labels::Hits
        && let Some(hits) = bytes(&label.hits)
    {
        headers.insert(HITS, hits);
    }
}

fn bytes(range: &Range<u64>) -> Option<HeaderValue> {
    if range.is_empty() {
        return None;
    }
    HeaderValue::from_str(&format!("bytes={}-{}", range.start, range.end - 1)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_written_as_ranges_are() {
        let said = |labels, demand, hits| {
            let mut headers = HeaderMap::new();
            write(&Label { demand, hits }, labels, &mut headers);
            let get = |name| headers.get(name).map(|value: &HeaderValue| value.to_str().unwrap().to_owned());
            (get(DEMAND).unwrap_or_default(), get(HITS))
        };
        let written = |demand, hits| said(Labels::Hits, demand, hits);
        assert_eq!(written(0..1, 0..0), ("bytes=0-0".into(), None));
        assert_eq!(written(4096..8192, 0..4096), ("bytes=4096-8191".into(), Some("bytes=0-4095".into())));
        assert_eq!(written(8192..8192, 5..6), ("none".into(), Some("bytes=5-5".into())));
        assert_eq!(said(Labels::Demand, 8192..8192, 5..6), ("none".into(), None));
        assert_eq!(said(Labels::Off, 0..1, 5..6), (String::new(), None));
    }

    #[test]
    fn tokens_are_read_and_never_shown() {
        let token = Token::parse(" s3cret+/=\n", "it").unwrap();
        assert_eq!(token.0, "Bearer s3cret+/=");
        assert!(!format!("{token:?} {:?}", token.0).contains("s3cret"));
        for text in ["", " \n", "two words", "two\nlines", "schlüssel", "\u{1}"] {
            let error = Token::parse(text, "the file").unwrap_err().to_string();
            assert!(error.starts_with("the file: a token is one line"), "{error}");
        }
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        assert!(Token::of_file(&file).unwrap_err().to_string().starts_with(&file.display().to_string()));
        std::fs::write(&file, "s3cret+/=\r\n").unwrap();
        assert_eq!(Token::of_file(&file).unwrap(), token);
    }
}
