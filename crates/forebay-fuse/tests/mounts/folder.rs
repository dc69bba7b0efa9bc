//! A folder as a source, written as plainly as possible: the mount tests compare the mount with it.
//! It opens files by their whole path, does not check links that lead out, and reads each fetch on
//! a thread of its own.

use std::ffi::{CString, OsStr, OsString};
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirEntryExt, FileExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use forebay_source::{
    Attributes, Entry, Error, Fetch, Identity, Inode, Kind, Listed, Listing, Name, Object, Result, Source, Space, Then,
    Version,
};

/// A folder of the machine. A name that begins with `broken` answers `EIO` to every look at it. A
/// folder `crowd` has [`CROWD`] names more, which all stand for its file `one`: as many real files
/// would take longer than all other tests.
pub(crate) struct Folder {
    folder: PathBuf,
    address: Arc<str>,
}

/// How many names a folder `crowd` has beside its own: `name 0` and so on.
pub(crate) const CROWD: usize = 100_000;

impl Source for Folder {
    fn describe(&self) -> String {
        self.folder.display().to_string()
    }

    fn address(&self) -> &Arc<str> {
        &self.address
    }

    fn stat_then(&self, path: &Path, then: Then<Attributes>) {
        then(self.found(path));
    }

    fn list_then(&self, path: &Path, then: Then<Listing>) {
        then(self.names(path).map(Listing::from_iter));
    }

    fn open_then(&self, path: &Path, then: Then<Arc<dyn Object>>) {
        then(self.file(path));
    }

    fn listed(&self, folder: &Path, listed: &Listed<'_>) -> Result<Option<Attributes>> {
        self.found(&folder.join(listed.name)).map(Some)
    }

    fn read_link(&self, path: &Path) -> Result<PathBuf> {
        self.at(path).read_link().map_err(|error| failure(path, error))
    }

    fn xattr(&self, path: &Path, name: &OsStr) -> Result<Vec<u8>> {
        let mut value = vec![0; 64 << 10];
        let name = CString::new(name.as_bytes()).map_err(|error| failure(path, error.into()))?;
        let len = rustix::fs::lgetxattr(self.at(path), name, &mut value).map_err(|e| failure(path, e.into()))?;
        value.truncate(len);
        Ok(value)
    }

    fn xattrs(&self, path: &Path) -> Result<Vec<OsString>> {
        let mut names = vec![0; 64 << 10];
        let len = rustix::fs::llistxattr(self.at(path), &mut names).map_err(|e| failure(path, e.into()))?;
        let names = names[..len].split(|&byte| byte == 0).filter(|name| !name.is_empty());
        Ok(names.map(|name| OsString::from_vec(name.to_vec())).collect())
    }

    fn space(&self) -> Result<Space> {
        let found = rustix::fs::statvfs(&self.folder).map_err(|e| failure(&self.folder, e.into()))?;
        Ok(Space {
            bytes: found.f_blocks * found.f_frsize,
            bytes_free: found.f_bavail * found.f_frsize,
            names: found.f_files,
            names_free: found.f_favail,
        })
    }
}

impl Folder {
    pub(crate) fn new(folder: impl Into<PathBuf>) -> Folder {
        let folder = folder.into();
        Folder { address: folder.display().to_string().into(), folder }
    }

    fn found(&self, path: &Path) -> Result<Attributes> {
        if path.file_name().is_some_and(|name| name.as_bytes().starts_with(b"broken")) {
            return Err(Error::Storage { name: path.display().to_string(), reason: "broken on purpose".into() });
        }
        let found = self.at(path).symlink_metadata().map_err(|error| failure(path, error))?;
        Ok(Attributes {
            kind: kind(found.file_type()),
            size: found.len(),
            allocated: found.blocks() * 512,
            mode: found.mode(),
            uid: found.uid(),
            gid: found.gid(),
            links: found.nlink() as u32,
            rdev: found.rdev(),
            accessed: found.accessed().map_err(|error| failure(path, error))?,
            modified: found.modified().map_err(|error| failure(path, error))?,
            changed: std::time::UNIX_EPOCH + std::time::Duration::new(found.ctime() as u64, found.ctime_nsec() as u32),
            inode: found.ino(),
            identity: self.identity(path, &found),
            told: None,
        })
    }

