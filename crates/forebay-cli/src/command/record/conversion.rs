//! From recorded calls to the requests of a trace.
//!
//! Times count from the first call that is kept. Files, threads and contexts are numbered in the
//! order of their first call. The kind of a file is read from its path after the program has ended.
//! A path that is no regular file then (a device, a pipe, something in `/proc`) is left out. A path
//! that is gone then counts as a regular file.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;
use std::path::{Path, PathBuf};

use forebay_callers::{Call, File, Kind, Recording};
use forebay_core::Instant;
use forebay_trace::{BATCH, ContextInfo, Error, FileInfo, Operation, Request, Shape, Source};

use super::Recorded;
use crate::options::{Mapped, Record};

/// The block that the trace suggests.
const BLOCK: u32 = 4096;

/// The longest request, bytes; longer calls become several requests.
const LONGEST: u64 = 1 << 30;

/// The requests that stand in for a mapping: the kernel's usual read-ahead.
const WINDOW: u64 = 128 << 10;

/// Filesystems without regular files are mounted here.
const SPECIAL: [&str; 3] = ["/proc", "/sys", "/dev"];

/// The folders whose files are kept.
#[derive(Debug)]
pub(super) struct Folders(Vec<PathBuf>);

impl Folders {
    /// The folders of `--only`, without links, as the kernel names files. An empty list means all
    /// files.
    pub(super) fn new(only: &[PathBuf]) -> Result<Folders, String> {
        let one = |folder: &PathBuf| match folder.canonicalize() {
            Ok(path) if path.is_dir() => Ok(path),
            Ok(_) => Err(format!("--only {}: not a folder", folder.display())),
            Err(error) => Err(format!("--only {}: {error}", folder.display())),
        };
        only.iter().map(one).collect::<Result<_, _>>().map(Folders)
    }

    /// The file's name in the trace; `None` if it is not kept.
    fn name(&self, path: &Path) -> Option<String> {
        if self.0.is_empty() {
            return Some(path.display().to_string());
        }
        let inside = |folder: &PathBuf| {
            let above = folder.parent().unwrap_or(folder);
            path.strip_prefix(folder)
                .ok()
                .and_then(|_| path.strip_prefix(above).ok())
                .map(|name| name.display().to_string())
        };
        self.0.iter().find_map(inside)
    }
}

/// Numbers things in the order of their first appearance.
#[derive(Debug)]
struct Numbers<K> {
    known: BTreeMap<K, u32>,
    next: u32,
}

impl<K: Ord + Copy> Numbers<K> {
    fn from(first: u32) -> Numbers<K> {
        Numbers { known: BTreeMap::new(), next: first }
    }

    fn of(&mut self, key: K) -> u32 {
        match self.known.entry(key) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(place) => {
                self.next += 1;
                *place.insert(self.next - 1)
            }
        }
    }
}

/// A recording on its way to a trace.
pub(super) struct Conversion<'a> {
    recording: &'a Recording,
    mapped: Mapped,
    writes: bool,
    /// The name of each file of the recording; `None` if it is not kept.
    names: Vec<Option<String>>,
    next: usize,
    began: Option<u64>,
    files: Numbers<usize>,
    threads: Numbers<(u32, u32)>,
    contexts: Numbers<u64>,
    origin: String,
    reads: u64,
    written: u64,
    read_bytes: u64,
    mappings: u64,
}

