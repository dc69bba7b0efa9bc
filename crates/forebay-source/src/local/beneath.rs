//! File systems that rest on Forebay's mounts: a request to one becomes a request to the mount.
//!
//! ```text
//!   ext4    ──▶ /dev/loop1 ──▶ its file /mnt/data/image ──▶ the mount at /mnt/data
//!   overlay ──▶ its layers, which are folders           ──▶ the mounts that they lie in
//! ```
//!
//! Nothing is asked of any mount for this: the kernel tells the files of loop devices in `/sys`.
//! File systems of other programs and machines may lead back as well, and tell nobody.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::mounts::{Entry, unescape};

/// Devices lie on each other at most so deep.
const DEEP: u32 = 8;

/// For each mount of a table, whether it is one of Forebay or rests on one.
pub(super) fn served(table: &[Entry]) -> Vec<bool> {
    resting(table, beneath)
}

fn resting(table: &[Entry], beneath: impl Fn(&Entry) -> Vec<PathBuf>) -> Vec<bool> {
    let mounts = |entry: &Entry| beneath(entry).iter().filter_map(|path| mount_of(table, path)).collect();
    let beneath: Vec<Vec<usize>> = table.iter().map(mounts).collect();
    let mut served: Vec<bool> = table.iter().map(Entry::is_forebays).collect();
    loop {
        let rests = |(nth, mounts): (usize, &Vec<usize>)| served[nth] || mounts.iter().any(|&mount| served[mount]);
        let more: Vec<bool> = beneath.iter().enumerate().map(rests).collect();
        if more == served {
            return served;
        }
        served = more;
    }
}

/// The mount that a path leads to.
fn mount_of(table: &[Entry], path: &Path) -> Option<usize> {
    let leads = |&nth: &usize| path.starts_with(&table[nth].point);
    (0..table.len()).filter(leads).max_by_key(|&nth| (table[nth].point.as_os_str().len(), nth))
}

/// The files and folders on which a file system rests.
fn beneath(entry: &Entry) -> Vec<PathBuf> {
    if entry.kind == "overlay" {
        return layers(&entry.options);
    }
    let mut files = Vec::new();
    if let Some(number) = block_device(entry) {
        files_of(&Path::new("/sys/dev/block").join(number), DEEP, &mut files);
    }
    files
}

/// The layers of an overlay. (A colon in a name parts it.)
fn layers(options: &str) -> Vec<PathBuf> {
    const LAYERS: [&str; 4] = ["lowerdir", "lowerdir+", "datadir+", "upperdir"];
    let values = options.split(',').filter_map(|option| option.split_once('='));
    let named = values.filter(|(key, _)| LAYERS.contains(key)).map(|(_, value)| unescape(value.as_bytes()));
    let split = |value: OsString| value.as_bytes().split(|&byte| byte == b':').map(path).collect::<Vec<_>>();
    named.flat_map(split).collect()
}

fn path(bytes: &[u8]) -> PathBuf {
    OsString::from_vec(bytes.to_vec()).into()
}

/// The number of the block device that a file system lies on, as `/sys` writes it. One that has
/// several, or parts, shows a number of its own, and one of them as its source.
fn block_device(entry: &Entry) -> Option<String> {
    if !entry.device.starts_with("0:") {
        return Some(entry.device.clone());
    }
    let source = Path::new(&entry.source);
    let device = if source.starts_with("/dev") { std::fs::metadata(source).ok()? } else { return None };
    let device = Some(device).filter(|device| device.file_type().is_block_device())?.rdev();
    Some(format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device)))
}

/// The files of the loop devices that a device is, or lies on: by its parts, or as their part.
fn files_of(device: &Path, deep: u32, files: &mut Vec<PathBuf>) {
    if deep == 0 {
        return;
    }
    if let Ok(file) = std::fs::read(device.join("loop/backing_file")) {
        files.push(path(file.trim_ascii_end()));
    }
    if device.join("partition").exists() {
        files_of(&device.join(".."), deep - 1, files);
    }
    for part in std::fs::read_dir(device.join("slaves")).into_iter().flatten().flatten() {
        files_of(&part.path(), deep - 1, files);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mounts::entries;

    const TABLE: &[u8] = b"\
21 1 8:1 / / rw - ext4 /dev/root rw
36 21 0:40 / /mnt/a\\040b ro - fuse.forebay s3://bucket ro
37 21 7:1 / /image ro - ext4 /dev/loop1 ro
38 21 7:2 / /other ro - ext4 /dev/loop2 ro
39 37 0:43 / /image/over rw - overlay overlay rw,lowerdir=/image/deep:/etc,upperdir=/up,workdir=/work
40 21 0:44 / /plain rw - overlay overlay rw,lowerdir+=/etc,lowerdir+=/mnt/a\\040b/c,upperdir=/up
41 36 0:45 / /mnt/a\\040b rw - tmpfs none rw
42 21 0:46 / /last rw - overlay overlay rw,lowerdir=/mnt/a\\040b:/srv";

    #[test]
    fn what_rests_on_a_mount_is_found_through_images_and_overlays() {
        let table: Vec<Entry> = entries(TABLE).collect();
        let without_the_last = |last: usize| {
            resting(&table[..last], |entry| match entry.device.as_str() {
                "7:1" => vec!["/mnt/a b/images/one".into()],
                "7:2" => vec!["/srv/two".into()],
                _ => beneath(entry),
            })
        };
        let found: Vec<usize> = (0..6).filter(|&nth| without_the_last(6)[nth]).collect();
        assert_eq!(found, [1, 2, 4, 5], "the mount, an image in it, an overlay of that, and one of the mount");
        // Another file system over the mount point is what paths lead to.
        assert_eq!(without_the_last(8).iter().filter(|&&served| served).count(), 1);
    }

    #[test]
    fn a_device_that_is_no_loop_has_no_files() {
        let mut files = Vec::new();
        files_of(Path::new("/sys/dev/block/999:999"), DEEP, &mut files);
        assert!(files.is_empty());
        for (options, expected) in [("rw", 0), ("rw,lowerdir=/a:/b,upperdir=/c", 3), ("lowerdir", 0)] {
            assert_eq!(layers(options).len(), expected, "{options}");
        }
    }
}
