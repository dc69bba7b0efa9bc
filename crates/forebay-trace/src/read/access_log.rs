//! The access logs of nginx and Apache, in the common or the combined form. An answer is a request
//! for a whole object of as many bytes: which range a client asked for is not in the log.
//!
//! ```text
//!   192.0.2.1 - - [10/Oct/2000:13:55:36 -0700] "GET /a.png HTTP/1.1" 200 2326 "-" "curl/8.0"
//! ```
//!
//! Answers to GET with the status 200 or 206 are requests; others are left out. The client is the
//! handler.

use crate::read::calendar::log_time;
use crate::read::clock::Clock;
use crate::read::left_out::LeftOut;
use crate::read::names::Names;
use crate::read::text::{Line, number, quoted};
use crate::{FileInfo, Reading, Request, Shape};

pub(crate) struct AccessLog {
    clock: Clock,
    objects: Names,
    clients: Names,
    /// The name of an object, for its memory.
    name: Vec<u8>,
    parts: Parts,
    left_out: LeftOut,
}

impl Default for AccessLog {
    fn default() -> AccessLog {
        let (objects, clients) = (Names::default(), Names::default());
        let (parts, left_out) = (Parts::default(), LeftOut::default());
        AccessLog { clock: Clock::new(1), objects, clients, name: Vec::new(), parts, left_out }
    }
}

/// Fields of a log: between blanks, in quotes or in square brackets.
pub(crate) struct LogFields<'a> {
    rest: &'a [u8],
}

impl<'a> LogFields<'a> {
    pub(crate) fn of(line: &'a [u8]) -> LogFields<'a> {
        LogFields { rest: line }
    }
}

impl<'a> Iterator for LogFields<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest.trim_ascii_start();
        let (inner, close) = match rest.first()? {
            b'"' => (&rest[1..], b'"'),
            b'[' => (&rest[1..], b']'),
            _ => (rest, b' '),
        };
        let mut end = 0;
        while let Some(&byte) = inner.get(end) {
            if byte == close {
                break;
            }
            // A quote within is written with a backslash.
            end += if byte == b'\\' && close == b'"' { 2 } else { 1 };
        }
        let end = end.min(inner.len());
        self.rest = inner.get(end + 1..).unwrap_or_default();
        Some(&inner[..end])
    }
}

/// The answers that had only a part of an object, whose size the log does not have.
#[derive(Default)]
pub(crate) struct Parts(u64);

impl Parts {
    pub(crate) fn add(&mut self) {
        self.0 += 1;
    }

    /// The doubt about them.
    pub(crate) fn doubt(&self) -> Vec<String> {
        let parts = self.0;
        let doubt =
            || format!("{parts} answers of status 206 are parts of objects: they count with the bytes of the part");
        (parts > 0).then(doubt).into_iter().collect()
    }
}

/// Method and target of a request's line, `GET /a HTTP/1.1`.
pub(crate) struct Asked<'a> {
    pub(crate) method: &'a [u8],
    pub(crate) target: &'a [u8],
}

impl<'a> Asked<'a> {
    fn of(line: &'a [u8]) -> Asked<'a> {
        let mut parts = line.split(|&byte| byte == b' ');
        Asked { method: parts.next().unwrap_or_default(), target: parts.next().unwrap_or_default() }
    }
}

impl Line for AccessLog {
    fn line(&mut self, line: &[u8]) -> Result<Option<Request>, String> {
        let line = line.trim_ascii();
        if line.is_empty() {
            return Ok(None);
        }
        let mut fields = LogFields::of(line);
        let mut field = |what: &str| fields.next().ok_or_else(|| format!("it has no {what}"));
        let (mut client, identity, _, mut time) =
            (field("client")?, field("identity")?, field("user")?, field("time")?);
        // Apache's `vhost_combined` has the server before the client.
        let mut host: &[u8] = b"";
        if log_time(time).is_none() && memchr::memchr(b':', client).is_some() {
            (host, client, time) = (client, identity, field("time")?);
        }
        let (asked, status, bytes) = (field("request")?, field("status")?, field("number of bytes")?);
        let wrong = |what: &str, text: &[u8]| format!("{} is no {what}", quoted(text));
        let nanos = log_time(time).ok_or_else(|| wrong("time, as in 10/Oct/2000:13:55:36 -0700", time))?;
        let status = number(status).ok_or_else(|| wrong("status", status))?;
        let bytes =
            if bytes == b"-" { Some(0) } else { number(bytes) }.ok_or_else(|| wrong("number of bytes", bytes))?;
        let Asked { method, target } = Asked::of(asked);
        if method != b"GET" {
            self.left_out.add("method", method);
            return Ok(None);
        }
        if !matches!(status, 200 | 206) {
            self.left_out.add("status", status.to_string().as_bytes());
            return Ok(None);
        }
        let Some(len) = u32::try_from(bytes).ok().filter(|&len| len > 0) else {
            self.left_out.add(if bytes == 0 { "of no bytes" } else { "of 4 GiB or more" }, b"");
            return Ok(None);
        };
        let handler = u32::try_from(self.clients.number(client)).unwrap_or(u32::MAX);
        if status == 206 {
            self.parts.add();
        }
        self.name.clear();
        self.name.extend_from_slice(host);
        self.name.extend_from_slice(target);
        let (file, at) = (self.objects.number(&self.name), self.clock.at(nanos));
        Ok(Some(Request { at, file, len, handler, ..Request::default() }))
    }

    fn shape(&self) -> Shape {
        Shape::Objects
    }

    fn files(&self) -> Vec<FileInfo> {
        self.objects.files(0)
    }

    fn reading(&self) -> Reading {
        Reading { left_out: self.left_out.all(), doubts: self.parts.doubt(), ..Reading::default() }
    }
}
