//! The answers of an odd server.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::MODIFIED;
use super::oddity::{Cut, Methods, Modified, Oddity, PASSWORD, RetryAfter, Tag, To, USER};
use super::ranges;
use super::reply::{Framing, Manner, Reply};
use crate::acceptor::Stop;
use crate::files::Files;
use crate::requests::{Reader, Request, Requests};
use crate::webdav_listing::{self, Shape};

/// The files, the oddity, and the account of requests.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) requests: Requests,
    shape: Shape,
    state: Mutex<State>,
    /// Counts answers with a flipping tag.
    flips: AtomicU64,
    /// The version of [`Oddity::Changing`].
    version: AtomicU64,
}

#[derive(Debug)]
struct State {
    files: Files,
    oddity: Oddity,
    /// Paths with an oddity of their own.
    at: BTreeMap<Vec<u8>, Oddity>,
}

impl Site {
    pub(crate) fn new(files: Files, oddity: Oddity, shape: Shape) -> Site {
        let state = Mutex::new(State { files, oddity, at: BTreeMap::new() });
        Site { requests: Requests::default(), shape, state, flips: AtomicU64::new(0), version: AtomicU64::new(0) }
    }

    /// Changes the files.
    pub(crate) fn put(&self, path: &[u8], bytes: &[u8]) {
        self.state().files.insert(path, bytes);
    }

    /// Changes the oddity, of one path or of all that have none of their own.
    pub(crate) fn be(&self, path: Option<&[u8]>, oddity: Oddity) {
        let mut state = self.state();
        match path {
            Some(path) => drop(state.at.insert(path.to_vec(), oddity)),
            None => state.oddity = oddity,
        }
    }

