//! Whether a server's bytes are HTTP, for tests that send it nonsense.

/// Takes answers off one after the other; returns whether there is nothing else. The requests are
/// unknown, so a body may be as long as its head says or, for a HEAD, absent; and the last one may
/// be cut.
pub fn well_formed(mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut answer = httparse::Response::new(&mut headers);
        let Ok(httparse::Status::Complete(head)) = answer.parse(bytes) else { return false };
        let value = |name: &str| {
            let header = answer.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name))?;
            std::str::from_utf8(header.value).ok()
        };
        let parts = value("content-type").is_some_and(|kind| kind.starts_with("multipart/byteranges; boundary="));
        if answer.code == Some(206) && value("content-range").is_none() && !parts {
            return false;
        }
        bytes = &bytes[head..];
        // The next bytes may be the next answer.
        if bytes.starts_with(b"HTTP/1.") {
            continue;
        }
        if let Some(length) = value("content-length") {
            let Ok(length) = length.parse::<usize>() else { return false };
            bytes = bytes.get(length..).unwrap_or_default();
        } else if value("transfer-encoding") == Some("chunked") {
            let Some(rest) = chunked(bytes) else { return false };
            bytes = rest;
        } else if value("connection") == Some("close") || (answer.version == Some(0) && value("connection").is_none()) {
            // Its body goes on to the end of the connection, which HTTP/1.0 closes unless told
            // otherwise.
            return true;
        }
    }
    true
}

/// The bytes after a body in chunks; empty if it is cut.
fn chunked(mut bytes: &[u8]) -> Option<&[u8]> {
    loop {
        let Ok(head) = httparse::parse_chunk_size(bytes) else { return None };
        let httparse::Status::Complete((head, length)) = head else { return Some(&[]) };
        let length = usize::try_from(length).ok()?;
        bytes = bytes.get(head + length + 2..).unwrap_or_default();
        if length == 0 || bytes.is_empty() {
            return Some(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_told_from_what_is_none() {
        for good in [
            "",
            "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabcHTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 30\r\n\r\nHTTP/1.1 304 Not Modified\r\n\r\n",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nHTTP/1.1 400 Bad Request\r\n\r\n",
            "HTTP/1.1 206 Partial Content\r\ncontent-range: bytes 0-0/3\r\ncontent-length: 1\r\n\r\na",
            "HTTP/1.1 404 Not Found\r\ncontent-length: 3\r\n\r\nHTTP/1.0 200 OK\r\n\r\nas long as it is",
        ] {
            assert!(well_formed(good.as_bytes()), "{good}");
        }
        for bad in [
            "hello",
            "HTTP/1.1 200",
            "HTTP/1.1 206 Partial Content\r\ncontent-length: 1\r\n\r\na",
            "HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nabc",
            "HTTP/1.0 200 OK\r\nconnection: keep-alive\r\n\r\nabc",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\nx",
        ] {
            assert!(!well_formed(bad.as_bytes()), "{bad}");
        }
    }
}
