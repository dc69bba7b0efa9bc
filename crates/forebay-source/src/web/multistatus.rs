//! A WebDAV server's answer about names: the document that answers a PROPFIND (RFC 4918, 14.16).
//!
//! Names of elements count by their namespace, with any prefix that a server gives it. No DOCTYPE
//! is obeyed, so an entity that one declares spoils the entry that it stands in, and no more.

use std::io::BufRead;

use quick_xml::events::{BytesRef, Event};
use quick_xml::name::{Namespace, ResolveResult};
use quick_xml::reader::NsReader;

use super::head::{date, length, tag};
use super::utf8::Utf8;

/// The namespace of WebDAV.
const DAV: Namespace<'static> = Namespace(b"DAV:");

/// How deep elements may lie within each other. The parser counts to no more than 65,535.
const DEPTH: usize = 500;

/// The answer about one name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Response {
    /// The address, as it is written.
    pub(super) href: Vec<u8>,
    /// The status of the whole response, if it has one.
    pub(super) status: Option<u16>,
    /// Whether it is a folder; `None` if that is not told.
    pub(super) folder: Option<bool>,
    /// Length in bytes.
    pub(super) length: Option<u64>,
    /// Last modification, in nanoseconds since the epoch.
    pub(super) modified: Option<i64>,
    /// Entity tag.
    pub(super) tag: Option<Box<str>>,
    /// Whether the address cannot be known.
    pub(super) spoilt: bool,
}

/// Why a document is no listing.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("not a WebDAV listing: {0}")]
pub(super) struct NoListing(String);

impl Response {
    /// Whether the server says that the name cannot be seen or does not exist.
    pub(super) fn refused(&self) -> bool {
        self.status.is_some_and(|status| !(200..300).contains(&status))
    }
}

/// Reads a document to its end, and hands over each response when it has been read. If the document
/// turns out to be no listing, they count for nothing.
pub(super) fn parse(document: impl BufRead, mut take: impl FnMut(Response)) -> Result<(), NoListing> {
    let document = Utf8::new(document).map_err(|error| NoListing(error.to_string()))?;
    let mut reader = NsReader::from_reader(document);
    reader.config_mut().check_end_names = true;
    let mut listing = Listing::default();
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        let broken = |error: quick_xml::Error| NoListing(error.to_string());
        let (namespace, event) = reader.read_resolved_event_into(&mut buffer).map_err(broken)?;
        let dav = namespace == ResolveResult::Bound(DAV);
        match event {
            Event::Start(tag) => listing.opens(element(dav, tag.local_name().as_ref()))?,
            Event::Empty(tag) => {
                listing.opens(element(dav, tag.local_name().as_ref()))?;
                listing.closes();
            }
            Event::End(_) => listing.closes(),
            Event::Text(text) => listing.text.extend_from_slice(&text),
            Event::CData(text) => listing.text.extend_from_slice(&text),
            Event::GeneralRef(reference) => listing.refers(&reference),
            Event::Eof => return listing.ends(),
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
        }
        if let Some(response) = listing.whole.take() {
            take(response);
        }
    }
}

/// The elements that matter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Element {
    Multistatus,
    Response,
    Href,
    Status,
    Propstat,
    Prop,
    ResourceType,
    Collection,
    Length,
    Modified,
    Tag,
    Other,
}

fn element(dav: bool, name: &[u8]) -> Element {
    match name {
        _ if !dav => Element::Other,
        b"multistatus" => Element::Multistatus,
        b"response" => Element::Response,
        b"href" => Element::Href,
        b"status" => Element::Status,
        b"propstat" => Element::Propstat,
        b"prop" => Element::Prop,
        b"resourcetype" => Element::ResourceType,
        b"collection" => Element::Collection,
        b"getcontentlength" => Element::Length,
        b"getlastmodified" => Element::Modified,
        b"getetag" => Element::Tag,
        _ => Element::Other,
    }
}

/// A document as far as it has been read.
#[derive(Default)]
struct Listing {
    /// The response that has just come to its end.
    whole: Option<Response>,
    response: Response,
    addressed: bool,
    /// The properties of the present `propstat`, which count if its status is good.
    properties: Response,
    status: Option<u16>,
    /// The elements that are open, the innermost last.
    open: Vec<Element>,
    /// The text of the innermost one.
    text: Vec<u8>,
    /// Whether a reference in that text could not be followed.
    unknown: bool,
    begun: bool,
}

impl Listing {
    fn opens(&mut self, element: Element) -> Result<(), NoListing> {
        if self.open.is_empty() {
            if self.begun || element != Element::Multistatus {
                return Err(NoListing("its root is another element".into()));
            }
            self.begun = true;
        }
        if self.open.len() >= DEPTH {
            return Err(NoListing("its elements lie too deep".into()));
        }
        match element {
            Element::Response => (self.response, self.addressed) = (Response::default(), false),
            Element::Propstat => (self.properties, self.status) = (Response::default(), None),
            Element::ResourceType => self.properties.folder = Some(false),
            _ => {}
        }
        self.text.clear();
        self.unknown = false;
        self.open.push(element);
        Ok(())
    }

    fn closes(&mut self) {
        use Element as E;
        let path = self.open.split_first().map_or(&[][..], |(_, below)| below);
        let text = || String::from_utf8_lossy(&self.text);
        match *path {
            [E::Response] => {
                self.response.spoilt |= !self.addressed;
                self.whole = Some(std::mem::take(&mut self.response));
            }
            [E::Response, E::Href] if !self.addressed => {
                self.addressed = true;
                self.response.spoilt = self.unknown;
                self.response.href = std::mem::take(&mut self.text);
            }
            [E::Response, E::Status] => self.response.status = code(&text()),
            [E::Response, E::Propstat] => self.propstat(),
            [E::Response, E::Propstat, E::Status] => self.status = code(&text()),
            [E::Response, E::Propstat, E::Prop, E::ResourceType, E::Collection] => {
                self.properties.folder = Some(true);
            }
            [E::Response, E::Propstat, E::Prop, E::Length] => {
                self.properties.length = length(text().trim());
            }
            [E::Response, E::Propstat, E::Prop, E::Modified] => self.properties.modified = date(&text()),
            [E::Response, E::Propstat, E::Prop, E::Tag] if !self.unknown => self.properties.tag = tag(&text()),
            _ => {}
        }
        self.open.pop();
        // The text that follows belongs to the element around, which has none.
        self.text.clear();
    }

    /// Properties with a bad status are missing.
    fn propstat(&mut self) {
        if self.status.is_some_and(|status| !(200..300).contains(&status)) {
            return;
        }
        let of = std::mem::take(&mut self.properties);
        let to = &mut self.response;
        to.folder = of.folder.or(to.folder);
        to.length = of.length.or(to.length);
        to.modified = of.modified.or(to.modified);
        to.tag = of.tag.or(to.tag.take());
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
        match character {
            Some(character) => self.text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
            None => self.unknown = true,
        }
    }

    fn ends(self) -> Result<(), NoListing> {
        if !self.begun || !self.open.is_empty() {
            return Err(NoListing("it ends early".into()));
        }
        Ok(())
    }
}

/// The code of a status line: `HTTP/1.1 200 OK`.
fn code(line: &str) -> Option<u16> {
    line.split_whitespace().nth(1)?.parse().ok()
}
