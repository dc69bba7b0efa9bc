//! Paths as JSON has them. JSON is Unicode, and a name on Linux is bytes: each byte that is not
//! part of UTF-8 is the escape of a lone surrogate, `\udc80` for 0x80 to `\udcff` for 0xff. This is
//! how Python has such names (PEP 383) and how its `json` writes them.

use std::ffi::OsString;
use std::fmt::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};

/// A path as a JSON text, with its quotes.
pub fn spelt(path: &Path) -> String {
    let mut text = String::from("\"");
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        // A text is always JSON; it comes with quotes of its own.
        let valid = serde_json::to_string(chunk.valid()).unwrap_or_default();
        text.push_str(valid.get(1..valid.len().saturating_sub(1)).unwrap_or_default());
        for byte in chunk.invalid() {
            // Writing to a text does not fail.
            let _ = write!(text, "\\udc{byte:02x}");
        }
    }
    text.push('"');
    text
}

/// A path from a JSON text in which lone surrogates stand for bytes.
pub(super) struct Spelt(pub(super) PathBuf);

impl<'de> Deserialize<'de> for Spelt {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Spelt, D::Error> {
        // Only as bytes are lone surrogates taken, each as three bytes.
        deserializer.deserialize_bytes(Bytes)
    }
}

struct Bytes;

impl Visitor<'_> for Bytes {
    type Value = Spelt;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a path")
    }

    fn visit_bytes<E: Error>(self, text: &[u8]) -> Result<Spelt, E> {
        let mut path = Vec::with_capacity(text.len());
        let mut rest = text;
        while let Some((&first, behind)) = rest.split_first() {
            match *rest {
                // U+D800 to U+DFFF, which UTF-8 does not have.
                [0xed, 0xa0..=0xbf, _, ..] => {
                    path.push(byte(rest[1], rest[2]).ok_or_else(|| E::custom("a lone surrogate that is no byte"))?);
                    rest = &rest[3..];
                }
                _ => {
                    path.push(first);
                    rest = behind;
                }
            }
        }
        Ok(Spelt(OsString::from_vec(path).into()))
    }
}

/// The byte that a surrogate stands for, from the second and the third byte of it: 0x80 to 0xff for
/// U+DC80 to U+DCFF.
fn byte(second: u8, third: u8) -> Option<u8> {
    let low = third & 0x3f;
    match second {
        0xb2 => Some(0x80 | low),
        0xb3 => Some(0xc0 | low),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Option<Vec<u8>> {
        let path = serde_json::from_str::<Spelt>(text).ok()?.0;
        Some(path.into_os_string().into_vec())
    }

    #[test]
    fn a_byte_that_is_no_text_is_an_escape() {
        for (bytes, text) in [
            (&b"odd \xff"[..], r#""odd \udcff""#),
            (b"\x80\xbf\xc0", r#""\udc80\udcbf\udcc0""#),
            (b"a\"b\\\n\xe9\"", r#""a\"b\\\n\udce9\"""#),
            ("é 😀".as_bytes(), r#""é 😀""#),
            (b"", r#""""#),
            // The bytes of a surrogate are not UTF-8, so that each is escaped.
            (b"\xed\xb3\xbf", r#""\udced\udcb3\udcbf""#),
        ] {
            assert_eq!(spelt(Path::new(OsStr::from_bytes(bytes))), text);
            assert_eq!(read(text).as_deref(), Some(bytes), "{text}");
        }
        assert_eq!(read(r#""\ud83d\ude00""#).as_deref(), Some("😀".as_bytes()), "a pair is a character");
        for text in [r#""\ud800""#, r#""\udc7f""#, r#""\udd00""#, r#""\udfff""#, "7", "[100,99]", "null"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_come_back(bytes: Vec<u8>) {
            let text = spelt(Path::new(OsStr::from_bytes(&bytes)));
            let ordinary = serde_json::from_str::<String>(&text);
            prop_assert_eq!(ordinary.ok(), String::from_utf8(bytes.clone()).ok());
            prop_assert_eq!(read(&text), Some(bytes));
        }
    }
}
