//! Listens to the answers of a store, between the `object_store` crate and its HTTP client: the
//! crate keeps much of them to itself, and accepts answers that a store would not give.

use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody, HttpService,
    ReqwestConnector,
};
use reqwest::header::{CONTENT_TYPE, ETAG, HeaderMap};

use super::amiss::{Amiss, HTML, Refused};
use super::listed::{self, Keys};
use super::signer::{self, Signer};
use super::waits::Waits;

/// The longest page of a listing that is taken, bytes. A thousand keys, of which each has 1,024
/// bytes that are written as three, take 4 MB.
const LONGEST: usize = 8 << 20;

/// How much of an error's document is read, bytes. Those of S3 have some hundreds.
const SHOWN: usize = 64 << 10;

/// Headers that begin so are those of a store.
const MARKS: [&str; 3] = ["x-amz-", "x-goog-", "x-guploader-"];

/// The language of a store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Dialect {
    S3,
    Google,
    Azure,
}

/// The client's own connector, listened to.
#[derive(Clone, Debug)]
pub(super) struct Answers {
    pub(super) waits: Waits,
    pub(super) signer: Signer,
    dialect: Dialect,
}

impl Answers {
    pub(super) fn new(dialect: Dialect) -> Answers {
        Answers { waits: Waits::default(), signer: Signer::default(), dialect }
    }

    /// A refusal, with a document of bounded length. `region` is the one that was asked.
    async fn refused(&self, answer: HttpResponse, region: Option<&str>) -> Result<HttpResponse, HttpError> {
        let (parts, body) = answer.into_parts();
        let document = front(body, SHOWN).await?;
        let body = String::from_utf8_lossy(&document);
        let refused = Refused { status: parts.status.as_u16(), headers: &parts.headers, body: &body, region };
        match Amiss::of_refusal(&refused, SystemTime::now()).filter(|_| self.dialect == Dialect::S3) {
            Some(error) => Err(amiss(error)),
            None => Ok(HttpResponse::from_parts(parts, body.into_owned().into())),
        }
    }

    /// A page of a listing. The crate gets its token alone, and its keys as an extension.
    async fn listing(&self, answer: HttpResponse) -> Result<HttpResponse, HttpError> {
        let (mut parts, body) = answer.into_parts();
        let document = front(body, LONGEST + 1).await?;
        if document.len() > LONGEST {
            return Err(amiss(Amiss::Broken("it does not end".into())));
        }
        let keys = match listed::parse(&document) {
            Ok(keys) => keys,
            Err(Amiss::NotListing(_)) if is_html(&parts.headers) => return Err(amiss(Amiss::NotListing(HTML.into()))),
            Err(error) => return Err(amiss(error)),
        };
        if self.dialect != Dialect::S3 {
            return Ok(HttpResponse::from_parts(parts, document.into()));
        }
        let rest = rest(&keys);
        parts.extensions.insert(Arc::new(keys));
        Ok(HttpResponse::from_parts(parts, rest.into()))
    }
}

impl HttpConnector for Answers {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let inner = ReqwestConnector::default().connect(options)?;
        Ok(HttpClient::new(Listening { inner, answers: self.clone() }))
    }
}

#[derive(Debug)]
struct Listening {
    inner: HttpClient,
    answers: Answers,
}

#[async_trait]
impl HttpService for Listening {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let is_listing = self.answers.dialect != Dialect::Azure && lists(&request);
        let request = match self.answers.dialect {
            Dialect::S3 => self.answers.signer.prepared(request, is_listing).await?,
            _ => request,
        };
        let region = signer::region(&request);
        let answer = self.inner.execute(request).await?;
        self.answers.waits.listen(&answer);
        if !answer.status().is_success() {
            return self.answers.refused(answer, region.as_deref()).await;
        }
        if is_listing {
            return self.answers.listing(answer).await;
        }
        if self.answers.dialect != Dialect::Azure && is_of_no_store(answer.headers()) {
            return Err(amiss(Amiss::NotObject));
        }
        Ok(answer)
    }
}

/// Whether a request is for a listing. No other request has a query of this kind.
fn lists(request: &HttpRequest) -> bool {
    request.uri().query().is_some_and(|query| query.split('&').any(|pair| pair == "list-type=2"))
}

/// Whether it is the answer of a portal or a web server. An object may be a page of HTML, but every
/// store gives it a tag, or names itself.
fn is_of_no_store(headers: &HeaderMap) -> bool {
    let marked = |name: &str| MARKS.iter().any(|mark| name.starts_with(mark));
    is_html(headers) && !headers.contains_key(ETAG) && !headers.keys().any(|name| marked(name.as_str()))
}

fn is_html(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("text/html") || kind.eq_ignore_ascii_case("application/xhtml+xml")
}

fn amiss(amiss: Amiss) -> HttpError {
    HttpError::new(HttpErrorKind::Decode, amiss)
}

/// A body, or its first `most` bytes.
async fn front(body: HttpResponseBody, most: usize) -> Result<Bytes, HttpError> {
    let (mut body, mut front) = (body.bytes_stream(), BytesMut::new());
    while let Some(bytes) = body.next().await {
        let bytes = bytes?;
        front.extend_from_slice(&bytes[..bytes.len().min(most - front.len())]);
        if front.len() == most {
            break;
        }
    }
    Ok(front.freeze())
}

/// A listing without keys.
fn rest(keys: &Keys) -> String {
    let next = keys.next.as_deref().map(|token| {
        let token = quick_xml::escape::escape(token);
        format!("<NextContinuationToken>{token}</NextContinuationToken>")
    });
    format!("<ListBucketResult>{}</ListBucketResult>", next.unwrap_or_default())
}
