//! A proxy on the loopback in front of an S3 server or a web server, which breaks as a [`Fault`]
//! says.
//!
//! The proxy passes requests on as they came, with their `Host`, so that signatures stay right. It
//! holds whole bodies in memory.

mod fault;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

pub use fault::{Fault, Which};

use crate::acceptor::{Acceptor, Stop};
use crate::asking::{Answer, Connection};
use crate::header::Header;
use crate::odd_web::{Framing, Manner, Reply};
use crate::requests::{Reader, Request, Requests};

/// A running proxy. Stopped when dropped.
#[derive(Debug)]
pub struct BreakingProxy {
    shared: Arc<Shared>,
    acceptor: Acceptor,
}

#[derive(Debug)]
struct Shared {
    upstream: SocketAddr,
    requests: Requests,
    state: Mutex<State>,
    broken: AtomicU64,
}

#[derive(Debug)]
struct State {
    fault: Fault,
    /// The fault applies only to requests whose target contains it.
    part: String,
    /// How many requests the fault applied to.
    concerned: usize,
}

impl BreakingProxy {
    /// Starts a proxy in front of `upstream` that breaks all requests as `fault` says.
    pub fn start(upstream: SocketAddr, fault: Fault) -> io::Result<BreakingProxy> {
        let state = Mutex::new(State { fault, part: String::new(), concerned: 0 });
        let shared = Arc::new(Shared { upstream, requests: Requests::default(), state, broken: AtomicU64::new(0) });
        let serve = Arc::clone(&shared);
        let acceptor = Acceptor::start("breaking-proxy", move |stream, stop| serve.serve(stream, stop))?;
        Ok(BreakingProxy { shared, acceptor })
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.acceptor.address()
    }

    /// Its address, as `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    /// The requests that came, those that broke among them.
    pub fn requests(&self) -> &Requests {
        &self.shared.requests
    }

    /// How many requests met a fault, of all that came.
    pub fn broken(&self) -> u64 {
        self.shared.broken.load(Ordering::Relaxed)
    }

    /// Breaks all requests as `fault` says, from the next one on.
    pub fn set(&self, fault: Fault) {
        self.set_for("", fault);
    }

    /// Breaks only requests whose target (path and query, as they came) contains `part`.
    pub fn set_for(&self, part: &str, fault: Fault) {
        let state = State { fault, part: part.into(), concerned: 0 };
        *self.shared.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }
}

impl Shared {
    /// Serves a connection to its end. Its failures are for the client to see.
    fn serve(&self, mut stream: TcpStream, stop: &Stop) {
        let Ok(read) = stream.try_clone() else { return };
        let mut reader = Reader::new(read);
        while let Ok(Some(request)) = reader.next() {
            self.requests.add(&request);
            let fault = self.fault(&request);
            self.broken.fetch_add(u64::from(fault != Fault::None), Ordering::Relaxed);
            if let Fault::Latency(time) = fault {
                stop.pause(time);
            }
            let reply = match refusal(&fault, &request) {
                Some(reply) => reply,
                None => self.pass(&request, &fault, stop).unwrap_or_else(|_| Reply::new(502)),
            };
            let reply = Reply { closes: reply.closes || request.closes(), ..reply };
            if !reply.send(&mut stream, stop).unwrap_or(false) {
                return;
            }
        }
    }

    /// The fault of this request.
    fn fault(&self, request: &Request) -> Fault {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let fault = match &state.fault {
            Fault::First(_, then) | Fault::EveryNth(_, then) => (**then).clone(),
            fault => fault.clone(),
        };
        if !request.target.contains(&state.part) || !concerns(&fault, request) {
            return Fault::None;
        }
        state.concerned += 1;
        match state.fault {
            Fault::First(times, _) if state.concerned > times => Fault::None,
            Fault::EveryNth(nth, _) if !state.concerned.is_multiple_of(nth) => Fault::None,
            _ => fault,
        }
    }

