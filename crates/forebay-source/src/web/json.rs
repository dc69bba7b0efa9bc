//! A folder as a list in JSON, as nginx writes it (`autoindex_format json`): an array of objects
//! with a `name` and a `type`, which is `file`, `directory` or `other`.
//!
//! Lengths and times are not taken: by them alone a file has another version than by its own
//! answer, which has a tag as well.

use std::ffi::OsString;
use std::fmt;
use std::io::{BufReader, Read};
use std::os::unix::ffi::OsStringExt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};

use super::index::Link;

/// Whether `text` is such a list. Its names are handed over as they come. If the text turns out to
/// be something else, they count for nothing.
pub(super) fn parse(text: impl Read, take: impl FnMut(Link)) -> bool {
    let mut text = serde_json::Deserializer::from_reader(BufReader::new(text));
    text.deserialize_seq(List(take)).is_ok() && text.end().is_ok()
}

/// The whole list.
struct List<F>(F);

#[derive(Deserialize)]
struct Entry {
    name: Name,
    r#type: Type,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Type {
    File,
    Directory,
    Other,
}

/// A name, which need not be text.
struct Name(OsString);

impl<'de, F: FnMut(Link)> Visitor<'de> for List<F> {
    type Value = ();

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a list of names")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        while let Some(Entry { name: Name(name), r#type }) = list.next_element()? {
            match r#type {
                Type::File | Type::Directory => (self.0)(Link { name, slash: r#type == Type::Directory }),
                Type::Other => {}
            }
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Name, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Name;

            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("a name")
            }

            fn visit_bytes<E: Error>(self, name: &[u8]) -> Result<Name, E> {
                Ok(Name(OsString::from_vec(name.to_owned())))
            }
        }
        from.deserialize_bytes(Bytes)
    }
}
