//! A folder as a page for a browser, as web servers make them.
//!
//! A page counts as one if it says so in the way of a known server: by its title or heading (nginx,
//! Apache, lighttpd, Python, IIS, `forebay serve` and many more), by its table (Caddy, rclone), by
//! having nothing but links between `<pre>` and `</pre>` (Go), or by its links (Maven, HashiCorp):
//! one leads to the folder above, and the text of each other one is the name that it leads to. Any
//! other page is no listing: a login, an application, an error. `entries.rs` tells names from links
//! of the frame around them.

use std::ffi::OsString;
use std::io::Read;

use html5gum::emitters::default::DefaultEmitter;
use html5gum::{IoReader, StartTag, Token, Tokenizer};
use reqwest::Url;

use super::address::path_of;
use super::entries::{Class, Classes, Entries, Target};
use super::names::{Marks, Relation, Segments, host, relation, resolve};

/// A name in a page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Link {
    pub(super) name: OsString,
    /// Whether a slash follows it, as for a folder.
    pub(super) slash: bool,
}

/// The address of a folder whose page is read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Folder {
    pub(super) path: Segments,
    /// The host, without a port; `None` if any will do.
    pub(super) host: Option<String>,
}

impl Folder {
    pub(super) fn at(url: &Url) -> Folder {
        Folder { path: path_of(url), host: url.host_str().map(str::to_owned) }
    }
}

/// The classes of names that count if `page` is a listing of `folder`; `None` if it is not. All
/// names are handed over as they come, each with its class.
pub(super) fn parse(page: impl Read, folder: &Folder, mut take: impl FnMut(Class, Link)) -> Option<Classes> {
    let mut emitter = DefaultEmitter::<()>::default();
    emitter.naively_switch_states(true);
    let (mut index, mut base) = (Index::default(), None);
    for token in Tokenizer::new_with_emitter(IoReader::new(page), emitter) {
        match token {
            Ok(Token::StartTag(tag)) => {
                index.opens(&tag);
                base = base.or_else(|| base_of(&tag, &folder.path));
                if let Some(href) = href_of(&tag) {
                    let link = link(&tag, base.as_ref().unwrap_or(&folder.path), &folder.path);
                    let named = index.links(href, link.as_ref(), folder);
                    named.zip(link).into_iter().for_each(|(class, link)| take(class, link));
                }
            }
            Ok(Token::EndTag(tag)) => index.closes(&tag.name),
            Ok(Token::String(text)) => index.says(&text),
            Ok(Token::Comment(_) | Token::Doctype(_) | Token::Error(_)) => {}
            Err(_) => return None,
        }
    }
    index.is_listing(&folder.path).then(|| index.entries.classes(folder.path.names.is_empty()))
}

fn href_of(tag: &StartTag<()>) -> Option<&[u8]> {
    let href = tag.attributes.get(b"href".as_slice()).filter(|_| tag.name.as_slice() == b"a")?;
    Some(href.as_slice())
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
    let to = resolve(href_of(tag)?, base, Marks::Meant)?;
    match relation(&to, folder) {
        // Express' folders have no slash.
        Relation::Child(name) => Some(Link { name, slash: to.slash || has(tag, b"class", b"icon-directory") }),
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
    entries: Entries,
    text: LinkText,
    by_links: ByLinks,
}

/// The text of the link that is open.
#[derive(Default)]
struct LinkText {
    open: bool,
    text: Vec<u8>,
    /// The name that it leads to; `None` if it leads to the folder above.
    to: Option<OsString>,
}

/// The links of a page, as far as they alone make it a listing.
#[derive(Default)]
struct ByLinks {
    above: bool,
    names: u64,
    /// Links that listings do not have.
    others: bool,
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
        self.entries.opens(tag);
    }

    /// Takes in a link; returns its class, if it is a name that may count.
    fn links(&mut self, href: &[u8], link: Option<&Link>, folder: &Folder) -> Option<Class> {
        let href = href.trim_ascii();
        let above = matches!(href, b".." | b"../") || is_above(href, &folder.path);
        let target = match link {
            Some(_) => Target::Name,
            None if above => Target::Above,
            None => Target::Other,
        };
        // Columns are put in order by queries.
        self.by_links.others |= target == Target::Other && !href.starts_with(b"?");
        self.text =
            LinkText { open: target != Target::Other, text: Vec::new(), to: link.map(|link| link.name.clone()) };
        self.entries.links(target, is_foreign(href, folder)).filter(|_| link.is_some())
    }

    fn closes(&mut self, name: &[u8]) {
        match name {
            b"title" | b"h1" | b"h2" | b"script" | b"style" => self.at = At::Elsewhere,
            b"a" if self.at == At::Apart => self.at = At::Elsewhere,
            b"pre" if self.pre == Pre::Within => self.pre = Pre::After,
            _ => {}
        }
        if name == b"a" && std::mem::take(&mut self.text.open) {
            let text = String::from_utf8_lossy(&self.text.text);
            let text = text.trim();
            match &self.text.to {
                Some(name) if is_text_of(text, &name.to_string_lossy()) => self.by_links.names += 1,
                None if is_text_of_above(text) => self.by_links.above = true,
                _ => self.by_links.others = true,
            }
        }
        self.entries.closes(name);
    }

    fn says(&mut self, text: &[u8]) {
        if self.text.open && self.text.text.len() < LONGEST_TEXT {
            self.text.text.extend_from_slice(text);
        }
        match self.at {
            At::Title => self.title.extend_from_slice(text),
            At::Heading => self.heading.extend_from_slice(text),
            At::Elsewhere if !text.trim_ascii().is_empty() => self.pre = Pre::Broken,
            At::Elsewhere | At::Apart => {}
        }
    }

    fn is_listing(&self, folder: &Segments) -> bool {
        let by_links = self.by_links.above && self.by_links.names > 0 && !self.by_links.others;
        self.table
            || self.pre == Pre::After
            || by_links
            || says_so(&self.title, folder)
            || says_so(&self.heading, folder)
    }
}

