//! Storage that never answers: its readers can go, and no others wait.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use forebay_testkit::mounts::{self, MountPoint};
use forebay_testkit::need;
use rustix::process::Signal;

use crate::Server;
use crate::program::Program;

/// A silent folder in another process, whose end releases everything that waits for it.
struct Scene {
    server: Server,
    point: MountPoint,
    _source: tempfile::TempDir,
}

impl Scene {
    fn new(how: &str) -> Scene {
        Scene::with(|source, point| Server::how(source, point, how))
    }

    fn with(serve: impl FnOnce(&Path, &Path) -> Server) -> Scene {
        let (source, point) = (tempfile::tempdir().unwrap(), MountPoint::new().unwrap());
        for name in ["look", "open", "read", "known"] {
            std::fs::write(source.path().join(name), name.repeat(10_000)).unwrap();
        }
        for number in 0..200 {
            std::fs::write(source.path().join(format!("read {number}")), "x".repeat(100_000)).unwrap();
        }
        std::fs::create_dir(source.path().join("list")).unwrap();
        let server = serve(source.path(), point.path());
        Scene { server, point, _source: source }
    }

    fn here(&self, name: &str) -> PathBuf {
        self.point.path().join(name)
    }

    fn threads(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/task", self.server.id())).unwrap().count()
    }
}

const SOON: Duration = Duration::from_secs(1);

/// A program for each request that a silent storage leaves unanswered.
fn readers(scene: &Scene) -> Vec<(&'static str, Program)> {
    let reader =
        |command: &str, name: &'static str| (name, Program::start(Command::new(command).arg(scene.here(name))));
    vec![reader("stat", "look"), reader("ls", "list"), reader("cat", "open"), reader("cat", "read")]
}

#[test]
fn readers_of_silent_storage_can_be_killed() {
    if !mounts::possible() {
        return;
    }
    for how in ["kept", "handed on"] {
        for signal in [Signal::KILL, Signal::INT, Signal::TERM, Signal::ABORT] {
            let mut scene = Scene::new(how);
            let mut readers = readers(&scene);
            for (name, reader) in &mut readers {
                reader.waits(name);
                reader.send(signal);
                let ended = reader.ends_within(SOON);
                assert!(ended.is_some_and(|status| !status.success()), "{how}: {name}, {signal:?}: {ended:?}");
            }
            // Requests that are still kept for them hold up nothing.
            let began = Instant::now();
            rustix::mount::unmount(scene.point.path(), rustix::mount::UnmountFlags::empty()).unwrap();
            assert!(!mounts::is_mounted(scene.point.path()));
            assert!(scene.server.ends_within(Duration::from_secs(5)) && began.elapsed() < Duration::from_secs(5));
        }
    }
}

/// Prints when it begins, when a signal has come, and the bytes that it read.
const PYTHON: &str = r#"
import os, signal, sys
signal.signal(signal.SIGINT, lambda *_: (print("interrupted", flush=True), os._exit(7)))
signal.signal(signal.SIGURG, lambda *_: print("urgent", flush=True))
print("begins", flush=True)
if sys.argv[1] == "map":
    import mmap
    with open(sys.argv[2]) as file: bytes = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)[:4]
else:
    bytes = os.read(os.open(sys.argv[2], os.O_RDONLY), 4)
print(bytes, flush=True)
"#;

fn python(scene: &Scene, how: &str) -> Option<Program> {
    let python = Command::new("python3").args(["-c", "1"]).status().is_ok_and(|status| status.success());
    if !python {
        return None;
    }
    let mut program = Program::start(Command::new("python3").args(["-c", PYTHON, how]).arg(scene.here("read")));
    assert_eq!(program.lines.recv_timeout(Duration::from_secs(10)), Ok("begins".into()));
    program.waits("Python");
    Some(program)
}

#[test]
fn a_handler_of_ctrl_c_runs_at_once() {
    if !mounts::possible() {
        return;
    }
    need!("python3");
    for how in ["kept", "handed on"] {
        let scene = Scene::new(how);
        let Some(mut program) = python(&scene, "read") else { return };
        program.send(Signal::INT);
        assert_eq!(program.lines.recv_timeout(SOON), Ok("interrupted".into()), "{how}");
        assert_eq!(program.ends_within(SOON).and_then(|status| status.code()), Some(7), "{how}");
    }
}

