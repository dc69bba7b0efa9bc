//! The XML of a listing.

use super::shape::{Date, Document, Length, Parts, Prefix, Shape};
use crate::odd_web::MODIFIED;

/// A response of the listing.
pub(super) struct Response {
    pub(super) href: Vec<u8>,
    /// The length of a file; a folder has none.
    pub(super) length: Option<u64>,
    /// The entity tag of a file.
    pub(super) tag: String,
}

/// Writes a listing in one shape.
pub(super) struct Writer(pub(super) Shape);

/// Nested entities that expand to the same text 10^9 times.
const BOMB: &str = "<!ENTITY a0 \"lol\">\
    <!ENTITY a1 \"&a0;&a0;&a0;&a0;&a0;&a0;&a0;&a0;&a0;&a0;\"><!ENTITY a2 \"&a1;&a1;&a1;&a1;&a1;&a1;&a1;&a1;&a1;&a1;\">\
    <!ENTITY a3 \"&a2;&a2;&a2;&a2;&a2;&a2;&a2;&a2;&a2;&a2;\"><!ENTITY a4 \"&a3;&a3;&a3;&a3;&a3;&a3;&a3;&a3;&a3;&a3;\">\
    <!ENTITY a5 \"&a4;&a4;&a4;&a4;&a4;&a4;&a4;&a4;&a4;&a4;\"><!ENTITY a6 \"&a5;&a5;&a5;&a5;&a5;&a5;&a5;&a5;&a5;&a5;\">\
    <!ENTITY a7 \"&a6;&a6;&a6;&a6;&a6;&a6;&a6;&a6;&a6;&a6;\"><!ENTITY a8 \"&a7;&a7;&a7;&a7;&a7;&a7;&a7;&a7;&a7;&a7;\">\
    <!ENTITY a9 \"&a8;&a8;&a8;&a8;&a8;&a8;&a8;&a8;&a8;&a8;\">";

impl Writer {
    /// The document with `responses`. If there is one, `denied` is the `href` of an entry with only
    /// a status.
    pub(super) fn document(&self, responses: &[Response], denied: Option<Vec<u8>>) -> Vec<u8> {
        let mut inner: Vec<u8> = responses.iter().flat_map(|response| self.response(response)).collect();
        if let Some(href) = denied {
            let parts = [self.leaf("href", &href), self.status("403 Forbidden")].concat();
            inner.extend(self.element("response", &parts));
        }
        let root = if self.0 == Shape::Document(Document::OtherRoot) { "error" } else { "multistatus" };
        let (encoding, doctype) = match self.0 {
            Shape::Document(Document::Utf16) => ("utf-16", String::new()),
            Shape::Document(Document::Latin1) => ("iso-8859-1", String::new()),
            Shape::Document(Document::Doctype) => ("utf-8", "<!DOCTYPE multistatus>".into()),
            Shape::Document(Document::Entity) => ("utf-8", declaring("<!ENTITY slash \"/\">")),
            Shape::Document(Document::EntityBomb) => ("utf-8", declaring(BOMB)),
            Shape::Document(Document::ExternalEntity) => {
                ("utf-8", declaring("<!ENTITY a9 SYSTEM \"file:///etc/hostname\">"))
            }
            _ => ("utf-8", String::new()),
        };
        let head = format!("<?xml version=\"1.0\" encoding=\"{encoding}\"?>{}{doctype}", self.between());
        let (open, close) = self.names(root);
        let open = format!("<{open}{}>", self.declarations());
        let text = [head.as_bytes(), open.as_bytes(), &inner, format!("</{close}>").as_bytes()].concat();
        self.finished(text)
    }

    /// The bytes of the document as they are sent.
    fn finished(&self, text: Vec<u8>) -> Vec<u8> {
        match self.0 {
            Shape::Document(Document::Bom) => [b"\xef\xbb\xbf".as_slice(), &text].concat(),
            Shape::Document(Document::Utf16) => {
                let units: Vec<u16> = String::from_utf8_lossy(&text).encode_utf16().collect();
                [0xfeff].into_iter().chain(units).flat_map(u16::to_le_bytes).collect()
            }
            Shape::Document(Document::Cut) => text[..text.len() * 2 / 3].to_vec(),
            Shape::Document(Document::Html) => b"<!DOCTYPE html><html><body><a href=\"a\">a<br></body></html>".into(),
            Shape::Document(Document::Empty) => Vec::new(),
            _ => text,
        }
    }

