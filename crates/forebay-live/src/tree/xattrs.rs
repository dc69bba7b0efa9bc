//! Extended attributes: those of the sources, and the mount's own ones of its root.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use forebay_source::Result;

use super::{NodeId, Tree, refused};

/// The extended attribute of a mount's root whose value is [`Tree::stats`]. It is not listed.
pub const STATS_XATTR: &str = "user.forebay.stats";

/// The same for [`Tree::explain`].
pub const EXPLAIN_XATTR: &str = "user.forebay.explain";

/// The same for the path of the socket at which the mount is told lists, if there is one.
pub const SOCKET_XATTR: &str = "user.forebay.socket";

/// The same for the address at which the mount answers with its counters, as a URL, if there is
/// one.
pub const ADDRESS_XATTR: &str = "user.forebay.address";

/// The longest value that the kernel passes through `getxattr`, in bytes (`XATTR_SIZE_MAX`).
pub(super) const XATTR_SIZE_MAX: usize = 64 << 10;

impl Tree {
    /// Says where the mount listens for lists, once.
    pub fn listens_at(&self, socket: PathBuf) {
        // A second call would be a defect of the caller; the first one stands.
        let _ = self.socket.set(socket);
    }

    /// Says at which address, a URL, the mount answers with its counters, once.
    pub fn answers_at(&self, address: String) {
        let _ = self.address.set(address);
    }

    /// The value of an extended attribute.
    pub fn xattr(&self, node: NodeId, name: &OsStr) -> Result<Vec<u8>> {
        if node == NodeId::ROOT
            && let Some(own) = self.own_xattr(name)
        {
            return Ok(own);
        }
        let top = Err(refused(Path::new("/"), libc::ENODATA));
        self.of_node(node, top, |branch, place| branch.source.xattr(&place.path, name))
    }

    /// The value of an attribute that only the root has.
    fn own_xattr(&self, name: &OsStr) -> Option<Vec<u8>> {
        match name.to_str()? {
            STATS_XATTR => Some(self.stats().into_bytes()),
            EXPLAIN_XATTR => Some(self.explain().into_bytes()),
            SOCKET_XATTR => self.socket.get().map(|socket| socket.as_os_str().as_bytes().to_vec()),
            ADDRESS_XATTR => self.address.get().map(|address| address.clone().into_bytes()),
            _ => None,
        }
    }

    /// The names of the extended attributes.
    pub fn xattrs(&self, node: NodeId) -> Result<Vec<OsString>> {
        self.of_node(node, Ok(Vec::new()), |branch, place| branch.source.xattrs(&place.path))
    }
}
