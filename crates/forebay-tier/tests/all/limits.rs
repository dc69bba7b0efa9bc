//! The room that a tier takes on a disk, and disks that are full, read-only or gone.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use forebay_testkit::loop_disk::{self, Ext4, LoopDevice, image_folder, make_image};
use forebay_testkit::mounts::MountPoint;
use forebay_tier::layout::{BESIDE, FILE_ROOM};
use forebay_tier::{Free, Options, Tiers};
use rustix::mount::{MountFlags, mount, mount_remount};

use crate::damage::{Draws, files, segments};
use crate::known::{Known, MIB, check, check_all, eager, fill, tiered};

/// Bytes that a folder takes, with the folders in it.
fn taken(dir: &Path) -> u64 {
    let of = |path: &Path| fs::symlink_metadata(path).map_or(0, |about| about.blocks() * 512);
    let folders = [dir.join("forebay-1"), dir.join("forebay-1/segments")];
    files(dir).iter().map(|file| of(file)).sum::<u64>() + folders.iter().map(|folder| of(folder)).sum::<u64>()
}

fn known() -> Known {
    let known = Known::new("a source");
    known.put("a", 200 * MIB, 1);
    known.put("b", 9 * MIB, 1);
    known
}

/// Never more than the size, also if it is smaller than it was.
#[test]
fn the_size_holds_at_every_moment() {
    let dir = tempfile::tempdir().unwrap();
    let known = known();
    let mut draws = Draws::new(2);
    for files in [2, 1] {
        let options = eager(dir.path(), files);
        let (size, tiers) = (options.size, Tiers::open(vec![options]).unwrap());
        let (over, most) = (AtomicBool::new(false), AtomicU64::new(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::SeqCst) {
                    most.fetch_max(taken(dir.path()), Ordering::SeqCst);
                }
            });
            let source = tiered(&known, &tiers);
            for _ in 0..150 {
                check(&source, "a", 1, draws.below(51_200), 400);
                tiers.settle();
            }
            over.store(true, Ordering::SeqCst);
        });
        let most = most.into_inner();
        assert!(most <= size && most >= files * 64 * MIB, "{most} of {size}");
        assert_eq!(tiers.figures()[0].files, files);
    }
}

/// A file system in memory of so many bytes; `None` where nothing can be mounted.
fn small(size: u64) -> Option<MountPoint> {
    let point = MountPoint::new().unwrap();
    let options = std::ffi::CString::new(format!("size={size}")).unwrap();
    match mount("none", point.path(), "tmpfs", MountFlags::empty(), options.as_c_str()) {
        Ok(()) => Some(point),
        Err(_) => {
            forebay_testkit::tools::skip("mount");
            None
        }
    }
}

fn free(dir: &Path) -> u64 {
    let told = rustix::fs::statvfs(dir).unwrap();
    told.f_bavail * told.f_frsize
}

/// The file system is smaller than the tier, then full, and then has room again.
#[test]
fn a_disk_that_gets_full() {
    let Some(point) = small(150 * MIB) else { return };
    let known = known();
    let options = Options { free: Free::Bytes(10 * MIB), ..eager(point.path(), 4) };
    let tiers = Tiers::open(vec![options]).unwrap();
    let source = tiered(&known, &tiers);
    fill(&source, &tiers, "a", 1);
    let figures = &tiers.figures()[0];
    assert_eq!((figures.files, figures.no_writes.as_deref(), figures.write_errors), (2, None, 0), "{figures:?}");
    assert!(figures.hit_bytes == 0 && figures.written_bytes > 190 * MIB, "{figures:?}");
    // Another program takes room: files go.
    let other = point.path().join("other");
    fs::write(&other, vec![1; 20 * MIB as usize]).unwrap();
    tiers.settle();
    assert_eq!(tiers.figures()[0].files, 1);
    assert!(free(point.path()) >= 10 * MIB);
    check_all(&source, "b", 1);
    tiers.settle();
    check_all(&source, "b", 1);
    assert!(tiers.figures()[0].hit_bytes >= 9 * MIB, "one file is enough to go on");
    fs::write(&other, vec![1; 80 * MIB as usize]).unwrap();
    tiers.settle();
    assert_eq!((tiers.figures()[0].files, tiers.figures()[0].pieces), (0, 0));
    let figures = &tiers.figures()[0];
    assert!(figures.state() == "no room" && figures.withheld_files > 0, "{figures:?}");
    check_all(&source, "b", 1);
    fs::remove_file(&other).unwrap();
    for _ in 0..3 {
        tiers.settle();
        check_all(&source, "b", 1);
    }
    let figures = &tiers.figures()[0];
    assert_eq!((figures.no_writes.as_deref(), figures.write_errors), (None, 0), "{figures:?}");
    assert!(figures.files > 0 && figures.pieces >= 144, "{figures:?}");
    assert_eq!(figures.state(), "on");
}

