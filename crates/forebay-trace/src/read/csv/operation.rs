//! The meaning of an operation's word or code.

use crate::Columns;

/// The effect of an operation on the bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Meaning {
    Reads,
    Writes,
    /// It moves no bytes, or the user or a preset says that it is to be left out.
    Ignored,
    Unknown,
}

/// Words of file systems, block devices and key-value stores. Codes have no meaning of their own: 1
/// is libCacheSim's get, and a write in block traces.
const READS: [&str; 8] = ["r", "read", "get", "gets", "rs", "ra", "rm", "pread"];
const WRITES: [&str; 18] = [
    "w", "write", "set", "add", "put", "cas", "replace", "append", "prepend", "incr", "decr", "update", "ws", "wm",
    "wfs", "wsm", "fws", "pwrite",
];

/// Words of operations that move no bytes. A deleted object stays in simulated caches until it is
/// replaced, since the core has no event for it.
const NEITHER: [&str; 10] = ["delete", "del", "remove", "discard", "trim", "flush", "sync", "fsync", "head", "options"];

/// The words that are known.
pub(super) struct Words {
    said: Vec<(Box<str>, Meaning)>,
}

impl Words {
    pub(super) fn new(columns: &Columns) -> Words {
        let of = |words: &[Box<str>], meaning| words.iter().map(move |word| (word.clone(), meaning)).collect();
        let said: [Vec<_>; 3] = [
            of(&columns.reads, Meaning::Reads),
            of(&columns.writes, Meaning::Writes),
            of(&columns.ignored, Meaning::Ignored),
        ];
        Words { said: said.concat() }
    }

    /// The meaning of a word, in large or small letters.
    pub(super) fn meaning(&self, text: &[u8]) -> Meaning {
        let is = |word: &str| text.eq_ignore_ascii_case(word.as_bytes());
        if let Some(&(_, meaning)) = self.said.iter().find(|(word, _)| is(word)) {
            return meaning;
        }
        known(text)
    }

    /// The meaning of a word, as it was said; if none was said, as everybody knows it.
    pub(super) fn own(&self, text: &[u8]) -> Meaning {
        let is = |word: &str| text.eq_ignore_ascii_case(word.as_bytes());
        match self.said.iter().find(|(word, _)| is(word)) {
            Some(&(_, meaning)) => meaning,
            None if self.said.is_empty() => known(text),
            None => Meaning::Unknown,
        }
    }
}

/// The meaning that a word has everywhere.
fn known(text: &[u8]) -> Meaning {
    let is = |word: &str| text.eq_ignore_ascii_case(word.as_bytes());
    match () {
        () if READS.into_iter().any(is) => Meaning::Reads,
        () if WRITES.into_iter().any(is) => Meaning::Writes,
        () if NEITHER.into_iter().any(is) => Meaning::Ignored,
        () => Meaning::Unknown,
    }
}

/// Whether a text is a word of operations, such as `read` or `REST.GET.OBJECT`.
pub(super) fn is_operation(text: &[u8]) -> bool {
    text.starts_with(b"REST.") || known(text) != Meaning::Unknown
}
