//! The name under which a file's blocks are kept, and the checksum of a piece.
//!
//! A fingerprint is SipHash-2-4 with 128 bits, under the folder's own key, of the identity in one
//! spelling. The spelling is a part of the layout: numbers are little-endian, and strings come
//! behind their length as eight bytes.
//!
//! ```text
//!   1 │ source │ path │ device │ number │ mount │ version      a name of its own
//!   2 │ device │ number │ mount │ version                      an inode with several names
//!
//!   version:  size (8) │ modified (16) │ changed (16) │ 0, or 1 and the tag
//! ```

use std::fmt;
use std::hash::Hasher;
use std::os::unix::ffi::OsStrExt;

use forebay_core::tier::FileKey;
use forebay_source::{Identity, Inode, Name};
use siphasher::sip128::{Hasher128, SipHasher24};

/// The key of a folder: drawn when it was made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key(pub [u8; 16]);

impl Key {
    /// A new one.
    pub fn random() -> Key {
        Key(rand::random())
    }

    /// The fingerprint of a file in the folder of this key.
    pub fn fingerprint(&self, identity: &Identity) -> Fingerprint {
        let mut hasher = SipHasher24::new_with_key(&self.0);
        hasher.write(&spelling(identity));
        Fingerprint(hasher.finish128().as_bytes())
    }
}

/// Secret enough to be left out of messages.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

/// One version of one file, in one folder. Two of them have one fingerprint with a chance of
/// 2^-128.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Fingerprint(pub [u8; 16]);

impl Fingerprint {
    /// The half by which the policy knows the file.
    pub(crate) fn file(&self) -> FileKey {
        FileKey(self.half(0))
    }

    /// The other half, for what is to be independent of the first.
    pub(crate) fn draw(&self) -> u64 {
        self.half(8)
    }

    fn half(&self, from: usize) -> u64 {
        (from..from + 8).rev().fold(0, |number, at| number << 8 | u64::from(self.0[at]))
    }

    /// The checksum of a piece: CRC-32 of fingerprint, first block and bytes. So the bytes of
    /// another file or place fail it as well.
    pub fn sum<'a>(&self, start: u32, bytes: impl Iterator<Item = &'a [u8]>) -> u32 {
        let mut crc = crc32fast::Hasher::new();
        crc.update(&self.0);
        crc.update(&start.to_le_bytes());
        bytes.for_each(|part| crc.update(part));
        crc.finalize()
    }
}

/// Whether an identity stands for the same bytes in another process. A web server without tags and
/// times tells only lengths. Mounts within a source are told apart by numbers, which begin anew
/// when the machine does.
///
/// Known weakness: the same is true of a source's own mount. Another file system may come to its
/// place, with files of the same path, inode, size and times. Images whose times are all set to one
/// are an example.
pub(crate) fn is_lasting(Identity { name, version }: &Identity) -> bool {
    let telling = version.tag.is_some() || version.modified != 0 || version.changed != 0;
    telling && name.inode().mount == 0
}

fn spelling(Identity { name, version }: &Identity) -> Vec<u8> {
    let mut out = Vec::with_capacity(256);
    match name {
        Name::Path { source, path, inode } => {
            out.push(1);
            spell(&mut out, source.as_bytes());
            spell(&mut out, path.as_os_str().as_bytes());
            spell_inode(&mut out, inode);
        }
        Name::Linked(inode) => {
            out.push(2);
            spell_inode(&mut out, inode);
        }
    }
    out.extend(version.size.to_le_bytes());
    out.extend(version.modified.to_le_bytes());
    out.extend(version.changed.to_le_bytes());
    out.push(version.tag.is_some().into());
    if let Some(tag) = &version.tag {
        spell(&mut out, tag.as_bytes());
    }
    out
}

fn spell(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend((bytes.len() as u64).to_le_bytes());
    out.extend(bytes);
}

fn spell_inode(out: &mut Vec<u8>, Inode { device, number, mount }: &Inode) {
    [device, number, mount].iter().for_each(|number| out.extend(number.to_le_bytes()));
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use forebay_source::Version;
    use proptest::prelude::*;

    use super::*;

    fn identity(source: &str, path: &str, tag: Option<&str>) -> Identity {
        let source: Arc<str> = source.into();
        let version = Version { size: 5, modified: 7, changed: 0, tag: tag.map(Into::into) };
        Identity { name: Name::path(&source, Path::new(path)), version }
    }

    /// Folders outlive releases: no number here may change within a version of the layout.
    #[test]
    fn fingerprints_and_sums_are_pinned() {
        let key = Key(std::array::from_fn(|at| at as u8));
        let one = key.fingerprint(&identity("s3://bucket", "a/b", Some("\"t\"")));
        assert_eq!(format!("{:032x}", u128::from_be_bytes(one.0)), "f59a7fc7eeaf4b22ae8dcdf80acd5576");
        assert_eq!(one.sum(3, [&[1u8; 4096][..]].into_iter()), 389_109_217);
        let inode = Inode { device: 1, number: 2, mount: 3 };
        let linked = Identity { name: Name::Linked(inode), version: Version::default() };
        let linked = key.fingerprint(&linked);
        assert_eq!(format!("{:032x}", u128::from_be_bytes(linked.0)), "c0b636b408634fdbe364bc8cf6bb1675");
    }

    #[test]
    fn identities_that_last() {
        assert!(is_lasting(&identity("http://a", "b", None)), "by its time");
        let version = Version { size: 5, ..Version::default() };
        let mut identity = Identity { version, ..identity("http://a", "b", None) };
        assert!(!is_lasting(&identity));
        identity.version.tag = Some("t".into());
        assert!(is_lasting(&identity));
        identity.name = Name::Linked(Inode { device: 1, number: 2, mount: 3 });
        assert!(!is_lasting(&identity));
    }

    proptest! {
        /// No two identities are spelled alike.
        #[test]
        fn spellings_differ(
            one in ("[ab]{0,3}", "[ab]{0,3}", proptest::option::of("[ab]{0,2}")),
            other in ("[ab]{0,3}", "[ab]{0,3}", proptest::option::of("[ab]{0,2}")),
        ) {
            let of = |(source, path, tag): &(String, String, Option<String>)| spelling(&identity(source, path, tag.as_deref()));
            prop_assert_eq!(one == other, of(&one) == of(&other));
        }
    }
}