    fn response(&self, response: &Response) -> Vec<u8> {
        let mut inner = self.leaf("href", &response.href);
        let properties = self.properties(response);
        let (status, prop) = (self.status("200 OK"), |inner: &[u8]| self.element("prop", inner));
        let propstat = |parts: &[&[u8]]| self.element("propstat", &parts.concat());
        let missing = self.status("404 Not Found");
        match self.0 {
            Shape::Parts(Parts::NoPropstat) => inner.extend(status),
            Shape::Parts(Parts::NoStatus) => inner.extend(propstat(&[&prop(&properties.concat())])),
            Shape::Parts(Parts::StatusFirst) => inner.extend(propstat(&[&status, &prop(&properties.concat())])),
            Shape::Parts(Parts::PropstatEach) => {
                inner.extend(properties.iter().flat_map(|property| propstat(&[&prop(property), &status])));
            }
            Shape::Parts(Parts::RefusedFirst) => {
                let refused = [self.leaf("getcontentlength", b"1234567"), self.folder(true)].concat();
                inner.extend(propstat(&[&prop(&refused), &missing]));
                inner.extend(propstat(&[&prop(&properties.concat()), &status]));
            }
            Shape::Parts(Parts::SecondPropstat) => {
                inner.extend(propstat(&[&prop(&properties.concat()), &status]));
                let absent = ["getcontentlanguage", "quota"].map(|name| self.element(name, b"")).concat();
                inner.extend(propstat(&[&prop(&absent), &missing]));
            }
            _ => inner.extend(propstat(&[&prop(&properties.concat()), &status])),
        }
        self.element("response", &inner)
    }

    /// The properties, each with its element.
    fn properties(&self, response: &Response) -> Vec<Vec<u8>> {
        let mut properties = vec![self.folder(response.length.is_none())];
        properties.extend(self.length(response.length).map(|length| self.property("getcontentlength", &length)));
        let date = match self.0 {
            Shape::Date(Date::OneDigitDay) => Some("Fri, 7 Sep 2018 08:49:58 GMT"),
            Shape::Date(Date::Offset) => Some("Fri, 07 Sep 2018 10:49:58 +0200"),
            Shape::Date(Date::Rfc850) => Some("Friday, 07-Sep-18 08:49:58 GMT"),
            Shape::Date(Date::Asctime) => Some("Fri Sep  7 08:49:58 2018"),
            Shape::Date(Date::Iso) => Some("2018-09-07T08:49:58Z"),
            Shape::Date(Date::Nonsense) => Some("the other day"),
            Shape::Date(Date::Empty) => Some(""),
            Shape::Date(Date::None) => None,
            _ => Some(MODIFIED),
        };
        properties.extend(date.map(|date| self.property("getlastmodified", date)));
        if response.length.is_some() {
            properties.push(self.property("getetag", &response.tag));
        }
        match self.0 {
            Shape::Foreign => {
                let names = ["getcontentlength", "getlastmodified", "getetag", "resourcetype"];
                let foreign = names.map(|name| format!("<o:{name} xmlns:o=\"urn:other\">7654321</o:{name}>"));
                properties.insert(0, foreign.concat().into_bytes());
            }
            Shape::Document(Document::EntityBomb | Document::ExternalEntity) => {
                properties.push(self.element("displayname", b"&a9;"));
            }
            Shape::Document(Document::Deep) => {
                properties.push([b"<x>".repeat(200_000), b"</x>".repeat(200_000)].concat());
            }
            Shape::Parts(Parts::Locks) => properties.push(self.locks()),
            _ => {}
        }
        properties
    }

    fn length(&self, length: Option<u64>) -> Option<String> {
        let Some(length) = length else {
            return (self.0 == Shape::Length(Length::OnFolders)).then(|| "4096".to_owned());
        };
        match self.0 {
            Shape::Length(Length::None) => None,
            Shape::Length(Length::Spaces) => Some(format!("\n    {length}\n  ")),
            Shape::Length(Length::Empty) => Some(String::new()),
            Shape::Length(Length::Nonsense) => Some("many".into()),
            Shape::Length(Length::Negative) => Some("-1".into()),
            Shape::Length(Length::Huge) => Some("18446744073709551617".into()),
            Shape::Length(Length::Wrong) => Some((length + 1).to_string()),
            _ => Some(length.to_string()),
        }
    }

    fn locks(&self) -> Vec<u8> {
        let scope = self.element("lockscope", &self.element("exclusive", b""));
        let locks = self.element("supportedlock", &self.element("lockentry", &scope));
        let name = self.leaf("displayname", b"A & B");
        let (active, created) =
            (self.element("lockdiscovery", b""), self.leaf("creationdate", b"2018-09-07T08:49:58Z"));
        // The URL of a lock's root is an `href` that names no entry.
        let root = self.element("lockroot", &self.leaf("href", b"/no-entry"));
        [active, locks, name, created, self.element("activelock", &root)].concat()
    }