    /// Serves a connection to its end. Its failures are for the client to see.
    pub(crate) fn serve(&self, mut stream: TcpStream, stop: &Stop) {
        let (Ok(local), Ok(read)) = (stream.local_addr(), stream.try_clone()) else { return };
        let mut reader = Reader::new(read);
        while let Ok(Some(request)) = reader.next() {
            self.requests.add(&request);
            let reply = self.answer(&request, local);
            if !reply.send(&mut stream, stop).unwrap_or(false) {
                return;
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The oddity for a request, which uses up one of the first ones of [`Oddity::First`].
    fn oddity(&self, path: &[u8], method: &str) -> Oddity {
        let mut state = self.state();
        let State { oddity, at, .. } = &mut *state;
        match at.get_mut(path).unwrap_or(oddity) {
            Oddity::First(0, _) => Oddity::Plain,
            Oddity::First(left, then) if then.concerns(method) => {
                *left -= 1;
                (**then).clone()
            }
            Oddity::First(..) => Oddity::Plain,
            oddity => oddity.clone(),
        }
    }

    fn answer(&self, request: &Request, local: SocketAddr) -> Reply {
        let asked = request.file();
        let moved = asked.strip_prefix(b"moved/");
        let path = moved.unwrap_or(&asked);
        let oddity = match self.oddity(path, &request.method) {
            Oddity::Redirect { to, .. } if moved.is_some() && to != To::Circle && to != To::Endless => Oddity::Plain,
            oddity => oddity,
        };
        let reply = refusal(&oddity, request).unwrap_or_else(|| match request.method.as_str() {
            "GET" | "HEAD" => self.file(request, path, &oddity, local),
            "PROPFIND" => {
                let depth = request.header("depth").unwrap_or("infinity");
                webdav_listing::answer(&self.state().files, path, depth, self.shape, local)
            }
            "OPTIONS" => Reply::new(200).header("DAV", "1").header("Allow", "OPTIONS, GET, HEAD, PROPFIND"),
            _ => Reply::new(405).header("Allow", "OPTIONS, GET, HEAD, PROPFIND"),
        });
        send_as(reply, &oddity, request)
    }

    fn file(&self, request: &Request, path: &[u8], oddity: &Oddity, local: SocketAddr) -> Reply {
        let Some(bytes) = self.state().files.get(path).map(<[u8]>::to_vec) else {
            let code = if *oddity == Oddity::SoftMissing { 200 } else { 404 };
            return page(code, "This file is missing.");
        };
        let get = request.method == "GET";
        let bytes = match oddity {
            Oddity::HeadRefused(code) if !get => return Reply::new(*code),
            Oddity::Redirect { code, to } => return redirect(*code, *to, request, local),
            Oddity::Changing => {
                let version = self.version.fetch_add(u64::from(get), Ordering::SeqCst) + u64::from(get);
                bytes.iter().map(|byte| byte ^ version as u8).collect()
            }
            Oddity::Gzip => compressed(&bytes),
            _ => bytes,
        };
        let tag = self.tag(oddity, &bytes);
        if let Some(code) = condition(request, tag.as_deref(), *oddity == Oddity::IfMatchFails) {
            return Reply::new(code).header("ETag", tag.unwrap_or_default());
        }
        let base = validated(oddity, tag.as_deref());
        let fresh = request.header("if-range").is_none_or(|value| Some(value) == tag.as_deref() || value == MODIFIED);
        let range = request.header("range").filter(|_| get && fresh && *oddity != Oddity::NoRanges);
        let mut reply = match range.and_then(|range| ranges::asked(range, bytes.len())) {
            Some(ranges) => ranges::partial(base, &ranges, &bytes, oddity),
            None => Reply { body: bytes, ..base },
        };
        if reply.code == 206 && *oddity == Oddity::RangeChunked {
            reply.framing = Framing::Chunked;
        }
        if get { reply } else { head(reply, oddity) }
    }

    fn tag(&self, oddity: &Oddity, bytes: &[u8]) -> Option<String> {
        let plain = tag(bytes);
        let Oddity::Tag(kind) = oddity else { return Some(plain) };
        let flip = || self.flips.fetch_add(1, Ordering::SeqCst) % 2;
        match kind {
            Tag::Weak => Some(format!("W/{plain}")),
            Tag::Flipping => Some(format!("\"node-{}\"", flip())),
            Tag::WeakFlipping => Some(format!("W/\"node-{}\"", flip())),
            Tag::Shared => Some("\"5b923966-493e0\"".into()),
            Tag::None => None,
            Tag::Empty => Some(String::new()),
            Tag::EmptyQuotes => Some("\"\"".into()),
            Tag::Unquoted => Some(plain.trim_matches('"').into()),
        }
    }
}

/// The strong entity tag of bytes: FNV-1a in hexadecimal digits.
pub(crate) fn tag(bytes: &[u8]) -> String {
    let hash = bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3));
    format!("\"{hash:016x}\"")
}

fn page(code: u16, text: &str) -> Reply {
    Reply::new(code).body("text/html", format!("<html><body>{text}</body></html>"))
}

/// The answer that does not depend on the file.
fn refusal(oddity: &Oddity, request: &Request) -> Option<Reply> {
    let concerned = oddity.concerns(&request.method);
    match oddity {
        Oddity::Refused(code) => Some(page(*code, "Refused.")),
        Oddity::Propfind(code) if concerned => Some(page(*code, "No WebDAV here.")),
        Oddity::PropfindPage if concerned => Some(page(200, "<a href=\"a.bin\">a.bin</a>")),
        Oddity::Busy { code, retry } => {
            let date = |seconds| httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(seconds));
            let retry = match retry {
                RetryAfter::None => None,
                RetryAfter::Seconds(seconds) => Some(seconds.to_string()),
                RetryAfter::Date(seconds) => Some(date(*seconds)),
                RetryAfter::Nonsense => Some("after lunch".into()),
            };
            let reply = page(*code, "Busy.");
            Some(retry.into_iter().fold(reply, |reply, retry| reply.header("Retry-After", retry)))
        }
        Oddity::Password => {
            let wanted = format!("Basic {}", BASE64_STANDARD.encode(format!("{USER}:{PASSWORD}")));
            let given = request.header("authorization") == Some(&wanted);
            (!given).then(|| page(401, "Who are you?").header("WWW-Authenticate", "Basic realm=\"test\""))
        }
        _ => None,
    }
}

fn redirect(code: u16, to: To, request: &Request, local: SocketAddr) -> Reply {
    let path = request.path();
    let moved = path.strip_prefix("/moved");
    let depth = path.matches('/').count().saturating_sub(1);
    let location = match to {
        To::Path => format!("/moved{path}"),
        To::Relative => format!("{}moved{path}", "../".repeat(depth)),
        To::Url => format!("http://{}/moved{path}", request.header("host").unwrap_or_default()),
        To::Host => format!("http://localhost:{}/moved{path}", local.port()),
        To::Itself => path.to_owned(),
        To::Circle => moved.map_or_else(|| format!("/moved{path}"), str::to_owned),
        To::Endless => {
            let hop = request.target.rsplit_once("?hop=").and_then(|(_, hop)| hop.parse().ok()).unwrap_or(0u64);
            format!("/moved{}?hop={}", moved.unwrap_or(path), hop + 1)
        }
        To::Nowhere => return page(code, "It was moved."),
        To::Missing => "/missing-file".to_owned(),
        To::File => "file:///etc/passwd".to_owned(),
    };
    page(code, "It was moved.").header("Location", location)
}

