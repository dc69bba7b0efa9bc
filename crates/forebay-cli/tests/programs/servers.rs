//! The main job: unmodified programs on mounts of real web and object servers, right to the byte.

use std::fs;
use std::path::{Path, PathBuf};

use forebay_testkit::moto::Moto;
use forebay_testkit::nginx::{self, Nginx};
use forebay_testkit::s3::{BUCKET, S3};
use forebay_testkit::trees::content;
use forebay_testkit::web::apache::{self, Apache};
use forebay_testkit::web::python::Python;
use forebay_testkit::web::rclone::{Protocol, Rclone};
use forebay_testkit::web::wsgidav::Wsgidav;
use forebay_testkit::{mounts, tools};

use crate::identity::Serve;
use crate::{Mount, run, text};

const FILES: usize = 1000;

/// A thousand small files in nested folders, a large one, and the checksums of all.
struct Tree {
    folder: tempfile::TempDir,
    sums: PathBuf,
}

/// Whether a server lists folders, so that programs that walk them can run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lists {
    Yes,
    No,
}

impl Tree {
    fn new() -> Tree {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("tree");
        for number in 0..FILES {
            let path = root.join(Tree::name(number));
            fs::create_dir_all(path.parent().expect("in a folder")).expect("a folder");
            fs::write(path, content(number as u64, number * 37 % 20_000)).expect("ours");
        }
        fs::write(root.join("large file"), content(1 << 40, 5_000_001)).expect("ours");
        let sums = folder.path().join("sums");
        let found = run("sh", &["-c", "find . -type f -print0 | xargs -0 sha256sum"], &root);
        fs::write(&sums, found).expect("ours");
        Tree { folder, sums }
    }

    fn name(number: usize) -> String {
        format!("{}/{}/file {number}.bin", number % 3, number % 7)
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("tree")
    }

    fn files(&self) -> impl Iterator<Item = (String, Vec<u8>)> {
        let root = self.root();
        let names = (0..FILES).map(Tree::name).chain(["large file".to_owned()]);
        names.map(move |name| (name.clone(), fs::read(root.join(name)).expect("ours")))
    }

    /// Programs on a mount of the source read the tree's files.
    fn check(&self, source: &[&str], what: &str, lists: Lists) {
        let mount = Mount::start(&[&["--memory", "64MiB"], source].concat());
        println!("{what}");
        run("sha256sum", &["--quiet", "-c", text(&self.sums)], mount.path());
        let out = tempfile::tempdir().expect("a folder");
        let part = out.path().join("part-");
        let joined = format!("split -b 1000000 'large file' '{0}' && cat '{0}'* | cmp - 'large file'", text(&part));
        run("sh", &["-c", &joined], mount.path());
        if lists == Lists::Yes {
            let copy = out.path().join("copy");
            run("cp", &["-r", ".", text(&copy)], mount.path());
            run("diff", &["-r", text(&copy), text(&self.root())], out.path());
        }
    }
}

/// The path of a program, if it is there. Otherwise the test goes on without it, and fails in CI.
fn wanted(name: &str) -> Option<PathBuf> {
    let found = tools::find(name);
    if found.is_none() {
        tools::skip(name);
    }
    found
}

fn with(name: &str, check: impl FnOnce(&Path)) {
    if let Some(program) = wanted(name) {
        check(&program);
    }
}

#[test]
fn nginx_of_all_kinds() {
    if !mounts::possible() {
        return;
    }
    let tree = Tree::new();
    with("nginx", |nginx| {
        let plain = nginx::Features::default();
        let autoindex = nginx::Features { autoindex: true, ..plain };
        let dav = nginx::Features { dav: true, ..plain };
        for (features, what, lists) in
            [(plain, "plain", Lists::No), (autoindex, "autoindex", Lists::Yes), (dav, "WebDAV", Lists::Yes)]
        {
            let server = Nginx::start_with(nginx, &tree.root(), features).expect("a server");
            tree.check(&[&server.url()], &format!("nginx, {what}"), lists);
        }
    });
}

#[test]
fn apache_of_both_kinds() {
    if !mounts::possible() {
        return;
    }
    let tree = Tree::new();
    with("apache2", |apache| {
        for dav in [false, true] {
            let features = apache::Features { dav, ..apache::Features::default() };
            let server = Apache::start(apache, &tree.root(), features).expect("a server");
            tree.check(&[&server.url()], &format!("Apache, WebDAV: {dav}"), Lists::Yes);
        }
    });
}

#[test]
fn other_web_servers_and_a_level_above_one() {
    if !mounts::possible() {
        return;
    }
    let tree = Tree::new();
    with("rclone", |rclone| {
        for protocol in [Protocol::Http, Protocol::WebDav] {
            let server = Rclone::start(rclone, &tree.root(), protocol).expect("a server");
            tree.check(&[&server.url()], &format!("rclone, {protocol:?}"), Lists::Yes);
            let level = Serve::start(&[&server.url()]);
            tree.check(&[&level.url], &format!("a level above rclone, {protocol:?}"), Lists::Yes);
        }
    });
    with("wsgidav", |wsgidav| {
        let server = Wsgidav::start(wsgidav, &tree.root()).expect("a server");
        tree.check(&[&server.url()], "wsgidav", Lists::Yes);
    });
    with("python3", |python| {
        let server = Python::start(python, &tree.root()).expect("a server");
        tree.check(&[&server.url()], "Python", Lists::Yes);
    });
}

#[test]
fn object_servers() {
    if !mounts::possible() {
        return;
    }
    let tree = Tree::new();
    let check = |endpoint: String, what: &str| {
        let source = [format!("s3://{BUCKET}"), "--endpoint".into(), endpoint, "--region".into(), "us-east-1".into()];
        tree.check(&source.each_ref().map(String::as_str), what, Lists::Yes);
    };
    with("versitygw", |versitygw| {
        let server = S3::start(versitygw).expect("a server");
        tree.files().for_each(|(name, bytes)| server.put(&name, &bytes).expect("stored"));
        check(server.endpoint(), "versitygw");
    });
    with("moto_server", |moto| {
        let server = Moto::start(moto).expect("a server");
        tree.files().for_each(|(name, bytes)| server.put(&name, &bytes).expect("stored"));
        check(server.url(), "moto");
    });
}
