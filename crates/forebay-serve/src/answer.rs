//! From a request to its answer.

use std::convert::Infallible;
use std::ffi::OsStr;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use forebay_core::level::Labels;
use forebay_source::{Error, Result as Asked};
use futures::stream;
use hyper::body::{Body as HttpBody, Incoming};
use hyper::header::{
    ACCEPT_RANGES, ALLOW, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderName, HeaderValue,
    LAST_MODIFIED, LOCATION,
};
use hyper::{HeaderMap, Method, Request, Response, StatusCode};

use crate::arriving::Arriving;
use crate::at::At;
use crate::body::{Body, FileBody, Reader, Segment};
use crate::buffers::Buffers;
use crate::conditions::{Verdict, range, verdict};
use crate::connection::Client;
use crate::files::{Files, Opened, Shown};
use crate::guard::Names;
use crate::labels;
use crate::listing::{How, Walk, blocking};
use crate::propfind::{self, Depth};
use crate::ranges::Wanted;
use crate::refusal::{METHODS, Refusal};
use crate::routes::Route;
use crate::server::{Content, Serves};
use crate::target::{Target, escape};
use crate::token::{Refused, Token};
use crate::watch::Watch;
use crate::{guard, index, media, multipart};
use forebay_live::site::{Folder, Found, Site};
use forebay_live::tree::Tree;

/// The answer to a request.
pub(crate) type Answer = Response<Body>;

/// The longest body of a `PROPFIND`; it is read and ignored.
const PROPERTIES: u64 = 16 << 10;

/// How often a file is opened anew that turns out to have changed before its first byte was sent.
const OPENS: usize = 3;

/// Answers requests.
pub(crate) struct Service {
    content: Content,
    watch: Watch,
    site: Site,
    files: Files,
    labels: Labels,
    token: Option<Token>,
    refused: Refused,
    names: Names,
    /// How long a body may take to come.
    patience: Duration,
    buffers: Arc<Buffers>,
    started: SystemTime,
}

impl Service {
    pub(crate) fn new(tree: Arc<Tree>, serves: Serves<'_>, buffers: Arc<Buffers>) -> Service {
        let Serves { content, at, options } = serves;
        let site = Site::new(Arc::clone(&tree));
        let names = match at {
            At::Address(_) if options.token.is_none() => Names::Own(options.names.clone()),
            _ => Names::Any,
        };
        Service {
            content,
            watch: Watch::new(tree, options.metrics_paths, options.limits.request),
            files: Files::new(site.clone(), options.ttl),
            site,
            patience: options.limits.request,
            labels: options.labels,
            token: options.token.clone(),
            refused: Refused::default(),
            names,
            buffers,
            started: SystemTime::now(),
        }
    }

    /// Closes files that were not asked for lately.
    pub(crate) fn grow_old(&self) {
        self.files.grow_old();
    }

