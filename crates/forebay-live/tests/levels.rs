//! Labels to web servers, seen by a server of the test's own that remembers the heads of requests.

use forebay_core::level::Labels;
use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use forebay_core::{DeviceCost, DeviceId};
use forebay_live::engine::{Config, Engine};
use forebay_source::object::StoreOptions;
use forebay_source::web::{DEMAND, HITS, Token};
use forebay_source::{Error, Fetch, FetchId, Label, Object, RemoteSource, Result, Segments, Source};
use forebay_testkit::trees::content;

/// `len` bytes from `offset`, which is a multiple of the block size.
fn fetch(object: &dyn Object, offset: u64, len: usize) -> Result<Vec<u8>> {
    let (send, receive) = channel();
    let done = Box::new(move |buffer: Segments, outcome: Result<()>| {
        let _ = send.send(outcome.map(|()| buffer.to_vec()));
    });
    let (id, label) = (FetchId::unique(), Label::all(offset..offset + len as u64));
    object.fetch(Fetch { id, offset, buffer: Segments::own(len), len, urgent: true, label, done });
    let mut bytes = receive.recv().expect("every fetch is finished")?;
    bytes.truncate(len);
    Ok(bytes)
}

/// A request: method, path and headers, their names in lower case.
type Request = (String, String, BTreeMap<String, String>);

/// A server of one file, `/file`, whose bytes and tag can be changed.
struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    requests: Mutex<Vec<Request>>,
    /// The file and its tag.
    file: Mutex<(Vec<u8>, String)>,
    /// The `Authorization` that requests must have, if any.
    secret: Option<String>,
    /// If set, the answer to all requests.
    refusal: Mutex<Option<&'static str>>,
    stopping: Mutex<bool>,
}

impl Server {
    fn start(bytes: Vec<u8>, secret: Option<&str>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let secret = secret.map(|token| format!("Bearer {token}"));
        let file = Mutex::new((bytes, "\"one\"".to_owned()));
        let shared = Arc::new(Shared { file, secret, ..Shared::default() });
        let serving = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            for connection in listener.incoming() {
                if *serving.stopping.lock().unwrap() {
                    return;
                }
                let serving = Arc::clone(&serving);
                // Ends with its client's end of the connection.
                thread::spawn(move || connection.and_then(|connection| serving.serve(connection)));
            }
        });
        Server { address, shared, thread: Some(thread) }
    }

    fn source(&self, options: &StoreOptions) -> RemoteSource {
        RemoteSource::open_uri(&format!("http://{}", self.address), options).unwrap()
    }

    /// The requests of one method since the last call.
    fn requests(&self, method: &str) -> Vec<Request> {
        let mut requests = std::mem::take(&mut *self.shared.requests.lock().unwrap());
        requests.retain(|(other, ..)| other == method);
        requests
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        *self.shared.stopping.lock().unwrap() = true;
        let _ = TcpStream::connect(self.address);
        self.thread.take().map(JoinHandle::join);
    }
}

impl Shared {
    fn serve(&self, connection: TcpStream) -> io::Result<()> {
        let mut requests = BufReader::new(connection.try_clone()?);
        let mut answers = connection;
        loop {
            let Some(request) = head(&mut requests)? else { return Ok(()) };
            let answer = self.answer(&request);
            // Recorded before the answer: the client may ask for the record as soon as it has the
            // answer.
            self.requests.lock().unwrap().push(request);
            answers.write_all(&answer)?;
        }
    }

    fn answer(&self, (method, path, headers): &Request) -> Vec<u8> {
        let empty = |status: &str| format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n").into_bytes();
        let (bytes, tag) = &*self.file.lock().unwrap();
        if let Some(refusal) = *self.refusal.lock().unwrap() {
            return empty(refusal);
        }
        if self.secret.is_some() && headers.get("authorization") != self.secret.as_ref() {
            return empty("401 Unauthorized");
        }
        match (method.as_str(), path.as_str()) {
            ("PROPFIND", _) => empty("405 Method Not Allowed"),
            (_, "/file") if headers.get("if-match").is_some_and(|wanted| wanted != tag) => {
                empty("412 Precondition Failed")
            }
            ("HEAD", "/file") => {
                format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\netag: {tag}\r\n\r\n", bytes.len()).into_bytes()
            }
            ("GET", "/file") => {
                let range = headers["range"].strip_prefix("bytes=").unwrap();
                let (start, last) = range.split_once('-').unwrap();
                let (start, last): (usize, usize) = (start.parse().unwrap(), last.parse().unwrap());
                let mut answer = format!(
                    "HTTP/1.1 206 Partial Content\r\netag: {tag}\r\ncontent-length: {}\r\ncontent-range: bytes {start}-{last}/{}\r\n\r\n",
                    last + 1 - start,
                    bytes.len()
                )
                .into_bytes();
                answer.extend(&bytes[start..=last]);
                answer
            }
            _ => empty("404 Not Found"),
        }
    }
}

/// The head of the next request; `None` at the end of the connection.
fn head(from: &mut impl BufRead) -> io::Result<Option<Request>> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if from.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        if line.trim().is_empty() {
            break;
        }
        lines.push(line);
    }
    let mut first = lines[0].split_whitespace();
    let (method, path) = (first.next().unwrap().to_owned(), first.next().unwrap().to_owned());
    let headers = lines[1..].iter().filter_map(|line| line.split_once(':'));
    let headers = headers.map(|(name, value)| (name.to_lowercase(), value.trim().to_owned())).collect();
    Ok(Some((method, path, headers)))
}

