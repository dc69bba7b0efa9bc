//! The files that a server of a test has in memory.

use std::collections::BTreeMap;

/// Paths and bytes. A path has no slash at its begin. Its folders are there because it is. It may
/// have any bytes but a zero, UTF-8 or not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files(BTreeMap<Vec<u8>, Vec<u8>>);

/// A file or a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The path, without a slash at either end. That of the root is empty.
    pub path: Vec<u8>,
    /// The length of a file, in bytes; a folder has none.
    pub length: Option<u64>,
}

impl Files {
    /// Files with names that confuse a client with bad encoding, decoding or escaping. The bytes of
    /// each are its name, so that one file taken for another shows. A name is at most 255 bytes
    /// long.
    pub fn odd_names() -> Files {
        let names: [&[u8]; 26] = [
            b"plain.txt",
            b"a b",
            b" a",
            b"a ",
            b"a+b",
            b"a&b;c=d",
            b"a&amp;b",
            b"<a>",
            b"a'b\"c",
            b"a#b",
            b"a?b",
            b"100% x",
            b"%41",
            b"%2F",
            b"A",
            b"[a]",
            b"a:b",
            b"http:",
            b"a\\b",
            b"...",
            b"~",
            b"a\tb\nc",
            "caf\u{e9}".as_bytes(),
            "cafe\u{301}".as_bytes(),
            "\u{1f980}".as_bytes(),
            b"caf\xe9",
        ];
        let long = "long ".repeat(51);
        let files = names.into_iter().chain([long.as_bytes()]).map(|name| (name, name));
        files.chain([(&b"a b/<c>&/%.txt"[..], &b"a b/<c>&/%.txt"[..])]).collect()
    }

    /// The bytes of a file.
    pub fn get(&self, path: &[u8]) -> Option<&[u8]> {
        self.0.get(path).map(Vec::as_slice)
    }

    /// Adds a file, or replaces it.
    pub fn insert(&mut self, path: impl Into<Vec<u8>>, bytes: impl Into<Vec<u8>>) {
        self.0.insert(path.into(), bytes.into());
    }

    /// All paths with their bytes, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.0.iter().map(|(path, bytes)| (path.as_slice(), bytes.as_slice()))
    }

    /// The file or folder at `path`, which may end with a slash.
    pub fn entry(&self, path: &[u8]) -> Option<Entry> {
        let folder = path.strip_suffix(b"/");
        let path = folder.unwrap_or(path).to_vec();
        if let Some(bytes) = self.get(&path).filter(|_| folder.is_none()) {
            return Some(Entry { path, length: Some(bytes.len() as u64) });
        }
        let is_folder = path.is_empty() || self.0.keys().any(|file| below(&path, file).is_some());
        is_folder.then_some(Entry { path, length: None })
    }

    /// The contents of the folder at `path`: its own files and folders or, if `deep`, theirs too.
    pub fn entries(&self, path: &[u8], deep: bool) -> Vec<Entry> {
        let mut entries: BTreeMap<Vec<u8>, Option<u64>> = BTreeMap::new();
        for (file, bytes) in self.iter() {
            let Some(rest) = below(path, file) else { continue };
            let slashes = (0..rest.len()).filter(|&at| rest[at] == b'/');
            let before = file.len() - rest.len();
            for end in slashes.take(if deep { usize::MAX } else { 1 }) {
                entries.insert(file[..before + end].to_vec(), None);
            }
            if deep || !rest.contains(&b'/') {
                entries.insert(file.to_vec(), Some(bytes.len() as u64));
            }
        }
        entries.into_iter().map(|(path, length)| Entry { path, length }).collect()
    }
}

/// The path of `file` from the folder `path` on, if it lies in it.
fn below<'a>(path: &[u8], file: &'a [u8]) -> Option<&'a [u8]> {
    if path.is_empty() { Some(file) } else { file.strip_prefix(path)?.strip_prefix(b"/") }
}

impl<P: Into<Vec<u8>>, B: Into<Vec<u8>>> FromIterator<(P, B)> for Files {
    fn from_iter<I: IntoIterator<Item = (P, B)>>(files: I) -> Files {
        Files(files.into_iter().map(|(path, bytes)| (path.into(), bytes.into())).collect())
    }
}

impl<P: Into<Vec<u8>>, B: Into<Vec<u8>>, const N: usize> From<[(P, B); N]> for Files {
    fn from(files: [(P, B); N]) -> Files {
        files.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_there_because_of_their_files() {
        let files = Files::from([("a/b/c", "1"), ("a/d", "22"), ("ab", "333")]);
        let names = |path: &str, deep| -> Vec<String> {
            let entries = files.entries(path.as_bytes(), deep).into_iter();
            entries.map(|entry| format!("{} {:?}", String::from_utf8(entry.path).unwrap(), entry.length)).collect()
        };
        assert_eq!(names("", false), ["a None", "ab Some(3)"]);
        assert_eq!(names("a", false), ["a/b None", "a/d Some(2)"]);
        assert_eq!(names("", true), ["a None", "a/b None", "a/b/c Some(1)", "a/d Some(2)", "ab Some(3)"]);
        assert_eq!(files.entry(b"a/b/").unwrap().length, None);
        assert_eq!(files.entry(b"a/d").unwrap().length, Some(2));
        assert_eq!(files.entry(b"a/d/"), None);
        assert_eq!(files.entry(b"x"), None);
    }
}
