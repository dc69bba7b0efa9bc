//! A small HTTP client that shows an answer as it came, however odd: it follows no redirects,
//! retries nothing, and corrects nothing.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::header::Header;

/// Longer than any answer takes that a test waits for.
const PATIENCE: Duration = Duration::from_secs(60);

/// An answer as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The minor version of HTTP/1.
    pub version: u8,
    /// The status code.
    pub code: u16,
    /// In their order.
    pub headers: Vec<Header>,
    /// The body, without the marks of chunks.
    pub body: Vec<u8>,
    /// Whether the body came to the end that the head announced.
    pub whole: bool,
    /// The codes of the interim answers (1xx) that came before.
    pub interim: Vec<u16>,
}

impl Answer {
    /// The value of the first header of this name, in any case of letters.
    pub fn header(&self, name: &str) -> Option<&str> {
        Header::find(&self.headers, name)
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// A connection, for as many requests as the server keeps it open.
#[derive(Debug)]
pub struct Connection {
    stream: BufReader<TcpStream>,
    address: SocketAddr,
}

impl Connection {
    /// Connects to a server.
    pub fn new(address: SocketAddr) -> io::Result<Connection> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let connection = Connection { stream: BufReader::new(stream), address };
        connection.set_patience(PATIENCE)?;
        Ok(connection)
    }

    /// How long a read may take until it is the error `WouldBlock`.
    pub fn set_patience(&self, patience: Duration) -> io::Result<()> {
        self.stream.get_ref().set_read_timeout(Some(patience))
    }

    /// Asks for `target` and reads the answer. `headers` are sent as they are, after `Host`.
    pub fn ask(&mut self, method: &str, target: &str, headers: &[Header]) -> io::Result<Answer> {
        self.send(method, target, headers)?;
        self.answer(method)
    }

    /// Sends a request, without reading the answer.
    pub fn send(&mut self, method: &str, target: &str, headers: &[Header]) -> io::Result<()> {
        let mut head = format!("{method} {target} HTTP/1.1\r\nHost: {}\r\n", self.address);
        for Header { name, value } in headers {
            head += &format!("{name}: {value}\r\n");
        }
        self.send_bytes((head + "\r\n").as_bytes())
    }

    /// Sends a request, or any other bytes, as they are.
    pub fn send_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.get_mut().write_all(bytes)
    }

    /// Reads the answer to a request of `method`.
    pub fn answer(&mut self, method: &str) -> io::Result<Answer> {
        let mut interim = Vec::new();
        let mut answer = loop {
            let answer = self.head()?;
            if answer.code >= 200 {
                break answer;
            }
            interim.push(answer.code);
        };
        answer.interim = interim;
        if method != "HEAD" && answer.code != 204 && answer.code != 304 {
            self.body(&mut answer)?;
        }
        Ok(answer)
    }

    /// Whether the server has closed the connection, or does so within the patience.
    pub fn closed(&mut self) -> bool {
        self.stream.fill_buf().map_or_else(|error| error.kind() != io::ErrorKind::WouldBlock, <[u8]>::is_empty)
    }

    pub(crate) fn stream(&self) -> &TcpStream {
        self.stream.get_ref()
    }

    fn head(&mut self) -> io::Result<Answer> {
        let mut bytes = Vec::new();
        while !bytes.ends_with(b"\r\n\r\n") {
            if self.stream.read_until(b'\n', &mut bytes)? == 0 {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "no answer"));
            }
        }
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut head = httparse::Response::new(&mut headers);
        head.parse(&bytes).map_err(io::Error::other)?;
        let headers = head.headers.iter().map(Header::parsed);
        let (version, code) = (head.version.unwrap_or(1), head.code.unwrap_or(0));
        let (body, whole, interim) = (Vec::new(), true, Vec::new());
        Ok(Answer { version, code, headers: headers.collect(), body, whole, interim })
    }

    fn body(&mut self, answer: &mut Answer) -> io::Result<()> {
        if answer.header("transfer-encoding") == Some("chunked") {
            answer.whole = self.chunks(&mut answer.body)?;
        } else if let Some(length) = answer.header("content-length") {
            let length = length.parse().map_err(io::Error::other)?;
            answer.whole = self.piece(length, &mut answer.body)?;
        } else {
            cut(self.stream.read_to_end(&mut answer.body))?;
        }
        Ok(())
    }

    /// Reads a body in chunks; returns whether it came to its end.
    fn chunks(&mut self, body: &mut Vec<u8>) -> io::Result<bool> {
        loop {
            let mut line = Vec::new();
            cut(self.stream.read_until(b'\n', &mut line))?;
            let Ok(httparse::Status::Complete((_, length))) = httparse::parse_chunk_size(&line) else {
                return Ok(false);
            };
            if !self.piece(length, body)? {
                return Ok(false);
            }
            // After the last chunk, headers may come before the empty line.
            let mut end = Vec::new();
            while cut(self.stream.read_until(b'\n', &mut end))? > 0 && length == 0 && end != b"\r\n" {
                end.clear();
            }
            if length == 0 || end != b"\r\n" {
                return Ok(end == b"\r\n");
            }
        }
    }

    /// Appends `length` bytes; returns whether there were as many.
    fn piece(&mut self, length: u64, body: &mut Vec<u8>) -> io::Result<bool> {
        let before = body.len() as u64;
        cut((&mut self.stream).take(length).read_to_end(body))?;
        Ok(body.len() as u64 - before == length)
    }
}

/// A connection that the server resets ends there, like one that it closes.
fn cut(read: io::Result<usize>) -> io::Result<usize> {
    match read {
        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(0),
        read => read,
    }
}

/// Sends one request on a connection of its own.
pub fn ask(address: SocketAddr, method: &str, target: &str, headers: &[Header]) -> io::Result<Answer> {
    Connection::new(address)?.ask(method, target, headers)
}
