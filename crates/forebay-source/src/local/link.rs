//! Where a symbolic link may point: nowhere outside its source.
//!
//! The reader's kernel follows a link, within the mount. Leading `..` count exactly there, because
//! the path of the link itself has no links in it. A `..` after a name is different, since the name
//! may be a link in its turn. Such a target is followed once inside the source to see whether it
//! leaves it.

use std::path::{Component, Path, PathBuf};

use super::resolve::Root;

/// The target to show for the link at `path`, or `None` if it leads out of the source. An absolute
/// target inside the source (below one of `aliases`) is rewritten relative to the link's own
/// folder, so that it stays in the mount.
pub(super) fn confined(path: &Path, target: &Path, aliases: &[PathBuf], root: &Root) -> Option<PathBuf> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let depth = folder.components().count();
    let target = if target.is_absolute() {
        let inside = aliases.iter().find_map(|alias| target.strip_prefix(alias).ok())?;
        let relative: PathBuf = std::iter::repeat_n(Path::new(".."), depth).chain([inside]).collect();
        if relative.as_os_str().is_empty() { PathBuf::from(".") } else { relative }
    } else {
        target.to_path_buf()
    };
    let (inside, winding) = judge(depth, &target);
    (inside && !(winding && root.escapes(&folder.join(&target)))).then_some(target)
}

/// Whether `target` stays inside if no name in it is a link, and whether a `..` comes after a name.
fn judge(depth: usize, target: &Path) -> (bool, bool) {
    let (mut depth, mut named, mut winding) = (depth, false, false);
    for part in target.components() {
        match part {
            Component::Normal(_) => (depth, named) = (depth + 1, true),
            Component::ParentDir => {
                let Some(up) = depth.checked_sub(1) else { return (false, winding) };
                (depth, winding) = (up, winding | named);
            }
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return (false, winding),
        }
    }
    (true, winding)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_is_counted() {
        for (depth, target, verdict) in [
            (0, "a", (true, false)),
            (0, "..", (false, false)),
            (1, "..", (true, false)),
            (1, "../..", (false, false)),
            (2, "../../a/b", (true, false)),
            (0, "a/..", (true, true)),
            (0, "a/../..", (false, true)),
            (0, "./a/./b", (true, false)),
        ] {
            assert_eq!(judge(depth, Path::new(target)), verdict, "{target} at depth {depth}");
        }
    }
}
