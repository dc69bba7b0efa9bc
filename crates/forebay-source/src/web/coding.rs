//! Files that are stored in a coding, such as `x.gz`, which some servers label as coded.
//!
//! Requests accept no coding. So a label may be of the stored bytes (Apache's `AddEncoding`), which
//! are the file. It may also be of bytes that the server has coded on their way, which are not.
//! Three things must agree for the first:
//!
//! - the name or the type of the file is of one that is stored in this coding;
//! - a range of one byte has one byte, and no coding makes so little; or, at a server without
//!   ranges, HEAD tells the same length, version and label;
//! - the length of each answer's body is told, and is that of the part or of the file.
//!
//! Known weakness: a file with a label and another name (`x.csv` that an upload labelled `gzip`)
//! cannot be told from one that the server codes always, so it is not read.

use reqwest::{Method, StatusCode};

use super::Web;
use super::ask::Question;
use super::head::{Head, Part};
use super::look::Name;
use crate::remote::Answer;

/// The reason why an answer in another coding is not taken.
pub(super) const CODED: &str = "an answer in a coding that was not asked for";

/// Ends of names of files that are stored in a coding, and the beginnings of its labels.
const NAMES: [(&str, &[&str]); 12] = [
    (".gz", &["gzip", "x-gzip"]),
    (".tgz", &["gzip", "x-gzip"]),
    (".svgz", &["gzip", "x-gzip"]),
    (".z", &["compress", "x-compress", "gzip", "x-gzip"]),
    (".taz", &["compress", "x-compress", "gzip", "x-gzip"]),
    (".bz2", &["bzip2", "x-bzip2"]),
    (".tbz2", &["bzip2", "x-bzip2"]),
    (".xz", &["xz", "x-xz"]),
    (".txz", &["xz", "x-xz"]),
    (".zst", &["zstd"]),
    (".br", &["br"]),
    (".lzma", &["lzma", "x-lzma"]),
];

impl Web {
    /// Whether the body of an answer with a label is the stored file of `size` bytes, or a part of
    /// it.
    pub(super) async fn is_stored_so(&self, name: &Name<'_>, size: u64, head: &Head) -> Answer<bool> {
        let whole = (head.status == StatusCode::OK).then_some(size);
        let part = head.range.and_then(|range| range.part).map(|part| part.end - part.start);
        if head.length.is_none() || head.length != whole.or(part) || !fits(name, head) {
            return Ok(false);
        }
        if self.learnt.is_stored(name.path) {
            return Ok(true);
        }
        let question = Question::new(Method::GET, name.url.clone(), &name.shown).range(0, Some(1));
        let byte = self.asker.ask(&question).await?.head;
        let stored = if byte.status == StatusCode::PARTIAL_CONTENT {
            is_one_byte(&byte, size)
        } else {
            byte.status == StatusCode::OK && self.heads_agree(name, head).await?
        };
        if stored {
            self.learnt.is_stored_so(name.path);
        }
        Ok(stored)
    }

    /// Whether HEAD tells the same as the answer with the whole file.
    async fn heads_agree(&self, name: &Name<'_>, whole: &Head) -> Answer<bool> {
        if whole.status != StatusCode::OK || whole.length.is_none() {
            return Ok(false);
        }
        let head = self.asker.ask(&Question::new(Method::HEAD, name.url.clone(), &name.shown)).await?.head;
        let facts = |head: &Head| (head.coding.clone(), head.length, head.tag.clone(), head.modified);
        Ok(head.status == StatusCode::OK && facts(&head) == facts(whole))
    }
}

/// Whether an answer to a range of one byte has one byte of a file of `size` bytes.
pub(super) fn is_one_byte(head: &Head, size: u64) -> bool {
    let range = head.range.filter(|range| range.part == Some(Part { start: 0, end: 1 }));
    head.length == Some(1) && range.is_some_and(|range| range.total.is_none_or(|total| total == size))
}

/// Whether files of this name, or of the type in the answer, are stored in the coding of its label.
pub(super) fn fits(name: &Name<'_>, head: &Head) -> bool {
    let Some(coding) = head.coding.as_deref() else { return true };
    let path = name.path.to_string_lossy().to_ascii_lowercase();
    let named = NAMES.iter().any(|(end, codings)| path.ends_with(end) && codings.contains(&coding));
    let bare = |text: &str| text.strip_prefix("x-").unwrap_or(text).to_owned();
    named || head.media.strip_prefix("application/").is_some_and(|media| bare(media) == bare(coding))
}
