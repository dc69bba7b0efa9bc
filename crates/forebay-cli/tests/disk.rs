//! A modelled disk as a file and as a block device: the same bytes at odd places, true statistics,
//! and refusals.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use forebay_testkit::loop_disk::{self, LoopDevice, LoopDisk, Service, Treatment, make_image};
use forebay_testkit::mounts::{self, MountPoint, is_mounted};
use forebay_testkit::need;
use forebay_testkit::process::{Running, Signal};
use forebay_testkit::served::Served;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use serde_json::Value;

const FOREBAY: &str = env!("CARGO_BIN_EXE_forebay");

/// Fast enough for tests; the pace itself is tested in `forebay-live`.
const FAST: &str = "1000";

fn forebay(args: &[&str]) -> Command {
    let mut command = Command::new(FOREBAY);
    command.args(args).env("FOREBAY_CONFIG", "/dev/null").stdin(Stdio::null());
    command
}

/// A file of zeros, the image of a disk.
fn image(bytes: u64) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().expect("a file");
    file.as_file().set_len(bytes).expect("room for holes");
    file
}

fn serve(image: &Path) -> Served {
    let image = image.to_str().expect("a plain name");
    Served::start(forebay(&["disk", image, "--device", "ibm-10k", "--scale", FAST])).expect("it is served")
}

fn stats(folder: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(folder.join("stats")).expect("readable")).expect("JSON")
}

/// Against a vector, through several descriptors, at offsets and sizes that are no multiples of a
/// block.
#[test]
fn reads_and_writes_are_the_images() {
    if !mounts::possible() {
        return;
    }
    const SIZE: usize = 3_000_001;
    let image = image(SIZE as u64);
    let served = serve(image.path());
    let path = served.point().join("disk");
    assert_eq!(fs::metadata(&path).unwrap().len(), SIZE as u64);
    let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let other = File::open(&path).unwrap();
    let (mut twin, mut random) = (vec![0u8; SIZE], SmallRng::seed_from_u64(7));
    let (mut read, mut written) = ((0, 0), (0, 0));
    for _ in 0..200 {
        let (at, len) = (random.random_range(0..SIZE), random.random_range(1..100_000));
        let len = len.min(SIZE - at);
        if random.random_bool(0.5) {
            let bytes: Vec<u8> = (0..len).map(|_| random.random()).collect();
            file.write_all_at(&bytes, at as u64).unwrap();
            twin[at..at + len].copy_from_slice(&bytes);
            written = (written.0 + 1, written.1 + len);
        } else {
            let mut bytes = vec![0; len];
            other.read_exact_at(&mut bytes, at as u64).unwrap();
            assert!(bytes == twin[at..at + len], "at {at}, {len} bytes");
            read = (read.0 + 1, read.1 + len);
        }
    }
    file.sync_all().unwrap();
    let told = stats(served.point());
    for (name, (requests, bytes)) in [("read", read), ("write", written)] {
        assert_eq!(told[name]["bytes"], bytes, "{told}");
        assert_eq!(told[name]["requests"], requests, "each was one request: {told}");
        let classes = told[name]["sizes"].as_array().unwrap();
        let counted: u64 = classes.iter().map(|class| class["requests"].as_u64().unwrap()).sum();
        assert_eq!(counted, requests as u64);
    }
    assert_eq!((&told["flushes"], &told["size"]), (&1.into(), &SIZE.into()));
    assert!(told["busy_seconds"].as_f64().unwrap() > 0.0);

    // No bytes beyond the end.
    assert_eq!(other.read_at(&mut [0; 100], SIZE as u64).unwrap(), 0);
    assert_eq!(other.read_at(&mut [0; 100], SIZE as u64 - 7).unwrap(), 7);
    let beyond = file.write_at(&[1; 10], SIZE as u64).unwrap_err();
    assert_eq!(beyond.kind(), io::ErrorKind::StorageFull);
    assert_eq!(file.write_at(&[1; 10], SIZE as u64 - 3).unwrap(), 3);
    twin[SIZE - 3..].fill(1);
    assert!(file.set_len(10).is_err(), "a disk has one size");
    assert!(File::create(served.point().join("stats")).is_err() && File::create(served.point().join("new")).is_err());
    drop((file, other, served));
    assert!(fs::read(image.path()).unwrap() == twin);
}