#[test]
fn other_signals_interrupt_nothing() {
    if !mounts::possible() {
        return;
    }
    need!("python3");
    let scene = Scene::new("kept");
    let Some(mut program) = python(&scene, "read") else { return };
    program.send(Signal::URG);
    assert_eq!(program.lines.recv_timeout(SOON), Err(RecvTimeoutError::Timeout), "no handler runs in a read");
    program.send(Signal::KILL);
    assert!(program.ends_within(SOON).is_some());
}

/// The answer `EINTR` to a page fault would be `SIGBUS`.
#[test]
fn a_handler_of_ctrl_c_is_no_death_of_one_that_reads_a_mapped_file() {
    if !mounts::possible() {
        return;
    }
    need!("python3");
    for how in ["kept", "handed on"] {
        let scene = Scene::new(how);
        let Some(mut program) = python(&scene, "map") else { return };
        program.send(Signal::INT);
        assert_eq!(program.ends_within(SOON), None, "{how}: it waits");
        program.send(Signal::KILL);
        assert!(program.ends_within(SOON).is_some(), "{how}");
    }
}

/// Long, for machines that do many things at once; a request that had to wait would wait for ever.
const QUICK: Duration = Duration::from_secs(2);

/// Runs `run` and fails if it takes long.
fn quickly<T: Send + 'static>(what: &str, run: impl FnOnce() -> T + Send + 'static) -> T {
    let (send, done) = channel();
    std::thread::spawn(move || drop(send.send(run())));
    done.recv_timeout(QUICK).unwrap_or_else(|_| panic!("{what} waits"))
}

fn all_else_works(scene: &Scene) {
    let (known, point) = (scene.here("known"), scene.point.path().to_owned());
    let file = quickly("opening", {
        let known = known.clone();
        move || File::open(known).unwrap()
    });
    for _ in 0..10 {
        let (known, file, point) = (known.clone(), file.try_clone().unwrap(), point.clone());
        quickly("a read", move || {
            let mut buffer = [0; 10];
            file.read_exact_at(&mut buffer, 20).unwrap();
            assert_eq!(&buffer, b"knownknown");
        });
        quickly("stat", move || assert_eq!(known.metadata().unwrap().len(), 50_000));
        quickly("df", move || assert!(rustix::fs::statvfs(&point).unwrap().f_blocks > 0));
    }
    let folder = point.clone();
    assert_eq!(quickly("ls", move || folder.read_dir().unwrap().count()), 205);
}

/// Starts a look of each of so many threads; they end with the server.
fn crowd(scene: &Scene, look: impl Fn(PathBuf) + Clone + Send + 'static, name: &str) {
    for number in 0..200 {
        let (look, path) = (look.clone(), scene.here(&format!("{name} {number}")));
        std::thread::spawn(move || look(path));
    }
    std::thread::sleep(Duration::from_millis(500));
}

#[test]
fn two_hundred_look_ups_hold_up_nobody() {
    if !mounts::possible() {
        return;
    }
    let scene = Scene::new("kept");
    all_else_works(&scene);
    let before = scene.threads();
    crowd(&scene, |path: PathBuf| drop(path.metadata()), "look");
    // The folder of these tests reads each fetch on a thread.
    assert!(scene.threads() <= before + 2, "a request that waits has no thread");
    all_else_works(&scene);
    let spent = scene.server.processor_time();
    std::thread::sleep(Duration::from_secs(1));
    let spent = scene.server.processor_time() - spent;
    assert!(spent < Duration::from_millis(300), "{spent:?} of a second to look after those who wait");
}

#[test]
fn two_hundred_reads_hold_up_nobody() {
    if !mounts::possible() {
        return;
    }
    for how in ["kept", "handed on"] {
        let scene = Scene::new(how);
        crowd(&scene, |path: PathBuf| drop(std::fs::read(path)), "read");
        all_else_works(&scene);
    }
}

/// The reader has no number that we see; its own number may be another thread's here.
#[test]
fn a_reader_in_another_process_id_namespace_is_left_alone() {
    if !mounts::possible() {
        return;
    }
    let unshare = need!("unshare");
    let mut scene = Scene::with(|source, point| Server::apart(&unshare, source, point));
    let mut program = Program::start(Command::new("cat").arg(scene.here("read")));
    program.waits("cat");
    program.send(Signal::KILL);
    assert_eq!(program.ends_within(SOON), None);
    scene.server.kill();
    assert!(program.ends_within(SOON).is_some());
}