/// The code of an answer that a condition of the request decides.
fn condition(request: &Request, tag: Option<&str>, fails: bool) -> Option<u16> {
    let among = |list: &str, tag: &str| list == "*" || list.split(',').any(|each| each.trim() == tag);
    if let Some(list) = request.header("if-match") {
        // A weak tag never matches here.
        let strong = tag.filter(|tag| !tag.starts_with("W/"));
        if fails || list != "*" && !strong.is_some_and(|tag| among(list, tag)) {
            return Some(412);
        }
    } else if request.header("if-unmodified-since").is_some_and(|date| date != MODIFIED) {
        return Some(412);
    }
    let known = match request.header("if-none-match") {
        Some(list) => tag.is_some_and(|tag| among(&list.replace("W/", ""), tag.trim_start_matches("W/"))),
        None => request.header("if-modified-since") == Some(MODIFIED),
    };
    known.then_some(304)
}

/// An answer with the headers that tell versions apart, and without a body.
fn validated(oddity: &Oddity, tag: Option<&str>) -> Reply {
    let modified = match oddity {
        Oddity::Modified(Modified::Rfc850) => Some("Friday, 07-Sep-18 08:49:58 GMT"),
        Oddity::Modified(Modified::Asctime) => Some("Fri Sep  7 08:49:58 2018"),
        Oddity::Modified(Modified::Iso) => Some("2018-09-07T08:49:58Z"),
        Oddity::Modified(Modified::Future) => Some("Fri, 07 Aug 2099 12:00:00 GMT"),
        Oddity::Modified(Modified::Nonsense) => Some("the other day"),
        Oddity::Modified(Modified::None) => None,
        _ => Some(MODIFIED),
    };
    let ranges = if *oddity == Oddity::NoRanges { "none" } else { "bytes" };
    let reply = Reply::new(200).header("Content-Type", "application/octet-stream").header("Accept-Ranges", ranges);
    let reply = modified.into_iter().fold(reply, |reply, modified| reply.header("Last-Modified", modified));
    let reply = tag.into_iter().fold(reply, |reply, tag| reply.header("ETag", tag));
    if *oddity == Oddity::Gzip { reply.header("Content-Encoding", "gzip") } else { reply }
}

fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(bytes).and_then(|()| gzip.finish()).expect("memory takes every write")
}

/// The answer to HEAD, from that to GET.
fn head(mut reply: Reply, oddity: &Oddity) -> Reply {
    match oddity {
        Oddity::HeadLength(by) => {
            let length = reply.body.len().saturating_add_signed(*by as isize);
            reply = reply.header("Content-Length", length.to_string());
        }
        Oddity::HeadWithoutLength => reply.framing = Framing::Chunked,
        Oddity::HeadGzip => reply = reply.header("Content-Encoding", "gzip").header("Content-Length", "1234"),
        _ => {}
    }
    reply
}

/// The answer in the form and the manner of the oddity.
fn send_as(mut reply: Reply, oddity: &Oddity, request: &Request) -> Reply {
    let (get, head) = (request.method == "GET", request.method == "HEAD");
    reply.with_body = !head || *oddity == Oddity::HeadWithBody;
    match oddity {
        Oddity::ChunkExtras if reply.code != 304 => reply.framing = Framing::ChunkedWithExtras,
        Oddity::Junk if !head => reply.afterwards = b"junk after the body\r\n".to_vec(),
        Oddity::TwoLengths => {
            let length = reply.body.len();
            reply = reply.header("Content-Length", length.to_string());
            reply = reply.header("Content-Length", (length + 1).to_string());
        }
        Oddity::LongHeader(bytes) => reply = reply.header("X-Long", "long".repeat(bytes / 4)),
        Oddity::BareHead => reply.bare = true,
        Oddity::NotHttp => reply.manner = Manner::NotHttp,
        Oddity::Interim(code) => reply.interim = vec![*code],
        Oddity::Http10 { length } => {
            reply.version = 0;
            reply.framing = if *length { Framing::Length } else { Framing::Close };
        }
        Oddity::Closes => reply.closes = true,
        Oddity::Cut(Cut::Nothing) => reply.manner = Manner::NoByte,
        Oddity::Cut(Cut::Head) => reply.manner = Manner::HalfHead,
        Oddity::Cut(Cut::Body) if get => reply.manner = Manner::HalfBody,
        Oddity::Cut(Cut::Reset) if get => reply.manner = Manner::Reset,
        Oddity::Cut(Cut::Chunk) if get => (reply.framing, reply.manner) = (Framing::Chunked, Manner::HalfBody),
        Oddity::Silent(methods) => {
            let silent = match methods {
                Methods::Head => head,
                Methods::Get => get,
                Methods::Propfind => request.method == "PROPFIND",
                Methods::All => true,
            };
            reply.manner = if silent { Manner::Silence } else { Manner::AtOnce };
        }
        Oddity::Drip { bytes, pause } => reply.manner = Manner::Drip { bytes: *bytes, pause: *pause },
        _ => {}
    }
    if request.closes() {
        reply.closes = true;
        reply = reply.header("Connection", "close");
    }
    reply
}
