//! The requests that a server of a test gets: how they are read, and the account that it keeps of
//! them.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::{Mutex, MutexGuard, PoisonError};

use percent_encoding::percent_decode_str;

use crate::header::Header;

/// A request as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// `GET`, `HEAD`, `PROPFIND` or another.
    pub method: String,
    /// The path as it was asked for, with its query.
    pub target: String,
    /// In their order.
    pub headers: Vec<Header>,
    /// The body.
    pub body: Vec<u8>,
}

impl Request {
    /// The value of the first header of this name, in any case of letters.
    pub fn header(&self, name: &str) -> Option<&str> {
        Header::find(&self.headers, name)
    }

    /// The path as it was asked for, without its query.
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// The path with percent escapes decoded, without the slash at its begin.
    pub fn file(&self) -> Vec<u8> {
        let decoded: Vec<u8> = percent_decode_str(self.path()).collect();
        decoded.strip_prefix(b"/").map(<[u8]>::to_vec).unwrap_or(decoded)
    }

    /// Whether it is for a listing.
    pub(crate) fn lists(&self) -> bool {
        let query = self.target.split_once('?').map_or("", |(_, query)| query);
        let list = |pair: &str| ["list-type=", "prefix=", "delimiter="].iter().any(|key| pair.starts_with(key));
        self.method == "PROPFIND" || query.split('&').any(list)
    }

    /// Whether the client wants the connection to end after the answer.
    pub(crate) fn closes(&self) -> bool {
        self.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"))
    }
}

/// Reads requests off a connection, one after the other.
#[derive(Debug)]
pub(crate) struct Reader(BufReader<TcpStream>);

impl Reader {
    /// Reads from `stream`; answers go to a clone of it.
    pub(crate) fn new(stream: TcpStream) -> Reader {
        Reader(BufReader::new(stream))
    }

    /// The next request; nothing once the client has closed the connection.
    pub(crate) fn next(&mut self) -> io::Result<Option<Request>> {
        let mut bytes = Vec::new();
        while !bytes.ends_with(b"\r\n\r\n") {
            if self.0.read_until(b'\n', &mut bytes)? == 0 {
                return if bytes.is_empty() { Ok(None) } else { Err(io::ErrorKind::UnexpectedEof.into()) };
            }
        }
        let mut headers = [httparse::EMPTY_HEADER; 100];
        let mut head = httparse::Request::new(&mut headers);
        head.parse(&bytes).map_err(io::Error::other)?;
        let headers = head.headers.iter().map(Header::parsed);
        let (method, target) = (head.method.unwrap_or_default().into(), head.path.unwrap_or_default().into());
        let mut request = Request { method, target, headers: headers.collect(), body: Vec::new() };
        if request.header("expect").is_some() {
            self.0.get_mut().write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        self.body(&mut request)?;
        Ok(Some(request))
    }

    fn body(&mut self, request: &mut Request) -> io::Result<()> {
        if request.header("transfer-encoding").is_some() {
            loop {
                let mut line = Vec::new();
                self.0.read_until(b'\n', &mut line)?;
                let Ok(httparse::Status::Complete((_, length))) = httparse::parse_chunk_size(&line) else {
                    return Err(io::ErrorKind::InvalidData.into());
                };
                (&mut self.0).take(length).read_to_end(&mut request.body)?;
                self.0.read_until(b'\n', &mut line)?;
                if length == 0 {
                    return Ok(());
                }
            }
        }
        let length = request.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        request.body.resize(length, 0);
        self.0.read_exact(&mut request.body)
    }
}

/// The account of the requests that a server got, in their order.
#[derive(Debug, Default)]
pub struct Requests(Mutex<Vec<Request>>);

impl Requests {
    /// All of them.
    pub fn all(&self) -> Vec<Request> {
        self.list().clone()
    }

    /// How many of `method` were for `path`, as it was asked for, without its query.
    pub fn count(&self, method: &str, path: &str) -> usize {
        self.list().iter().filter(|request| request.method == method && request.path() == path).count()
    }

    /// Forgets all of them.
    pub fn clear(&self) {
        self.list().clear();
    }

    pub(crate) fn add(&self, request: &Request) {
        self.list().push(request.clone());
    }

    fn list(&self) -> MutexGuard<'_, Vec<Request>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