    fn names(&self, path: &Path) -> Result<Vec<Entry>> {
        let entries = self.at(path).read_dir().map_err(|error| failure(path, error))?;
        let entry = |entry: io::Result<std::fs::DirEntry>| {
            let entry = entry?;
            Ok(Entry { name: entry.file_name(), kind: kind(entry.file_type()?), inode: entry.ino(), facts: None })
        };
        let mut all: Vec<_> = entries.map(entry).collect::<io::Result<_>>().map_err(|error| failure(path, error))?;
        if path.file_name().is_some_and(|name| name == "crowd") {
            let name =
                |number| Entry { name: format!("name {number}").into(), kind: Kind::File, inode: 7, facts: None };
            all.extend((0..CROWD).map(name));
        }
        Ok(all)
    }

    fn file(&self, path: &Path) -> Result<Arc<dyn Object>> {
        let file = File::open(self.at(path)).map_err(|error| failure(path, error))?;
        let identity = self.identity(path, &file.metadata().map_err(|error| failure(path, error))?);
        Ok(Arc::new(Opened { file: Arc::new(file), identity, path: path.into() }))
    }
    fn identity(&self, path: &Path, of: &Metadata) -> Identity {
        let inode = Inode { device: of.dev(), number: of.ino(), mount: 0 };
        let linked = of.nlink() > 1 && of.is_file();
        let name = if linked { Name::Linked(inode) } else { Name::path(&self.address, path) };
        Identity { name, version: version(of) }
    }

    fn at(&self, path: &Path) -> PathBuf {
        match path.parent() {
            Some(parent) if parent.file_name().is_some_and(|name| name == "crowd") => {
                self.folder.join(parent).join("one")
            }
            _ => self.folder.join(path),
        }
    }
}

struct Opened {
    file: Arc<File>,
    identity: Identity,
    path: PathBuf,
}

impl Object for Opened {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn fetch(&self, mut fetch: Fetch) {
        let (file, expected, path) = (Arc::clone(&self.file), self.version().clone(), self.path.clone());
        std::thread::spawn(move || {
            let mut bytes = vec![0; fetch.len];
            let read = file.read_exact_at(&mut bytes, fetch.offset).and_then(|()| file.metadata());
            let outcome = match read {
                Ok(found) if version(&found) == expected => {
                    fetch.buffer.write(0, &bytes);
                    Ok(())
                }
                Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => Err(failure(&path, error)),
                _ => Err(Error::Stale(path.display().to_string())),
            };
            fetch.finish(outcome);
        });
    }
}

fn version(of: &Metadata) -> Version {
    let nanos = |seconds: i64, nanos: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
    Version {
        size: of.len(),
        modified: nanos(of.mtime(), of.mtime_nsec()),
        changed: nanos(of.ctime(), of.ctime_nsec()),
        tag: None,
    }
}

fn kind(of: std::fs::FileType) -> Kind {
    match of {
        of if of.is_dir() => Kind::Folder,
        of if of.is_symlink() => Kind::Link,
        of if of.is_fifo() || of.is_socket() || of.is_block_device() || of.is_char_device() => Kind::Special,
        _ => Kind::File,
    }
}

fn failure(path: &Path, error: io::Error) -> Error {
    let name = path.display().to_string();
    match error.kind() {
        io::ErrorKind::NotFound => Error::NotFound(name),
        io::ErrorKind::PermissionDenied => Error::Denied(name),
        _ => Error::Refused { name, errno: error.raw_os_error().unwrap_or(libc::EIO) },
    }
}
