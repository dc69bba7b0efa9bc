//! A tree of odd files: those that a file system allows and programs forget.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// The block size that sizes are odd against.
pub const BLOCK: usize = 4096;

/// The length of the sparse file: more than 32 bits can count.
pub const SPARSE: u64 = (4 << 30) + 12_345;

/// An extended attribute that `attributed` has, if the file system takes it: name and value.
pub const ATTRIBUTE: (&str, &[u8]) = ("user.forebay", b"an\0odd value");

/// A tree of odd files in a temporary folder, with a file beside it that must never be reached.
/// Gone when dropped.
pub struct OddTree {
    folder: tempfile::TempDir,
    /// Regular files that are not empty, relative to [`OddTree::root`].
    pub files: Vec<PathBuf>,
    /// Folders, without the root.
    pub folders: Vec<PathBuf>,
    /// Symbolic links that stay inside.
    pub links: Vec<PathBuf>,
    /// Symbolic links that lead out.
    pub escapes: Vec<PathBuf>,
    /// Whether `attributed` has its [`ATTRIBUTE`].
    pub attributes: bool,
}

/// `len` bytes that differ from place to place and from seed to seed: no block of a file equals
/// another.
pub fn content(seed: u64, len: usize) -> Vec<u8> {
    let words = (0..len.div_ceil(8) as u64).flat_map(|word| mix(seed.wrapping_mul(0x9E37_79B9) ^ word).to_le_bytes());
    words.take(len).collect()
}

/// The finaliser of SplitMix64: a bijection that spreads every bit.
fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

impl OddTree {
    /// Makes the tree. `seed` decides the contents.
    pub fn new(seed: u64) -> io::Result<OddTree> {
        let folder = tempfile::Builder::new().prefix("forebay-odd-").tempdir()?;
        fs::create_dir(folder.path().join("root"))?;
        fs::write(folder.path().join("secret"), "must not be reached")?;
        let (files, folders, links, escapes) = Default::default();
        let mut tree = OddTree { folder, files, folders, links, escapes, attributes: false };
        tree.sizes(seed)?;
        tree.names(seed)?;
        tree.symlinks()?;
        tree.specials()?;
        Ok(tree)
    }

    /// The folder to mount.
    pub fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    fn file(&mut self, name: impl AsRef<Path>, bytes: &[u8]) -> io::Result<()> {
        fs::write(self.root().join(&name), bytes)?;
        self.files.push(name.as_ref().to_path_buf());
        Ok(())
    }

    fn folder(&mut self, name: impl AsRef<Path>) -> io::Result<()> {
        fs::create_dir(self.root().join(&name))?;
        self.folders.push(name.as_ref().to_path_buf());
        Ok(())
    }

    fn sizes(&mut self, seed: u64) -> io::Result<()> {
        for (i, len) in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 7, 5 << 20].into_iter().enumerate() {
            self.file(format!("bytes-{len}"), &content(seed + i as u64, len))?;
        }
        let mut sparse = fs::File::create(self.root().join("sparse"))?;
        for offset in [1 << 20, (4 << 30) - 5, SPARSE - 100] {
            sparse.seek(SeekFrom::Start(offset))?;
            sparse.write_all(&content(seed ^ offset, 100))?;
        }
        self.files.push("sparse".into());
        Ok(())
    }

    fn names(&mut self, seed: u64) -> io::Result<()> {
        for (i, name) in ["with space", "new\nline", "ünïcödé 名前", "-rf", "a=b", "per%20cent #?&+", "quote\"'\\"]
            .iter()
            .enumerate()
        {
            self.file(name, &content(seed + 100 + i as u64, 100 + i))?;
        }
        self.file(Path::new(OsStr::from_bytes(b"not-\xff\xfe-utf8")), &content(seed + 200, 5000))?;
        self.file("n".repeat(255), &content(seed + 201, 300))?;
        let mut deep = PathBuf::new();
        for level in 0..40 {
            deep.push(format!("level{level}"));
            self.folder(&deep)?;
        }
        self.file(deep.join("bottom"), &content(seed + 202, 10_000))?;
        self.folder("empty folder")?;
        self.folder(Path::new(OsStr::from_bytes(b"folder-\xff")))?;
        self.file(Path::new(OsStr::from_bytes(b"folder-\xff/inside")), &content(seed + 203, 70))
    }

    fn symlinks(&mut self) -> io::Result<()> {
        let root = self.root();
        let inside = [
            ("link", PathBuf::from("bytes-1")),
            ("level0/up", PathBuf::from("../bytes-4096")),
            ("to folder", PathBuf::from("level0/level1")),
            ("absolute", root.join("bytes-4097")),
            ("level0/absolute", root.join("level0/level1")),
            ("dangling", PathBuf::from("nothing/here")),
            ("loop", PathBuf::from("loop")),
            ("winding", PathBuf::from("level0/../bytes-1")),
        ];
        for (name, target) in inside {
            symlink(target, root.join(name))?;
            self.links.push(name.into());
        }
        // `up-two/..` looks as if it stayed where it is, and leads out, because `up-two` is the
        // root itself.
        symlink("../..", root.join("level0/level1/up-two"))?;
        self.links.push("level0/level1/up-two".into());
        let outside = [
            ("out", PathBuf::from("../secret")),
            ("out absolute", self.folder.path().join("secret")),
            ("level0/out", PathBuf::from("../../secret")),
            ("etc", PathBuf::from("/etc/passwd")),
            ("level0/level1/out by link", PathBuf::from("up-two/../secret")),
            ("out through itself", root.join("../secret")),
        ];
        for (name, target) in outside {
            symlink(target, root.join(name))?;
            self.escapes.push(name.into());
        }
        Ok(())
    }

    fn specials(&mut self) -> io::Result<()> {
        self.file("unreadable", b"for root's eyes only")?;
        fs::set_permissions(self.root().join("unreadable"), fs::Permissions::from_mode(0o000))?;
        self.file("attributed", b"has an attribute")?;
        let (name, value) = ATTRIBUTE;
        let set = rustix::fs::setxattr(self.root().join("attributed"), name, value, rustix::fs::XattrFlags::empty());
        self.attributes = set.is_ok();
        let mode = rustix::fs::Mode::from_raw_mode(0o644);
        rustix::fs::mkfifoat(rustix::fs::CWD, self.root().join("pipe"), mode)?;
        Ok(())
    }
}
