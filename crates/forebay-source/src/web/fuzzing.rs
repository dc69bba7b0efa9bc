//! The readers of web servers' answers over any bytes, for `forebay-fuzz`.

use std::time::Instant;

use reqwest::StatusCode;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use super::address::Address;
use super::children::Children;
use super::head::Head;
use super::names::{Marks, Segments, resolve, segments};
use super::propfind::Hears;
use super::utf8::Utf8;
use super::{index, json, multistatus, xml};
use crate::Listing;

/// The folder that answers are about.
fn folder() -> Segments {
    segments(b"/data/a%20b/").unwrap_or_default()
}

/// An answer to PROPFIND; returns how many names the folder has by it.
pub fn listing(answer: &[u8]) -> usize {
    let mut children = Children::of(folder(), Segments::default());
    if multistatus::parse(answer, |response| children.hear(response)).is_err() {
        return 0;
    }
    children.heard().map_or(0, |heard| Listing::in_order(heard.names, Instant::now()).len())
}

/// A page for browsers; returns how many names it links to.
pub fn page(page: &[u8]) -> usize {
    let mut names = 0;
    let at = index::Folder { path: folder(), host: Some("host".into()) };
    let listing = index::parse(page, &at, |_, link| {
        assert!(!link.name.is_empty() && !link.name.as_encoded_bytes().contains(&b'/'), "{link:?}");
        names += 1;
    });
    if listing.is_some() { names } else { 0 }
}

/// A page for programs; returns how many names it has.
pub fn list(text: &[u8]) -> usize {
    let (mut names, mut others) = (0, 0);
    let listings = [json::parse(text, |_| names += 1), xml::parse(text, |_| others += 1)];
    assert!(listings != [true; 2], "of two forms");
    if listings[1] {
        return others;
    }
    if listings[0] { names } else { 0 }
}

/// A document in any encoding; returns its length in UTF-8.
pub fn text(document: &[u8]) -> usize {
    let Ok(mut text) = Utf8::new(document) else { return 0 };
    std::io::copy(&mut text, &mut std::io::sink()).unwrap_or(0) as usize
}

/// The head of an answer: a line a header. Returns how many headers were understood.
pub fn head(lines: &[u8]) -> usize {
    let mut headers = HeaderMap::new();
    for line in lines.split(|&byte| byte == b'\n') {
        let Some(colon) = line.iter().position(|&byte| byte == b':') else { continue };
        let name = HeaderName::from_bytes(&line[..colon]);
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_bytes(line[colon + 1..].trim_ascii())) {
            let _ = headers.try_append(name, value);
        }
    }
    let head = Head::of(StatusCode::PARTIAL_CONTENT, &headers);
    if let Some(part) = head.range.and_then(|range| range.part) {
        assert!(part.start < part.end, "{head:?}");
    }
    [head.length.is_some(), head.range.is_some(), head.tag.is_some(), head.modified.is_some(), head.wait.is_some()]
        .into_iter()
        .filter(|&understood| understood)
        .count()
}

/// A link of a page or a listing; returns how many names lead to its target.
pub fn link(href: &[u8]) -> usize {
    let to = [Marks::Literal, Marks::Meant].map(|marks| resolve(href, &folder(), marks));
    for segments in to.iter().flatten() {
        assert!(segments.names.iter().all(|name| !name.is_empty()), "{segments:?}");
    }
    to.into_iter().flatten().map(|segments| segments.names.len()).max().unwrap_or(0)
}

/// The address of a server; returns whether it is one.
pub fn address(text: &[u8]) -> bool {
    Address::parse(&String::from_utf8_lossy(text)).is_ok()
}
