//! A body that is read as it comes, so that a long one is never held as a whole.
//!
//! The parsers wait for their next bytes, which no task may do. So a body that is longer than
//! [`SHORT`] is read on a thread of its own:
//!
//! ```text
//!   task:    chunk ──▶ chunk ──▶ ... broken off, too long: an error, whatever was read
//!              │ one at a time
//!   thread:  Body ──▶ parser ──▶ names
//! ```

use std::io::{self, BufRead, Read};

use bytes::{Buf, Bytes};
use tokio::sync::mpsc::{Receiver, channel};
use tokio::task::spawn_blocking;

use super::ask::Reply;
use super::coding::CODED;
use super::trouble::{against_rules, broken};
use crate::remote::Answer;

/// Up to this many bytes a body is read without a thread: an answer about a single name is shorter.
const SHORT: usize = 32 << 10;

/// The bytes of a body. If a body breaks off, they end, too, and its names are not used.
#[derive(Debug)]
pub(super) struct Body {
    piece: Bytes,
    /// The bytes after the piece, if not all have come.
    rest: Option<Receiver<Bytes>>,
}

impl Reply {
    /// The result of `read` for the body, which has at most `limit` bytes.
    pub(super) async fn read<T: Send + 'static>(
        mut self,
        name: &str,
        limit: usize,
        read: impl FnOnce(Body) -> T + Send + 'static,
    ) -> Answer<T> {
        if self.head.coding.is_some() {
            return Err(against_rules(name, CODED));
        }
        let mut taken = Taken { name, limit, bytes: 0 };
        let mut first = Vec::new();
        while first.len() <= SHORT {
            let Some(bytes) = taken.next(&mut self).await? else {
                return Ok(read(Body { piece: first.into(), rest: None }));
            };
            first.extend_from_slice(&bytes);
        }
        let (send, rest) = channel(1);
        let body = Body { piece: first.into(), rest: Some(rest) };
        let reading = spawn_blocking(move || read(body));
        while let Some(bytes) = taken.next(&mut self).await? {
            // The parser has seen enough.
            if send.send(bytes).await.is_err() {
                break;
            }
        }
        drop(send);
        reading.await.map_err(|_| broken(name, "the answer was not understood"))
    }
}

/// How much of a body was taken.
struct Taken<'a> {
    name: &'a str,
    limit: usize,
    bytes: usize,
}

impl Taken<'_> {
    /// The next bytes; nothing at the end, which must be where the head says.
    async fn next(&mut self, reply: &mut Reply) -> Answer<Option<Bytes>> {
        let Some(bytes) = reply.chunk(self.name).await? else {
            let short = reply.head.length.is_some_and(|length| length != self.bytes as u64);
            return if short { Err(broken(self.name, "the answer ended early")) } else { Ok(None) };
        };
        if bytes.len() > self.limit - self.bytes {
            return Err(against_rules(self.name, "an answer too long for a list of names"));
        }
        self.bytes += bytes.len();
        Ok(Some(bytes))
    }
}

impl BufRead for Body {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.piece.is_empty() {
            let Some(next) = self.rest.as_mut().and_then(Receiver::blocking_recv) else { break };
            self.piece = next;
        }
        Ok(&self.piece)
    }

    fn consume(&mut self, bytes: usize) {
        self.piece.advance(bytes.min(self.piece.len()));
    }
}

impl Read for Body {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(buffer)?;
        self.consume(read);
        Ok(read)
    }
}
