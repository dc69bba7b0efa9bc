//! Told lists by `ioctl` on any open file or folder of the mount, for programs that see only the
//! mount.
//!
//! ```c
//! #define FOREBAY_HINT _IOW('F', 1, char[8192])      /* any size will do that an ioctl can have */
//! ioctl(fd, FOREBAY_HINT, "{\"list\":\"epoch\"}\n{\"path\":\"train/1.jpg\"}\n{\"path\":\"train/2.jpg\"}\n");
//! ```
//!
//! The text ends with a zero byte. Its lines are those of [`forebay_live::told::hint`].

use std::sync::Arc;

use forebay_live::told::{self, TellError};
use forebay_live::tree::Tree;
use fuser::Errno;

/// The direction, the type and the number of the command, without its size (ioctl(2): bits 30–31,
/// 8–15 and 0–7).
const HINT: u32 = 1 << 30 | (b'F' as u32) << 8 | 1;
const WITHOUT_SIZE: u32 = !(0x3fff << 16);

/// Heeds a command of the user `uid`. The user who mounts may tell, and root.
pub(crate) fn heed(tree: &Arc<Tree>, uid: u32, command: u32, text: &[u8]) -> Result<(), Errno> {
    if command & WITHOUT_SIZE != HINT {
        return Err(Errno::ENOTTY);
    }
    if uid != 0 && uid != rustix::process::getuid().as_raw() {
        return Err(Errno::EACCES);
    }
    let hint = told::hint(text).map_err(|bad| {
        log::warn!("a hint by ioctl was refused: {bad}");
        Errno::EINVAL
    })?;
    tree.tell(&hint.list, hint.mode, hint.names).map(drop).map_err(|error| {
        log::warn!("a hint by ioctl was refused: {error}");
        match error {
            TellError::Name => Errno::EINVAL,
            TellError::Full { .. } => Errno::ENOSPC,
            TellError::Lists => Errno::EMFILE,
            TellError::Thread(_) => Errno::EAGAIN,
        }
    })
}
