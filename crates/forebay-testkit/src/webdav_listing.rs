//! A WebDAV server on the loopback that writes its listings in one of many shapes, over files in
//! memory.
//!
//! Each [`Shape`] comes with the right reaction of a client. Files are read by GET and HEAD, with
//! ranges.

mod document;
mod href;
mod shape;
#[cfg(test)]
mod tests;

use std::io;
use std::net::SocketAddr;

use document::{Response, Writer};
use href::href;
pub use shape::{Address, Date, Document, Encoding, Entries, Frame, Length, Parts, Prefix, Shape};

use crate::files::{Entry, Files};
use crate::odd_web::{Framing, Manner, OddWeb, Oddity, Reply, Site, tag};
use crate::requests::Requests;

/// A running server. Stopped when dropped.
#[derive(Debug)]
pub struct WebDav(OddWeb);

impl WebDav {
    /// Serves `files`, and lists them in `shape`.
    pub fn start(files: impl Into<Files>, shape: Shape) -> io::Result<WebDav> {
        OddWeb::with(Site::new(files.into(), Oddity::Plain, shape)).map(WebDav)
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.0.address()
    }

    /// Its address, as `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        self.0.url()
    }

    /// The requests that came.
    pub fn requests(&self) -> &Requests {
        self.0.requests()
    }
}

/// The answer to a PROPFIND of `path` with this `Depth`.
pub(crate) fn answer(files: &Files, path: &[u8], depth: &str, shape: Shape, local: SocketAddr) -> Reply {
    // A server that writes a slash at the end of files is asked with one.
    let slashed = shape == Shape::Address(Address::SlashOnFiles);
    let file = path.strip_suffix(b"/").filter(|_| slashed).and_then(|path| files.entry(path));
    let Some(entry) = file.or_else(|| files.entry(path)) else { return Reply::new(404) };
    if depth == "infinity" && shape == Shape::Entries(Entries::Finite) {
        return Reply::new(403);
    }
    let folder = entry.path.clone();
    let responses: Vec<Response> = entries(files, entry, depth, shape)
        .into_iter()
        .map(|entry| Response {
            href: href(&entry, &folder, shape, local),
            length: entry.length,
            tag: tag(files.get(&entry.path).unwrap_or_default()),
        })
        .chain(strangers(&folder, depth, shape))
        .collect();
    let private = if folder.is_empty() { b"private".to_vec() } else { [&folder, b"/private".as_slice()].concat() };
    let private = Entry { path: private, length: None };
    let denied = depth != "0" && shape == Shape::Entries(Entries::Denied);
    let denied = denied.then(|| href(&private, &folder, shape, local));
    framed(Writer(shape).document(&responses, denied), shape)
}

/// The entries in the order of the listing.
fn entries(files: &Files, entry: Entry, depth: &str, shape: Shape) -> Vec<Entry> {
    let Shape::Entries(kind) = shape else { return listed(files, entry, depth != "0", depth == "infinity") };
    let inner = depth != "0" || matches!(kind, Entries::DepthIgnored | Entries::Infinite);
    let mut entries = listed(files, entry, inner, depth == "infinity" || kind == Entries::Infinite);
    match kind {
        Entries::NoSelf if entries.len() > 1 => drop(entries.remove(0)),
        Entries::SelfLast => entries.rotate_left(1),
        Entries::Twice => entries = [entries.clone(), entries].concat(),
        _ => {}
    }
    entries
}

fn listed(files: &Files, entry: Entry, inner: bool, deep: bool) -> Vec<Entry> {
    let below = if inner && entry.length.is_none() { files.entries(&entry.path, deep) } else { Vec::new() };
    [vec![entry], below].concat()
}

/// Responses for entries that are not in the folder.
fn strangers(folder: &[u8], depth: &str, shape: Shape) -> Vec<Response> {
    let folder = String::from_utf8_lossy(folder);
    let here = if folder.is_empty() { "/".to_owned() } else { format!("/{folder}/") };
    let hrefs = match shape {
        _ if depth == "0" => vec![],
        Shape::Entries(Entries::Outside) => vec![
            format!("{here}../"),
            format!("{here}../outside.txt"),
            format!("{}-neighbour/outside.txt", here.trim_end_matches('/')),
            format!("{here}folder/outside.txt"),
            "/../../outside.txt".to_owned(),
        ],
        Shape::Entries(Entries::NoNames) => {
            let names =
                [".", "..", "%2e%2e", "%2E%2E%2Foutside.txt", "out%2Fside.txt", "%2Foutside.txt", "out%00side.txt"];
            names.iter().map(|name| format!("{here}{name}")).collect()
        }
        _ => vec![],
    };
    let response = |href: String| Response { href: href.into(), length: Some(7), tag: "\"outside\"".into() };
    hrefs.into_iter().map(response).collect()
}

fn framed(document: Vec<u8>, shape: Shape) -> Reply {
    let kind = match shape {
        Shape::Frame(Frame::TextXml) => "text/xml",
        Shape::Frame(Frame::OtherType) => "application/octet-stream",
        Shape::Document(Document::Html) => "text/html",
        Shape::Document(Document::Utf16) => "application/xml; charset=utf-16",
        Shape::Document(Document::Latin1) => "application/xml; charset=iso-8859-1",
        _ => "application/xml; charset=utf-8",
    };
    let code = if shape == Shape::Frame(Frame::Ok) { 200 } else { 207 };
    let mut reply = Reply::new(code).body(kind, document);
    match shape {
        Shape::Frame(Frame::Chunked) => reply.framing = Framing::Chunked,
        Shape::Frame(Frame::UntilClose) => reply.framing = Framing::Close,
        Shape::Frame(Frame::Cut) => reply.manner = Manner::HalfBody,
        _ => {}
    }
    reply
}