    /// Answers a request of a client.
    pub(crate) async fn answer(
        self: Arc<Self>,
        client: Client,
        request: Request<Incoming>,
    ) -> Result<Answer, Infallible> {
        let (method, uri) = (request.method().clone(), request.uri().clone());
        let mut answer = self.done(client, request).await.unwrap_or_else(Answer::from);
        log::debug!("{client}: {method} {uri}: {}", answer.status().as_u16());
        let headers = answer.headers_mut();
        headers.insert(hyper::header::SERVER, HeaderValue::from_static("forebay"));
        // A browser shall not guess that a file is a page if its name does not promise one.
        headers.insert(hyper::header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        Ok(answer)
    }

    async fn done(self: &Arc<Self>, client: Client, request: Request<Incoming>) -> Result<Answer, Refusal> {
        if let Some(token) = &self.token
            && !token.shown_in(request.headers())
        {
            self.refused.hear(client, Instant::now());
            return Err(Refusal::unknown());
        }
        let (head, body) = request.into_parts();
        guard::one_host(&head)?;
        self.names.admit(&head)?;
        let path = head.uri.path();
        if let Some(route) = Route::of(path, self.content) {
            guard::same_site(&head)?;
            return self.watch.answer(route, &head, body).await;
        }
        match head.method {
            Method::GET | Method::HEAD if !body.is_end_stream() => Err(Refusal::body()),
            Method::GET | Method::HEAD if self.content == Content::Control => Err(Refusal::not_found()),
            Method::GET | Method::HEAD => {
                let reader = Reader { handler: client.handler, buffers: Arc::clone(&self.buffers) };
                self.read(path, &head.headers, reader, head.method == Method::HEAD).await
            }
            _ if self.content == Content::Control => Err(Refusal::method_but("GET, HEAD, POST")),
            Method::OPTIONS if !body.is_end_stream() => Err(Refusal::body()),
            Method::OPTIONS => Ok(options()),
            ref method if method.as_str() == "PROPFIND" => {
                ignore(Arriving::new(body, self.patience)).await?;
                self.list(path, Depth::of(&head.headers)?, propfind::listed_for(&head.headers)).await
            }
            _ => Err(Refusal::method()),
        }
    }

    /// GET and HEAD.
    async fn read(
        self: &Arc<Self>,
        path: &str,
        headers: &HeaderMap,
        reader: Reader,
        head_only: bool,
    ) -> Result<Answer, Refusal> {
        for _ in 0..OPENS {
            let shown = match self.files.fresh(path) {
                Some(shown) => shown,
                None => {
                    let target = Arc::new(Target::parse(path)?);
                    let (service, path, wanted) = (Arc::clone(self), path.to_owned(), Arc::clone(&target));
                    match blocking(move || service.files.open(&path, &wanted)).await? {
                        Opened::File(shown) => shown,
                        Opened::Folder(folder) => return self.page(folder, &target, head_only).await,
                    }
                }
            };
            match self.file(path, shown, headers, reader.clone(), head_only).await? {
                Ok(answer) => return Ok(answer),
                Err(Error::Stale(_)) => self.files.forget(path),
                Err(error) => return Err(error.into()),
            }
        }
        Err(Error::Stale(path.to_owned()).into())
    }

    /// Answers with a file, or refuses with the reason.
    async fn file(
        &self,
        path: &str,
        shown: Arc<Shown>,
        headers: &HeaderMap,
        reader: Reader,
        head_only: bool,
    ) -> Result<Asked<Answer>, Refusal> {
        match verdict(headers, &shown.validators) {
            Verdict::Failed => return Err(Refusal::precondition()),
            Verdict::NotModified => {
                let mut answer = Response::new(Body::empty());
                *answer.status_mut() = StatusCode::NOT_MODIFIED;
                validators(answer.headers_mut(), &shown);
                return Ok(Ok(answer));
            }
            Verdict::Go => {}
        }
        let size = shown.file.size();
        let wanted = range(headers, &shown.validators).filter(|_| !head_only);
        let wanted = wanted.map_or(Wanted::Whole, |range| Wanted::of(range, size));
        let mut answer = Response::new(Body::empty());
        validators(answer.headers_mut(), &shown);
        insert(answer.headers_mut(), ACCEPT_RANGES, "bytes");
        let name = path.rsplit('/').next().unwrap_or_default();
        let kind = media::of(name.as_ref());
        let (asked, segments) = segments(&mut answer, wanted, size, kind)?;
        let length = segments.iter().map(Segment::len).sum::<u64>();
        answer.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(length));
        let label = labels::of(headers, self.labels, &asked)?;
        if head_only {
            return Ok(Ok(answer));
        }
        let mut body = FileBody::new(shown, reader, segments, label);
        if let Err(error) = body.begin().await {
            return Ok(Err(error));
        }
        *answer.body_mut() = Body::file(body);
        Ok(Ok(answer))
    }

    /// A folder as a page. Its address ends in a slash, so that the page's relative links lead into
    /// it.
    async fn page(&self, folder: Folder, target: &Target, head_only: bool) -> Result<Answer, Refusal> {
        if !target.slash {
            let mut answer = Response::new(Body::empty());
            *answer.status_mut() = StatusCode::MOVED_PERMANENTLY;
            let name = target.names.last().map(|name| escape(name).to_string()).unwrap_or_default();
            insert(answer.headers_mut(), LOCATION, &format!("./{name}/"));
            return Ok(answer);
        }
        let mut answer = Response::new(Body::empty());
        insert(answer.headers_mut(), CONTENT_TYPE, "text/html; charset=utf-8");
        insert(answer.headers_mut(), CACHE_CONTROL, "no-cache");
        if !head_only {
            let walk =
                Walk::begin(self.site.clone(), folder, String::new(), How { deep: false, shows: |_| true }).await?;
            *answer.body_mut() = text(index::head(&target.names), walk, |items| index::lines(&items), index::FOOT);
        }
        Ok(answer)
    }

