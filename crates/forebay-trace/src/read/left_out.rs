//! Lines that are no requests, counted by the reason.

use std::collections::BTreeMap;

use crate::Request;
use crate::read::text::printable;
use crate::source::LeftOut as Counted;

/// More reasons than this are counted together: a column that is taken for that of the operation
/// may have millions.
const MOST: usize = 100;

/// The counts.
#[derive(Default)]
pub(crate) struct LeftOut {
    counts: BTreeMap<&'static str, BTreeMap<Box<[u8]>, u64>>,
    others: u64,
}

impl LeftOut {
    /// Counts a line: `kind` of reason, and the text in the line.
    pub(crate) fn add(&mut self, kind: &'static str, text: &[u8]) {
        let kind = self.counts.entry(kind).or_default();
        if let Some(count) = kind.get_mut(text) {
            *count += 1;
        } else if kind.len() < MOST {
            kind.insert(text.into(), 1);
        } else {
            self.others += 1;
        }
    }

    /// Counts records of a format without texts.
    pub(crate) fn add_many(&mut self, kind: &'static str, records: u64) {
        if records > 0 {
            *self.counts.entry(kind).or_default().entry(Box::default()).or_default() += records;
        }
    }

    /// The request, if it has bytes; else it is counted here.
    pub(crate) fn unless_empty(&mut self, request: Request) -> Option<Request> {
        if request.len == 0 {
            self.add("of no bytes", b"");
        }
        (request.len > 0).then_some(request)
    }

    /// All of them.
    pub(crate) fn all(&self) -> Vec<Counted> {
        let mut all = Vec::new();
        for (kind, texts) in &self.counts {
            for (text, &lines) in texts {
                let text = if text.is_empty() { String::new() } else { format!(" `{}`", printable(text)) };
                all.push(Counted { reason: format!("{kind}{text}"), lines });
            }
        }
        if self.others > 0 {
            all.push(Counted { reason: "others".to_owned(), lines: self.others });
        }
        all
    }
}