/// Room that another program gives back is used by the rule of a tier that begins.
#[test]
fn room_that_comes_back_is_as_good_as_room_from_the_beginning() {
    let Some(point) = small(150 * MIB) else { return };
    let other = point.path().join("other");
    fs::write(&other, vec![1; 80 * MIB as usize]).unwrap();
    let known = known();
    let options = Options { free: Free::Bytes(0), ..eager(&point.path().join("tier"), 2) };
    let tiers = Tiers::open(vec![options]).unwrap();
    let source = tiered(&known, &tiers);
    fill(&source, &tiers, "a", 1);
    assert_eq!(tiers.figures()[0].files, 1);
    fs::remove_file(&other).unwrap();
    tiers.settle();
    known.put("a", 200 * MIB, 2);
    fill(&source, &tiers, "a", 2);
    let figures = &tiers.figures()[0];
    assert_eq!((figures.files, figures.withheld_files, figures.no_writes.as_deref()), (2, 0, None), "{figures:?}");
}

/// A file system of blocks, which has less room for the files than for their bytes.
#[test]
fn a_small_disk_with_ext4() {
    if !loop_disk::possible() {
        return;
    }
    let folder = image_folder("forebay-tier-").unwrap();
    let image = folder.path().join("image");
    make_image(&image, 160 * MIB, |_| Ok(())).unwrap();
    let device = LoopDevice::attach(&image, false).unwrap();
    let mounted = Ext4::mount(device.path(), false).unwrap();
    let known = known();
    let options = Options { free: Free::Percent(5.0), ..eager(mounted.path(), 4) };
    let tiers = Tiers::open(vec![options]).unwrap();
    let source = tiered(&known, &tiers);
    ["a", "b", "b"].iter().for_each(|name| fill(&source, &tiers, name, 1));
    let figures = &tiers.figures()[0];
    assert_eq!((figures.files, figures.no_writes.as_deref(), figures.write_errors), (2, None, 0), "{figures:?}");
    assert!(figures.hit_bytes > 0 && taken(mounted.path()) <= 2 * FILE_ROOM + BESIDE, "{figures:?}");
    assert!(free(mounted.path()) > 7 * MIB);
    drop(source);
    drop(tiers);
}

/// A file system that takes no bytes any more.
#[test]
fn a_file_system_that_is_read_only() {
    let Some(point) = small(80 * MIB) else { return };
    let dir = point.path().join("tier");
    drop(Tiers::open(vec![eager(&dir, 1)]).unwrap());
    mount_remount(point.path(), MountFlags::RDONLY, c"").unwrap();
    let error = Tiers::open(vec![eager(&dir, 1)]).unwrap_err().to_string();
    assert!(error.contains("cannot open: Read-only file system"), "{error}");
}

/// The folder is removed behind the back of its tier.
#[test]
fn a_folder_that_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let known = known();
    let tiers = Tiers::open(vec![eager(dir.path(), 2)]).unwrap();
    let source = tiered(&known, &tiers);
    check_all(&source, "b", 1);
    tiers.settle();
    fs::remove_dir_all(dir.path().join("forebay-1")).unwrap();
    check_all(&source, "a", 1);
    tiers.settle();
    check_all(&source, "b", 1);
    let figures = &tiers.figures()[0];
    assert_eq!(figures.write_errors, 1, "{figures:?}");
    assert!(figures.no_writes.is_some() && figures.no_reads.is_none());
}

/// The rate of writes holds, and what is beyond it is counted.
#[test]
fn the_rate_of_writes_holds() {
    let dir = tempfile::tempdir().unwrap();
    let known = known();
    let options = Options { writes: Some(1), ..eager(dir.path(), 2) };
    let tiers = Tiers::open(vec![options]).unwrap();
    let source = tiered(&known, &tiers);
    for mib in 0..200 {
        check(&source, "a", 1, mib * 256, 256);
        tiers.settle();
    }
    let figures = &tiers.figures()[0];
    assert!(figures.written_bytes <= 17 * MIB, "{figures:?}");
    assert_eq!(figures.over_budget_bytes + figures.pieces * 65_536, 200 * MIB, "{figures:?}");
}

/// The index of a tier takes at most a five-hundredth of it, whatever its size.
#[test]
fn the_index_is_small() {
    let dir = tempfile::tempdir().unwrap();
    for files in [15, 16, 17, 19, 100, 1600, 3199] {
        let options = Options { rules: Default::default(), ..eager(dir.path(), files) };
        let size = options.size;
        let tiers = Tiers::open(vec![options]).unwrap();
        assert!(tiers.footprint() as u64 <= size / 500, "{} of {files} files, {size} bytes", tiers.footprint());
    }
    assert_eq!(eager(dir.path(), 3).size - eager(dir.path(), 2).size, FILE_ROOM);
    assert!(!segments(dir.path(), 0).exists(), "files are made when they are needed");
    // As large as numbers are: no larger than the disk.
    let tiers = Tiers::open(vec![Options::new(dir.path(), u64::MAX)]).unwrap();
    let told = rustix::fs::statvfs(dir.path()).unwrap();
    assert_eq!(tiers.figures()[0].size_bytes, told.f_blocks * told.f_frsize);
}
