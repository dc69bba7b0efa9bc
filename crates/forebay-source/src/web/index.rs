//! A folder as a page for a browser, as web servers make them.
//!
//! A page counts as one if it says so in the way of a known server: by its title or heading (nginx,
//! Apache, lighttpd, Python, IIS, `forebay serve` and many more), by its table (Caddy, rclone), or
//! by having nothing but links between `<pre>` and `</pre>` (Go). Any other page is no listing: a
//! login, an application, an error.

use std::ffi::OsString;
use std::io::Read;

use html5gum::emitters::default::DefaultEmitter;
use html5gum::{IoReader, StartTag, Token, Tokenizer};

use super::names::{Marks, Relation, Segments, relation, resolve};

/// A name in a page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Link {
    pub(super) name: OsString,
    /// Whether a slash follows it, as for a folder.
    pub(super) slash: bool,
}

/// Whether `page` is a listing of `folder`, whose path at the server is given. Its names are handed
/// over as they come. If the page turns out to be no listing, they count for nothing.
pub(super) fn parse(page: impl Read, folder: &Segments, mut take: impl FnMut(Link)) -> bool {
    let mut emitter = DefaultEmitter::<()>::default();
    emitter.naively_switch_states(true);
    let (mut index, mut base) = (Index::default(), None);
    for token in Tokenizer::new_with_emitter(IoReader::new(page), emitter) {
        match token {
            Ok(Token::StartTag(tag)) => {
                index.opens(&tag);
                base = base.or_else(|| base_of(&tag, folder));
                link(&tag, base.as_ref().unwrap_or(folder), folder).into_iter().for_each(&mut take);
            }
            Ok(Token::EndTag(tag)) => index.closes(&tag.name),
            Ok(Token::String(text)) => index.says(&text),
            Ok(Token::Comment(_) | Token::Doctype(_) | Token::Error(_)) => {}
            Err(_) => return false,
        }
    }
    index.is_listing(folder)
}

/// The folder that links are relative to, if the tag gives it (`<base href>`).
fn base_of(tag: &StartTag<()>, folder: &Segments) -> Option<Segments> {
    let href = tag.attributes.get(b"href".as_slice()).filter(|_| tag.name.as_slice() == b"base")?;
    let end = href.iter().position(|byte| matches!(byte, b'?' | b'#')).unwrap_or(href.len());
    let mut base = resolve(&href[..end], folder, Marks::Meant)?;
    if !base.slash {
        base.names.pop();
    }
    Some(base)
}

/// The name in the folder to which a tag links.
fn link(tag: &StartTag<()>, base: &Segments, folder: &Segments) -> Option<Link> {
    let href = tag.attributes.get(b"href".as_slice()).filter(|_| tag.name.as_slice() == b"a")?;
    let to = resolve(href, base, Marks::Meant)?;
    match relation(&to, folder) {
        Relation::Child(name) => Some(Link { name, slash: to.slash }),
        Relation::Itself | Relation::Elsewhere => None,
    }
}

/// The place of a text.
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
    at: At,
    title: Vec<u8>,
    heading: Vec<u8>,
    headings: u32,
    /// Whether it has a table as Caddy and rclone write them.
    table: bool,
    pre: Pre,
}

/// Whether, so far, the page is nothing but links between `<pre>` and `</pre>`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Pre {
    #[default]
    Before,
    Within,
    After,
    Broken,
}

impl Index {
    fn opens(&mut self, tag: &StartTag<()>) {
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
            }
            b"pre" if self.pre == Pre::Before => self.pre = Pre::Within,
            b"meta" | b"base" | b"br" => {}
            _ => self.pre = Pre::Broken,
        }
        self.table |= made_by_caddy(tag);
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

    fn is_listing(&self, folder: &Segments) -> bool {
        self.table || self.pre == Pre::After || says_so(&self.title, folder) || says_so(&self.heading, folder)
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

/// Whether a title or heading is a listing's: one of [`WORDS`] and a path, or the folder's own
/// path.
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
