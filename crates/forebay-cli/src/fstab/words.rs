//! The words of `-o`, as mount(8) separates them: by commas outside double quotes. A backslash
//! before a comma, a quote or a backslash makes it plain, as libfuse has it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// `memory=2GiB`, or `_netdev`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Word {
    pub(super) name: String,
    pub(super) value: Option<OsString>,
}

/// A text whose words cannot be told apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a double quote in the mount options is not closed")]
pub(super) struct Unclosed;

/// The words of a text, without empty ones.
pub(super) fn split(text: &OsStr) -> Result<Vec<Word>, Unclosed> {
    let (mut words, mut word, mut quoted) = (Vec::new(), Vec::new(), false);
    let mut bytes = text.as_bytes().iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => word.push(bytes.next_if(|next| matches!(next, b',' | b'"' | b'\\')).unwrap_or(byte)),
            b'"' => quoted = !quoted,
            b',' if !quoted => words.push(std::mem::take(&mut word)),
            _ => word.push(byte),
        }
    }
    words.push(word);
    if quoted {
        return Err(Unclosed);
    }
    Ok(words.into_iter().filter(|word| !word.is_empty()).map(named).collect())
}

fn named(word: Vec<u8>) -> Word {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match word.iter().position(|&byte| byte == b'=') {
        Some(at) => Word { name: text(&word[..at]), value: Some(OsString::from_vec(word[at + 1..].to_vec())) },
        None => Word { name: text(&word), value: None },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_separated_by_commas_outside_quotes() {
        let words = |text: &str| {
            let words = split(OsStr::new(text))?;
            let one = |word: Word| match word.value {
                Some(value) => format!("{}|{}", word.name, value.display()),
                None => word.name,
            };
            Ok(words.into_iter().map(one).collect::<Vec<_>>())
        };
        assert_eq!(words(""), Ok(vec![]));
        assert_eq!(words("ro,,memory=2GiB,"), Ok(vec!["ro".into(), "memory|2GiB".into()]));
        assert_eq!(words(r#"source="a=/b,/c",ro"#), Ok(vec!["source|a=/b,/c".into(), "ro".into()]));
        assert_eq!(words(r#"a=b\,c\"\\d\e"#), Ok(vec![r#"a|b,c"\d\e"#.into()]));
        assert_eq!(words("a=b c\t"), Ok(vec!["a|b c\t".into()]));
        assert_eq!(words(r#"a="b"#), Err(Unclosed));
    }

    #[test]
    fn a_value_need_not_be_text() {
        let text = OsStr::from_bytes(b"source=/\xff,a");
        assert_eq!(split(text).unwrap()[0].value.as_deref(), Some(OsStr::from_bytes(b"/\xff")));
    }
}
