//! How an entry is addressed and encoded in its `href`.

use std::net::SocketAddr;

use super::shape::{Address, Encoding, Shape};
use crate::files::Entry;

/// The characters beside letters and digits that are never encoded but by [`Encoding::Everything`].
const UNRESERVED: &[u8] = b"-._~/";

/// The other characters that a URL allows in a path.
const ALLOWED: &[u8] = b"!$&'()*+,;=:@";

/// The `href` of an entry of `folder`, before it is escaped for XML. The folder itself is an entry
/// too.
pub(super) fn href(entry: &Entry, folder: &[u8], shape: Shape, local: SocketAddr) -> Vec<u8> {
    let is_folder = entry.length.is_none();
    let slash = match shape {
        Shape::Address(Address::NoSlash) => false,
        Shape::Address(Address::SlashOnFiles) => true,
        _ => is_folder,
    };
    let mut path = encoded(&entry.path, shape);
    if slash && !path.is_empty() {
        path.push(b'/');
    }
    let before = match shape {
        Shape::Address(Address::Url) => format!("http://{local}/"),
        Shape::Address(Address::OtherHost) => "http://files.internal.example/".to_owned(),
        Shape::Address(Address::Dots) => "/./x/../".to_owned(),
        Shape::Address(Address::DoubleSlash) => "//".to_owned(),
        Shape::Address(Address::Relative) if entry.path != folder => {
            return path.split_off(if folder.is_empty() { 0 } else { encoded(folder, shape).len() + 1 });
        }
        _ => "/".to_owned(),
    };
    [before.as_bytes(), &path].concat()
}

fn encoded(path: &[u8], shape: Shape) -> Vec<u8> {
    let Shape::Encoding(encoding) = shape else { return escaped(path, false, |_| false) };
    let utf8 = std::str::from_utf8(path).is_ok();
    match encoding {
        Encoding::Everything => path.iter().flat_map(|&byte| escape(byte, false, byte == b'/')).collect(),
        Encoding::SmallLetters => escaped(path, true, |_| false),
        Encoding::Allowed => escaped(path, false, |byte| ALLOWED.contains(&byte)),
        Encoding::Brackets => escaped(path, false, |byte| ALLOWED.contains(&byte) || b"[]".contains(&byte)),
        Encoding::Spaces => escaped(path, false, |byte| byte == b' '),
        Encoding::Utf8 => escaped(path, false, |byte| byte >= 128 && utf8),
        Encoding::Bytes => escaped(path, false, |byte| byte >= 128),
        Encoding::Percent => escaped(path, false, |byte| b"% ".contains(&byte)),
        Encoding::Query => escaped(path, false, |byte| b"?#".contains(&byte)),
    }
}

/// The path with all bytes escaped but the unreserved ones and those that `keep` keeps.
fn escaped(path: &[u8], small: bool, keep: impl Fn(u8) -> bool) -> Vec<u8> {
    let kept = |byte: u8| byte.is_ascii_alphanumeric() || UNRESERVED.contains(&byte) || keep(byte);
    path.iter().flat_map(|&byte| escape(byte, small, kept(byte))).collect()
}

fn escape(byte: u8, small: bool, keep: bool) -> Vec<u8> {
    match (keep, small) {
        (true, _) => vec![byte],
        (false, true) => format!("%{byte:02x}").into_bytes(),
        (false, false) => format!("%{byte:02X}").into_bytes(),
    }
}
