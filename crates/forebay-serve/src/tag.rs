//! Entity tags: a version's identity as HTTP writes it (RFC 9110, 8.8.3).

use std::fmt::Write;

use forebay_source::{Identity, Inode, Version};

/// The tag of a version. Equal strong tags of a file mean equal versions.
///
/// The tag of a store below is passed on as it is, so that it stays the same through all levels.
/// The tag of a folder's file names the parts of its version. A version with neither a tag nor an
/// inode's time is known by its length and a time in whole seconds at best, and its tag is weak.
pub(crate) fn of(identity: &Identity) -> String {
    let Version { size, modified, changed, tag } = &identity.version;
    if let Some(tag) = tag {
        return passed_on(tag);
    }
    let weak = if *changed == 0 { "W/" } else { "" };
    // Another file system may be mounted where this one was, with equal numbers and times.
    let Inode { device, number, mount } = identity.name.inode();
    let mount = if mount == 0 { String::new() } else { format!("{mount:x}-") };
    // Mostly they are one, and a level above keeps the tag of each name of a listing.
    let later = changed.wrapping_sub(*modified);
    format!("{weak}\"{mount}{device:x}-{number:x}-{size:x}-{modified:x}-{later:x}\"")
}

/// A tag of a store: as it is if it is well-formed, else (versions that are no tags) its letters,
/// and its other bytes in digits.
fn passed_on(tag: &str) -> String {
    let opaque = tag.strip_prefix("W/").unwrap_or(tag);
    let quoted = opaque.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    if quoted.is_some_and(|inner| inner.bytes().all(|byte| byte == b'!' || (b'#'..=b'~').contains(&byte))) {
        return tag.to_owned();
    }
    let mut made = String::from("\"");
    for byte in tag.bytes() {
        match byte {
            b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => made.push(byte.into()),
            // Writing to a text cannot fail.
            byte => drop(write!(made, ".{byte:02x}")),
        }
    }
    made + "\""
}

/// Whether a list of tags (`If-Match`, `If-None-Match`) names this one, by strong or weak
/// comparison.
pub(crate) fn named(list: &str, tag: &str, strong: bool) -> bool {
    if list.trim() == "*" {
        return true;
    }
    let weakly = |tag: &str| tag.strip_prefix("W/").unwrap_or(tag).to_owned();
    tags(list).any(|other| if strong { other == tag && !tag.starts_with("W/") } else { weakly(other) == weakly(tag) })
}

/// The tags of a list, which may hold commas themselves. Ends where the list is no longer one.
fn tags(list: &str) -> impl Iterator<Item = &str> {
    let mut rest = list;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        let prefix = if rest.starts_with("W/") { 2 } else { 0 };
        let inner = rest.get(prefix..)?.strip_prefix('"')?;
        let end = prefix + 1 + inner.find('"')? + 1;
        let (tag, behind) = rest.split_at(end);
        rest = behind;
        Some(tag)
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use forebay_source::Name;

    use super::*;

    fn tagged(tag: &str) -> String {
        let version = Version { tag: Some(tag.into()), size: 7, ..Version::default() };
        of(&Identity { name: Name::path(&"store".into(), Path::new("x")), version })
    }

    #[test]
    fn a_stores_tag_stays_as_it_is() {
        assert_eq!(tagged("\"abc\""), "\"abc\"");
        assert_eq!(tagged("W/\"abc\""), "W/\"abc\"");
        assert_eq!(tagged("3/L4kqtJ"), "\"3.2fL4kqtJ\"", "a version");
        assert_eq!(tagged("\"a\nb\""), "\".22a.0ab.22\"");
        assert_ne!(tagged("a.b"), tagged("a.2eb"));
    }

    #[test]
    fn a_files_tag_is_its_version() {
        let inode = Inode { device: 1, number: 255, mount: 0 };
        let version = Version { size: 16, modified: -1, changed: 10, tag: None };
        let tag = |inode, version: &Version| of(&Identity { name: Name::Linked(inode), version: version.clone() });
        let first = tag(inode, &version);
        assert!(first.starts_with("\"1-ff-10-"), "{first}");
        for other in [Inode { device: 2, ..inode }, Inode { number: 254, ..inode }, Inode { mount: 9, ..inode }] {
            assert_ne!(tag(other, &version), first);
        }
        for other in [
            Version { size: 17, ..version.clone() },
            Version { modified: 1, ..version.clone() },
            Version { changed: 11, ..version.clone() },
        ] {
            assert_ne!(tag(inode, &other), first);
        }
        assert!(tag(inode, &Version { changed: 0, ..version }).starts_with("W/\""));
    }

    #[test]
    fn lists_name_tags() {
        assert!(named("\"a\"", "\"a\"", true));
        assert!(named("\"x\", \"a,b\" ,W/\"c\"", "\"a,b\"", true));
        assert!(named("*", "\"a\"", true));
        // RFC 9110, 8.8.3.2: the four examples of comparison.
        for (one, other, strong, weak) in [
            ("W/\"1\"", "W/\"1\"", false, true),
            ("W/\"1\"", "W/\"2\"", false, false),
            ("W/\"1\"", "\"1\"", false, true),
            ("\"1\"", "\"1\"", true, true),
        ] {
            assert_eq!(named(one, other, true), strong, "{one} {other}");
            assert_eq!(named(one, other, false), weak, "{one} {other}");
        }
        for list in ["", "a", "\"a", "W/", "W", ",", "é\"a\""] {
            assert!(!named(list, "\"a\"", false), "{list}");
        }
    }
}
