//! A server far away, all of whose answers are counted: a proxy on the loopback that waits before
//! the first byte of each answer and bounds how fast each connection carries bytes.
//!
//! For measurements, hence cheap: one thread a connection, and bodies go from socket to socket
//! inside the kernel. Requests pass with their `Host`, so that signatures stay right.

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::pipe::{SpliceFlags, fcntl_setpipe_size, pipe, splice};

use crate::acceptor::{Acceptor, Breakable, Stop};
use crate::header::Header;
use crate::requests::{Reader, Request};

/// How much of a body is passed on at a time, bytes: 3 ms of a connection at 90 MB/s.
const PIECE: usize = 256 << 10;

/// A sleep that is shorter is not worth waking up for.
const SHORTEST: Duration = Duration::from_micros(500);

/// How far away the server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Distance {
    /// The time that is added before the first byte of each answer.
    pub first_byte: Duration,
    /// The most that one connection carries of bodies, bytes a second.
    pub connection_rate: Option<u64>,
}

/// The answers that have passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Answers to `GET` that are no listings.
    pub gets: u64,
    /// Answers to `HEAD`.
    pub heads: u64,
    /// Listings, by pages.
    pub lists: u64,
    /// All other answers.
    pub others: u64,
    /// The bytes of bodies that clients got.
    pub bytes: u64,
}

impl Counts {
    /// All answers.
    pub fn requests(&self) -> u64 {
        self.gets + self.heads + self.lists + self.others
    }

    /// The answers that came after `earlier`.
    pub fn since(&self, earlier: &Counts) -> Counts {
        Counts {
            gets: self.gets - earlier.gets,
            heads: self.heads - earlier.heads,
            lists: self.lists - earlier.lists,
            others: self.others - earlier.others,
            bytes: self.bytes - earlier.bytes,
        }
    }
}

/// A running proxy. Stopped when dropped.
#[derive(Debug)]
pub struct FarProxy {
    acceptor: Acceptor,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    upstream: SocketAddr,
    distance: Distance,
    gets: AtomicU64,
    heads: AtomicU64,
    lists: AtomicU64,
    others: AtomicU64,
    bytes: AtomicU64,
}

/// The connection to the server that belongs to one of a client.
struct Upstream {
    stream: TcpStream,
    /// From the server's socket to the client's.
    out: OwnedFd,
    into: OwnedFd,
    _breakable: Breakable,
}

/// The head of an answer, and the part of the body that came with it.
struct Head {
    /// Both.
    bytes: Vec<u8>,
    /// Where the head ends.
    length: usize,
    body: Body,
    closes: bool,
}

/// How the end of a body is known.
#[derive(Clone, Copy)]
enum Body {
    Length(u64),
    Chunks,
    UntilClosed,
}

impl FarProxy {
    /// Starts a proxy in front of the HTTP/1.1 server at `upstream`.
    pub fn start(upstream: SocketAddr, distance: Distance) -> io::Result<FarProxy> {
        let none = AtomicU64::default;
        let (gets, heads, lists, others, bytes) = (none(), none(), none(), none(), none());
        let shared = Arc::new(Shared { upstream, distance, gets, heads, lists, others, bytes });
        let serve = Arc::clone(&shared);
        // The client sees a broken connection.
        let acceptor = Acceptor::start("far-proxy", move |client, stop| drop(serve.serve(client, stop)))?;
        Ok(FarProxy { acceptor, shared })
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.acceptor.address()
    }

    /// Its address, as an endpoint.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address())
    }

    /// The answers since it was started.
    pub fn counts(&self) -> Counts {
        let Shared { gets, heads, lists, others, bytes, .. } = &*self.shared;
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Counts { gets: read(gets), heads: read(heads), lists: read(lists), others: read(others), bytes: read(bytes) }
    }
}

impl Shared {
    /// Serves a connection to its end.
    fn serve(&self, client: TcpStream, stop: &Stop) -> io::Result<()> {
        let (mut reader, mut upstream) = (Reader::new(client.try_clone()?), None);
        while let Some(request) = reader.next()? {
            let (server, head) = self.ask(upstream.take(), &request, stop)?;
            self.count(&request);
            if !stop.pause(self.distance.first_byte) {
                return Ok(());
            }
            self.answer(&server, &client, &head)?;
            if head.closes || request.closes() {
                return Ok(());
            }
            upstream = Some(server);
        }
        Ok(())
    }