#[test]
fn signals_unmount_and_the_image_is_free_again() {
    if !mounts::possible() {
        return;
    }
    let image = image(1 << 20);
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let point = MountPoint::new().unwrap();
        let (said, says) = io::pipe().unwrap();
        let mut command = forebay(&["disk", "--device", "ssd"]);
        command.arg(image.path()).arg(point.path()).stdout(says);
        let running = Running::start(command).unwrap();
        let mut line = String::new();
        io::BufRead::read_line(&mut io::BufReader::new(said), &mut line).unwrap();
        assert!(line.starts_with("ready: ssd of 1.0 MiB on "), "{line:?}");
        running.signal(signal).unwrap();
        assert_eq!(running.wait().unwrap().code(), Some(0), "{signal:?}");
        assert!(!is_mounted(point.path()), "{signal:?}");
    }
}

fn refused(args: &[&str]) -> String {
    let Output { status, stderr, .. } = forebay(args).output().unwrap();
    let said = String::from_utf8(stderr).unwrap();
    assert_eq!(status.code(), Some(2), "{args:?}: {said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    said
}

#[test]
fn what_makes_no_sense_is_said_in_one_line() {
    let (image, point) = (image(1 << 20), MountPoint::new().unwrap());
    let (path, at) = (image.path().to_str().unwrap(), point.path().to_str().unwrap());
    let said = |wanted: &str, args: &[&str]| {
        let said = refused(&[&["disk"], args].concat());
        assert!(said.contains(wanted), "{wanted:?} is not in {said}");
    };
    said("No such file", &["/no/such/image", at, "--device", "ibm-10k"]);
    said("not a regular file", &[at, at, "--device", "ibm-10k"]);
    said("no device is called", &[path, at, "--device", "floppy"]);
    said("--device", &[path, at]);
    said("no scheduler is called", &[path, at, "--device", "ibm-10k", "--scheduler", "lift"]);
    said("from 0.001 to 1000", &[path, at, "--device", "ibm-10k", "--scale", "0"]);
    said("no such folder", &[path, "/no/such/folder", "--device", "ibm-10k"]);
    image.as_file().set_len(40_000_000_000).unwrap();
    said("more than the device has", &[path, at, "--device", "ibm-10k"]);
    image.as_file().set_len(0).unwrap();
    said("empty", &[path, at, "--device", "ibm-10k"]);
}

#[test]
fn what_is_in_use_is_left_alone() {
    if !mounts::possible() {
        return;
    }
    let (image, other, point) = (image(1 << 20), image(1 << 20), MountPoint::new().unwrap());
    let served = serve(image.path());
    let (path, other) = (image.path().to_str().unwrap(), other.path().to_str().unwrap());
    let busy = refused(&["disk", path, point.path().to_str().unwrap(), "--device", "ssd"]);
    assert!(busy.contains("in use"), "{busy}");
    let busy = refused(&["disk", other, served.point().to_str().unwrap(), "--device", "ssd"]);
    assert!(busy.contains("already a mount point"), "{busy}");
}

/// The kernel makes a file system on it, writes and reads back. The written bytes are in the image.
#[test]
fn it_is_a_block_device() {
    if !loop_disk::possible() {
        return;
    }
    let mkfs = need!("mkfs.ext4");
    let image = image(128 << 20);
    let content: Vec<u8> = (0..5_000_011u32).map(|at| (at / 7 + at / 4096) as u8).collect();
    {
        let served = serve(image.path());
        let device = LoopDevice::attach(&served.point().join("disk"), true).unwrap();
        device.treat(&Treatment::default()).unwrap();
        assert!(Command::new(mkfs).arg("-q").arg(device.path()).status().unwrap().success());
        {
            let mounted = loop_disk::Ext4::mount(device.path(), false).unwrap();
            fs::write(mounted.path().join("file"), &content).unwrap();
            File::open(mounted.path().join("file")).unwrap().sync_all().unwrap();
        }
        let mounted = loop_disk::Ext4::mount(device.path(), true).unwrap();
        let before = stats(served.point());
        assert!(before["flushes"].as_u64().unwrap() > 0 && before["write"]["bytes"].as_u64().unwrap() > 5_000_000);
        assert!(fs::read(mounted.path().join("file")).unwrap() == content);
        let after = stats(served.point());
        let read = after["read"]["bytes"].as_u64().unwrap() - before["read"]["bytes"].as_u64().unwrap();
        assert!(read >= content.len() as u64, "the kernel has nothing of it in memory: {read}");
        assert_eq!(after["read"]["bytes"].as_u64().unwrap() % 512, 0);
    }
    // Without the device, from the image itself.
    let device = LoopDevice::attach(image.path(), false).unwrap();
    let mounted = loop_disk::Ext4::mount(device.path(), true).unwrap();
    assert!(fs::read(mounted.path().join("file")).unwrap() == content);
}

/// A folder is profiled by its whole disk, not by the file that lies in it: the seeks are those of
/// 32 GiB.
#[test]
fn a_folder_is_profiled_by_its_disk() {
    if !loop_disk::possible() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image");
    make_image(&image, 32 << 30, |root| fs::write(root.join("file"), vec![3; 32 << 20])).unwrap();
    let service = Service { device: "ibm-10k".into(), scheduler: "elevator".into(), scale: 4.0 };
    let disk = LoopDisk::start(Path::new(FOREBAY), &image, &service, &Treatment::default()).unwrap();
    let mut profile = forebay(&["profile", "--seconds", "2", "--json"]);
    let output = profile.arg(disk.path()).env("XDG_CACHE_HOME", folder.path()).output().unwrap();
    let profile: Value = serde_json::from_slice(&output.stdout).expect("a profile");
    assert_eq!(profile["capacity_bytes"], 32_u64 << 30, "{profile}");
}

/// The whole stack of the comparison with the kernel. Its read-ahead shows in the sizes of
/// requests.
#[test]
fn read_ahead_is_as_it_was_set() {
    if !loop_disk::possible() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image");
    make_image(&image, 256 << 20, |root| fs::write(root.join("file"), vec![3; 32 << 20])).unwrap();
    let service = Service { device: "ibm-10k".into(), scheduler: "elevator".into(), scale: 1000.0 };
    let mut disk = LoopDisk::start(Path::new(FOREBAY), &image, &service, &Treatment::default()).unwrap();
    for (read_ahead_kb, least, most) in [(128, 100, 140), (1024, 500, 1024)] {
        disk.renew(&Treatment { read_ahead_kb, ..Treatment::default() }).unwrap();
        let told = || {
            let stats: Value = serde_json::from_str(&disk.stats().unwrap()).unwrap();
            ["bytes", "requests"].map(|name| stats["read"][name].as_u64().unwrap())
        };
        let before = told();
        let (file, mut piece) = (File::open(disk.path().join("file")).unwrap(), [0; 65536]);
        for at in 0..512 {
            file.read_exact_at(&mut piece, at * 65536).unwrap();
            assert!(piece == [3; 65536]);
        }
        drop(file);
        let after = told();
        let mean = (after[0] - before[0]) / (after[1] - before[1]) / 1024;
        assert!((least..=most).contains(&mean), "read-ahead of {read_ahead_kb} KiB gives requests of {mean} KiB");
    }
    let (point, device) = (disk.path().to_owned(), disk.device().to_owned());
    drop(disk);
    assert!(!is_mounted(&point));
    let name = device.file_name().unwrap().to_owned();
    assert!(!Path::new("/sys/block").join(name).join("loop/backing_file").exists());
}
