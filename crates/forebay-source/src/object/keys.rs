//! Keys for the `object_store` crate. It accepts none with control characters, which keys of S3 may
//! have. Such a character is written as a mark and a letter, and put back in the request.
//!
//! ```text
//!  a␊b  ──▶  a‹mark›Jb  ──▶  GET /bucket/a%F4%8F%BF%BEJb  ──▶  GET /bucket/a%0Ab, signed again
//! ```

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// A character that no text has, by the rules of Unicode.
const MARK: char = '\u{10FFFE}';

/// The mark in an address.
const MARK_ENCODED: &str = "%F4%8F%BF%BE";

/// The characters that S3 wants encoded in the path of a request.
const ENCODED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// The key without control characters.
pub(super) fn marked(key: &str) -> String {
    let mut marked = String::with_capacity(key.len());
    for char in key.chars() {
        match char {
            MARK => marked.extend([MARK, MARK]),
            control if control.is_ascii_control() => marked.extend([MARK, char::from(control as u8 ^ 0x40)]),
            char => marked.push(char),
        }
    }
    marked
}

/// The reverse, for the path of a request; `None` if it has no mark.
pub(super) fn unmarked(path: &str) -> Option<String> {
    if !path.contains(MARK_ENCODED) {
        return None;
    }
    let decoded = percent_decode_str(path).decode_utf8().ok()?;
    let (mut key, mut chars) = (String::with_capacity(decoded.len()), decoded.chars());
    while let Some(char) = chars.next() {
        key.push(match char {
            MARK => match chars.next()? {
                MARK => MARK,
                letter => char::from(u8::try_from(letter).ok()? ^ 0x40),
            },
            char => char,
        });
    }
    Some(utf8_percent_encode(&key, &ENCODED).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use object_store::path::Path as Key;
    use proptest::prelude::*;

    #[test]
    fn only_marked_paths_change() {
        assert_eq!(marked("a/b c"), "a/b c");
        assert_eq!(unmarked("/bucket/a%20b"), None);
        let path = format!("/bucket/{}", utf8_percent_encode(&marked("a\nb\u{7f} /%"), &ENCODED));
        assert_eq!(unmarked(&path).as_deref(), Some("/bucket/a%0Ab%7F%20/%25"));
        assert_eq!(unmarked("/x%F4%8F%BF%BE"), None, "nothing follows the mark");
    }

    proptest! {
        #[test]
        fn any_key_comes_back(key in "[\u{1}-\u{7f}é\u{10FFFE}]{1,20}") {
            let key = format!("a{key}").replace('/', "_");
            let path = Key::parse(marked(&key)).unwrap();
            let sent = utf8_percent_encode(path.as_ref(), &ENCODED).to_string();
            let come = unmarked(&sent).unwrap_or(sent);
            prop_assert_eq!(percent_decode_str(&come).decode_utf8().unwrap(), key);
        }
    }
}
