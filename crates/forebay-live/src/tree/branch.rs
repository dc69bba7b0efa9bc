//! The parts of a tree: sources, and where they hang.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use forebay_core::DeviceId;
use forebay_source::identity::inode_number;
use forebay_source::{Entry, Kind, Source};

/// A source and where it hangs.
pub struct Branch {
    /// Its folder under the root; `None` makes it the root itself.
    pub name: Option<OsString>,
    /// Its names and bytes.
    pub source: Arc<dyn Source>,
    /// The device of the engine that its bytes lie on; for a set, the first member's device, and
    /// the others' follow.
    pub device: DeviceId,
}

impl Branch {
    /// The inode number that a mount shows for one of the source's. Several sources may have equal
    /// ones.
    pub(super) fn number(&self, path: &Path, of_source: u64) -> u64 {
        match &self.name {
            None => of_source,
            Some(name) if path.as_os_str().is_empty() => inode_number(self.source.address(), Path::new(name)),
            Some(name) => inode_number(&of_source.to_string(), Path::new(name)),
        }
    }

    /// Its folder under the root over several sources.
    pub fn entry(&self) -> Option<Entry> {
        let name = self.name.clone()?;
        Some(Entry { inode: self.number(Path::new(""), 0), name, kind: Kind::Folder, facts: None })
    }

    /// The names of its devices: the branch's name, else the source's. For a set: the members'
    /// names, after the branch's name.
    pub(super) fn devices(&self) -> Vec<String> {
        let name = self.name.as_ref().map(|name| name.display().to_string());
        let members = self.source.members();
        if members.is_empty() {
            return vec![name.unwrap_or_else(|| self.source.describe())];
        }
        let of = name.map_or_else(String::new, |name| format!("{name}: "));
        members.iter().map(|member| format!("{of}{}", member.describe())).collect()
    }

    /// Names of its devices that tell no path and no address: the branch's own name, and numbers.
    pub(super) fn labels(&self) -> Vec<String> {
        let name = self.name.as_ref().map_or_else(|| "source".into(), |name| name.display().to_string());
        match self.source.members().len() {
            0 => vec![name],
            members => (0..members).map(|number| format!("{name}/{number}")).collect(),
        }
    }
}

/// Why sources do not make a tree.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BranchError {
    /// There is none.
    #[error("nothing to show: give at least one source")]
    None,
    /// Only a single source can be the root.
    #[error("several sources need a name each: NAME={0}")]
    Unnamed(String),
    /// Not a name that a folder can have.
    #[error("{0:?} cannot be the name of a source: a name is not empty, not . or .., and has no slash")]
    BadName(OsString),
    /// Two sources of one name.
    #[error("two sources are named {0:?}: give each a name of its own")]
    Twice(OsString),
}
