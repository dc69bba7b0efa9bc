//! S3's page of keys: the document that answers `ListObjectsV2`.
//!
//! The `object_store` crate takes any document for a listing, and an unknown one for an empty
//! listing. So the document is read here. An entry that is not understood is left out, and hides no
//! other one.

use object_store::ObjectMeta;
use object_store::path::Path as Key;
use percent_encoding::percent_decode_str;
use quick_xml::events::{BytesRef, Event};
use quick_xml::reader::Reader;

use super::amiss::{Amiss, HTML};
use super::facts;
use crate::Facts;

/// The longest name of a root that is shown, bytes.
const SHOWN: usize = 40;

/// Elements that may be open within the root. A listing has three.
const DEEPEST: usize = 16;

/// A page of keys.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Keys {
    pub(super) entries: Vec<Entry>,
    /// The token to ask the next page with.
    pub(super) next: Option<String>,
}

/// A key, or a prefix that several keys have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) told: Entity,
}

/// The entity behind a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Entity {
    /// An object and its facts; `None` if its length is not told.
    Object(Option<Facts>),
    /// Keys that begin with this one.
    Prefix,
}

/// Reads a document.
pub(super) fn parse(document: &[u8]) -> Result<Keys, Amiss> {
    let mut reader = Reader::from_reader(document);
    let mut listing = Listing::default();
    loop {
        let event = reader.read_event().map_err(|error| match listing.begun {
            true => Amiss::Broken(error.to_string()),
            false => Amiss::NotListing(other(document).into()),
        })?;
        match event {
            Event::Start(tag) => listing.opens(tag.local_name().as_ref())?,
            Event::Empty(tag) => {
                listing.opens(tag.local_name().as_ref())?;
                listing.closes()?;
            }
            Event::End(_) => listing.closes()?,
            Event::Text(text) => listing.text.extend_from_slice(&text),
            Event::CData(text) => listing.text.extend_from_slice(&text),
            Event::GeneralRef(reference) => listing.refers(&reference),
            Event::Eof if listing.ended => return Ok(listing.whole()),
            Event::Eof if listing.begun => return Err(Amiss::Broken("it ends early".into())),
            Event::Eof => return Err(Amiss::NotListing(other(document).into())),
            Event::DocType(kind) if kind.trim_ascii_start().to_ascii_lowercase().starts_with(b"html") => {
                return Err(Amiss::NotListing(HTML.into()));
            }
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
        }
    }
}

/// A document that is no XML, in words.
fn other(document: &[u8]) -> &'static str {
    match document.trim_ascii_start().first() {
        None => "nothing",
        Some(b'{' | b'[') => "JSON",
        Some(_) => "some text",
    }
}

/// A document as far as it has been read.
#[derive(Default)]
struct Listing {
    keys: Keys,
    /// The elements that are open within the root, the innermost last.
    open: Vec<Box<[u8]>>,
    /// The text of the innermost one.
    text: Vec<u8>,
    begun: bool,
    ended: bool,
    /// Whether keys are written as values of a form.
    encoded: bool,
    /// Whether the root is an error.
    is_error: bool,
    entry: Raw,
}

/// An entry as it is written.
#[derive(Default)]
struct Raw {
    key: Option<String>,
    size: Option<u64>,
    modified: String,
    tag: Option<String>,
}

impl Listing {
    fn opens(&mut self, name: &[u8]) -> Result<(), Amiss> {
        self.text.clear();
        if self.begun {
            if self.open.len() == DEEPEST {
                return Err(Amiss::Broken("its elements lie too deep in each other".into()));
            }
            self.open.push(name.into());
            return Ok(());
        }
        self.begun = true;
        match name {
            b"ListBucketResult" => Ok(()),
            b"Error" => {
                self.is_error = true;
                Ok(())
            }
            name if name.eq_ignore_ascii_case(b"html") => Err(Amiss::NotListing(HTML.into())),
            name => {
                let name = String::from_utf8_lossy(&name[..name.len().min(SHOWN)]).escape_debug().to_string();
                Err(Amiss::NotListing(format!("a document <{name}>")))
            }
        }
    }

    fn closes(&mut self) -> Result<(), Amiss> {
        let path: Vec<&[u8]> = self.open.iter().map(|name| &**name).collect();
        let text = || String::from_utf8_lossy(&self.text).into_owned();
        match *path {
            [] if self.is_error => return Err(Amiss::Error("without a code".into())),
            [] => self.ended = true,
            [b"Code"] if self.is_error => return Err(Amiss::Error(text())),
            [b"NextContinuationToken"] => self.keys.next = Some(text()).filter(|token| !token.is_empty()),
            [b"EncodingType"] => self.encoded = text().trim().eq_ignore_ascii_case("url"),
            [b"Contents", b"Key"] | [b"CommonPrefixes", b"Prefix"] => self.entry.key = Some(text()),
            [b"Contents", b"Size"] => self.entry.size = text().trim().parse().ok(),
            [b"Contents", b"LastModified"] => self.entry.modified = text(),
            [b"Contents", b"ETag"] => self.entry.tag = Some(text()),
            [b"Contents"] => self.enter(Raw::object),
            [b"CommonPrefixes"] => self.enter(|_| Entity::Prefix),
            _ => {}
        }
        self.open.pop();
        // The text that follows belongs to the element around, which has none.
        self.text.clear();
        Ok(())
    }