    /// Asks the server. An idle connection that the server has closed meanwhile is replaced by
    /// another one.
    fn ask(&self, idle: Option<Upstream>, request: &Request, stop: &Stop) -> io::Result<(Upstream, Head)> {
        if let Some(mut server) = idle
            && let Ok(head) = server.ask(request)
        {
            return Ok((server, head));
        }
        let mut server = Upstream::connect(self.upstream, stop)?;
        let head = server.ask(request)?;
        Ok((server, head))
    }

    fn count(&self, request: &Request) {
        let count = match request.method.as_str() {
            "GET" if request.lists() => &self.lists,
            "GET" => &self.gets,
            "HEAD" => &self.heads,
            _ => &self.others,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// Passes the answer on, no faster than the connection may be. Bytes are counted before they go
    /// out, so that a client that has all of them finds them counted.
    fn answer(&self, server: &Upstream, client: &TcpStream, head: &Head) -> io::Result<()> {
        let mut to = client;
        let begun = &head.bytes[head.length..];
        match head.body {
            Body::Length(length) => {
                self.add(begun.len() as u64);
                to.write_all(&head.bytes)?;
                let mut pace = Pace { rate: self.distance.connection_rate, due: Instant::now() };
                pace.passed(begun.len());
                let mut left = length.saturating_sub(begun.len() as u64);
                while left > 0 {
                    let taken = server.take(left.min(PIECE as u64) as usize)?;
                    self.add(taken as u64);
                    server.give(client, taken)?;
                    pace.passed(taken);
                    left -= taken as u64;
                }
                Ok(())
            }
            Body::Chunks => {
                to.write_all(&head.bytes[..head.length])?;
                pass_chunks(BufReader::new(begun.chain(&server.stream)), to, |bytes| self.add(bytes))
            }
            // But for these, whose number is known only at their end.
            Body::UntilClosed => {
                to.write_all(&head.bytes)?;
                let passed = begun.len() as u64 + io::copy(&mut &server.stream, &mut to)?;
                self.add(passed);
                Ok(())
            }
        }
    }

    fn add(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// When the next piece of a body may go.
struct Pace {
    rate: Option<u64>,
    due: Instant,
}

impl Pace {
    /// Waits as long as a connection of this rate would take for the bytes. A client that was slow
    /// for a while gets no more later on.
    fn passed(&mut self, bytes: usize) {
        let Some(rate) = self.rate else { return };
        let now = Instant::now();
        self.due = self.due.max(now.checked_sub(SHORTEST).unwrap_or(now));
        self.due += Duration::from_nanos((bytes as u128 * 1_000_000_000 / u128::from(rate.max(1))) as u64);
        let wait = self.due.saturating_duration_since(now);
        if wait >= SHORTEST {
            std::thread::sleep(wait);
        }
    }
}

impl Upstream {
    fn connect(address: SocketAddr, stop: &Stop) -> io::Result<Upstream> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let (out, into) = pipe()?;
        // A pipe of another size works as well.
        let _ = fcntl_setpipe_size(&into, PIECE);
        Ok(Upstream { _breakable: stop.breaks(&stream)?, stream, out, into })
    }

    /// Sends a request and reads the head of its answer.
    fn ask(&mut self, request: &Request) -> io::Result<Head> {
        let mut head = format!("{} {} HTTP/1.1\r\n", request.method, request.target);
        let hop = ["connection", "transfer-encoding", "content-length", "expect"];
        let passed = |header: &&Header| !hop.iter().any(|hop| header.is(hop));
        for Header { name, value } in request.headers.iter().filter(passed) {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        if !request.body.is_empty() || request.header("content-length").is_some() {
            let _ = write!(head, "Content-Length: {}\r\n", request.body.len());
        }
        head += "\r\n";
        self.stream.write_all(&[head.as_bytes(), &request.body].concat())?;
        self.head(request.method == "HEAD")
    }

    fn head(&mut self, no_body: bool) -> io::Result<Head> {
        let (mut bytes, mut piece) = (Vec::new(), [0; 8 << 10]);
        loop {
            match self.stream.read(&mut piece)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => bytes.extend_from_slice(&piece[..read]),
            }
            let mut headers = [httparse::EMPTY_HEADER; 64];
            let mut answer = httparse::Response::new(&mut headers);
            let parsed = answer.parse(&bytes).map_err(io::Error::other)?;
            let httparse::Status::Complete(length) = parsed else { continue };
            let value = |name: &str| {
                let header = answer.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name))?;
                std::str::from_utf8(header.value).ok()
            };
            let closes = value("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"));
            let announced = value("content-length").and_then(|length| length.trim().parse().ok());
            let body = match (no_body || matches!(answer.code, Some(204 | 304)), announced) {
                (true, _) => Body::Length(0),
                (false, Some(length)) => Body::Length(length),
                (false, None) if value("transfer-encoding").is_some() => Body::Chunks,
                (false, None) => Body::UntilClosed,
            };
            let closes = closes || matches!(body, Body::UntilClosed);
            return Ok(Head { bytes, length, body, closes });
        }
    }