    /// PROPFIND.
    async fn list(self: &Arc<Self>, path: &str, depth: Depth, shows: fn(&OsStr) -> bool) -> Result<Answer, Refusal> {
        let target = Target::parse(path)?;
        let (site, wanted) = (self.site.clone(), target.clone());
        let found = blocking(move || site.find(&wanted.names)).await?;
        let folder = match &found {
            Found::File(..) if target.slash => return Err(Refusal::not_found()),
            Found::File(..) => None,
            Found::Folder(folder) => Some(folder.clone()),
        };
        let mut href: String = target.names.iter().map(|name| format!("/{}", escape(name))).collect();
        if folder.is_some() {
            href.push('/');
        }
        let name = target.names.last().cloned().unwrap_or_default();
        let mut head = propfind::HEAD.to_owned();
        propfind::response(&mut head, &href, &name, &found.into(), self.started);
        let mut answer = Response::new(Body::empty());
        *answer.status_mut() = StatusCode::MULTI_STATUS;
        insert(answer.headers_mut(), CONTENT_TYPE, "application/xml; charset=utf-8");
        insert(answer.headers_mut(), CACHE_CONTROL, "no-cache");
        *answer.body_mut() = match folder {
            Some(folder) if depth != Depth::Itself => {
                let how = How { deep: depth == Depth::All, shows };
                let walk = Walk::begin(self.site.clone(), folder, href, how).await?;
                let started = self.started;
                text(head, walk, move |items| propfind::responses(&items, started), propfind::FOOT)
            }
            _ => Body::text(head + propfind::FOOT),
        };
        Ok(answer)
    }
}

/// The part of a file that is sent: the range from its first to its last byte, and the segments of
/// the body. Sets status and headers.
fn segments(answer: &mut Answer, wanted: Wanted, size: u64, kind: &str) -> Result<(Range<u64>, Vec<Segment>), Refusal> {
    let whole = |text: &str| if text.starts_with("text/") { format!("{text}; charset=utf-8") } else { text.to_owned() };
    let parts = match wanted {
        Wanted::Nothing => return Err(Refusal::unsatisfiable(size)),
        Wanted::Whole => {
            insert(answer.headers_mut(), CONTENT_TYPE, &whole(kind));
            return Ok((0..size, vec![Segment::Bytes(0..size)].into_iter().filter(|_| size > 0).collect()));
        }
        Wanted::Parts(parts) => parts,
    };
    *answer.status_mut() = StatusCode::PARTIAL_CONTENT;
    if let [part] = parts.as_slice() {
        let (first, last) = (part.start, part.end - 1);
        insert(answer.headers_mut(), CONTENT_RANGE, &format!("bytes {first}-{last}/{size}"));
        insert(answer.headers_mut(), CONTENT_TYPE, &whole(kind));
        return Ok((part.clone(), vec![Segment::Bytes(part.clone())]));
    }
    let span = parts.iter().fold(size..0, |span, part| span.start.min(part.start)..span.end.max(part.end));
    let boundary = multipart::boundary();
    insert(answer.headers_mut(), CONTENT_TYPE, &format!("multipart/byteranges; boundary={boundary}"));
    Ok((span, multipart::segments(parts, size, &whole(kind), &boundary)))
}

/// A text whose middle is made from a walk, as far as the client takes it.
fn text(
    head: String,
    walk: Walk,
    lines: impl Fn(Vec<crate::listing::Item>) -> String + Send + 'static,
    foot: &'static str,
) -> Body {
    enum At {
        Head(String),
        Walk,
        End,
    }
    Body::made(stream::try_unfold((At::Head(head), walk, lines), move |(at, mut walk, lines)| async move {
        match at {
            At::Head(head) => Ok(Some((Bytes::from(head), (At::Walk, walk, lines)))),
            At::Walk => Ok(Some(match walk.next().await? {
                Some(items) => (Bytes::from(lines(items)), (At::Walk, walk, lines)),
                None => (Bytes::from_static(foot.as_bytes()), (At::End, walk, lines)),
            })),
            At::End => Ok(None),
        }
    }))
}

fn options() -> Answer {
    let mut answer = Response::new(Body::empty());
    insert(answer.headers_mut(), ALLOW, METHODS);
    // WebDAV class 1 without methods that change anything.
    insert(answer.headers_mut(), HeaderName::from_static("dav"), "1");
    insert(answer.headers_mut(), ACCEPT_RANGES, "bytes");
    insert(answer.headers_mut(), CONTENT_LENGTH, "0");
    answer
}

/// Reads the body of a `PROPFIND`, which names the wanted properties, and ignores it.
async fn ignore(mut body: Arriving) -> Result<(), Refusal> {
    let mut left = PROPERTIES;
    while let Some(bytes) = body.next().await? {
        left = left.checked_sub(bytes.len() as u64).ok_or_else(Refusal::body)?;
    }
    Ok(())
}

fn validators(headers: &mut HeaderMap, shown: &Shown) {
    insert(headers, ETAG, &shown.validators.tag);
    insert(headers, LAST_MODIFIED, &shown.modified);
}

/// Sets a header to a text of ours, all of which are visible ASCII.
fn insert(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}