/// Bytes of a link's text that are compared with its name.
const LONGEST_TEXT: usize = 1 << 10;

/// Whether a link is to the folder above.
fn is_above(href: &[u8], folder: &Segments) -> bool {
    let to = resolve(href, folder, Marks::Meant);
    to.zip(folder.names.split_last()).is_some_and(|(to, (_, above))| to.names == above)
}

/// Whether a link's text is the name that it leads to. Long ones are cut.
fn is_text_of(text: &str, name: &str) -> bool {
    let cut = ["..>", "...", "…"].into_iter().find_map(|end| text.strip_suffix(end));
    text.strip_suffix('/').unwrap_or(text) == name || cut.is_some_and(|cut| cut.len() > 8 && name.starts_with(cut))
}

/// Whether a link's text is of the folder above.
fn is_text_of_above(text: &str) -> bool {
    matches!(text, ".." | "../") || text.to_lowercase().contains("parent")
}

/// Whether a link has a host, and another one than the folder.
fn is_foreign(href: &[u8], folder: &Folder) -> bool {
    let other = host(href, &folder.path).zip(folder.host.as_ref());
    other.is_some_and(|(host, own)| !host.eq_ignore_ascii_case(own.as_bytes()))
}

/// The beginnings of titles and headings of listings, before the folder's path.
const WORDS: [&str; 10] = [
    "index of ",
    "directory listing for ",
    "directory listing of ",
    "directory listing: ",
    "directory: ",
    "listing of ",
    "listing: ",
    "contents of ",
    "listing directory ",
    "central repository: ",
];

/// Whether a title or heading is a listing's: one of [`WORDS`] and a path, or the folder's own
/// path.
fn says_so(text: &[u8], folder: &Segments) -> bool {
    let text = String::from_utf8_lossy(text);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let lower = text.to_lowercase();
    let path = |rest: &str| rest.trim_start_matches(['[', '"', '\'']).starts_with('/') || rest.contains("://");
    let own_end = |rest: &str| is_end_of(rest, folder);
    let listed = |rest: &str| path(rest) || rest == "./" || own_end(rest);
    if WORDS.iter().any(|words| lower.strip_prefix(words).is_some_and(listed)) {
        return true;
    }
    // `npx serve` begins with the name of the folder that it serves.
    if lower.strip_prefix("files within ").is_some_and(|rest| rest.len() > 1 && rest.ends_with('/')) {
        return true;
    }
    let own: String = folder.names.iter().map(|name| format!("/{}", String::from_utf8_lossy(name))).collect();
    let own = own.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = text.strip_suffix('/').unwrap_or(&text);
    // IIS puts its host before the path.
    (!own.is_empty() || !lower.is_empty()) && (text == own || text.ends_with(&format!(" - {own}")))
}

/// Whether `text`, in small letters, is the last names of the folder's path, with a slash among
/// them or after them.
fn is_end_of(text: &str, folder: &Segments) -> bool {
    let names: Vec<&str> = text.split('/').filter(|name| !name.is_empty()).collect();
    let own = folder.names.iter().map(|name| String::from_utf8_lossy(name).to_lowercase());
    let own: Vec<String> = own.collect();
    text.contains('/') && !names.is_empty() && own.ends_with(&names.iter().map(ToString::to_string).collect::<Vec<_>>())
}

/// Whether an attribute has a word.
fn has(tag: &StartTag<()>, key: &[u8], value: &[u8]) -> bool {
    let words = tag.attributes.get(key).map(|words| words.split(u8::is_ascii_whitespace));
    words.is_some_and(|mut words| words.any(|word| word == value))
}

fn made_by_caddy(tag: &StartTag<()>) -> bool {
    let has = |key: &[u8], value: &[u8]| has(tag, key, value);
    match tag.name.as_slice() {
        b"div" | b"main" => has(b"class", b"listing"),
        b"tr" => has(b"class", b"file"),
        b"table" => has(b"aria-describedby", b"summary"),
        _ => false,
    }
}
