//! The parts of a trace that a format cannot hold, and that a replay of the written file misses.

use std::collections::HashMap;

use crate::{Format, Request, Shape, Source};

const SECOND: u64 = 1_000_000_000;

/// Looks at a trace while it is written. Our own format holds everything and is not looked at. An
/// entry for each file is kept of ranges.
pub(super) struct Look {
    format: Format,
    shape: Shape,
    /// Times that are not zero, and those that are no whole seconds.
    times: bool,
    parts_of_seconds: bool,
    /// Askers, contexts and files other than number zero.
    handlers: bool,
    contexts: bool,
    files: bool,
    /// Sizes of objects other than one byte.
    sizes: bool,
    /// Ranges that are not one whole block each.
    ranges: bool,
    /// The byte after the last that is asked for, by file.
    ends: HashMap<u64, u64>,
}

impl Look {
    pub(super) fn new(format: Format, shape: Shape) -> Look {
        Look {
            format,
            shape,
            times: false,
            parts_of_seconds: false,
            handlers: false,
            contexts: false,
            files: false,
            sizes: false,
            ranges: false,
            ends: HashMap::new(),
        }
    }

    pub(super) fn at(&mut self, requests: &[Request]) {
        if self.format == Format::Parquet {
            return;
        }
        for request in requests {
            self.times |= request.at.0 > 0;
            self.parts_of_seconds |= !request.at.0.is_multiple_of(SECOND);
            self.handlers |= request.handler != 0;
            self.contexts |= request.context != 0;
            self.sizes |= request.len != 1;
            if let Shape::Ranges { block_bytes } = self.shape {
                self.files |= request.file != 0;
                self.ranges |= request.len != block_bytes || !request.offset.is_multiple_of(u64::from(block_bytes));
                let end = self.ends.entry(request.file).or_default();
                *end = (*end).max(request.offset.saturating_add(u64::from(request.len)));
            }
        }
    }

    /// The parts that are lost, a few words each.
    pub(super) fn lost(&self, about: &dyn Source) -> Vec<String> {
        let mut lost = Vec::new();
        if self.format == Format::Parquet {
            return lost;
        }
        if self.format != Format::Csv {
            self.lost_of_requests(&mut lost);
        }
        let files = about.files();
        let end = |file: u64| self.ends.get(&file).copied().unwrap_or(0);
        let longer = files.iter().filter(|file| file.bytes.is_some_and(|bytes| bytes > end(file.file))).count();
        let named = files.iter().filter(|file| file.name.is_some()).count();
        let counted = |many: usize, what: &str| (many > 0).then(|| format!("{what} of {many} files"));
        lost.extend(counted(longer, "the sizes"));
        lost.extend(counted(named, "the names"));
        if !about.contexts().is_empty() {
            lost.push("the call stacks of program contexts".to_owned());
        }
        match self.shape {
            // CSV and the numbers of blocks are read as blocks of a page.
            Shape::Ranges { block_bytes } if block_bytes != 4096 => {
                lost.push(format!("the size of its blocks, {block_bytes} bytes"));
            }
            _ => {}
        }
        lost
    }

    /// Those that a request has in the other formats: a number alone, with a time in seconds and a
    /// size in oracleGeneral.
    fn lost_of_requests(&self, lost: &mut Vec<String>) {
        let oracle = self.format == Format::OracleGeneral;
        let objects = self.shape == Shape::Objects;
        let parts = [
            (self.times && !oracle, "the times of requests"),
            (self.parts_of_seconds && oracle, "the fractions of seconds"),
            (self.handlers, "handlers"),
            (self.contexts, "program contexts"),
            (self.sizes && objects && !oracle, "the sizes of objects"),
            (self.ranges && !objects, "where a request begins and ends within blocks"),
            (self.files && !objects, "which file a block is of"),
        ];
        lost.extend(parts.into_iter().filter(|(is_lost, _)| *is_lost).map(|(_, part)| part.to_owned()));
    }
}
