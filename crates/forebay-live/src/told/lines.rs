//! Lists as JSON: one name a line in, what became of it out.

use std::path::{Component, Path, PathBuf};

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::spelling::Spelt;
use super::{ListState, Mode, Named};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<P> {
    path: P,
    #[serde(default)]
    start: Option<u64>,
    #[serde(default)]
    end: Option<u64>,
}

/// Why a line is none.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadLine {
    /// It is no JSON of that form.
    #[error("is not like {{\"path\":\"a/b\",\"start\":0,\"end\":4096}}: {0}")]
    Json(String),
    /// It is not UTF-8.
    #[error("is not UTF-8, as JSON is: write the bytes of a name that are not as \\udc80 to \\udcff")]
    Bytes,
    /// The path leads out of the mount, or nowhere.
    #[error("names {0:?}, which is not the path of a file from the root of the mount on")]
    Path(String),
    /// The range has no byte.
    #[error("asks for the bytes {start} to {end}: the end must lie behind the start")]
    Range {
        /// The first byte.
        start: u64,
        /// The byte behind the last.
        end: u64,
    },
}

/// A path from the root of a tree on, without its slashes at the beginning; `None` if it leads out
/// of it, or nowhere, or has a zero byte, as no file's name has.
pub fn inner(path: &Path) -> Option<PathBuf> {
    let mut inner = PathBuf::new();
    for part in path.components() {
        match part {
            Component::RootDir | Component::CurDir => {}
            Component::Normal(name) if name.as_encoded_bytes().contains(&0) => return None,
            Component::Normal(name) => inner.push(name),
            Component::ParentDir | Component::Prefix(_) => return None,
        }
    }
    (!inner.as_os_str().is_empty()).then_some(inner)
}

/// The name on a line; `None` if the line is empty. The path may be any bytes (`spelling.rs`).
pub fn line(text: &[u8]) -> Result<Option<Named>, BadLine> {
    let text = text.trim_ascii();
    if text.is_empty() {
        return Ok(None);
    }
    if text.starts_with(b"[") {
        return Err(BadLine::Json("it is an array".to_owned()));
    }
    match serde_json::from_slice::<Line<String>>(text) {
        Ok(Line { path, start, end }) => named(Path::new(&path), start, end).map(Some),
        Err(error) => odd(text, &error).map(Some),
    }
}

/// The name on a line that is ordinary JSON but for its path, whose bytes are not all text. `error`
/// is for one that is not.
fn odd(text: &[u8], error: &serde_json::Error) -> Result<Named, BadLine> {
    let text = std::str::from_utf8(text).map_err(|_| BadLine::Bytes)?;
    let not_json = |_| BadLine::Json(error.to_string());
    // The reader of bytes lets control characters pass, which JSON's texts have only as escapes.
    serde_json::from_str::<IgnoredAny>(text).map_err(not_json)?;
    let line: Line<Spelt> = serde_json::from_str(text).map_err(not_json)?;
    named(&line.path.0, line.start, line.end)
}

/// A name of a list: a path, and perhaps the first byte and the one behind the last.
pub fn named(path: &Path, start: Option<u64>, end: Option<u64>) -> Result<Named, BadLine> {
    let path = inner(path).ok_or_else(|| BadLine::Path(path.display().to_string()))?;
    let range = match (start, end) {
        (None, None) => None,
        (start, end) => {
            let (start, end) = (start.unwrap_or(0), end.unwrap_or(u64::MAX));
            if start >= end {
                return Err(BadLine::Range { start, end });
            }
            Some(start..end)
        }
    };
    Ok(Named { path, range })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    #[serde(default = "usual")]
    list: String,
    #[serde(default)]
    mode: Option<String>,
}

fn usual() -> String {
    "default".to_owned()
}

/// Names that are told, with their list and the mode.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hint {
    /// The list.
    pub list: String,
    /// The treatment of the names.
    pub mode: Mode,
    /// The names, in order.
    pub names: Vec<Named>,
}

/// Why a text is no hint.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadHint {
    /// Its first line names no list.
    #[error("the first line is not like {{\"list\":\"epoch\",\"mode\":\"append\"}}: {0}")]
    Head(String),
    /// A line is none.
    #[error("line {number} {why}")]
    Line {
        /// Its number, the first line being 1.
        number: usize,
        /// The reason.
        why: BadLine,
    },
}

/// A text that ends with its first zero byte: a line with the list and the mode, then a line a
/// name.
pub fn hint(text: &[u8]) -> Result<Hint, BadHint> {
    let text = text.split(|&byte| byte == 0).next().unwrap_or_default();
    let mut lines = (1..).zip(text.split(|&byte| byte == b'\n'));
    let head = lines.next().map_or(&b""[..], |(_, line)| line);
    if head.trim_ascii_start().starts_with(b"[") {
        return Err(BadHint::Head("it is an array".to_owned()));
    }
    let head: Head = serde_json::from_slice(head).map_err(|error| BadHint::Head(error.to_string()))?;
    let mode = head.mode.map_or(Ok(Mode::Append), |mode| mode.parse());
    let mode = mode.map_err(|error| BadHint::Head(error.to_string()))?;
    let mut names = Vec::new();
    for (number, text) in lines {
        names.extend(line(text).map_err(|why| BadHint::Line { number, why })?);
    }
    Ok(Hint { list: head.list, mode, names })
}