impl<'a> Conversion<'a> {
    /// The conversion of a recording that was made in `folder`.
    pub(super) fn new(
        recording: &'a Recording,
        folders: &Folders,
        folder: &Path,
        options: &Record,
        origin: String,
    ) -> Conversion<'a> {
        let keep = |file: &File| {
            let name = if file.path.as_os_str().is_empty() { None } else { folders.name(&file.path) };
            name.filter(|_| !file.path.starts_with(folder) && is_regular(&file.path))
        };
        Conversion {
            recording,
            mapped: options.mapped,
            writes: !options.reads,
            names: recording.files().iter().map(keep).collect(),
            next: 0,
            began: None,
            files: Numbers::from(0),
            threads: Numbers::from(1),
            contexts: Numbers::from(1),
            origin,
            reads: 0,
            written: 0,
            read_bytes: 0,
            mappings: 0,
        }
    }

    pub(super) fn shape(&self) -> Shape {
        Shape::Ranges { block_bytes: BLOCK }
    }

    /// How many calls have been converted or left out.
    pub(super) fn done(&self) -> u64 {
        self.next as u64
    }

    /// Appends some requests, and returns whether there may be more.
    pub(super) fn next(&mut self, batch: &mut Vec<Request>) -> bool {
        let calls = self.recording.calls();
        let end = calls.len().min(self.next + BATCH);
        for call in &calls[self.next..end] {
            self.convert(call, batch);
        }
        self.next = end;
        !batch.is_empty() || end < calls.len()
    }

    fn convert(&mut self, call: &Call, batch: &mut Vec<Request>) {
        let Some(file) = self.recording.files().get(call.file).filter(|_| self.names[call.file].is_some()) else {
            return;
        };
        let operation = match call.kind {
            Kind::Write if self.writes => Operation::Write,
            kind if kind.reads() => Operation::Read,
            Kind::Mmap if self.mapped == Mapped::Whole => Operation::Read,
            _ => return,
        };
        let mapping = call.kind == Kind::Mmap;
        // A mapping may reach beyond the end of its file.
        let end = call.offset.saturating_add(call.len);
        let end = if mapping { end.min(file.size) } else { end };
        if end <= call.offset {
            return;
        }
        let at = Instant(call.at.saturating_sub(*self.began.get_or_insert(call.at)));
        let handler = self.threads.of((call.pid, call.tid));
        let context = if call.context == 0 { 0 } else { self.contexts.of(call.context) };
        let number = u64::from(self.files.of(call.file));
        let (mut offset, piece) = (call.offset, if mapping { WINDOW } else { LONGEST });
        while offset < end {
            let len = (end - offset).min(piece) as u32;
            batch.push(Request { at, file: number, offset, len, handler, context, operation });
            offset += u64::from(len);
            match operation {
                Operation::Read => self.reads += 1,
                Operation::Write => self.written += 1,
            }
        }
        self.read_bytes += if operation == Operation::Read { end - call.offset } else { 0 };
        self.mappings += u64::from(mapping);
    }

    /// The trace's facts besides its requests, once all requests are written.
    pub(super) fn told(&self) -> Told {
        let mut files: Vec<FileInfo> =
            self.files.known.iter().map(|(&file, &number)| self.file(file, number)).collect();
        files.sort_by_key(|info| info.file);
        let mut contexts: Vec<ContextInfo> =
            self.contexts.known.iter().map(|(&id, &number)| self.context(id, number)).collect();
        contexts.sort_by_key(|info| info.context);
        Told { files, contexts, origin: self.origin.clone() }
    }

    fn file(&self, file: usize, number: u32) -> FileInfo {
        let bytes = self.recording.files().get(file).map(|file| file.size);
        FileInfo { file: number.into(), name: self.names[file].clone(), bytes }
    }

    fn context(&self, id: u64, number: u32) -> ContextInfo {
        let Some(context) = self.recording.context(id) else {
            return ContextInfo { context: number, id, ..ContextInfo::default() };
        };
        let program = &context.program;
        let frames = context.frames.iter().map(|frame| forebay_live::contexts::place(frame, &program.path)).collect();
        ContextInfo { context: number, id, program: program.path.clone(), build: program.build.clone(), frames }
    }

    /// The counts; the caller fills in the rest.
    pub(super) fn recorded(&self) -> Recorded {
        Recorded {
            output: String::new(),
            requests: 0,
            reads: self.reads,
            writes: self.written,
            read_bytes: self.read_bytes,
            mapped: self.mappings,
            files: self.files.known.len() as u64,
            contexts: self.contexts.known.len() as u64,
            handlers: self.threads.known.len() as u64,
            programs: 0,
            seconds: 0.0,
            status: 0,
        }
    }
}

fn is_regular(path: &Path) -> bool {
    if !path.is_absolute() || SPECIAL.iter().any(|special| path.starts_with(special)) {
        return false;
    }
    match std::fs::symlink_metadata(path) {
        Ok(about) => about.is_file(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// A trace's facts besides its requests.
pub(super) struct Told {
    files: Vec<FileInfo>,
    contexts: Vec<ContextInfo>,
    origin: String,
}

impl Source for Told {
    fn read(&mut self, _batch: &mut Vec<Request>) -> Result<usize, Error> {
        Ok(0)
    }

    fn shape(&self) -> Shape {
        Shape::Ranges { block_bytes: BLOCK }
    }

    fn progress(&self) -> (u64, u64) {
        (0, 0)
    }

    fn files(&self) -> Vec<FileInfo> {
        self.files.clone()
    }

    fn contexts(&self) -> Vec<ContextInfo> {
        self.contexts.clone()
    }

    fn origin(&self) -> Option<String> {
        Some(self.origin.clone())
    }
}

#[cfg(test)]
mod tests;
