//! Files that are alike in all but their bytes, on every kind of source and on chains of them: each
//! reader gets its own file's bytes.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use forebay_testkit::nginx::{self, Nginx};
use forebay_testkit::process::Running;
use forebay_testkit::s3::{BUCKET, S3};
use forebay_testkit::trees::content;
use forebay_testkit::web::apache::{self, Apache};
use forebay_testkit::web::rclone::{Protocol, Rclone};
use forebay_testkit::web::wsgidav::Wsgidav;
use forebay_testkit::{mounts, need, tools};
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

use crate::{Mount, forebay, text};

const FILES: u64 = 32;
const SIZE: usize = 100_000;

/// `forebay serve` over a source, until it is dropped.
pub(crate) struct Serve {
    running: Running,
    pub(crate) url: String,
}

impl Serve {
    pub(crate) fn start(source: &[&str]) -> Serve {
        let (said, output) = std::io::pipe().expect("a pipe");
        let mut command = forebay(&["serve", "--listen", "127.0.0.1:0", "--policy", "competitive"]);
        command.args(["--memory", "32MiB"]).args(source).stdout(output);
        let running = Running::start(command).expect("the command starts");
        let mut line = String::new();
        BufReader::new(said).read_line(&mut line).expect("readable");
        assert!(line.starts_with("ready: "), "{source:?}: it said why on its standard error");
        let url = line.trim().rsplit(' ').next().expect("it says where").to_owned();
        Serve { running, url }
    }

    /// The id of its process.
    pub(crate) fn id(&self) -> u32 {
        self.running.id()
    }
}

/// Files that are alike; the seed decides their bytes.
struct Alike {
    seed: u64,
}

impl Alike {
    fn new() -> Alike {
        let seed = u64::from(rand::random::<u32>());
        println!("seed {seed}");
        Alike { seed }
    }

    fn name(number: u64) -> PathBuf {
        PathBuf::from(format!("{number}.bin"))
    }

    fn bytes(&self, number: u64) -> Vec<u8> {
        content(self.seed.wrapping_add(number), SIZE)
    }

    /// Fills a folder with files of one length and one time of modification.
    fn fill(&self, folder: &Path) {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_000_000);
        for number in 0..FILES {
            let path = folder.join(Alike::name(number));
            fs::create_dir_all(path.parent().expect("in a folder")).expect("a folder");
            fs::write(&path, self.bytes(number)).expect("a file");
            File::options().write(true).open(&path).and_then(|file| file.set_modified(time)).expect("ours");
        }
    }

    /// 32 readers, each in an order of its own, read from the kernel's pages, from the mount's
    /// blocks and from the source.
    fn read_all(&self, root: &Path, what: &str) {
        std::thread::scope(|scope| {
            for reader in 0..32 {
                scope.spawn(move || {
                    let mut random = StdRng::seed_from_u64(self.seed ^ (reader << 40));
                    let mut order: Vec<u64> = (0..FILES).collect();
                    order.shuffle(&mut random);
                    for number in order {
                        let path = root.join(Alike::name(number));
                        let got = fs::read(&path).unwrap_or_else(|error| panic!("{what}: {path:?}: {error}"));
                        assert!(got == self.bytes(number), "{what}, seed {}: {path:?} has other bytes", self.seed);
                    }
                });
            }
        });
    }

    /// Mounts the source with the kernel cache on and off. Each time the files have the same inode
    /// numbers as before.
    fn check(&self, source: &[&str], what: &str) {
        let mut before = None;
        for kernel_cache in ["off", "on"] {
            let what = format!("{what}, --kernel-cache {kernel_cache}");
            let common = ["--policy", "competitive", "--memory", "32MiB", "--hints", "off"];
            let args = [&["--kernel-cache", kernel_cache][..], &common, source].concat();
            let mount = Mount::start(&args);
            self.read_all(mount.path(), &what);
            let number = |number| fs::metadata(mount.path().join(Alike::name(number))).expect("there").ino();
            let numbers: Vec<u64> = (0..FILES).map(number).collect();
            let mut distinct = numbers.clone();
            distinct.sort_unstable();
            distinct.dedup();
            assert_eq!(distinct.len(), numbers.len(), "{what}: two files of one inode");
            assert_eq!(before.get_or_insert_with(|| numbers.clone()), &numbers, "{what}: other numbers than before");
        }
    }
}

