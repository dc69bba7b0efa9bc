//! A folder as a page for a browser, as web servers make them.
//!
//! A page counts as one if it says so in the way of a known server: by its title or heading
//! (nginx, Apache, lighttpd, Python, IIS, `forebay serve` and many more), by its table (Caddy,
//! rclone), or by having nothing but links between `<pre>` and `</pre>` (Go). Any other page is
//! somebody's: a login, an application, an error.

use std::ffi::OsString;

use html5gum::emitters::default::DefaultEmitter;
use html5gum::{StartTag, Token, Tokenizer};

use super::names::{Marks, Relation, Segments, relation, resolve};

/// A name in a page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Link {
    pub(super) name: OsString,
    /// Whether a slash follows it, as it does a folder's.
    pub(super) slash: bool,
}

/// The names that `page` lists of `folder`, whose path at the server is given; `None` if the page is
/// no listing.
pub(super) fn parse(page: &[u8], folder: &Segments) -> Option<Vec<Link>> {
    let mut emitter = DefaultEmitter::<()>::default();
    emitter.naively_switch_states(true);
    let mut index = Index::default();
    for token in Tokenizer::new_with_emitter(page, emitter) {
        let Ok(token) = token;
        match token {
            Token::StartTag(tag) => index.opens(&tag, folder),
            Token::EndTag(tag) => index.closes(&tag.name),
            Token::String(text) => index.says(&text),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
    }
    index.ends(folder)
}

/// Where a text stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum At {
    #[default]
    Elsewhere,
    Title,
    Heading,
    /// In a link, a script or the like.
    Apart,
}

/// A page as far as it has been read.
#[derive(Default)]
struct Index {
    links: Vec<Link>,
    at: At,
    title: Vec<u8>,
    heading: Vec<u8>,
    headings: u32,
    /// Whether it has a table as Caddy and rclone write them.
    table: bool,
    pre: Pre,
}

/// How far the page is nothing but links between `<pre>` and `</pre>`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Pre {
    #[default]
    Before,
    Within,
    After,
    Broken,
}

impl Index {
    fn opens(&mut self, tag: &StartTag<()>, folder: &Segments) {
        match tag.name.as_slice() {
            b"title" if self.title.is_empty() => self.at = At::Title,
            b"h1" | b"h2" => {
                self.headings += 1;
                self.at = if self.headings == 1 { At::Heading } else { At::Elsewhere };
            }
            b"script" | b"style" => self.at = At::Apart,
            b"a" => {
                if self.at == At::Elsewhere {
                    self.at = At::Apart;
                }
                if self.pre != Pre::Within {
                    self.pre = Pre::Broken;
                }
                self.link(tag, folder);
            }
            b"pre" if self.pre == Pre::Before => self.pre = Pre::Within,
            b"meta" | b"br" => {}
            _ => self.pre = Pre::Broken,
        }
        self.table |= made_by_caddy(tag);
    }

    fn link(&mut self, tag: &StartTag<()>, folder: &Segments) {
        let Some(href) = tag.attributes.get(b"href".as_slice()) else { return };
        let Some(to) = resolve(href, folder, Marks::Meant) else { return };
        if let Relation::Child(name) = relation(&to, folder) {
            self.links.push(Link { name, slash: to.slash });
        }
    }

    fn closes(&mut self, name: &[u8]) {
        match name {
            b"title" | b"h1" | b"h2" | b"script" | b"style" => self.at = At::Elsewhere,
            b"a" if self.at == At::Apart => self.at = At::Elsewhere,
            b"pre" if self.pre == Pre::Within => self.pre = Pre::After,
            _ => {}
        }
    }

    fn says(&mut self, text: &[u8]) {
        match self.at {
            At::Title => self.title.extend_from_slice(text),
            At::Heading => self.heading.extend_from_slice(text),
            At::Elsewhere if !text.trim_ascii().is_empty() => self.pre = Pre::Broken,
            At::Elsewhere | At::Apart => {}
        }
    }

    fn ends(self, folder: &Segments) -> Option<Vec<Link>> {
        let said = says_so(&self.title, folder) || says_so(&self.heading, folder);
        (said || self.table || self.pre == Pre::After).then_some(self.links)
    }
}

/// The beginnings of titles and headings of listings, before the folder's path.
const WORDS: [&str; 8] = [
    "index of ",
    "directory listing for ",
    "directory listing of ",
    "directory listing: ",
    "directory: ",
    "listing of ",
    "listing: ",
    "contents of ",
];

/// Whether a title or heading is a listing's: one of [`WORDS`] and a path, or the folder's own path.
fn says_so(text: &[u8], folder: &Segments) -> bool {
    let text = String::from_utf8_lossy(text);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let lower = text.to_lowercase();
    let path = |rest: &str| rest.trim_start_matches(['[', '"', '\'']).starts_with('/') || rest.contains("://");
    if WORDS.iter().any(|words| lower.strip_prefix(words).is_some_and(path)) {
        return true;
    }
    let own: String = folder.names.iter().map(|name| format!("/{}", String::from_utf8_lossy(name))).collect();
    let own = own.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = text.strip_suffix('/').unwrap_or(&text);
    // IIS puts its host before the path.
    (!own.is_empty() || !lower.is_empty()) && (text == own || text.ends_with(&format!(" - {own}")))
}

fn made_by_caddy(tag: &StartTag<()>) -> bool {
    let has = |key: &[u8], value: &[u8]| {
        tag.attributes.get(key).is_some_and(|words| words.split(u8::is_ascii_whitespace).any(|word| word == value))
    };
    match tag.name.as_slice() {
        b"div" | b"main" => has(b"class", b"listing"),
        b"tr" => has(b"class", b"file"),
        b"table" => has(b"aria-describedby", b"summary"),
        _ => false,
    }
}
