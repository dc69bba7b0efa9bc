//! A real block device at a modelled disk's pace: `forebay disk` on an image, a loop device on
//! that, ext4 on the device, for the kernel to be compared with. Needs root, `losetup` and
//! `mkfs.ext4`.
//!
//! ```text
//!  image ─▶ forebay disk ─▶ FUSE file ─▶ loop device ─▶ ext4, read-only ─▶ readers
//! ```

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use tempfile::TempDir;

use crate::mounts::{MountPoint, is_mounted, lazy_unmount};
use crate::served::Served;
use crate::tools;

/// How long the kernel may take to let go of a device or a mount.
const PATIENCE: Duration = Duration::from_secs(10);

/// Whether loop devices with ext4 can be had here: we are root, and the programs are there. Says so
/// loudly if not; fails in CI.
pub fn possible() -> bool {
    let missing = [("losetup", tools::find("losetup").is_some()), ("mkfs.ext4", tools::find("mkfs.ext4").is_some())];
    let missing = missing.into_iter().chain([
        ("the right to mount", rustix::process::geteuid().is_root()),
        ("/dev/loop-control", Path::new("/dev/loop-control").exists()),
        ("/dev/fuse", Path::new("/dev/fuse").exists()),
    ]);
    let missing = missing.into_iter().find(|&(_, there)| !there);
    missing.is_none_or(|(what, _)| {
        tools::skip(what);
        false
    })
}

/// How the kernel treats a block device. All of it is set each time, since it outlives the device's
/// last use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Treatment {
    /// The kernel's own scheduler: none, mq-deadline, bfq, kyber.
    pub scheduler: &'static str,
    /// The kernel's read-ahead, KiB.
    pub read_ahead_kb: u32,
    /// The largest request, KiB; at most 1024, the most that the disk's file takes in one.
    pub max_sectors_kb: u32,
}

impl Default for Treatment {
    /// The kernel's treatment of a disk that was never tuned.
    fn default() -> Treatment {
        Treatment { scheduler: "mq-deadline", read_ahead_kb: 128, max_sectors_kb: 1024 }
    }
}

/// A loop device on a file; detached when dropped.
#[derive(Debug)]
pub struct LoopDevice {
    path: PathBuf,
}

impl LoopDevice {
    /// Attaches a device to `file`, past the page cache if `direct`.
    pub fn attach(file: &Path, direct: bool) -> io::Result<LoopDevice> {
        let mut losetup = program("losetup")?;
        losetup.args(["--find", "--show", if direct { "--direct-io=on" } else { "--direct-io=off" }]).arg(file);
        let said = run(losetup)?;
        Ok(LoopDevice { path: PathBuf::from(said.trim()) })
    }

    /// `/dev/loopN`.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Sets the kernel's treatment of it: as a disk with an arm, and as `treatment` says.
    pub fn treat(&self, treatment: &Treatment) -> io::Result<()> {
        let set = |name: &str, value: &str| {
            let path = self.sysfs().join("queue").join(name);
            let said = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
            fs::write(&path, value).map_err(said)
        };
        set("scheduler", treatment.scheduler)?;
        set("rotational", "1")?;
        set("max_sectors_kb", &treatment.max_sectors_kb.min(1024).to_string())?;
        // Last: the scheduler's and the request's size may change it.
        set("read_ahead_kb", &treatment.read_ahead_kb.to_string())
    }

