//! Real mounts over a folder, compared with that folder.

mod bytes;
mod circles;
mod faults;
mod folder;
mod identity;
mod kernel_cache;
mod life;
mod names;
mod points;
mod program;
mod silent;
mod speed;
mod storage;
mod waits;

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use forebay_core::{DeviceCost, DeviceId};
use forebay_fuse::{MountError, MountOptions, Mounted};
use forebay_live::engine::{Config, Engine, Referenced};
use forebay_live::tree::{Branch, Tree};
use forebay_source::Source;
use forebay_source::local::LocalSource;
use forebay_testkit::mounts::MountPoint;
use tempfile::TempDir;

/// The kernel asks again at every look.
fn forgetful() -> MountOptions {
    MountOptions { ttl: Duration::ZERO, negative_ttl: Duration::ZERO, ..MountOptions::default() }
}

/// A tree that shows a folder, and keeps the bytes of reads.
fn tree(source: &Path) -> Arc<Tree> {
    tree_with(source, Referenced::Kept)
}

fn tree_with(source: &Path, referenced: Referenced) -> Arc<Tree> {
    tree_of(Arc::new(folder::Folder::new(source)), referenced)
}

fn tree_of(source: Arc<dyn Source>, referenced: Referenced) -> Arc<Tree> {
    let config = Config { referenced, ..Config::new(64 << 20, "competitive".parse().expect("a policy that exists")) };
    let engine = Engine::start(config, vec![DeviceCost::flat(100_000, 1 << 30, 8)]).unwrap();
    let branch = Branch { name: None, source, device: DeviceId(0) };
    Arc::new(Tree::new(engine, vec![branch]).unwrap())
}

/// A folder and a mount that shows it. Fields are dropped in this order: the mount before its
/// folder.
struct Mirror {
    mounted: Mounted,
    _point: MountPoint,
    source: TempDir,
}

impl Mirror {
    /// Fills a folder and mounts it.
    fn new(options: MountOptions, fill: impl FnOnce(&Path)) -> Mirror {
        Mirror::with(options, Referenced::Kept, fill)
    }

    fn with(options: MountOptions, referenced: Referenced, fill: impl FnOnce(&Path)) -> Mirror {
        let (source, point) = (tempfile::tempdir().unwrap(), MountPoint::new().unwrap());
        fill(source.path());
        let mounted = forebay_fuse::mount(tree_with(source.path(), referenced), point.path(), options).unwrap();
        Mirror { mounted, _point: point, source }
    }

    /// A name in the folder.
    fn there(&self, name: impl AsRef<Path>) -> PathBuf {
        self.source.path().join(name)
    }

    /// The same name in the mount.
    fn here(&self, name: impl AsRef<Path>) -> PathBuf {
        self.mounted.point().join(name)
    }
}

/// Variables that tell this program, started again, to serve a folder instead of testing.
const SERVE: [&str; 2] = ["FOREBAY_TEST_SERVE_FOLDER", "FOREBAY_TEST_SERVE_POINT"];

/// How it serves the folder: as a [`silent`] one, with this treatment of referenced blocks; or by
/// `local`, as the command does.
const HOW: &str = "FOREBAY_TEST_SERVE_HOW";

/// Not a test but the other process that some tests need: this program again, so that both are of
/// one build.
#[test]
fn serve_for_another_process() {
    if let [Some(source), Some(point)] = SERVE.map(std::env::var_os) {
        let source = Path::new(&source);
        let tree = match std::env::var(HOW).as_deref() {
            Ok("kept") => tree_of(Arc::new(silent::Silent::new(source)), Referenced::Kept),
            Ok("handed on") => tree_of(Arc::new(silent::Silent::new(source)), Referenced::HandedOn),
            Ok("local") => tree_of(Arc::new(LocalSource::new(source).unwrap()), Referenced::Kept),
            _ => tree(source),
        };
        let mounted = forebay_fuse::mount(tree, Path::new(&point), MountOptions::default()).unwrap();
        println!("\nready");
        mounted.wait().unwrap();
        std::process::exit(0);
    }
}

/// The command that serves a folder at a mount point, says `ready` and waits to be unmounted.
fn server(program: impl AsRef<OsStr>, source: &Path, point: &Path) -> Command {
    let mut command = Command::new(program);
    command.envs(SERVE.into_iter().zip([source, point]));
    command
}

/// The arguments that turn this program into the server.
const SERVER_ARGUMENTS: [&str; 3] = ["--exact", "--nocapture", "serve_for_another_process"];

/// Has a program killed when the tests die.
fn die_with_us(command: &mut Command) {
    // SAFETY: between fork and exec there is only one system call, which is safe there.
    unsafe {
        command.pre_exec(|| {
            rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL)).map_err(Into::into)
        });
    }
}

/// Mounts a folder from another process. It is killed when this is dropped, or when the tests die.
struct Server {
    child: Child,
}

impl Server {
    fn start(source: &Path, point: &Path) -> Server {
        Server::run(server(std::env::current_exe().unwrap(), source, point))
    }

    /// See [`HOW`].
    fn how(source: &Path, point: &Path, how: &str) -> Server {
        let mut command = server(std::env::current_exe().unwrap(), source, point);
        command.env(HOW, how);
        Server::run(command)
    }

    /// Serves a silent folder from a process id namespace of its own, where our threads have no
    /// numbers.
    fn apart(unshare: &Path, source: &Path, point: &Path) -> Server {
        let mut command = server(unshare, source, point);
        command.env(HOW, "kept").args(["--pid", "--fork", "--kill-child"]).arg(std::env::current_exe().unwrap());
        Server::run(command)
    }

    fn run(mut command: Command) -> Server {
        command.args(SERVER_ARGUMENTS).stdin(Stdio::null()).stdout(Stdio::piped());
        die_with_us(&mut command);
        let mut server = Server { child: command.spawn().unwrap() };
        let mut said = BufReader::new(server.child.stdout.take().unwrap()).lines();
        assert!(said.any(|line| line.unwrap() == "ready"), "the server said why on its standard error");
        server
    }

    fn id(&self) -> u32 {
        self.child.id()
    }

    /// The processor time that it has taken.
    fn processor_time(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.id())).unwrap();
        let fields = stat.rsplit_once(')').unwrap().1.split_whitespace();
        let ticks: u64 = fields.skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum();
        Duration::from_secs(1) * ticks as u32 / rustix::param::clock_ticks_per_second() as u32
    }

    /// Whether it ends by itself within a time.
    fn ends_within(&mut self, time: Duration) -> bool {
        let began = Instant::now();
        while began.elapsed() < time {
            if self.child.try_wait().unwrap().is_some() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        false
    }

    /// `kill -9`.
    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Why mounting an empty folder at `point` is refused.
fn refusal(point: &Path) -> MountError {
    let source = tempfile::tempdir().unwrap();
    forebay_fuse::mount(tree(source.path()), point, MountOptions::default()).map(|_| ()).unwrap_err()
}

/// The errno of a failure.
fn errno<T>(outcome: std::io::Result<T>) -> Option<i32> {
    outcome.err().and_then(|error| error.raw_os_error())
}
