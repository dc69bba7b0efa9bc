//! An answer with all possible faults, and how it is sent.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::net::TcpStream;
use std::time::Duration;

use rustix::net::sockopt::set_socket_linger;

use crate::acceptor::Stop;
use crate::header::Header;

/// An answer.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) version: u8,
    pub(crate) code: u16,
    /// In their order. A content length among them replaces the right one.
    pub(crate) headers: Vec<Header>,
    pub(crate) body: Vec<u8>,
    pub(crate) framing: Framing,
    pub(crate) manner: Manner,
    /// Interim answers (1xx) that come before.
    pub(crate) interim: Vec<u16>,
    /// Whether the body is sent; that of a HEAD is not.
    pub(crate) with_body: bool,
    /// Sent after the end of the answer.
    pub(crate) afterwards: Vec<u8>,
    /// Whether the head is as short as it can be: no reason, small letters, no spaces after colons.
    pub(crate) bare: bool,
    /// Whether the connection ends after the answer.
    pub(crate) closes: bool,
}

/// How the end of the body is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    Length,
    Chunked,
    /// Chunks with extensions, and headers after the last one.
    ChunkedWithExtras,
    /// Neither a length nor chunks: the body ends with the connection.
    Close,
}

/// How the bytes are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    AtOnce,
    /// `bytes` of the body, then `pause`, and so on.
    Drip {
        bytes: usize,
        pause: Duration,
    },
    /// The connection ends before the first byte.
    NoByte,
    /// The connection ends within the head.
    HalfHead,
    /// The connection ends after the head and half of the body.
    HalfBody,
    /// The same, and the connection is reset.
    Reset,
    /// Nothing is ever sent.
    Silence,
    /// The greeting of another protocol is sent, and the connection ends.
    NotHttp,
}

impl Reply {
    /// An answer without headers and body.
    pub(crate) fn new(code: u16) -> Reply {
        let (headers, body, interim, afterwards) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (framing, manner) = (Framing::Length, Manner::AtOnce);
        let (with_body, bare, closes) = (true, false, false);
        Reply { version: 1, code, headers, body, framing, manner, interim, with_body, afterwards, bare, closes }
    }

    /// Adds a header.
    pub(crate) fn header(mut self, name: &str, value: impl Into<String>) -> Reply {
        self.headers.push(Header::new(name, value));
        self
    }

    /// Adds a body with its type.
    pub(crate) fn body(self, kind: &str, body: impl Into<Vec<u8>>) -> Reply {
        let mut reply = self.header("Content-Type", kind);
        reply.body = body.into();
        reply
    }

    /// Removes a header.
    pub(crate) fn without(mut self, name: &str) -> Reply {
        self.headers.retain(|header| !header.is(name));
        self
    }

    /// Sends it; returns whether the connection can take another request.
    pub(crate) fn send(&self, stream: &mut TcpStream, stop: &Stop) -> io::Result<bool> {
        let (head, body) = (self.head(), if self.with_body { self.framed() } else { Vec::new() });
        match self.manner {
            Manner::Silence => {
                stop.hang();
                return Ok(false);
            }
            Manner::NoByte => return Ok(false),
            Manner::NotHttp => {
                stream.write_all(b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n")?;
                return Ok(false);
            }
            Manner::HalfHead => {
                stream.write_all(&head[..head.len() / 2])?;
                return Ok(false);
            }
            Manner::HalfBody | Manner::Reset => {
                stream.write_all(&head)?;
                stream.write_all(&body[..body.len() / 2])?;
                if self.manner == Manner::Reset {
                    // The client reads the bytes before the reset.
                    stop.pause(Duration::from_millis(50));
                    set_socket_linger(&*stream, Some(Duration::ZERO))?;
                }
                return Ok(false);
            }
            Manner::AtOnce => stream.write_all(&[head, body].concat())?,
            Manner::Drip { bytes, pause } => {
                stream.write_all(&head)?;
                for piece in body.chunks(bytes) {
                    stream.write_all(piece)?;
                    if !stop.pause(pause) {
                        return Ok(false);
                    }
                }
            }
        }
        stream.write_all(&self.afterwards)?;
        Ok(!self.closes && self.version == 1 && self.framing != Framing::Close)
    }

    fn head(&self) -> Vec<u8> {
        let mut head = String::new();
        for code in &self.interim {
            let _ = write!(head, "HTTP/1.1 {code} {}\r\nLink: </style.css>\r\n\r\n", reason(*code));
        }
        let reason = if self.bare { String::new() } else { format!(" {}", reason(self.code)) };
        let _ = write!(head, "HTTP/1.{} {}{reason}\r\n", self.version, self.code);
        let told = self.headers.iter().any(|header| header.is("content-length"));
        let framing = match self.framing {
            Framing::Length if told || self.code == 204 || self.code == 304 => None,
            Framing::Length => Some(Header::new("Content-Length", self.body.len().to_string())),
            Framing::Chunked | Framing::ChunkedWithExtras => Some(Header::new("Transfer-Encoding", "chunked")),
            Framing::Close => None,
        };
        for Header { name, value } in self.headers.iter().chain(&framing) {
            let _ = match self.bare {
                true => write!(head, "{}:{value}\r\n", name.to_lowercase()),
                false => write!(head, "{name}: {value}\r\n"),
            };
        }
        head += "\r\n";
        head.into_bytes()
    }

    fn framed(&self) -> Vec<u8> {
        let extras = self.framing == Framing::ChunkedWithExtras;
        if self.framing != Framing::Chunked && !extras {
            return self.body.clone();
        }
        let mut framed = Vec::new();
        let extension = if extras { ";name=\"a value\"" } else { "" };
        for chunk in self.body.chunks(10_000) {
            framed.extend_from_slice(format!("{:x}{extension}\r\n", chunk.len()).as_bytes());
            framed.extend_from_slice(chunk);
            framed.extend_from_slice(b"\r\n");
        }
        let trailer = if extras { "X-Checksum: none\r\n" } else { "" };
        framed.extend_from_slice(format!("0{extension}\r\n{trailer}\r\n").as_bytes());
        framed
    }
}

/// The words for a code, where they matter to a reader of a test's log.
fn reason(code: u16) -> &'static str {
    match code {
        100 => "Continue",
        102 => "Processing",
        103 => "Early Hints",
        200 => "OK",
        206 => "Partial Content",
        207 => "Multi-Status",
        304 => "Not Modified",
        404 => "Not Found",
        412 => "Precondition Failed",
        416 => "Range Not Satisfiable",
        300..400 => "Redirected",
        400..500 => "Refused",
        _ => "Answer",
    }
}
