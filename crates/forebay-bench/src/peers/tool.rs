//! The compared mounts, and the commands that make them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::str::FromStr;

use forebay_testkit::s3::{BUCKET, S3};
use forebay_testkit::tools;

/// The budget of the mount that is compared with peers.
pub(super) const MEMORY: u64 = 512 << 20;

/// A small budget.
pub(super) const LITTLE: u64 = 128 << 20;

/// A mount of an S3 server.
#[derive(Clone, Debug)]
pub(super) struct Tool {
    pub(super) name: String,
    /// The line that the program prints for its version.
    pub(super) version: String,
    program: Program,
}

#[derive(Clone, Debug)]
enum Program {
    Forebay(PathBuf),
    Rclone(PathBuf),
    S3fs(PathBuf),
    Shell(String),
}

/// A mount that the user names, as `NAME=COMMAND`.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    name: String,
    command: String,
}

impl FromStr for Peer {
    type Err = String;

    fn from_str(text: &str) -> Result<Peer, String> {
        let (name, command) = text.split_once('=').ok_or("NAME=COMMAND is expected")?;
        if name.is_empty() || !command.contains("{mountpoint}") {
            return Err("a name is expected, and a command with {mountpoint} in it".into());
        }
        Ok(Peer { name: name.into(), command: command.into() })
    }
}

/// The facts that a command needs.
pub(super) struct Where<'a> {
    pub(super) endpoint: &'a str,
    pub(super) point: &'a Path,
    /// An empty folder for the program's files.
    pub(super) cache: &'a Path,
}

/// The options of Forebay. Other tools have only the choice of the folder.
#[derive(Clone, Debug)]
pub(super) struct Manner {
    pub(super) memory: u64,
    /// The file of hints, if any.
    pub(super) hints: Option<PathBuf>,
    /// Where a tool keeps what it reads from one mount to the next, if it does.
    pub(super) kept: Option<PathBuf>,
}

impl Manner {
    /// The options for comparisons with other tools.
    pub(super) fn usual() -> Manner {
        Manner { memory: MEMORY, hints: None, kept: None }
    }
}

/// Forebay, then the installed peers. Reports missing peers on standard error.
pub(super) fn all(forebay: PathBuf, named: &[Peer]) -> Vec<Tool> {
    let mut all = vec![Tool::new("Forebay", "--version", forebay, Program::Forebay)];
    let missing = |name| eprintln!("  {name} is missing and left out; `cargo xtask tools` installs it");
    match tools::find("rclone") {
        Some(path) => all.push(Tool::new("rclone", "version", path, Program::Rclone)),
        None => missing("rclone"),
    }
    match tools::find("s3fs") {
        Some(path) => all.push(Tool::new("s3fs", "--version", path, Program::S3fs)),
        None => missing("s3fs"),
    }
    all.extend(named.iter().map(|peer| {
        let program = Program::Shell(peer.command.clone());
        Tool { name: peer.name.clone(), version: peer.command.clone(), program }
    }));
    all
}

impl Tool {
    fn new(name: &str, asks: &str, path: PathBuf, program: fn(PathBuf) -> Program) -> Tool {
        let said = Command::new(&path).arg(asks).stdin(Stdio::null()).output();
        let said = said.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        let version = said.lines().next().unwrap_or_default().trim().to_owned();
        Tool { name: name.into(), version, program: program(path) }
    }

    /// The command that mounts the bucket, stays in the foreground, and ends when told to.
    pub(super) fn command(&self, place: &Where, manner: &Manner) -> Command {
        let mut command = match &self.program {
            Program::Forebay(path) => forebay(path, place, manner),
            Program::Rclone(path) => rclone(path, place, manner),
            Program::S3fs(path) => s3fs(path, place, manner),
            Program::Shell(line) => shell(line, place),
        };
        command.env("XDG_CACHE_HOME", place.cache).env("XDG_CONFIG_HOME", place.cache);
        // The machine's own settings are for other servers.
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("AWS_")) {
            command.env_remove(name);
        }
        for (name, value) in S3::settings() {
            command.env(name.to_uppercase(), value);
        }
        command.stdin(Stdio::null());
        command
    }
}

fn forebay(path: &Path, place: &Where, manner: &Manner) -> Command {
    let mut command = Command::new(path);
    command.env("FOREBAY_CONFIG", "/dev/null").arg("mount").args(["--endpoint", place.endpoint]);
    command.args(["--memory", &manner.memory.to_string(), "--hints"]);
    command.arg(manner.hints.as_deref().unwrap_or(Path::new("off")));
    if let Some(kept) = &manner.kept {
        command.arg("--disk").arg(kept).args(["--disk-size", "4GiB", "--disk-free", "0"]);
    }
    command.arg(format!("s3://{BUCKET}")).arg(place.point);
    command
}

fn rclone(path: &Path, place: &Where, manner: &Manner) -> Command {
    let mut command = Command::new(path);
    command.arg("mount").arg(format!(":s3:{BUCKET}")).arg(place.point);
    command.args(["--config", "/dev/null", "--s3-provider", "Other", "--s3-env-auth", "--s3-region", "us-east-1"]);
    command.args(["--s3-endpoint", place.endpoint]);
    command.args(["--read-only", "--use-server-modtime", "--vfs-cache-mode"]);
    match &manner.kept {
        Some(kept) => command.args(["full", "--cache-dir"]).arg(kept),
        None => command.arg("off"),
    };
    command
}

fn s3fs(path: &Path, place: &Where, manner: &Manner) -> Command {
    let mut command = Command::new(path);
    command.arg(BUCKET).arg(place.point).args(["-f", "-o"]);
    command.arg(format!("ro,url={},use_path_request_style,endpoint=us-east-1", place.endpoint));
    command.arg("-o").arg(format!("tmpdir={}", place.cache.display()));
    if let Some(kept) = &manner.kept {
        command.arg("-o").arg(format!("use_cache={}", kept.display()));
    }
    command
}

fn shell(line: &str, place: &Where) -> Command {
    let line = line
        .replace("{endpoint}", place.endpoint)
        .replace("{bucket}", BUCKET)
        .replace("{mountpoint}", &place.point.to_string_lossy())
        .replace("{cache}", &place.cache.to_string_lossy());
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(line);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_peer_has_a_name_and_a_mount_point() {
        let peer: Peer = "mine=mount --url={endpoint} {bucket} {mountpoint}".parse().unwrap();
        assert_eq!((peer.name.as_str(), peer.command.starts_with("mount ")), ("mine", true));
        for bad in ["mine", "=mount {mountpoint}", "mine=mount"] {
            bad.parse::<Peer>().unwrap_err();
        }
        let place = Where { endpoint: "http://e", point: Path::new("/p"), cache: Path::new("/c") };
        let command = shell("x {endpoint} {bucket} {mountpoint} {cache}", &place);
        assert_eq!(command.get_args().last().unwrap(), "x http://e bucket /p /c");
    }
}