    /// Asks the server, and changes its answer as the fault says.
    fn pass(&self, request: &Request, fault: &Fault, stop: &Stop) -> io::Result<Reply> {
        let mut server = Connection::new(self.upstream)?;
        let _breakable = stop.breaks(server.stream())?;
        let mut head = format!("{} {} HTTP/1.1\r\n", request.method, request.target);
        let hop = ["connection", "transfer-encoding", "content-length", "expect"];
        let passed = |header: &&Header| !hop.iter().any(|hop| header.is(hop));
        for Header { name, value } in request.headers.iter().filter(passed) {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        let _ = write!(head, "Content-Length: {}\r\nConnection: close\r\n\r\n", request.body.len());
        server.send_bytes(&[head.as_bytes(), &request.body].concat())?;
        let answer = server.answer(&request.method)?;
        Ok(changed(answer, request, fault))
    }
}

/// Whether a fault makes a difference to a request, so that it counts.
fn concerns(fault: &Fault, request: &Request) -> bool {
    let (get, head) = (request.method == "GET", request.method == "HEAD");
    match fault {
        Fault::Silent(Which::Ranges) => request.header("range").is_some(),
        Fault::Silent(Which::Heads) | Fault::NoLength => head,
        Fault::Silent(Which::Listings) => request.lists(),
        Fault::Archived | Fault::Short => get && !request.lists(),
        Fault::NoSuchKey => (get || head) && !request.lists(),
        Fault::Cut | Fault::Reset => !head,
        _ => true,
    }
}

/// What S3 says of a bucket that lies in a region which has to be switched on.
const CONSTRAINT: &str =
    "The eu-west-1 location constraint is incompatible for the region specific endpoint this request was sent to.";

/// The answer of a fault that needs no server.
fn refusal(fault: &Fault, request: &Request) -> Option<Reply> {
    let error = |code, name: &str| {
        let head = request.method == "HEAD";
        let message = if *fault == Fault::OtherConstraint { CONSTRAINT } else { "no" };
        let text = format!("<?xml version=\"1.0\"?><Error><Code>{name}</Code><Message>{message}</Message></Error>");
        Reply::new(code).body("application/xml", if head { String::new() } else { text })
    };
    let mut reply = match fault {
        Fault::SlowDown => error(503, "SlowDown"),
        Fault::TooManyRequests(seconds) => error(429, "TooManyRequests").header("Retry-After", seconds.to_string()),
        Fault::InternalError => error(500, "InternalError"),
        Fault::ErrorInOk => error(200, "InternalError"),
        Fault::ExpiredToken(code) => error(*code, "ExpiredToken"),
        Fault::AccessDenied => error(403, "AccessDenied"),
        Fault::Skew => error(403, "RequestTimeTooSkewed"),
        Fault::OtherRegion => error(301, "PermanentRedirect").header("x-amz-bucket-region", "eu-west-1"),
        Fault::OtherConstraint => error(400, "IllegalLocationConstraintException"),
        Fault::Archived => error(403, "InvalidObjectState"),
        Fault::NoSuchKey => error(404, "NoSuchKey"),
        Fault::Portal => Reply::new(200).body("text/html", "<html>captive portal</html>"),
        Fault::Silent(_) | Fault::Closed => Reply::new(200),
        _ => return None,
    };
    reply.manner = match fault {
        Fault::Silent(_) => Manner::Silence,
        Fault::Closed => Manner::NoByte,
        _ => Manner::AtOnce,
    };
    reply.with_body = request.method != "HEAD";
    Some(reply)
}

/// The server's answer, changed.
fn changed(mut answer: Answer, request: &Request, fault: &Fault) -> Reply {
    let head = request.method == "HEAD";
    match fault {
        Fault::NoTruncated => answer.body = cut_out(&answer.body, b"<IsTruncated>false", b"</IsTruncated>"),
        Fault::NoTags => answer.body = cut_out(&answer.body, b"<ETag>", b"</ETag>"),
        Fault::Short => drop(answer.body.pop()),
        _ => {}
    }
    let mut reply = Reply::new(answer.code);
    let length = answer.header("content-length").filter(|_| head && *fault != Fault::NoLength).map(str::to_owned);
    let own = ["content-length", "transfer-encoding", "connection", "keep-alive"];
    for header in answer.headers {
        let tag = *fault == Fault::NoTags && header.is("etag");
        if !tag && !own.iter().any(|own| header.is(own)) {
            reply = reply.header(&header.name, header.value);
        }
    }
    match length {
        Some(length) => reply = reply.header("Content-Length", length),
        None if head => reply.framing = Framing::Chunked,
        None => {}
    }
    (reply.body, reply.with_body) = (answer.body, !head);
    reply.manner = match fault {
        Fault::Cut => Manner::HalfBody,
        Fault::Reset => Manner::Reset,
        Fault::Drip { bytes, pause } => Manner::Drip { bytes: *bytes, pause: *pause },
        // The proxy does not finish an answer that the server did not finish.
        _ if !answer.whole => Manner::NoByte,
        _ => Manner::AtOnce,
    };
    reply
}

/// The text without the pieces from `open` to the end of the next `close`.
fn cut_out(text: &[u8], open: &[u8], close: &[u8]) -> Vec<u8> {
    let find = |text: &[u8], what: &[u8]| text.windows(what.len()).position(|window| window == what);
    let (mut left, mut rest) = (Vec::new(), text);
    while let Some(start) = find(rest, open) {
        let Some(length) = find(&rest[start..], close) else { break };
        left.extend_from_slice(&rest[..start]);
        rest = &rest[start + length + close.len()..];
    }
    left.extend_from_slice(rest);
    left
}