    /// The type of a folder or of a file.
    fn folder(&self, folder: bool) -> Vec<u8> {
        let inner = match self.0 {
            _ if folder => self.element("collection", b""),
            Shape::Foreign => b"<o:collection xmlns:o=\"urn:other\"/>".into(),
            _ => Vec::new(),
        };
        self.element("resourcetype", &inner)
    }

    fn status(&self, status: &str) -> Vec<u8> {
        self.leaf("status", format!("HTTP/1.1 {status}").as_bytes())
    }

    fn property(&self, name: &str, text: &str) -> Vec<u8> {
        self.leaf(name, text.as_bytes())
    }

    /// An element with a text.
    fn leaf(&self, name: &str, text: &[u8]) -> Vec<u8> {
        let spaces: &[u8] = if self.0 == Shape::Document(Document::Pretty) { b"\n      " } else { b"" };
        self.element(name, &[spaces, &self.text(text), spaces].concat())
    }

    /// An element with others in it.
    fn element(&self, name: &str, inner: &[u8]) -> Vec<u8> {
        let (open, close) = self.names(name);
        let (between, declared) = (
            self.between(),
            match self.0 {
                Shape::Prefix(Prefix::Second) if name == "response" => " xmlns:lp1=\"DAV:\" xmlns:lp2=\"urn:apache\"",
                _ => "",
            },
        );
        if inner.is_empty() {
            return format!("{between}<{open}{declared}/>{between}").into_bytes();
        }
        let (open, close) = (format!("{between}<{open}{declared}>"), format!("</{close}>{between}"));
        [open.as_bytes(), inner, close.as_bytes()].concat()
    }

    /// The name of an element with its prefix, as it opens and as it closes.
    fn names(&self, name: &str) -> (String, String) {
        let property = name.starts_with("get") || name == "resourcetype";
        let prefix = match self.0 {
            Shape::Prefix(Prefix::Lower) => "d:",
            Shape::Prefix(Prefix::Default) => "",
            Shape::Prefix(Prefix::Second) if property => "lp1:",
            Shape::Prefix(Prefix::Odd) => "_x-1.y:",
            Shape::Prefix(Prefix::Each) => {
                let prefix = &name[..2];
                return (format!("{prefix}:{name} xmlns:{prefix}=\"DAV:\""), format!("{prefix}:{name}"));
            }
            _ => "D:",
        };
        (format!("{prefix}{name}"), format!("{prefix}{name}"))
    }

    /// The namespaces that the root declares.
    fn declarations(&self) -> &'static str {
        match self.0 {
            Shape::Prefix(Prefix::Lower) => {
                " xmlns:d=\"DAV:\" xmlns:s=\"http://sabredav.org/ns\" xmlns:oc=\"http://owncloud.org/ns\""
            }
            Shape::Prefix(Prefix::Default) => " xmlns=\"DAV:\"",
            Shape::Prefix(Prefix::Odd) => " xmlns:_x-1.y=\"DAV:\"",
            Shape::Prefix(Prefix::Each) => "",
            _ => " xmlns:D=\"DAV:\"",
        }
    }

    /// The text between elements.
    fn between(&self) -> &'static str {
        match self.0 {
            Shape::Document(Document::Comments) => "<!-- a <D:href> - that is none --><?php echo?>",
            Shape::Document(Document::Pretty) => "\n    ",
            _ => "",
        }
    }

    /// A text, escaped.
    fn text(&self, text: &[u8]) -> Vec<u8> {
        match self.0 {
            Shape::Document(Document::Cdata) => [b"<![CDATA[", text, b"]]>"].concat(),
            Shape::Document(Document::References) => {
                let text = String::from_utf8_lossy(text).into_owned();
                text.chars().map(|each| format!("&#x{:x};", u32::from(each))).collect::<String>().into_bytes()
            }
            Shape::Document(Document::Comments) => {
                let (first, second) = text.split_at(text.len() / 2);
                [escaped(first), b"<!-- a comment -->".to_vec(), escaped(second)].concat()
            }
            Shape::Document(Document::Entity) => {
                let text = escaped(text);
                text.iter().flat_map(|byte| if *byte == b'/' { b"&slash;".to_vec() } else { vec![*byte] }).collect()
            }
            _ => escaped(text),
        }
    }
}

fn declaring(entities: &str) -> String {
    format!("<!DOCTYPE multistatus [{entities}]>")
}

fn escaped(text: &[u8]) -> Vec<u8> {
    let escape = |byte: &u8| match byte {
        b'&' => b"&amp;".to_vec(),
        b'<' => b"&lt;".to_vec(),
        b'>' => b"&gt;".to_vec(),
        b'"' => b"&quot;".to_vec(),
        byte => vec![*byte],
    };
    text.iter().flat_map(escape).collect()
}