    /// Takes at most so many bytes of a body, and at least one.
    fn take(&self, most: usize) -> io::Result<usize> {
        match splice(&self.stream, None, &self.into, None, most, SpliceFlags::MOVE)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            taken => Ok(taken),
        }
    }

    /// Gives so many bytes that it has taken to the client.
    fn give(&self, client: &TcpStream, mut left: usize) -> io::Result<()> {
        while left > 0 {
            left -= splice(&self.out, None, client, None, left, SpliceFlags::MOVE)?;
        }
        Ok(())
    }
}

/// Passes a body in chunks on; `each` hears beforehand how many bytes a chunk has, without its
/// marks.
fn pass_chunks(mut from: impl BufRead, mut to: impl Write, mut each: impl FnMut(u64)) -> io::Result<()> {
    loop {
        let mut chunk = Vec::new();
        from.read_until(b'\n', &mut chunk)?;
        let Ok(httparse::Status::Complete((_, length))) = httparse::parse_chunk_size(&chunk) else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        (&mut from).take(length).read_to_end(&mut chunk)?;
        // The end of the chunk, or the headers after the last one up to an empty line.
        while from.read_until(b'\n', &mut chunk)? > 2 {}
        each(length);
        to.write_all(&chunk)?;
        if length == 0 {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use object_store::ObjectStore;

    use super::*;
    use crate::bucket::Bucket;
    use crate::need;
    use crate::s3::S3;

    /// How many names the bucket has at its top.
    fn names(store: &dyn ObjectStore) -> usize {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(store.list_with_delimiter(None)).unwrap().objects.len()
    }

    #[test]
    fn answers_are_late_slow_counted_and_right() {
        let s3 = S3::start(&need!("versitygw")).unwrap();
        let bytes: Vec<u8> = (0..3_000_000u32).map(|i| (i * 7 + (i >> 8)) as u8).collect();
        s3.put("a.bin", &bytes).unwrap();
        let distance = Distance { first_byte: Duration::from_millis(30), connection_rate: Some(30_000_000) };
        let proxy = FarProxy::start(s3.address(), distance).unwrap();
        let client = Bucket::new(proxy.address()).unwrap();
        let begun = Instant::now();
        // Several on one connection.
        for _ in 0..2 {
            assert!(client.get("a.bin").unwrap() == bytes);
        }
        assert!(begun.elapsed() >= Duration::from_millis(2 * (30 + 95)), "{:?}", begun.elapsed());
        assert_eq!(proxy.counts(), Counts { gets: 2, bytes: 6_000_000, ..Counts::default() });
        let before = proxy.counts();
        let other = Bucket::new(proxy.address()).unwrap();
        assert_eq!(names(&*other.store()), 1);
        assert!(client.get("b.bin").is_err());
        let counts = proxy.counts().since(&before);
        assert_eq!((counts.lists, counts.gets, counts.requests()), (1, 1, 2));
    }

    #[test]
    fn a_body_in_chunks_ends_with_its_last_one() {
        let body = "3;x=y\r\nabc\r\n0\r\nTrailer: z\r\n\r\n";
        let mut to = Vec::new();
        let mut from = io::Cursor::new([body, "the next answer"].concat());
        let mut chunks = Vec::new();
        pass_chunks(&mut from, &mut to, |bytes| chunks.push(bytes)).unwrap();
        assert_eq!(chunks, [3, 0]);
        assert_eq!((to, from.position()), (body.as_bytes().to_vec(), body.len() as u64));
    }
}