#[derive(Serialize)]
struct Lists<'a> {
    lists: &'a [ListState],
}

/// The lists as one JSON document.
pub fn report(lists: &[ListState]) -> String {
    serde_json::to_string(&Lists { lists }).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_path_and_perhaps_a_range() {
        let named = |path: &str, range| Ok(Some(Named { path: path.into(), range }));
        assert_eq!(line(br#"{"path":"a/b"}"#), named("a/b", None));
        assert_eq!(line(b" {\"path\":\"/a//./b\",\"start\":5,\"end\":9}\r"), named("a/b", Some(5..9)));
        assert_eq!(line(br#"{"path":"b","start":5}"#), named("b", Some(5..u64::MAX)));
        assert_eq!(line(br#"{"path":"b","end":5}"#), named("b", Some(0..5)));
        assert_eq!(line(b"  "), Ok(None));
    }

    #[test]
    fn a_hint_is_a_list_and_its_names() {
        let told =
            hint(b"{\"list\":\"e\",\"mode\":\"replace\"}\n{\"path\":\"a\"}\n\n{\"path\":\"b\"}\0{\"path\"").unwrap();
        assert_eq!((&*told.list, told.mode, told.names.len()), ("e", Mode::Replace, 2));
        assert_eq!(hint(b"{}").unwrap(), Hint { list: "default".into(), mode: Mode::Append, names: Vec::new() });
        let why = |text: &[u8]| hint(text).unwrap_err().to_string();
        assert!(why(b"").contains("first line") && why(br#"{"mode":"once"}"#).contains("\"once\""));
        assert!(why(b"{}\n{\"path\":\"a\"}\nb").starts_with("line 3 is not like"));
        assert!(why(br#"["e","replace"]"#).ends_with("it is an array"));
        assert!(why(b"{}\n[\"a\", 0, 5]").starts_with("line 2 is not like"));
    }

    #[test]
    fn a_path_may_be_any_bytes() {
        use std::os::unix::ffi::OsStrExt;
        let path = |bytes: &[u8]| PathBuf::from(std::ffi::OsStr::from_bytes(bytes));
        let named = |bytes: &[u8], range| Ok(Some(Named { path: path(bytes), range }));
        assert_eq!(line(br#"{"path":"/a\udcff/b"}"#), named(b"a\xff/b", None));
        assert_eq!(line(br#"{"path":"\udce9","start":5,"end":9}"#), named(b"\xe9", Some(5..9)));
        let told = hint(b"{}\n{\"path\":\"\\udcff\"}").unwrap();
        assert_eq!(told.names, [Named::whole(path(b"\xff"))]);
        // Of the parts of a path none may be spelt around the rules.
        assert_eq!(line(br#"{"path":"\udcff/../a"}"#).unwrap_err(), BadLine::Path("\u{fffd}/../a".into()));
        assert!(matches!(line(br#"{"path":"\udc2e\udc2e/a"}"#), Err(BadLine::Json(_))));
    }

    #[test]
    fn what_is_no_line_says_why() {
        let why = |text: &[u8]| line(text).unwrap_err().to_string();
        assert!(why(b"{\"path\":\"odd \xff\"}").contains("\\udc80 to \\udcff"));
        assert!(why(b"a/b").contains("is not like"));
        assert!(why(br#"{"path":"a","colour":1}"#).contains("colour"));
        assert!(why(br#"{"path":"../a"}"#).contains("\"../a\""));
        assert!(why(br#"{"path":"/"}"#).contains("not the path"));
        assert!(why(br#"{"path":"a","start":5,"end":5}"#).contains("5 to 5"));
        // The rules are the same whether the path is text or not.
        for byte in ["", r"\udcff"] {
            for control in ['\u{1}', '\n', '\t', '\u{1f}'] {
                let text = format!("{{\"path\":\"a{control}{byte}\"}}");
                assert!(why(text.as_bytes()).contains("is not like"), "{text:?}");
            }
            let spaced = format!("{{\t\"path\":\t\"a{byte}\"\t}}");
            assert!(line(spaced.as_bytes()).is_ok(), "{spaced:?}");
            let zero = format!(r#"{{"path":"a/\u0000{byte}"}}"#);
            assert!(why(zero.as_bytes()).contains("not the path"), "{zero}");
        }
        assert!(line(br#"{"path":"a\u0001\udcff"}"#).is_ok(), "names may have them");
    }
}