#[test]
fn folders_and_servers_of_folders() {
    if !mounts::possible() {
        return;
    }
    let (alike, folder) = (Alike::new(), tempfile::tempdir().expect("a folder"));
    alike.fill(folder.path());
    alike.check(&[text(folder.path())], "a folder");
    let server = Serve::start(&[text(folder.path())]);
    alike.check(&[&server.url], "a server of a folder");
    let above = Serve::start(&[&server.url]);
    alike.check(&[&above.url], "a server of a server of a folder");
}

/// Their tags are made of length and time, or there are none.
#[test]
fn web_servers() {
    if !mounts::possible() {
        return;
    }
    let [nginx, apache, rclone, wsgidav] = ["nginx", "apache2", "rclone", "wsgidav"].map(tools::find);
    let (alike, folder) = (Alike::new(), tempfile::tempdir().expect("a folder"));
    alike.fill(folder.path());
    let root = folder.path();
    if let Some(nginx) = wanted(nginx, "nginx") {
        let server = Nginx::start(&nginx, root, true).expect("a server");
        alike.check(&[&server.url()], "nginx");
        // Two sources of one mount, with files that are alike as well.
        let sources = [format!("web={}", server.url()), format!("again={}/", server.url())];
        let mount = Mount::start(&["--memory", "32MiB", "--hints", "off", &sources[0], &sources[1]]);
        for name in ["web", "again"] {
            alike.read_all(&mount.path().join(name), name);
        }
        drop(mount);
        let dav = nginx::Features { dav: true, ..nginx::Features::default() };
        let server = Nginx::start_with(&nginx, root, dav).expect("a server");
        alike.check(&[&server.url()], "nginx with WebDAV");
        alike.check(&[&Serve::start(&[&server.url()]).url], "a server of nginx");
    }
    if let Some(apache) = wanted(apache, "apache2") {
        let dav = apache::Features { dav: true, ..apache::Features::default() };
        let server = Apache::start(&apache, root, dav).expect("a server");
        alike.check(&[&server.url()], "Apache");
    }
    if let Some(rclone) = wanted(rclone, "rclone") {
        for protocol in [Protocol::Http, Protocol::WebDav] {
            let server = Rclone::start(&rclone, root, protocol).expect("a server");
            alike.check(&[&server.url()], &format!("rclone, {protocol:?}"));
        }
    }
    if let Some(wsgidav) = wanted(wsgidav, "wsgidav") {
        let server = Wsgidav::start(&wsgidav, root).expect("a server");
        alike.check(&[&server.url()], "wsgidav");
    }
}

/// The path of a program, if it is there. Otherwise the test goes on without it, and fails in CI.
fn wanted(program: Option<PathBuf>, name: &str) -> Option<PathBuf> {
    if program.is_none() {
        tools::skip(name);
    }
    program
}

#[test]
fn an_object_store_and_a_server_of_it() {
    if !mounts::possible() {
        return;
    }
    let (alike, s3) = (Alike::new(), S3::start(&need!("versitygw")).expect("a server"));
    for number in 0..FILES {
        let key = format!("data/{}", text(&Alike::name(number)));
        s3.put(&key, &alike.bytes(number)).expect("stored");
    }
    let (uri, endpoint) = (format!("s3://{BUCKET}/data"), s3.endpoint());
    let store = [&uri, "--endpoint", &endpoint, "--region", "us-east-1"];
    alike.check(&store, "a store");
    alike.check(&[&Serve::start(&store).url], "a server of a store");
}