    fn sysfs(&self) -> PathBuf {
        Path::new("/sys/block").join(self.path.file_name().unwrap_or_default())
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let begun = Instant::now();
        let detached = program("losetup").and_then(|mut losetup| {
            losetup.arg("--detach").arg(&self.path);
            run(losetup)
        });
        if let Err(error) = detached {
            eprintln!("{}: still attached: {error}", self.path.display());
        }
        // The kernel may be still busy with it.
        while self.sysfs().join("loop/backing_file").exists() && begun.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// A mounted ext4 file system; unmounted when dropped.
#[derive(Debug)]
pub struct Ext4 {
    point: MountPoint,
}

impl Ext4 {
    /// Mounts the file system on `device`.
    pub fn mount(device: &Path, read_only: bool) -> io::Result<Ext4> {
        let point = MountPoint::new()?;
        let flags = MountFlags::NOATIME | MountFlags::NOSUID | MountFlags::NODEV;
        let flags = if read_only { flags | MountFlags::RDONLY } else { flags };
        mount(device, point.path(), "ext4", flags, c"noinit_itable")?;
        Ok(Ext4 { point })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.point.path()
    }
}

impl Drop for Ext4 {
    fn drop(&mut self) {
        let begun = Instant::now();
        // Not lazily, as long as there is hope: the device below is taken away next.
        while is_mounted(self.point.path()) && begun.elapsed() < PATIENCE {
            match unmount(self.point.path(), UnmountFlags::NOFOLLOW) {
                Ok(()) => return,
                Err(_) => std::thread::sleep(Duration::from_millis(10)),
            }
        }
        lazy_unmount(self.point.path());
    }
}

/// A folder for an image: in memory where that is possible, so that the machine's own disk plays no
/// part.
pub fn image_folder(prefix: &str) -> io::Result<TempDir> {
    let memory = Path::new("/dev/shm");
    let place = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    tempfile::Builder::new().prefix(prefix).tempdir_in(place)
}

/// Makes `image` a file of `size` bytes with an ext4 file system on it, and has `fill` write into
/// that at this machine's pace. The same `fill` gives the same layout. ext4 spreads folders at the
/// top over the whole file system (Orlov's allocator), and puts a folder's files near it, in groups
/// of 128 MiB. There may be a file a MiB.
pub fn make_image(image: &Path, size: u64, fill: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    make_image_of(image, size, 1 << 20, fill)
}

/// The same, with room for a file in so many bytes.
pub fn make_image_of(
    image: &Path,
    size: u64,
    bytes_a_file: u64,
    fill: impl FnOnce(&Path) -> io::Result<()>,
) -> io::Result<()> {
    fs::File::create(image)?.set_len(size)?;
    let mut mkfs = program("mkfs.ext4")?;
    // No journal, as it is only read later; groups on their own, so that the spread is fine; the
    // seed of the hash by which folders are spread is fixed.
    mkfs.args(["-q", "-F", "-m", "0", "-i", &bytes_a_file.to_string(), "-O", "^has_journal,^flex_bg"]);
    mkfs.args(["-U", "a0a0a0a0-0000-4000-8000-000000000001"]);
    mkfs.args(["-E", "nodiscard,lazy_itable_init=1,hash_seed=a0a0a0a0-0000-4000-8000-000000000002"]).arg(image);
    run(mkfs)?;
    let device = LoopDevice::attach(image, false)?;
    let mounted = Ext4::mount(device.path(), false)?;
    fill(mounted.path())
}

/// How a [`LoopDisk`] is served.
#[derive(Clone, PartialEq, Debug)]
pub struct Service {
    /// The modelled device, by name.
    pub device: String,
    /// The scheduler before the model.
    pub scheduler: String,
    /// How many times as fast as the model.
    pub scale: f64,
}

/// See the module's head. Dropping it takes all of it down.
#[derive(Debug)]
pub struct LoopDisk {
    // Dropped in this order.
    mounted: Option<Ext4>,
    device: LoopDevice,
    disk: Served,
}

impl LoopDisk {
    /// Serves `image`, as [`make_image`] made it, by the command `forebay`.
    pub fn start(forebay: &Path, image: &Path, service: &Service, treatment: &Treatment) -> io::Result<LoopDisk> {
        let mut command = Command::new(forebay);
        command.env("FOREBAY_CONFIG", "/dev/null").arg("disk").arg(image);
        command.args(["--device", &service.device, "--scheduler", &service.scheduler]);
        // The mount point comes last.
        command.args(["--scale", &service.scale.to_string()]);
        let disk = Served::start(command)?;
        let device = LoopDevice::attach(&disk.point().join("disk"), true)?;
        device.treat(treatment)?;
        let mounted = Ext4::mount(device.path(), true)?;
        Ok(LoopDisk { mounted: Some(mounted), device, disk })
    }

    /// Mounts the file system anew, so that the kernel remembers nothing of it, with another
    /// treatment.
    pub fn renew(&mut self, treatment: &Treatment) -> io::Result<()> {
        self.mounted = None;
        self.device.treat(treatment)?;
        // Drops the page cache of the device itself, beside that of files.
        let mut blockdev = program("blockdev")?;
        blockdev.arg("--flushbufs").arg(self.device.path());
        run(blockdev)?;
        self.mounted = Some(Ext4::mount(self.device.path(), true)?);
        Ok(())
    }

    /// The folder of the mounted file system.
    pub fn path(&self) -> &Path {
        self.mounted.as_ref().map_or(Path::new("/nowhere"), Ext4::path)
    }

    /// The block device.
    pub fn device(&self) -> &Path {
        self.device.path()
    }

    /// The disk's statistics so far, as JSON.
    pub fn stats(&self) -> io::Result<String> {
        fs::read_to_string(self.disk.point().join("stats"))
    }
}

fn program(name: &str) -> io::Result<Command> {
    let path =
        tools::find(name).ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("{name} is missing")))?;
    let mut command = Command::new(path);
    command.stdin(Stdio::null());
    Ok(command)
}

/// The command's output; an error if it fails.
fn run(mut command: Command) -> io::Result<String> {
    let output = command.output()?;
    if !output.status.success() {
        let name = Path::new(command.get_program()).display().to_string();
        let said = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
        return Err(io::Error::other(format!("{name}: {said}")));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_holds_what_it_was_filled_with_and_nothing_stays() {
        if !possible() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("image");
        make_image(&image, 64 << 20, |root| {
            fs::create_dir(root.join("d"))?;
            fs::write(root.join("d/file"), vec![7; 300_000])
        })
        .unwrap();
        let attached = |image: &Path| {
            let said = run({
                let mut losetup = program("losetup").unwrap();
                losetup.arg("--associated").arg(image);
                losetup
            });
            !said.unwrap().is_empty()
        };
        assert!(!attached(&image));
        let device = LoopDevice::attach(&image, false).unwrap();
        let treatment = Treatment { scheduler: "none", read_ahead_kb: 1024, max_sectors_kb: 512 };
        device.treat(&treatment).unwrap();
        let set = |name: &str| fs::read_to_string(device.sysfs().join("queue").join(name)).unwrap();
        assert_eq!((set("read_ahead_kb").trim(), set("max_sectors_kb").trim()), ("1024", "512"));
        assert!(set("scheduler").contains("[none]"));
        let mounted = Ext4::mount(device.path(), true).unwrap();
        let point = mounted.path().to_owned();
        assert_eq!(fs::read(point.join("d/file")).unwrap(), vec![7; 300_000]);
        assert!(fs::write(point.join("d/other"), "x").is_err());
        drop((mounted, device));
        assert!(!attached(&image) && !is_mounted(&point));
    }

    /// Mount and device go, whatever `fill` does.
    #[test]
    fn nothing_stays_after_a_failure() {
        if !possible() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("image");
        let mut seen = PathBuf::new();
        let outcome = make_image(&image, 64 << 20, |root| {
            seen = root.to_owned();
            Err(io::Error::other("as wanted"))
        });
        assert!(outcome.unwrap_err().to_string().contains("as wanted"));
        assert!(!is_mounted(&seen));
    }
}
