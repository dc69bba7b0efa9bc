//! The kind of content that a name promises, for browsers: those kinds that they show themselves.

use std::ffi::OsStr;
use std::path::Path;

/// Endings and kinds.
const KINDS: [(&str, &str); 24] = [
    ("avif", "image/avif"),
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("flac", "audio/flac"),
    ("gif", "image/gif"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("log", "text/plain"),
    ("md", "text/markdown"),
    ("mp3", "audio/mpeg"),
    ("mp4", "video/mp4"),
    ("ogg", "audio/ogg"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
    ("txt", "text/plain"),
    ("wasm", "application/wasm"),
    ("webm", "video/webm"),
    ("webp", "image/webp"),
    ("xml", "application/xml"),
];

/// The kind of content of a file, by its name.
pub(crate) fn of(name: &OsStr) -> &'static str {
    let ending = Path::new(name).extension().and_then(OsStr::to_str).unwrap_or_default();
    let found = KINDS.iter().find(|(known, _)| known.eq_ignore_ascii_case(ending));
    found.map_or("application/octet-stream", |(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_tell() {
        assert_eq!(of(OsStr::new("a.HTML")), "text/html");
        for name in ["html", ".html", "a.", "a", "a.xhtml", "a.html.gz"] {
            assert_eq!(of(OsStr::new(name)), "application/octet-stream", "{name}");
        }
    }
}