    /// The keys, now that their encoding is known.
    fn whole(self) -> Keys {
        let mut keys = self.keys;
        for entry in keys.entries.iter_mut().filter(|_| self.encoded) {
            entry.key = decoded(&entry.key);
        }
        keys
    }

    fn enter(&mut self, entity: impl FnOnce(Raw) -> Entity) {
        let mut raw = std::mem::take(&mut self.entry);
        if let Some(key) = raw.key.take() {
            self.keys.entries.push(Entry { key, told: entity(raw) });
        }
    }

    fn refers(&mut self, reference: &BytesRef<'_>) {
        let character = match &**reference {
            b"amp" => Some('&'),
            b"lt" => Some('<'),
            b"gt" => Some('>'),
            b"quot" => Some('"'),
            b"apos" => Some('\''),
            _ => reference.resolve_char_ref().ok().flatten(),
        };
        let character = character.unwrap_or(char::REPLACEMENT_CHARACTER);
        self.text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    }
}

/// A key that is written as a value of a form, as S3 and its clients have it. Keys are UTF-8.
fn decoded(key: &str) -> String {
    let spaced = key.replace('+', " ");
    percent_decode_str(&spaced).decode_utf8_lossy().into_owned()
}

impl Raw {
    /// Time and tag as the `object_store` crate reads them from single answers.
    fn object(self) -> Entity {
        let Some(size) = self.size else { return Entity::Object(None) };
        let last_modified = self.modified.trim().parse().unwrap_or_default();
        let meta = ObjectMeta { location: Key::ROOT, last_modified, size, e_tag: self.tag, version: None };
        Entity::Object(Some(facts(&meta)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_is_read() {
        let document = br#"<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name><Prefix>x</Prefix>
<NextContinuationToken>a&amp;b</NextContinuationToken><IsTruncated>true</IsTruncated>
<Contents><Key>a&#xA;&lt;b</Key><Size> 5 </Size><LastModified>2026-11-26T17:30:51.000Z</LastModified>
<ETag>&#34;abc&#34;</ETag><Owner><ID>1</ID></Owner></Contents>
<Contents><Key>no length</Key></Contents><Contents><Size>1</Size></Contents>
<CommonPrefixes><Prefix>d/</Prefix></CommonPrefixes></ListBucketResult>"#;
        let keys = parse(document).unwrap();
        let modified = Some(1_795_714_251_000_000_000);
        let facts = Facts { size: 5, modified, tag: Some("\"abc\"".into()) };
        let entry = |key: &str, told| Entry { key: key.into(), told };
        let object = Entity::Object;
        let expected =
            [entry("a\n<b", object(Some(facts))), entry("no length", object(None)), entry("d/", Entity::Prefix)];
        assert_eq!((keys.next.as_deref(), &*keys.entries), (Some("a&b"), &expected[..]));
        assert_eq!(parse(b"<ListBucketResult/>").unwrap(), Keys::default());
        let encoded = b"<ListBucketResult><Contents><Key>a+b%2B%01%0Ac%25/%C3%A4</Key></Contents>\
            <EncodingType>url</EncodingType></ListBucketResult>";
        assert_eq!(parse(encoded).unwrap().entries, [entry("a b+\u{1}\nc%/\u{e4}", object(None))]);
    }

    #[test]
    fn what_is_no_listing_says_what_it_is() {
        let deep = format!("<ListBucketResult>{}", "<Contents>".repeat(20));
        for (document, words) in [
            (&*deep, "too deep"),
            ("<!DOCTYPE html><html><body><p>Hello<br></body></html>", "a page of HTML"),
            ("<!doctype HTML PUBLIC \"x\"><p>", "a page of HTML"),
            ("\n<HTML><head>", "a page of HTML"),
            ("<ListAllMyBucketsResult/>", "a document <ListAllMyBucketsResult>"),
            ("{\"error\": 1}", "is JSON"),
            ("", "is nothing"),
            ("hello", "some text"),
            ("<!", "some text"),
            ("<Error><Code>InternalError</Code></Error>", "error InternalError"),
            ("<Error/>", "error without"),
            ("<ListBucketResult><Contents>", "ends early"),
            ("<ListBucketResult><Contents></Key>", "broken"),
        ] {
            let error = parse(document.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(words), "{document}: {error}");
        }
    }

    proptest::proptest! {
        /// Any bytes are read as a listing or refused with an error.
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200)) {
            let _ = parse(&bytes);
            let _ = parse(&[b"<ListBucketResult><Contents><Key>", &*bytes].concat());
        }
    }
}
