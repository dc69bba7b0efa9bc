//! Requests to a mount's control socket.

use std::io::{self, BufWriter, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// How long a mount may take for a part of an answer; the limit is for one that hangs.
const PATIENCE: Duration = Duration::from_secs(10);

/// The body of an answer to a question.
pub(crate) fn get(socket: &Path, path: &str) -> io::Result<String> {
    ask(socket, &format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"), &[], 200)
}

/// The body of the answer to lines that are told. It takes as long as there are names to look up.
pub(crate) fn post(socket: &Path, path: &str, lines: &[u8]) -> io::Result<String> {
    let length = lines.len();
    let head =
        format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n");
    ask(socket, &head, lines, 202)
}

/// Sends a request, and takes an answer that has this status. The text of any other is the error.
fn ask(socket: &Path, head: &str, body: &[u8], status: u16) -> io::Result<String> {
    let stream = UnixStream::connect(socket)?;
    if body.is_empty() {
        stream.set_read_timeout(Some(PATIENCE))?;
    }
    let mut writer = BufWriter::new(&stream);
    writer.write_all(head.as_bytes())?;
    writer.write_all(body)?;
    writer.flush()?;
    drop(writer);
    let mut answer = Vec::new();
    (&stream).read_to_end(&mut answer)?;
    let answer = String::from_utf8_lossy(&answer);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    match head.starts_with(&format!("HTTP/1.1 {status} ")) {
        true => Ok(body.to_owned()),
        false => Err(io::Error::other(body.trim().to_owned())),
    }
}
