//! Names in addresses: writing a name into an address, and finding the name of a folder that an
//! address stands for.

use std::ffi::OsString;
use std::fmt::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path};

use percent_encoding::percent_decode;

/// The path of an address, split and decoded.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Segments {
    /// The names, from the server's root on. None is empty.
    pub(super) names: Vec<Vec<u8>>,
    /// Whether a slash follows the last one.
    pub(super) slash: bool,
    /// Whether the last one is left escaped, since no file can have it as its name.
    pub(super) unnamed: bool,
}

/// The relation of an address to a folder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Relation {
    /// The folder itself.
    Itself,
    /// The name in the folder.
    Child(OsString),
    /// Something else.
    Elsewhere,
}

/// The meaning of `?` and `#` in an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Marks {
    /// As part of a name: WebDAV servers list no addresses with queries, but some forget to escape
    /// these two.
    Literal,
    /// As an address of a web page has them: such an address names no file.
    Meant,
}

/// The path from a source's root, escaped: every byte but the unreserved ones. `None` if no address
/// can hold it.
pub(super) fn escape(path: &Path) -> Option<String> {
    let mut text = String::new();
    for part in path.components() {
        let name = match part {
            Component::Normal(name) => name.as_bytes(),
            Component::CurDir => continue,
            _ => return None,
        };
        if !text.is_empty() {
            text.push('/');
        }
        for &byte in name {
            if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                text.push(char::from(byte));
            } else {
                // Writing to a string cannot fail.
                let _ = write!(text, "%{byte:02X}");
            }
        }
    }
    Some(text)
}

/// The path of an address, decoded. `None` if it leads above the server's root.
pub(super) fn segments(path: &[u8]) -> Option<Segments> {
    walk(Vec::new(), path)
}

/// The target of `href`, which was found in the answer about `folder`. Hosts are not looked at.
/// `None` if it is not understood, or names nothing.
pub(super) fn resolve(href: &[u8], folder: &Segments, marks: Marks) -> Option<Segments> {
    let href = unpadded(href);
    if marks == Marks::Meant && (href.is_empty() || href.contains(&b'?') || href.contains(&b'#')) {
        return None;
    }
    if let Some(rest) = after_scheme(href) {
        return segments(after_host(rest));
    }
    if let Some(rest) = href.strip_prefix(b"//") {
        // A host, by the rules; in listings mostly a slash too many.
        let path = segments(href)?;
        let doubled = relation(&path, folder) != Relation::Elsewhere;
        return if doubled { Some(path) } else { segments(after_host(rest)) };
    }
    if marks == Marks::Meant && has_scheme(href) {
        return None;
    }
    let from = if href.starts_with(b"/") { Vec::new() } else { folder.names.clone() };
    walk(from, href)
}

/// The host in `href`, which was found in the answer about `folder`, without user and port.
pub(super) fn host<'a>(href: &'a [u8], folder: &Segments) -> Option<&'a [u8]> {
    let href = unpadded(href);
    let rest = match after_scheme(href) {
        Some(rest) => rest,
        None => {
            let rest = href.strip_prefix(b"//")?;
            let doubled = segments(href).is_some_and(|path| relation(&path, folder) != Relation::Elsewhere);
            Some(rest).filter(|_| !doubled)?
        }
    };
    let host = &rest[..rest.len() - after_host(rest).len()];
    let host = host.rsplit(|&byte| byte == b'@').next().unwrap_or(host);
    let port = host.iter().rposition(|&byte| byte == b':').filter(|&at| host[at + 1..].iter().all(u8::is_ascii_digit));
    Some(&host[..port.unwrap_or(host.len())])
}

/// The relation of `of` to `folder`.
pub(super) fn relation(of: &Segments, folder: &Segments) -> Relation {
    match of.names.strip_prefix(folder.names.as_slice()) {
        Some([]) => Relation::Itself,
        Some([_]) if of.unnamed => Relation::Elsewhere,
        Some([name]) => Relation::Child(OsString::from_vec(name.clone())),
        _ => Relation::Elsewhere,
    }
}

fn walk(mut names: Vec<Vec<u8>>, path: &[u8]) -> Option<Segments> {
    let (mut slash, mut unnamed) = (false, false);
    for part in path.split(|&byte| byte == b'/') {
        let name: Vec<u8> = percent_decode(part).collect();
        slash = matches!(name.as_slice(), b"" | b"." | b"..");
        match name.as_slice() {
            b"" | b"." => {}
            // Above the server's root there is nothing.
            b".." => drop(names.pop()?),
            name if name.contains(&b'/') || name.contains(&0) => {
                unnamed = true;
                names.push(part.to_vec());
            }
            _ => {
                unnamed = false;
                names.push(name);
            }
        }
    }
    Some(Segments { names, slash, unnamed })
}

/// Without the lines and spaces that a writer of neat documents puts around a text. Spaces alone
/// may belong to a name.
fn unpadded(href: &[u8]) -> &[u8] {
    let space = |byte: &u8| byte.is_ascii_whitespace();
    let broken = |byte: &u8| *byte == b'\n' || *byte == b'\r';
    let text = href.iter().position(|byte| !space(byte)).unwrap_or(href.len());
    let start = if href[..text].iter().any(broken) || href[text..].starts_with(b"/") { text } else { 0 };
    let last = href.iter().rposition(|byte| !space(byte)).map_or(start, |last| last + 1).max(start);
    let end = href[last..].iter().position(broken).map_or(href.len(), |at| last + at);
    &href[start..end]
}

fn scheme_length(href: &[u8]) -> Option<usize> {
    let colon = href.iter().position(|&byte| byte == b':')?;
    let scheme = &href[..colon];
    let legal = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
    (scheme.first()?.is_ascii_alphabetic() && scheme.iter().all(legal)).then_some(colon)
}

fn has_scheme(href: &[u8]) -> bool {
    scheme_length(href).is_some()
}

/// The host and path of a full address.
fn after_scheme(href: &[u8]) -> Option<&[u8]> {
    href[scheme_length(href)?..].strip_prefix(b"://")
}

fn after_host(rest: &[u8]) -> &[u8] {
    rest.iter().position(|&byte| byte == b'/').map_or(b"", |at| &rest[at..])
}