/// `bytes=A-B`, as A and B + 1.
fn bytes(text: &str) -> (u64, u64) {
    let (start, last) = text.strip_prefix("bytes=").unwrap().split_once('-').unwrap();
    (start.parse().unwrap(), last.parse::<u64>().unwrap() + 1)
}

/// A request for a range, with its demand and hits.
type Asked = ((u64, u64), Option<String>, Option<String>);

/// Reads the file from end to end through an engine that looks ahead; returns the requests.
fn read_through(server: &Server, labels: Labels) -> Vec<Asked> {
    let source = server.source(&StoreOptions { labels, ..StoreOptions::default() });
    let config = Config::new(32 << 20, "fixed".parse().unwrap());
    let engine = Engine::start(config, vec![DeviceCost::flat(1_000_000, 500_000_000, 4)]).unwrap();
    let file = engine.open(source.open(Path::new("file")).unwrap(), DeviceId(0));
    let expected = server.shared.file.lock().unwrap().0.clone();
    let (mut at, mut buffer) = (0, vec![0; 4096]);
    while at < file.size() {
        let n = file.read(1, at, &mut buffer).unwrap();
        assert!(buffer[..n] == expected[at as usize..at as usize + n], "at {at}");
        at += n as u64;
    }
    // A fetch whose answer has come has been recorded.
    while engine.stats(&[]).devices[0].in_flight > 0 {
        thread::yield_now();
    }
    let header = |headers: &BTreeMap<String, String>, name| headers.get(name).cloned();
    let asked = server.requests("GET").into_iter();
    asked.map(|(_, _, of)| (bytes(&of["range"]), header(&of, DEMAND), header(&of, HITS))).collect()
}

#[test]
fn web_servers_hear_what_readers_wait_for_and_have_read() {
    let server = Server::start(content(1, 500_001), None);
    let mut asked = read_through(&server, Labels::Hits);
    // Requests under way at once arrive in any order.
    asked.sort();
    let (mut fetched, mut told) = (0, 0);
    for (range, demand, hits) in &asked {
        assert_eq!(range.0, fetched, "{asked:?}");
        fetched = range.1;
        match demand.as_deref().expect("it is said of every request") {
            "none" => {}
            demand => {
                let (start, end) = bytes(demand);
                assert!(start == range.0 && end <= range.1, "{asked:?}");
                told += end - start;
            }
        }
        told += hits.as_deref().map(bytes).map_or(0, |(start, end)| end - start);
    }
    assert_eq!(fetched, 500_001);
    // All reads before the last request are told. That request was ahead of its reader by no more
    // than the prefetch depth.
    assert!(told <= fetched && told + 64 * 4096 >= fetched, "{told} bytes told of {fetched}: {asked:?}");
    assert!(asked.iter().any(|(_, demand, _)| demand.as_deref() == Some("none")), "{asked:?}");

    let quieter = read_through(&server, Labels::Demand);
    assert!(quieter.iter().all(|(_, demand, hits)| demand.is_some() && hits.is_none()), "{quieter:?}");
    let silent = read_through(&server, Labels::Off);
    assert!(silent.iter().all(|(_, demand, hits)| demand.is_none() && hits.is_none()), "{silent:?}");
}

#[test]
fn a_changed_file_of_a_web_server_is_stale() {
    let server = Server::start(content(1, 100_000), None);
    let source = server.source(&StoreOptions::default());
    let object = source.open(Path::new("file")).unwrap();
    assert!(fetch(&*object, 0, 4096).unwrap() == content(1, 100_000)[..4096]);
    *server.shared.file.lock().unwrap() = (content(2, 100_000), "\"two\"".to_owned());
    // The server refuses the condition (412).
    assert!(matches!(fetch(&*object, 4096, 4096), Err(Error::Stale(_))));
    assert_eq!(server.requests("GET").last().unwrap().2["if-match"], "\"one\"");
    assert!(fetch(&*source.open(Path::new("file")).unwrap(), 0, 4096).unwrap() == content(2, 100_000)[..4096]);
}

#[test]
fn tokens_open_web_servers_and_refusals_say_what_to_do() {
    let server = Server::start(content(1, 10_000), Some("open-sesame"));
    let with =
        |token: &str| StoreOptions { token: Some(Token::parse(token, "it").unwrap()), ..StoreOptions::default() };
    let source = server.source(&with("open-sesame"));
    source.check().unwrap();
    assert!(fetch(&*source.open(Path::new("file")).unwrap(), 0, 4096).unwrap() == content(1, 10_000)[..4096]);

    let refused = |options: &StoreOptions, hint: &str| {
        let error = server.source(options).check().unwrap_err();
        assert_eq!(error.errno(), libc::EACCES);
        let said = error.to_string();
        assert!(said.contains(hint) && said.contains(&server.address.to_string()), "{said}");
        assert!(!said.contains("simsalabim"), "{said}");
        let error = server.source(options).open(Path::new("file")).err().unwrap();
        assert!(matches!(error, Error::Denied(_)), "{error}");
    };
    refused(&StoreOptions::default(), "--source-token-file FILE");
    refused(&with("simsalabim"), "it does not take the token of --source-token-file");
    *server.shared.refusal.lock().unwrap() = Some("403 Forbidden");
    refused(&with("open-sesame"), "the token of --source-token-file may not read this");
}

#[test]
fn certificates_that_are_none_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.pem");
    let error = || {
        let options = StoreOptions { authority: Some(file.clone()), ..StoreOptions::default() };
        RemoteSource::open_uri("https://127.0.0.1:1", &options).err().unwrap().to_string()
    };
    assert!(error().contains("No such file"), "{}", error());
    std::fs::write(&file, "no certificate").unwrap();
    let said = error();
    assert!(said.contains("ca.pem holds no certificate in PEM") && !said.contains('\n'), "{said}");
}
