//! Open folders, and the attributes of their names.

use std::sync::Arc;
use std::time::Duration;

use forebay_live::tree::{Names, NodeId, Referred, Tree};
use forebay_source::{self as source, Error, Listed};
use fuser::{FileAttr, FileType, Generation, INodeNo, ReplyDirectory, ReplyDirectoryPlus};
use parking_lot::Mutex;

use crate::attributes::{Shown, errno, kind, nothing, of_node};
use crate::waiting::{Reply, Slot};

/// An open folder: its names as they were at the last read from the start.
pub(crate) struct Folder {
    pub(crate) node: NodeId,
    names: Mutex<Option<Names>>,
}

/// A read of an open folder.
pub(crate) struct FolderRead {
    pub(crate) tree: Arc<Tree>,
    pub(crate) folder: Arc<Folder>,
    /// For how long the kernel may believe an answer.
    pub(crate) ttl: Duration,
    /// The offset at which the read begins.
    pub(crate) offset: u64,
}

impl Folder {
    pub(crate) fn new(node: NodeId) -> Folder {
        Folder { node, names: Mutex::new(None) }
    }
}

impl FolderRead {
    /// Finds the names and has the reply filled with them. A read from the start lists anew, as
    /// rewinddir(3) wants; later ones go on in that list.
    pub(crate) fn start<R: Reply>(
        self,
        slot: Arc<Slot<R>>,
        fill: impl FnOnce(&FolderRead, &Names, R) + Send + 'static,
    ) {
        let known = if self.offset > 0 { self.folder.names.lock().clone() } else { None };
        if let Some(names) = known {
            if let Some(reply) = slot.take() {
                fill(&self, &names, reply);
            }
            return;
        }
        let (tree, node) = (Arc::clone(&self.tree), self.folder.node);
        let answer = move |names: source::Result<Names>| {
            // A reader that gave up may have read anew: this list must not replace the later one.
            let Some(reply) = slot.take() else { return };
            match names {
                Ok(names) => {
                    *self.folder.names.lock() = Some(names.clone());
                    fill(&self, &names, reply);
                }
                Err(error) => reply.refuse(errno(&error)),
            }
        };
        tree.list_then(node, Box::new(answer));
    }

    /// Names without attributes.
    pub(crate) fn plain(&self, names: &Names, mut reply: ReplyDirectory) {
        let mut offset = self.offset;
        while let Some(entry) = at(names, offset) {
            offset += 1;
            let full = match entry {
                At::Dot(dot) => reply.add(INodeNo(self.folder.node.0), offset, FileType::Directory, dot),
                At::Name(listed) => {
                    let inode = INodeNo(self.tree.inode(names, &listed));
                    reply.add(inode, offset, kind(listed.kind), listed.name)
                }
            };
            if full {
                break;
            }
        }
        reply.ok();
    }

    /// Names with attributes.
    pub(crate) fn plus(&self, names: &Names, mut reply: ReplyDirectoryPlus) {
        let (mut given, mut offset) = (Vec::new(), self.offset);
        // No reference counts for `.` and `..`: the kernel takes only their names.
        let dot = FileAttr { ino: INodeNo(self.folder.node.0), kind: FileType::Directory, ..nothing() };
        let mut refer = self.tree.referring(names);
        let ttl = lifetime(self.ttl, names.len());
        while let Some(entry) = at(names, offset) {
            offset += 1;
            let (name, (id, Shown { attributes, ttl }), generation) = match entry {
                At::Dot(name) => {
                    let full = reply.add(dot.ino, offset, name, &Duration::ZERO, &dot, Generation(0));
                    if full { break } else { continue }
                }
                At::Name(listed) => match self.named(refer(&listed), names, &listed, ttl) {
                    Ok((id, shown)) => (listed.name, (id, shown), Generation(self.tree.generation(id))),
                    // Gone since it was listed.
                    Err(_) => continue,
                },
            };
            if reply.add(attributes.ino, offset, name, &ttl, &attributes, generation) {
                self.tree.forget(id, 1);
                break;
            }
            given.push(id);
        }
        match self.tree.unchanged(self.folder.node) {
            Ok(()) => reply.ok(),
            // The names are of another folder by now, and so are their attributes.
            Err(error) => {
                given.into_iter().for_each(|id| self.tree.forget(id, 1));
                reply.error(errno(&error));
            }
        }
    }

    /// The attributes of a name, with a look-up reference, and their lifetime. A name without known
    /// attributes gets the lifetime zero: a program that looks at it asks again, and gets
    /// attributes or the error.
    fn named(
        &self,
        found: source::Result<Option<Referred>>,
        names: &Names,
        listed: &Listed<'_>,
        ttl: Duration,
    ) -> source::Result<(NodeId, Shown)> {
        match found {
            Ok(Some(Referred { node, attributes })) => return Ok((node, of_node(node, &attributes, ttl))),
            Err(error @ Error::NotFound(_)) => return Err(error),
            Ok(None) | Err(_) => {}
        }
        let id = self.tree.refer_unseen(names, listed)?;
        let attributes = FileAttr { ino: INodeNo(id.0), kind: kind(listed.kind), ..nothing() };
        Ok((id, Shown { attributes, ttl: Duration::ZERO }))
    }
}

/// For how long the kernel may believe the attributes that come with a folder's names. A program
/// that looks at each name first reads all of them, and none must have expired by then: else it
/// would ask for each one by itself.
fn lifetime(ttl: Duration, names: usize) -> Duration {
    /// Reading a name takes less, on a busy machine too.
    const EACH: Duration = Duration::from_micros(50);
    if ttl.is_zero() { ttl } else { ttl.saturating_add(EACH.saturating_mul(u32::try_from(names).unwrap_or(u32::MAX))) }
}

/// The entry at an offset of a folder: `.`, `..`, then its names. The kernel goes on from an offset
/// one larger than that of the last entry.
enum At<'a> {
    Dot(&'static str),
    Name(Listed<'a>),
}

fn at(names: &Names, offset: u64) -> Option<At<'_>> {
    match offset {
        0 => Some(At::Dot(".")),
        1 => Some(At::Dot("..")),
        _ => names.get(usize::try_from(offset - 2).ok()?).map(At::Name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_listings_hold_longer_unless_nothing_may() {
        let second = Duration::from_secs(1);
        assert_eq!(lifetime(second, 0), second);
        assert_eq!(lifetime(second, 100_000), Duration::from_secs(6));
        assert_eq!(lifetime(Duration::ZERO, 100_000), Duration::ZERO);
        assert_eq!(lifetime(Duration::MAX, usize::MAX), Duration::MAX);
    }
}
