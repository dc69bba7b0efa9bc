//! Whether two looks at a name find the same file.

use std::hash::{DefaultHasher, Hash, Hasher};

use forebay_source::{self as source, Attributes, Identity, Inode, Kind, Name};

/// The properties that must stay equal for a name to keep its node id, in 16 bytes: the kernel may
/// hold a hundred thousand names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Sameness {
    pub(super) kind: Kind,
    /// Whether something else may be put in its place: it is one of the files of a file system.
    pub(super) replaceable: bool,
    /// The type bits of its mode: the kernel turns an inode whose type changes into a bad one. Zero
    /// for a file that was listed but not looked up.
    pub(super) format: u16,
    /// A hash. For a regular file, it is of its identity, so that pages that the kernel caches for
    /// an id are of one version of one file. For anything else, it is of its name, since a folder
    /// stays the same when names in it change. Two are taken for one with a chance of 2^-64.
    pub(super) identity: u64,
}

impl Sameness {
    /// From these attributes, in that branch.
    pub(super) fn of(branch: usize, attributes: &Attributes) -> Sameness {
        match attributes.kind {
            Kind::File => Sameness::file(branch, &attributes.identity),
            kind => {
                let name = &attributes.identity.name;
                let (replaceable, identity) = (name.inode() != Inode::NONE, hash(&(branch, name)));
                Sameness { kind, replaceable, format: format_of(attributes.mode), identity }
            }
        }
    }

    /// This version of a regular file.
    pub(super) fn file(branch: usize, of: &Identity) -> Sameness {
        let (replaceable, identity) = (of.name.inode() != Inode::NONE, file_hash(branch, of.fingerprint()));
        Sameness { kind: Kind::File, replaceable, format: format_of(libc::S_IFREG), identity }
    }

    /// The regular file with that hash.
    #[cfg(test)]
    pub(super) fn of_hash(identity: u64) -> Sameness {
        Sameness { kind: Kind::File, replaceable: false, format: format_of(libc::S_IFREG), identity }
    }

    /// From a listing alone.
    pub(super) fn unseen(branch: usize, name: &Name, kind: Kind) -> Sameness {
        let format = match kind {
            Kind::File => 0,
            Kind::Folder => format_of(libc::S_IFDIR),
            Kind::Link => format_of(libc::S_IFLNK),
            Kind::Special => format_of(libc::S_IFIFO),
        };
        Sameness { kind, replaceable: false, format, identity: hash(&(branch, name)) }
    }
}

/// The type bits of a mode, which are among the lower 16.
fn format_of(mode: u32) -> u16 {
    (mode & libc::S_IFMT) as u16
}

/// The identity of a regular file in a [`Sameness`].
pub(super) fn file_hash(branch: usize, of: source::Fingerprint) -> u64 {
    hash(&(branch, of))
}

pub(super) fn hash(what: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}
