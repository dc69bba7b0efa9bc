//! The programs that tests and benchmarks need beside Rust: S3 servers and mounts of them, web
//! servers, load generators, BLAST, FUSE's mount program, Prometheus, a browser, shells, axe.
//!
//! A program that cannot be fetched is reported and is no error here: a test that lacks a program
//! fails in CI and is skipped elsewhere (`forebay_testkit::need!`).

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::run::{answers, heading, succeeds};
use crate::{python, target};

/// The S3 server of the tests, as `go install` takes it. Pinned, so that a test fails for our
/// reasons only.
const VERSITYGW: &str = "github.com/versity/versitygw/cmd/versitygw@v1.8.0";

/// The packages of npm, each with its version and its hash.
const NODE: [(&str, &str); 2] = [
    ("package.json", include_str!("../node/package.json")),
    ("package-lock.json", include_str!("../node/package-lock.json")),
];

/// The script that looks at pages for people who do not see them, or not well.
const AXE: &str = "axe.min.js";

/// A program or a server's module of Debian: its name and the package that brings it.
const DEBIAN: [(&str, &str); 22] = [
    ("nginx", "nginx-light"),
    ("ngx_http_dav_ext_module.so", "libnginx-mod-http-dav-ext"),
    ("apache2", "apache2-bin"),
    ("rclone", "rclone"),
    ("s3fs", "s3fs"),
    ("python3", "python3"),
    ("wrk", "wrk"),
    ("fio", "fio"),
    ("fusermount3", "fuse3"),
    ("zsh", "zsh"),
    ("fish", "fish"),
    ("sqlite3", "sqlite3"),
    ("valgrind", "valgrind"),
    ("strace", "strace"),
    ("blastn", "ncbi-blast+"),
    ("makeblastdb", "ncbi-blast+"),
    ("prometheus", "prometheus"),
    ("promtool", "prometheus"),
    ("chromium", "chromium"),
    ("npm", "npm"),
    ("haproxy", "haproxy"),
    ("tmux", "tmux"),
];

/// Fetches missing programs; returns whether everything is there now.
pub(crate) fn fetch() -> bool {
    heading("tools");
    let mut missing: Vec<String> = Vec::new();
    if let Err(reason) = versitygw() {
        missing.push(format!("versitygw ({reason})"));
    }
    if let Err(reason) = axe() {
        missing.push(format!("{AXE} ({reason})"));
    }
    if let Err(reason) = debian() {
        missing.extend(absent().iter().map(|(program, package)| format!("{program} (package {package}: {reason})")));
    }
    if let Err(reason) = python::PROGRAMS_OF.install() {
        missing.extend(python::PROGRAMS.map(|program| format!("{program} ({reason})")));
    }
    if let Err(reason) = python::MODULE.install() {
        missing.push(format!("the packages that the Python module is tested with ({reason})"));
    }
    if missing.is_empty() {
        println!("everything that tests need is there");
    } else {
        println!("=== MISSING, the tests that need them cannot run: {} ===", missing.join(", "));
    }
    missing.is_empty()
}

/// Builds the S3 server into `target/tools`, unless it is there.
fn versitygw() -> Result<(), String> {
    let folder = target().join("tools");
    if find("versitygw").is_some() {
        return Ok(());
    }
    if !answers(Command::new("go").arg("version")) {
        return Err("no Go to build it with".into());
    }
    println!("building {VERSITYGW}, a minute or two");
    let built = succeeds(Command::new("go").args(["install", VERSITYGW]).env("GOBIN", folder).stdin(Stdio::null()));
    if built { Ok(()) } else { Err("`go install` failed".into()) }
}

/// Has axe in `target/tools`, of the very version and hash.
fn axe() -> Result<(), String> {
    let (tools, folder) = (target().join("tools"), target().join("tools/node"));
    let is_it = |(name, text): &(&str, &str)| fs::read_to_string(folder.join(name)).is_ok_and(|there| there == *text);
    if tools.join(AXE).is_file() && NODE.iter().all(is_it) {
        return Ok(());
    }
    println!("fetching axe");
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    fs::create_dir_all(&folder).map_err(failed)?;
    for (name, text) in NODE {
        fs::write(folder.join(name), text).map_err(failed)?;
    }
    let mut npm = Command::new("npm");
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]).current_dir(&folder);
    if !succeeds(npm.stdin(Stdio::null())) {
        return Err("`npm ci` failed".into());
    }
    fs::copy(folder.join("node_modules/axe-core").join(AXE), tools.join(AXE)).map(drop).map_err(failed)
}

/// Installs the missing programs of Debian, if this is a Debian and we may.
fn debian() -> Result<(), String> {
    let mut packages: Vec<&str> = absent().iter().map(|&(_, package)| package).collect();
    packages.dedup();
    if packages.is_empty() {
        return Ok(());
    }
    if !answers(Command::new("apt-get").arg("--version")) {
        return Err("no apt-get here".into());
    }
    if !is_root() {
        return Err(format!("not root: run `apt-get install {}`", packages.join(" ")));
    }
    println!("installing {}", packages.join(" "));
    succeeds(&mut apt(&["update", "-q"]));
    succeeds(apt(&["install", "-q", "-y", "--no-install-recommends"]).args(&packages));
    if absent().is_empty() { Ok(()) } else { Err("apt-get did not install it".into()) }
}

/// `apt-get` that asks nothing and starts no service: in runlevel 1 a package starts none.
fn apt(args: &[&str]) -> Command {
    let mut command = Command::new("apt-get");
    command.args(args).env("DEBIAN_FRONTEND", "noninteractive").env("RUNLEVEL", "1").stdin(Stdio::null());
    command
}

fn absent() -> Vec<(&'static str, &'static str)> {
    let mut absent: Vec<_> = DEBIAN.into_iter().filter(|(program, _)| find(program).is_none()).collect();
    if !answers(Command::new("/usr/bin/python3").args(["-c", "import torch"])) {
        absent.push(("PyTorch of the system's Python", "python3-torch"));
    }
    if !python::makes_environments() {
        absent.push(("the module venv of python3", "python3-venv"));
    }
    absent
}

/// The folders in which Debian's packages put programs and modules that no PATH needs to name.
const PLACES: [&str; 3] = ["/usr/sbin", "/usr/lib/nginx/modules", "/usr/lib/apache2/modules"];

/// The path of a program or a server's module. Tests look in the same folders, and in the same
/// order.
fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    [target().join("tools"), python::folder().join("bin")]
        .into_iter()
        .chain(std::env::split_paths(&path))
        .chain(PLACES.map(PathBuf::from))
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}

/// Whether our effective user is root, from the kernel's own account of us.
fn is_root() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let uids = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap_or_default();
    uids.split_whitespace().nth(1) == Some("0")
}
