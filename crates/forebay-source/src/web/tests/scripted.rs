//! A server whose answers a test makes.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// A request: method, target, and headers with names in small letters.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) method: String,
    pub(super) target: String,
    pub(super) headers: Vec<(String, String)>,
}

impl Asked {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// A running server, which ends with the test process.
pub(super) struct Scripted {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
}

/// An answer with a length, unless `headers` have one.
pub(super) fn reply(status: &str, headers: &[&str], body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let mut head = format!("HTTP/1.1 {status}\r\nConnection: close\r\n");
    headers.iter().for_each(|line| head += &format!("{line}\r\n"));
    if !head.contains("ength:") {
        head += &format!("Content-Length: {}\r\n", body.len());
    }
    [head.as_bytes(), b"\r\n", body].concat()
}

impl Scripted {
    /// Each connection has one request, and `answer` gives all bytes of its answer.
    pub(super) fn start(answer: impl Fn(&Asked) -> Vec<u8> + Send + Sync + 'static) -> Scripted {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, asked) = (listener.local_addr().unwrap(), Arc::new(Mutex::new(Vec::new())));
        let (answer, account) = (Arc::new(answer), Arc::clone(&asked));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (answer, account) = (Arc::clone(&answer), Arc::clone(&account));
                thread::spawn(move || serve(stream, &*answer, &account));
            }
        });
        Scripted { address, asked }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests since the last call.
    pub(super) fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

fn serve(mut stream: TcpStream, answer: &dyn Fn(&Asked) -> Vec<u8>, account: &Mutex<Vec<Asked>>) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    let Some(first) = lines.next() else { return };
    let mut words = first.split(' ').map(str::to_owned);
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let headers = lines.take_while(|line| !line.is_empty());
    let headers =
        headers.filter_map(|line| line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned())));
    let asked = Asked { method, target, headers: headers.collect() };
    account.lock().unwrap().push(asked.clone());
    let answer = answer(&asked);
    let body = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").map_or(answer.len(), |at| at + 4);
    let _ = stream.write_all(&answer[..if asked.method == "HEAD" { body } else { answer.len() }]);
}
