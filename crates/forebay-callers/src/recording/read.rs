//! The readers' half of a recording: all logs of a folder, as one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::slot::{BYTES, FILE, Kind, MAGIC, PIECE, Subject, WORDS};
use crate::text::name;
use crate::{Context, Error, Program};

/// A call that a program made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Call {
    /// When it began, nanoseconds of the monotonic clock.
    pub at: u64,
    /// The process.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
    /// The context; 0: unknown.
    pub context: u64,
    /// The file, by its place in [`Recording::files`].
    pub file: usize,
    /// The place in the file, bytes.
    pub offset: u64,
    /// How many bytes were read, mapped or written.
    pub len: u64,
    /// The kind of call.
    pub kind: Kind,
}

/// A file that programs called for. Device, inode and time of birth tell files apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its path when it was first seen; empty if unknown.
    pub path: PathBuf,
    /// The device that it is on.
    pub dev: u64,
    /// Its inode.
    pub ino: u64,
    /// The longest it was seen or used, bytes.
    pub size: u64,
}

/// A recording that was read.
#[derive(Debug, Default)]
pub struct Recording {
    calls: Vec<Call>,
    files: Vec<File>,
    contexts: BTreeMap<u64, Context>,
    programs: Vec<(u32, Program)>,
    known: BTreeMap<(u64, u64, u64), usize>,
}

/// Pieces of a text, each with its place in the row.
type Pieces = Vec<(u32, Vec<u8>)>;

/// The files and names of one log, by the process's own numbers.
#[derive(Default)]
struct Log {
    files: BTreeMap<u64, (u64, u64, u64, u64)>,
    texts: BTreeMap<(Subject, u64), Pieces>,
}

impl Recording {
    /// Reads all logs in `folder`.
    ///
    /// # Errors
    /// If the folder or a log can't be read, or a file `*.calls` is no log. A log that ends early,
    /// or has unfinished slots, is read as far as it goes.
    pub fn open(folder: &Path) -> Result<Recording, Error> {
        let entries = std::fs::read_dir(folder).and_then(|entries| entries.collect::<Result<Vec<_>, _>>());
        let entries = entries.map_err(|error| Error::system("read", folder, error))?;
        let mut paths: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "calls"));
        paths.sort();
        let mut recording = Recording::default();
        for path in paths {
            let bytes = std::fs::read(&path).map_err(|error| Error::system("read", &path, error))?;
            recording.log(&bytes).ok_or(Error::Form { path, wanted: "a log of calls" })?;
        }
        recording.calls.sort();
        recording.order();
        Ok(recording)
    }

    /// Numbers files in the order in which they were first called for.
    fn order(&mut self) {
        let mut order = Vec::with_capacity(self.files.len());
        let mut places = vec![None; self.files.len()];
        for file in self.calls.iter().map(|call| call.file).chain(0..self.files.len()) {
            if places[file].is_none() {
                places[file] = Some(order.len());
                order.push(file);
            }
        }
        self.calls.iter_mut().for_each(|call| call.file = places[call.file].unwrap_or_default());
        self.files = order.into_iter().map(|file| self.files[file].clone()).collect();
    }

    /// Takes in one log; `None` if it is none. One that was cut off before its first slot is empty.
    fn log(&mut self, bytes: &[u8]) -> Option<()> {
        let mut slots = bytes.chunks_exact(BYTES).map(|slot| -> [u64; WORDS] {
            std::array::from_fn(|word| u64::from_le_bytes(std::array::from_fn(|byte| slot[word * 8 + byte])))
        });
        let pid = match slots.next() {
            None | Some([0, ..]) => return Some(()),
            Some([MAGIC, pid, ..]) => u32::try_from(pid).ok()?,
            Some(_) => return None,
        };
        let (mut log, mut calls) = (Log::default(), Vec::new());
        for [head, a, b, c, d, e] in slots {
            match head as u8 {
                FILE => drop(log.files.insert(a, (b, c, e, d))),
                PIECE => {
                    let Some(subject) = Subject::of((head >> 8) as u8) else { continue };
                    let text: Vec<u8> = [b, c, d, e].iter().flat_map(|word| word.to_le_bytes()).collect();
                    let text = text[..text.len().min((head >> 16) as usize & 0xff)].to_vec();
                    log.texts.entry((subject, a)).or_default().push(((head >> 32) as u32, text));
                }
                kind => {
                    let Some(kind) = Kind::of(kind) else { continue };
                    let tid = (head >> 32) as u32;
                    // Until all logs are read, `file` is the process's own number.
                    calls.push(Call { at: a, pid, tid, context: b, file: c as usize, offset: d, len: e, kind });
                }
            }
        }
        self.take(pid, &log, calls);
        Some(())
    }

    fn take(&mut self, pid: u32, log: &Log, calls: Vec<Call>) {
        let program = log.text(Subject::Program, 0);
        let (path, build) = program.split_once('\t').unwrap_or_default();
        let program = Program { path: name(path).unwrap_or_default(), build: name(build).unwrap_or_default() };
        self.programs.push((pid, program));
        for (subject, number) in log.texts.keys().filter(|(subject, _)| *subject == Subject::Context) {
            let context = Context::parse(log.text(*subject, *number).trim_end());
            self.contexts.extend(context.filter(|context| context.id == *number).map(|context| (*number, context)));
        }
        let mut numbers = BTreeMap::new();
        for (number, (dev, ino, born, size)) in &log.files {
            let index = *self.known.entry((*dev, *ino, *born)).or_insert(self.files.len());
            if index == self.files.len() {
                let path = log.bytes(Subject::File, *number);
                self.files.push(File { path: path_of(path), dev: *dev, ino: *ino, size: 0 });
            }
            let file = &mut self.files[index];
            file.size = file.size.max(*size);
            numbers.insert(*number as usize, index);
        }
        for call in calls {
            // A call for a file that the log does not describe: the description was torn.
            let Some(&file) = numbers.get(&call.file) else { continue };
            if call.kind != Kind::Mmap {
                self.files[file].size = self.files[file].size.max(call.offset.saturating_add(call.len));
            }
            self.calls.push(Call { file, ..call });
        }
    }

    /// All calls of all processes, by time.
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// All files, in the order in which they were first called for; a call names one by its place
    /// here.
    pub fn files(&self) -> &[File] {
        &self.files
    }

    /// The contexts, by id.
    pub fn contexts(&self) -> impl Iterator<Item = &Context> {
        self.contexts.values()
    }

    /// The context of `id`.
    pub fn context(&self, id: u64) -> Option<&Context> {
        self.contexts.get(&id)
    }

    /// The programs that recorded, by process, a line for each log: a process that executes another
    /// program has two.
    pub fn programs(&self) -> &[(u32, Program)] {
        &self.programs
    }
}

impl Log {
    /// All pieces of a text in their order.
    fn bytes(&self, subject: Subject, number: u64) -> Vec<u8> {
        let mut pieces = self.texts.get(&(subject, number)).cloned().unwrap_or_default();
        pieces.sort();
        pieces.dedup_by_key(|(index, _)| *index);
        pieces.into_iter().flat_map(|(_, text)| text).collect()
    }

    fn text(&self, subject: Subject, number: u64) -> String {
        String::from_utf8_lossy(&self.bytes(subject, number)).into_owned()
    }
}

/// A path as bytes, without the kernel's note that the file was removed.
fn path_of(bytes: Vec<u8>) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;
    let len = bytes.strip_suffix(b" (deleted)").map_or(bytes.len(), <[u8]>::len);
    PathBuf::from(std::ffi::OsString::from_vec(bytes[..len].to_vec()))
}
