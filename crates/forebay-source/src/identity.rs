//! The file that a cached block belongs to: (source, name, version), beside its place in the file.
//!
//! A version alone identifies nothing. An entity tag is unique for one name of one server, an inode
//! number within one file system. Two names of one version are two files, unless their source
//! vouches that they are one: [`Name::Linked`].

use std::fmt;
use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher, RandomState};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use twox_hash::XxHash64;

/// One version of one file. Equal identities have equal bytes, and only equal identities share
/// blocks.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Identity {
    /// Which file.
    pub name: Name,
    /// Which version of it.
    pub version: Version,
}

impl Identity {
    /// The identity in 16 bytes, however long its path is.
    pub fn fingerprint(&self) -> Fingerprint {
        static KEYS: LazyLock<RandomState> = LazyLock::new(RandomState::new);
        let mut fixed = DefaultHasher::new();
        self.hash(&mut fixed);
        Fingerprint { fixed: fixed.finish(), keyed: KEYS.hash_one(self) }
    }
}

/// An identity, hashed: for tables of many files. Two identities have one fingerprint with a chance
/// of 2^-128. An attacker cannot search for two such: half of it is hashed with keys of the
/// process.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Fingerprint {
    /// The same in every process.
    pub fixed: u64,
    keyed: u64,
}

/// Tells a file from all others, whatever its version.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Name {
    /// A name of its own: nothing else is this file.
    Path {
        /// The address of the source ([`Source::address`](super::Source::address)).
        source: Arc<str>,
        /// The path in the source.
        path: Arc<Path>,
        /// The file's inode, so that a file that replaces another is a different one;
        /// [`Inode::NONE`] where there is none.
        inode: Inode,
    },
    /// A regular file that has several names. The file system vouches that all of them are this
    /// inode.
    Linked(Inode),
}

impl Name {
    /// A name of a source without inodes.
    pub fn path(source: &Arc<str>, path: &Path) -> Name {
        Name::Path { source: Arc::clone(source), path: path.into(), inode: Inode::NONE }
    }

    /// The inode number to show where the source has none of its own.
    pub fn number(&self) -> u64 {
        match self {
            Name::Path { source, path, .. } => inode_number(source, path),
            Name::Linked(inode) => foreign_number(*inode),
        }
    }

    /// Its inode, or [`Inode::NONE`].
    pub fn inode(&self) -> Inode {
        match self {
            Name::Path { inode, .. } | Name::Linked(inode) => *inode,
        }
    }
}

/// For messages: the path in the source.
impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Name::Path { path, .. } => write!(f, "{}", path.display()),
            Name::Linked(Inode { device, number, .. }) => write!(f, "inode {number} of device {device}"),
        }
    }
}

/// An inode of a file system of this machine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Inode {
    /// The file system, as `st_dev`.
    pub device: u64,
    /// The inode number within it.
    pub number: u64,
    /// The number of the mount, if the mount may be taken off: the next one at its place may have
    /// the same device number, and files of the same numbers and times. Zero for the source's own.
    pub mount: u64,
}

impl Inode {
    /// For files without an inode.
    pub const NONE: Inode = Inode { device: 0, number: 0, mount: 0 };
}

/// One version of a file: tells it from the file's other versions only.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Version {
    /// Bytes.
    pub size: u64,
    /// Modification time in nanoseconds since the epoch.
    pub modified: i128,
    /// Inode change time in nanoseconds since the epoch; zero where there is none.
    pub changed: i128,
    /// Entity tag of an object store or a web server.
    pub tag: Option<Box<str>>,
}

impl fmt::Display for Version {
    /// A short text that is the same for the same version, in every release.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Version { size, modified, changed, tag } = self;
        write!(f, "{size:x}-{modified:x}-{changed:x}")?;
        tag.iter().try_for_each(|tag| write!(f, "-{:x}", XxHash64::oneshot(0, tag.as_bytes())))
    }
}

/// The inode number to show for a name that has none of its own: a hash of the source and the path,
/// hence the same in every mount. Two names of a million have one number with a chance of 3 in 10⁸.
pub fn inode_number(source: &str, path: &Path) -> u64 {
    let mut hasher = XxHash64::with_seed(0);
    hasher.write(source.as_bytes());
    // No address and no path holds a zero, so no two pairs have one spelling.
    hasher.write(&[0]);
    hasher.write(path.as_os_str().as_bytes());
    hasher.finish()
}

/// The inode number to show for an inode of another file system than the source's own. It stays
/// while the file system keeps its device number.
pub fn foreign_number(inode: Inode) -> u64 {
    let mut hasher = XxHash64::with_seed(inode.device);
    hasher.write(&inode.number.to_le_bytes());
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    /// The numbers are kept by others (archives, indexes of version control), so they must not
    /// change from release to release.
    #[test]
    fn numbers_are_pinned() {
        assert_eq!(inode_number("s3://bucket", Path::new("a/b")), 11_609_130_053_559_830_989);
        assert_eq!(foreign_number(Inode { device: 7, number: 12, mount: 0 }), 16_972_025_565_553_638_518);
        assert_ne!(inode_number("ab", Path::new("c")), inode_number("a", Path::new("bc")));
    }

    #[test]
    fn versions_are_shown_shortly() {
        let version = Version { size: 255, modified: 1 << 60, changed: 0, tag: None };
        assert_eq!(version.to_string(), "ff-1000000000000000-0");
        let tagged = |tag: &str| Version { tag: Some(tag.into()), ..version.clone() }.to_string();
        assert_eq!(tagged("\"t\""), "ff-1000000000000000-0-b5c81cd86e5e9583");
        assert_ne!(tagged("a"), tagged("b"));
    }

    #[test]
    fn names_of_one_version_are_told_apart() {
        let version = Version { size: 5, tag: Some("\"t\"".into()), ..Version::default() };
        let (one, other): (Arc<str>, Arc<str>) = ("http://a".into(), "http://b".into());
        let of = |source, path: &str| Identity { name: Name::path(source, Path::new(path)), version: version.clone() };
        assert_ne!(of(&one, "x"), of(&one, "y"));
        assert_ne!(of(&one, "x"), of(&other, "x"));
        assert_eq!(of(&one, "x"), of(&one, "x"));
        let linked = |device| Name::Linked(Inode { device, number: 12, mount: 0 });
        assert_ne!(linked(1), linked(2));
        assert_eq!(of(&one, "x").name.to_string(), "x");
        assert_eq!(linked(1).to_string(), "inode 12 of device 1");
    }
}
