//! Mounts whose points lie in their own source folders.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use forebay_testkit::mounts;
use rustix::mount::{MountFlags, UnmountFlags, mount, mount_bind, unmount};

use crate::Server;
use crate::program::Program;

/// Long enough for a busy machine; a process that waits for itself waits for ever.
const PATIENCE: Duration = Duration::from_secs(10);

/// Folders, mounts of them, and other mounts beside. At the end of any test the servers are killed,
/// which releases all waiting processes, and everything is unmounted.
struct Scene {
    servers: Vec<Server>,
    points: Vec<PathBuf>,
    folder: tempfile::TempDir,
}

impl Scene {
    fn new(folders: &[&str]) -> Scene {
        let folder = tempfile::tempdir().unwrap();
        for name in folders {
            std::fs::create_dir_all(folder.path().join(name)).unwrap();
            std::fs::write(folder.path().join(name).join("file"), *name).unwrap();
        }
        Scene { servers: Vec::new(), points: Vec::new(), folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A new mount point.
    fn point(&mut self, name: &str) -> PathBuf {
        let point = self.path(name);
        std::fs::create_dir_all(&point).unwrap();
        self.points.push(point.clone());
        point
    }

    /// Shows a folder at a point, by a process of its own.
    fn show(&mut self, source: &str, point: &str) {
        let point = self.point(point);
        self.servers.push(Server::how(&self.path(source), &point, "local"));
    }

    /// The output of a program for a name, within our patience.
    fn run(&self, program: &str, arguments: &[&str], name: &str) -> BTreeSet<String> {
        let mut program =
            Program::start(Command::new(program).current_dir(self.folder.path()).arg(name).args(arguments));
        let ended = program.ends_within(PATIENCE);
        assert!(ended.is_some(), "{name}: it waits for itself");
        program.lines.iter().collect()
    }

    /// All names below one.
    fn find(&self, name: &str) -> BTreeSet<String> {
        let found = self.run("find", &["-printf", "%P %y %s\\n"], name);
        // The sizes of folders are their file systems'.
        found.iter().map(|line| line.split_once(" d ").map_or(line.as_str(), |(name, _)| name).to_owned()).collect()
    }

    /// Each program that looks at everything ends, and sees these names.
    fn looks(&self, name: &str, expected: &[&str]) {
        let expected: BTreeSet<String> = expected.iter().map(|&name| name.to_owned()).collect();
        assert_eq!(self.find(name), expected, "{name}");
        self.run("ls", &["-lR"], name);
        self.run("du", &[], name);
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.servers.clear();
        self.points.iter().rev().for_each(|point| mounts::lazy_unmount(point));
    }
}

fn bytes(path: &Path) -> Option<Vec<u8>> {
    std::fs::read(path).ok()
}

#[test]
fn a_mount_within_what_it_shows_is_an_empty_folder_there() {
    if !mounts::possible() {
        return;
    }
    let mut scene = Scene::new(&["source", "source/deep"]);
    scene.show("source", "source/deep/point");
    let shown = ["", "file f 6", "deep", "deep/file f 11", "deep/point"];
    scene.looks("source/deep/point", &shown);
    let below = shown.map(|name| match name {
        "" => "deep/point".to_owned(),
        name => format!("deep/point/{name}"),
    });
    let outside: Vec<&str> = shown[..4].iter().copied().chain(below.iter().map(String::as_str)).collect();
    scene.looks("source", &outside);
    let point = scene.path("source/deep/point");
    assert_eq!(bytes(&point.join("file")).as_deref(), Some(&b"source"[..]));
    for within in ["deep/point/file", "deep/point/deep/point"] {
        let looked = scene.run("stat", &["--format=%n"], &format!("source/deep/point/{within}"));
        assert_eq!(looked.len(), 0, "nothing is in a mount that is not entered");
    }
    assert_eq!(scene.run("stat", &["--format=%F"], "source/deep/point/deep/point"), ["directory".into()].into());
    assert!(mounts::is_mounted(&point));
    unmount(&point, UnmountFlags::empty()).unwrap();
    assert!(scene.servers[0].ends_within(PATIENCE));
}

#[test]
fn a_second_mount_of_the_folder_enters_neither() {
    if !mounts::possible() {
        return;
    }
    let mut scene = Scene::new(&["source"]);
    scene.show("source", "source/first");
    scene.show("source", "source/second");
    let shown = ["", "file f 6", "first", "second"];
    for name in ["source/first", "source/second"] {
        scene.looks(name, &shown);
    }
}

#[test]
fn two_mounts_that_contain_each_others_points() {
    if !mounts::possible() {
        return;
    }
    let mut scene = Scene::new(&["a", "b"]);
    scene.show("a", "b/point");
    scene.show("b", "a/point");
    scene.looks("b/point", &["", "file f 1", "point"]);
    scene.looks("a/point", &["", "file f 1", "point"]);
    for name in ["a/point/point/point", "b/point/point/file"] {
        assert_eq!(scene.run("stat", &["--format=%n"], name).len(), 0);
    }
}

#[test]
fn a_mount_that_appears_and_goes_below_what_is_shown() {
    if !mounts::possible() {
        return;
    }
    let mut scene = Scene::new(&["source", "other"]);
    scene.show("source", "shown");
    std::fs::create_dir(scene.path("source/later")).unwrap();
    std::fs::write(scene.path("source/later/covered"), "").unwrap();
    std::thread::sleep(Duration::from_millis(1100));
    scene.looks("shown", &["", "file f 6", "later", "later/covered f 0"]);
    std::fs::remove_file(scene.path("source/later/covered")).unwrap();
    scene.show("other", "source/later");
    std::thread::sleep(Duration::from_millis(1100));
    scene.looks("shown", &["", "file f 6", "later"]);
    unmount(scene.path("source/later"), UnmountFlags::empty()).unwrap();
    std::fs::write(scene.path("source/later/seen"), "").unwrap();
    std::thread::sleep(Duration::from_millis(1100));
    scene.looks("shown", &["", "file f 6", "later", "later/seen f 0"]);
}

#[test]
fn a_part_of_the_mount_bound_into_what_it_shows() {
    if !mounts::possible() {
        return;
    }
    let mut scene = Scene::new(&["source", "source/deep"]);
    scene.show("source", "shown");
    let (folder, file) = (scene.point("source/folder"), scene.path("source/name"));
    std::fs::write(&file, "covered").unwrap();
    scene.points.push(file.clone());
    let bound = [(scene.path("shown/deep"), &folder), (scene.path("shown/file"), &file)];
    for (from, to) in bound {
        if mount_bind(from, to).is_err() {
            return forebay_testkit::tools::skip("the right to mount");
        }
    }
    // A file that cannot be asked about is shown as a folder with nothing in it.
    scene.looks("shown", &["", "file f 6", "deep", "deep/file f 11", "folder", "name"]);
}

/// A disk image in the mount, and an overlay over it: file systems that rest on the mount, below
/// what it shows.
#[test]
fn what_rests_on_the_mount_is_an_empty_folder_below_what_it_shows() {
    if !mounts::possible() {
        return;
    }
    let mut scene = Scene::new(&["source", "source/deep", "writes"]);
    let image = scene.path("source/image");
    std::fs::File::create(&image).unwrap().set_len(2 << 20).unwrap();
    let made = Command::new("mkfs.ext4").args(["-q", "-F", "-d"]).arg(scene.path("source/deep")).arg(&image).status();
    if !made.is_ok_and(|status| status.success()) {
        return forebay_testkit::tools::skip("mkfs.ext4");
    }
    scene.show("source", "shown");
    let on_loop = scene.point("source/loop");
    let image = scene.path("shown/image");
    let done = Command::new("mount").args(["-o", "loop,ro,noload"]).args([&image, &on_loop]).status();
    if !done.is_ok_and(|status| status.success()) {
        return forebay_testkit::tools::skip("the right to mount a loop device");
    }
    assert_eq!(bytes(&on_loop.join("file")).as_deref(), Some(&b"source/deep"[..]));
    let (over, upper, work) = (scene.point("source/over"), scene.path("writes/upper"), scene.path("writes/work"));
    [&upper, &work].into_iter().for_each(|folder| std::fs::create_dir(folder).unwrap());
    let [lower, upper, work] = [scene.path("shown/deep"), upper, work].map(|folder| folder.display().to_string());
    let layers = format!("lowerdir={lower},upperdir={upper},workdir={work}");
    let done = Command::new("mount").args(["-t", "overlay", "-o", &layers, "overlay"]).arg(&over).status();
    let is_over = done.is_ok_and(|status| status.success());
    let shown = ["", "file f 6", "deep", "deep/file f 11", "image f 2097152", "loop", "over"];
    scene.looks("shown", &shown);
    assert!(!is_over || bytes(&over.join("file")).is_some(), "it is there for others");
}

#[test]
fn other_file_systems_below_are_entered() {
    if !mounts::possible() {
        return;
    }
    let mut scene = Scene::new(&["source", "source/deep"]);
    let point = scene.point("source/deep/tmpfs");
    if mount("none", &point, "tmpfs", MountFlags::empty(), c"size=64k").is_err() {
        return forebay_testkit::tools::skip("the right to mount");
    }
    std::fs::create_dir(point.join("folder")).unwrap();
    std::fs::write(point.join("folder/file"), "of another file system").unwrap();
    let links = [("to", "deep/tmpfs/folder/../folder/file"), ("out", "deep/tmpfs/../../../outside")];
    for (name, target) in links {
        std::os::unix::fs::symlink(target, scene.path("source").join(name)).unwrap();
    }
    scene.show("source", "source/point");
    let shown = scene.path("source/point");
    let expected = Some(&b"of another file system"[..]);
    assert_eq!(bytes(&shown.join("deep/tmpfs/folder/file")).as_deref(), expected);
    assert_eq!(bytes(&shown.join("to")).as_deref(), expected);
    assert_eq!(shown.join("out").read_link().unwrap_err().raw_os_error(), Some(libc::EACCES));
    let found = scene.find("source/point");
    assert!(found.contains("deep/tmpfs/folder/file f 22") && found.contains("point"), "{found:?}");
    // A link that leads through the mount is not followed into it.
    std::os::unix::fs::symlink("point/deep/../file", scene.path("source/through")).unwrap();
    scene.looks("source/point/deep", &["", "file f 11", "tmpfs", "tmpfs/folder", "tmpfs/folder/file f 22"]);
    scene.run("cat", &[], "source/point/through");
}

/// Levels are stacked so: the root of one source is the mount of another.
#[test]
fn a_mount_of_a_mount_is_a_level() {
    if !mounts::possible() {
        return;
    }
    let mut scene = Scene::new(&["source", "source/deep"]);
    scene.show("source", "first");
    scene.show("first", "second");
    scene.looks("second", &["", "file f 6", "deep", "deep/file f 11"]);
    assert_eq!(bytes(&scene.path("second/deep/file")).as_deref(), Some(&b"source/deep"[..]));
}
