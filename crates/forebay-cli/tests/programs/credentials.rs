//! Mounts of S3 without keys in settings: profiles, processes, roles and logins. Each test has a
//! home of its own, and only the cloud that it starts answers.

mod places;
mod processes;
mod profiles;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use forebay_testkit::breaking::{BreakingProxy, Fault};
use forebay_testkit::moto::Moto;
use forebay_testkit::mounts::MountPoint;
use forebay_testkit::requests::Requests;
use forebay_testkit::s3::{BUCKET, S3};

use crate::Mount;

/// A home folder.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Home {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join(".aws")).expect("a folder");
        Home(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a whole file in one step.
    fn write(&self, name: &str, content: &str) {
        let (file, new) = (self.path(name), self.path("new"));
        fs::create_dir_all(file.parent().expect("within the home")).expect("a folder");
        fs::write(&new, content).and_then(|()| fs::rename(&new, file)).expect("written");
    }

    /// Writes a shell script, and returns its path.
    fn script(&self, name: &str, lines: &str) -> PathBuf {
        self.write(name, &format!("#!/bin/sh\ncd '{}'\n{lines}\n", self.0.path().display()));
        let script = self.path(name);
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("ours");
        script
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// `forebay mount` with this home and only these variables, still without the mount point.
    fn mounting(&self, args: &[&str], variables: &[(&str, &str)]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_forebay"));
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.0.path()).env("FOREBAY_CONFIG", "/dev/null");
        command.env("AWS_EC2_METADATA_DISABLED", "true").envs(variables.iter().copied());
        command.arg("mount").args(args).stdin(Stdio::null());
        command
    }

    fn mount(&self, args: &[&str], variables: &[(&str, &str)]) -> Mount {
        Mount::by(self.mounting(args, variables), MountPoint::new().expect("a mount point"))
    }

    /// The line by which a mount is refused.
    fn refusal(&self, args: &[&str], variables: &[(&str, &str)]) -> String {
        let point = MountPoint::new().expect("a mount point");
        let output = self.mounting(args, variables).arg(point.path()).output().expect("it starts");
        let line = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert!(line.starts_with("error: s3://bucket") && line.matches('\n').count() == 1, "{line}");
        line
    }
}

/// The keys of the test server as a profile's settings.
fn keys() -> String {
    S3::settings().iter().map(|(name, value)| format!("{name} = {value}\n")).collect()
}

/// A server with a file, behind a proxy that records requests.
struct Store {
    _server: S3,
    proxy: BreakingProxy,
}

impl Store {
    fn new(versitygw: &Path) -> Store {
        let server = S3::start(versitygw).expect("a server");
        server.put("file", b"content").expect("stored");
        let proxy = BreakingProxy::start(server.address(), Fault::None).expect("a proxy");
        Store { _server: server, proxy }
    }

    /// Mounts with a time to live of zero, so that each look asks the store.
    fn mount(&self, home: &Home, args: &[&str], variables: &[(&str, &str)]) -> Mount {
        let endpoint = self.proxy.url();
        let source = [&bucket(), "--ttl", "0s", "--endpoint", &endpoint, "--region", "us-east-1"];
        home.mount(&[&source, args].concat(), variables)
    }
}

/// A store that takes any keys, and records them.
struct Open {
    moto: Moto,
    proxy: BreakingProxy,
}

impl Open {
    fn new(moto_server: &Path) -> Open {
        let moto = Moto::start(moto_server).expect("a server");
        moto.put("file", b"content").expect("stored");
        let proxy = BreakingProxy::start(moto.address(), Fault::None).expect("a proxy");
        Open { moto, proxy }
    }

    fn mount(&self, home: &Home, variables: &[(&str, &str)]) -> Mount {
        let endpoint = self.proxy.url();
        let args = [&*bucket(), "--ttl", "0s", "--endpoint", &endpoint, "--region", "us-east-1"];
        home.mount(&args, variables)
    }

    /// The session tokens that came with requests.
    fn sessions(&self) -> Vec<Option<String>> {
        let requests = self.proxy.requests().all();
        requests.iter().map(|request| request.header("x-amz-security-token").map(str::to_owned)).collect()
    }
}

fn bucket() -> String {
    format!("s3://{BUCKET}")
}

fn is_there(mount: &Mount) {
    assert_eq!(fs::read(mount.path().join("file")).expect("readable"), b"content");
}

/// The access keys that requests to a store were signed with, each once, in their order.
fn keys_of(requests: &Requests) -> Vec<String> {
    let mut keys: Vec<String> = Vec::new();
    for request in requests.all() {
        let key = request.header("authorization").and_then(|signature| signature.split("Credential=").nth(1));
        let key = key.and_then(|rest| rest.split('/').next()).unwrap_or("none").to_owned();
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys
}
