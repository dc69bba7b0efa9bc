//! The answer to access(2) where the kernel does not judge modes itself: on a mount that only the
//! user who mounted may see. Without it every file would seem to be a program.

use forebay_source::{Attributes, Kind};
use fuser::AccessFlags;

/// A user and the groups that it is in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct User {
    pub(crate) id: u32,
    pub(crate) groups: Vec<u32>,
}

impl User {
    /// The user who asks. Its groups are its own and those of this process, since both are one
    /// user's.
    pub(crate) fn asking(id: u32, group: u32) -> User {
        let mut groups = vec![group];
        groups.extend(rustix::process::getgroups().unwrap_or_default().into_iter().map(|group| group.as_raw()));
        User { id, groups }
    }

    /// Whether the user may do this with a file, by its modes. Whether the file system can be
    /// written to is another question.
    pub(crate) fn may(&self, wanted: AccessFlags, file: &Attributes) -> bool {
        let wanted = (wanted & (AccessFlags::R_OK | AccessFlags::W_OK | AccessFlags::X_OK)).bits().unsigned_abs();
        if self.id == 0 {
            let runs = wanted & 1 == 0 || file.kind == Kind::Folder || file.mode & 0o111 != 0;
            return runs;
        }
        let shift = match () {
            () if file.uid == self.id => 6,
            () if self.groups.contains(&file.gid) => 3,
            () => 0,
        };
        (file.mode >> shift) & wanted == wanted
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use forebay_source::{Identity, Name, Version};

    use super::*;

    fn file(kind: Kind, mode: u32, uid: u32, gid: u32) -> Attributes {
        let name = Name::path(&"source".into(), "file".as_ref());
        let identity = Identity { name, version: Version::default() };
        Attributes { mode, uid, gid, ..Attributes::plain(kind, SystemTime::UNIX_EPOCH, identity) }
    }

    #[test]
    fn modes_are_judged_as_the_system_does() {
        let (r, x) = (AccessFlags::R_OK, AccessFlags::X_OK);
        let root = User { id: 0, groups: vec![0] };
        assert!(root.may(r, &file(Kind::File, 0, 7, 7)) && !root.may(x, &file(Kind::File, 0o644, 7, 7)));
        assert!(root.may(x, &file(Kind::File, 0o010, 7, 7)) && root.may(x, &file(Kind::Folder, 0, 7, 7)));
        let user = User { id: 7, groups: vec![8, 9] };
        // The first class that fits counts, even if a later one allows more.
        assert!(!user.may(r, &file(Kind::File, 0o044, 7, 8)) && user.may(r, &file(Kind::File, 0o400, 7, 0)));
        assert!(user.may(r | x, &file(Kind::File, 0o050, 0, 9)) && !user.may(x, &file(Kind::File, 0o041, 0, 9)));
        assert!(user.may(x, &file(Kind::Folder, 0o001, 0, 0)) && !user.may(r, &file(Kind::Folder, 0o110, 0, 0)));
        assert!(user.may(AccessFlags::F_OK, &file(Kind::File, 0, 0, 0)));
    }
}
