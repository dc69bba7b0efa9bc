//! The files that are read: of a folder, or of a source through an engine in this process.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use forebay_core::DeviceId;
use forebay_live::engine::{Engine, OpenFile};
use forebay_source::{self as source, Source};

/// The files of a workload, called by the numbers that its trace gives them. Calls come from many
/// threads.
pub trait Files: Sync {
    /// An open file; dropping it closes it.
    type Open: Send + Sync;
    /// The file's name, for messages.
    fn name(&self, file: u64) -> String;
    /// Opens a file.
    fn open(&self, file: u64) -> io::Result<Self::Open>;
    /// Reads from `offset` on. Returns how many bytes there were; that may be fewer than the buffer
    /// takes, and is none at the end of the file only. `handler` is the task's, as the trace has
    /// it.
    fn read(&self, open: &Self::Open, handler: u32, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;
}

/// The name of a file in its folder: its number.
pub(super) fn name(file: u64) -> String {
    format!("{file:06}")
}

/// Ordinary files in a folder, read with `pread`: of a kernel's file system, or of a mount. The
/// handler is the thread.
#[derive(Clone, Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// A folder that was filled by [`lay`](super::lay), or a mount of one.
    pub fn new(folder: impl AsRef<Path>) -> Folder {
        Folder(folder.as_ref().to_owned())
    }

    fn path(&self, file: u64) -> PathBuf {
        self.0.join(name(file))
    }
}

impl Files for Folder {
    type Open = File;

    fn name(&self, file: u64) -> String {
        self.path(file).display().to_string()
    }

    fn open(&self, file: u64) -> io::Result<File> {
        File::open(self.path(file))
    }

    fn read(&self, open: &File, _handler: u32, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        open.read_at(buffer, offset)
    }
}

/// Files of a source, through an engine in this process: no kernel in between.
#[derive(Clone)]
pub struct InProcess {
    engine: Arc<Engine>,
    source: Arc<dyn Source>,
    device: DeviceId,
}

impl InProcess {
    /// The files at the root of a source, which is `device` to the engine.
    pub fn new(engine: Arc<Engine>, source: Arc<dyn Source>, device: DeviceId) -> InProcess {
        InProcess { engine, source, device }
    }
}

impl Files for InProcess {
    type Open = OpenFile;

    fn name(&self, file: u64) -> String {
        format!("{}/{}", self.source.describe(), name(file))
    }

    fn open(&self, file: u64) -> io::Result<OpenFile> {
        let object = self.source.open(Path::new(&name(file))).map_err(failure)?;
        Ok(self.engine.open(object, self.device))
    }

    fn read(&self, open: &OpenFile, handler: u32, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        open.read(handler, offset, buffer).map_err(failure)
    }
}

/// The error in the words of the source.
fn failure(error: source::Error) -> io::Error {
    io::Error::other(error)
}
