//! `forebay doctor`: each check, where it holds and where it does not.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use forebay_testkit::memory_group::{self, MemoryGroup};
use forebay_testkit::need;
use forebay_testkit::s3::{BUCKET, S3};
use serde_json::Value;

use crate::{bare, forebay, text};

/// A user who owns nothing.
const NOBODY: u32 = 65534;

/// A report: the checks, each with its state.
struct Report {
    findings: Vec<Value>,
    code: Option<i32>,
}

impl Report {
    /// Runs a command to which `--json` is added.
    fn of(mut command: Command) -> Report {
        let output = command.arg("--json").output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr);
        let findings: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{command:?}: {error}: {said}"));
        let findings = findings.as_array().expect("a list").clone();
        for finding in &findings {
            let good = finding["state"] == "ok";
            assert!(good != finding["advice"].is_string(), "advice, and only where it is needed: {finding}");
        }
        let failed = findings.iter().any(|finding| finding["state"] == "failed");
        assert_eq!(output.status.code(), Some(failed.into()), "{said}");
        Report { findings, code: output.status.code() }
    }

    fn finding(&self, check: &str) -> &Value {
        let of_check = |finding: &&Value| finding["check"].as_str().is_some_and(|name| name.starts_with(check));
        self.findings.iter().find(of_check).unwrap_or_else(|| panic!("no {check} in {:?}", self.findings))
    }

    /// Asserts the state of a check, and words of what it says.
    fn says(&self, check: &str, state: &str, words: &str) {
        let finding = self.finding(check);
        assert!(
            finding["state"] == state && finding["about"].as_str().is_some_and(|about| about.contains(words)),
            "{finding}"
        );
    }
}

fn doctor(args: &[&str]) -> Command {
    forebay(&[&["doctor"], args].concat())
}

/// The command as a shell starts it after some other commands, in a namespace of its own for
/// mounts. `program` is what the shell becomes.
fn after(script: &str, program: &str) -> Option<Command> {
    let unshare = forebay_testkit::tools::find("unshare")?;
    if !rustix::process::geteuid().is_root() {
        forebay_testkit::tools::skip("root");
        return None;
    }
    let mut command = Command::new(unshare);
    bare(&mut command);
    // `--json` comes behind.
    command.args(["--mount", "/bin/sh", "-e", "-c", &format!("{script}\nexec {program} \"$@\""), "sh"]);
    Some(command)
}

/// `forebay doctor`, for a shell.
fn plain() -> String {
    format!("'{}' doctor", env!("CARGO_BIN_EXE_forebay"))
}

#[test]
fn a_machine_and_a_folder_that_have_everything() {
    let (source, home) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    fs::write(source.path().join("file"), vec![1; 1 << 20]).expect("written");
    let own = |args: &[&str]| {
        let mut command = doctor(args);
        command.env("XDG_RUNTIME_DIR", home.path()).env("XDG_CACHE_HOME", home.path());
        command
    };
    let report = Report::of(own(&[text(source.path()), "--memory", "64MiB"]));
    for check in ["configuration", "descriptors", "memory", "memory group", "control socket", "cache folder", "source"]
    {
        report.says(check, "ok", "");
    }
    report.says("names of", "ok", "1 names; file can be opened");
    report.says("profile of", "warning", "never measured");
    let lines = own(&[text(source.path())]).output().expect("it starts");
    let lines = String::from_utf8_lossy(&lines.stdout).into_owned();
    assert!(lines.contains("ok       memory  ") && lines.contains("-> run `forebay profile` on it"), "{lines}");
    // Measured now, and long ago.
    let mut measured = forebay(&["profile", "--seconds", "1", text(source.path())]);
    let measured = measured.env("XDG_CACHE_HOME", home.path()).output().expect("it starts");
    assert!(measured.status.success(), "{}", String::from_utf8_lossy(&measured.stderr));
    Report::of(own(&[text(source.path())])).says("profile of", "ok", "0 days ago");
    let profiles = fs::read_dir(home.path().join("forebay/profiles")).expect("there");
    let profile = profiles.flatten().next().expect("one").path();
    let mut json: Value = serde_json::from_slice(&fs::read(&profile).expect("readable")).expect("JSON");
    json["measured"] = 1.into();
    fs::write(&profile, json.to_string()).expect("ours");
    Report::of(own(&[text(source.path())])).says("profile of", "warning", "days ago");
}

#[test]
fn limits_of_the_process_and_the_machine() {
    for (limit, state) in [("100", "failed"), ("500", "warning"), ("2000", "ok")] {
        let Some(command) = after(&format!("ulimit -n {limit}"), &plain()) else { return };
        Report::of(command).says("descriptors", state, limit);
    }
    Report::of(doctor(&["--memory", "1000TiB"])).says("memory", "failed", "--memory 1000TiB");
    if memory_group::possible() {
        let group = MemoryGroup::new().expect("a group");
        group.limit(256 << 20).expect("bounded");
        for (memory, state) in [("512MiB", "failed"), ("250MiB", "warning"), ("100MiB", "ok")] {
            let mut command = group.command(Path::new(env!("CARGO_BIN_EXE_forebay")));
            bare(&mut command);
            command.args(["doctor", "--memory", memory]);
            Report::of(command).says("memory group", state, "at most 256.0 MiB");
        }
    }
}

#[test]
fn a_machine_without_fuse() {
    let Some(command) = after("mount -t tmpfs none /dev", &plain()) else { return };
    let report = Report::of(command);
    report.says("fuse", "failed", "is missing");
    assert_eq!(report.code, Some(1));
}

/// The needs of users without root's rights.
#[test]
fn a_user_needs_the_program_that_mounts_and_perhaps_a_permission() {
    let (fusermount, setpriv, mount) = (need!("fusermount3"), need!("setpriv"), need!("mount"));
    let folder = tempfile::tempdir().expect("a folder");
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("ours");
    let program = folder.path().join("forebay");
    fs::copy(env!("CARGO_BIN_EXE_forebay"), &program).expect("copied");
    let (bin, conf) = (folder.path().join("bin"), folder.path().join("fuse.conf"));
    fs::create_dir(&bin).expect("ours");
    fs::copy(&fusermount, bin.join("fusermount3")).expect("copied");
    fs::set_permissions(bin.join("fusermount3"), Permissions::from_mode(0o755)).expect("ours");
    let usual = fusermount.parent().expect("a folder");
    for (path, line, state, permitted) in [
        (Path::new("/nowhere"), "#user_allow_other", "failed", "failed"),
        (&bin, "", "failed", "failed"),
        (usual, "user_allow_other", "ok", "ok"),
    ] {
        fs::write(&conf, line).expect("ours");
        let script =
            format!("{} --bind {} /etc/fuse.conf; export PATH={}", mount.display(), conf.display(), path.display());
        let as_nobody =
            format!("{} --reuid {NOBODY} --clear-groups {} doctor --allow-other", setpriv.display(), program.display());
        let Some(command) = after(&script, &as_nobody) else { return };
        let report = Report::of(command);
        report.says("fusermount3", state, "");
        report.says("other users", permitted, "--allow-other");
        let open = fs::metadata("/dev/fuse").is_ok_and(|device| device.permissions().mode() & 0o006 == 0o006);
        report.says("fuse", if open { "ok" } else { "failed" }, "/dev/fuse");
    }
    // Folders that a user cannot write.
    let mut command = Command::new(&program);
    bare(&mut command);
    command.arg("doctor").uid(NOBODY).env("XDG_RUNTIME_DIR", "/root/run").env("XDG_CACHE_HOME", "/root/cache");
    let report = Report::of(command);
    report.says("control socket", "warning", "/root/run: ");
    report.says("cache folder", "warning", "/root/cache cannot be written");
    let report = Report::of(doctor(&[]));
    report.says("control socket", "warning", "is not set");
    report.says("cache folder", "warning", "HOME");
}

#[test]
fn sources_that_are_dead_closed_or_well() {
    let dead = Report::of(doctor(&["http://127.0.0.1:1/", "/no/such/folder"]));
    dead.says("source http://127.0.0.1:1/", "failed", "refused");
    dead.says("source /no/such/folder", "failed", "/no/such/folder");
    let s3 = S3::start(&need!("versitygw")).expect("a server");
    s3.put("object", b"bytes").expect("stored");
    let (bucket, endpoint) = (format!("s3://{BUCKET}"), s3.endpoint());
    let args = [&*bucket, "--endpoint", &endpoint, "--region", "us-east-1"];
    let well = Report::of(doctor(&args));
    well.says("source s3://", "ok", "it answers");
    well.says("names of", "ok", "object can be opened");
    let mut wrong = doctor(&args);
    wrong.env("AWS_SECRET_ACCESS_KEY", "wrong");
    Report::of(wrong).says("source s3://", "failed", "the secret key does not fit");
    let secret = Report::of(doctor(&["http://user:secret@127.0.0.1:1/"]));
    assert!(!format!("{:?}", secret.findings).contains("secret"), "{:?}", secret.findings);
}

#[test]
fn a_configuration_file_is_checked_with_the_mount_that_it_describes() {
    let (source, file) = (tempfile::tempdir().expect("a folder"), tempfile::NamedTempFile::new().expect("a file"));
    let with = |config: &str| {
        fs::write(file.path(), config).expect("ours");
        Report::of(forebay(&["--config", text(file.path()), "doctor"]))
    };
    let good = with(&format!("[mount]\nsource = '{}'\nmemory = '1000TiB'", source.path().display()));
    good.says("configuration", "ok", text(file.path()));
    good.says("memory", "failed", "1000TiB");
    good.says("source", "ok", "it answers");
    let unknown = with("[mount]\nmemroy = '1GiB'");
    unknown.says("configuration", "failed", "unknown `memroy` in [mount]");
    with("[mount").says("configuration", "failed", "line 1");
    let tier = "`disk-size` in [mount] is for a disk tier, and there is none";
    with("[mount]\ndisk-size = '1G'").says("configuration", "failed", tier);
    let typed = doctor(&["--disk-size", "1G"]).output().expect("it starts");
    assert_eq!(typed.status.code(), Some(2), "no fault of the file: {typed:?}");
}

/// A mount by the same file is refused in the same words.
#[test]
fn a_file_is_refused_in_the_words_of_its_mount() {
    let (folder, file) = (tempfile::tempdir().expect("a folder"), tempfile::NamedTempFile::new().expect("a file"));
    let [source, point, full] = ["source", "point", "full"].map(|name| folder.path().join(name));
    for path in [&source, &point, &full] {
        fs::create_dir(path).expect("ours");
    }
    fs::write(full.join("file"), "here").expect("ours");
    let place = |name: &str, path: &Path| format!("{name} = '{}'\n", path.display());
    let usual = [place("source", &source), place("mountpoint", &point)];
    let address = "control = '127.0.0.1:0'\n";
    for (check, fault) in [
        ("control", format!("{address}token-file = '/no/such/token'")),
        ("control", format!("{address}tls-cert = '/no/such/cert'\ntls-key = '/no/such/key'")),
        ("control", format!("{address}tls-cert = '/no/such/cert'")),
        ("control", "control = '0.0.0.0:0'".to_owned()),
        ("control", "control = ['off', '127.0.0.1:0']".to_owned()),
        ("control socket", "control = 'unix:/no/such/folder/socket'".to_owned()),
        ("least memory", "memory = 5".to_owned()),
        ("disk tier", "disk = '/no/such/folder'".to_owned()),
        ("disk tier", format!("{}disk-size = 5", place("disk", folder.path()))),
        ("folders", place("disk", &source)),
        ("source", "source-token-file = '/no/such/token'".to_owned()),
        ("pace", "pace = 'no-such-disk'".to_owned()),
        ("mount point", place("mountpoint", &full)),
        ("mount point", "mountpoint = '/no/such/point'".to_owned()),
        ("mount point", place("mountpoint", file.path())),
        ("folders", place("mountpoint", &source.join("inside"))),
    ] {
        let is_inside = fault.contains("inside");
        if is_inside {
            fs::create_dir(source.join("inside")).expect("ours");
        }
        let rest = usual.iter().filter(|line| !fault.starts_with("mountpoint") || !line.starts_with("mountpoint"));
        let text_of: String = rest.map(String::as_str).chain([&*fault]).collect();
        fs::write(file.path(), format!("[mount]\n{text_of}")).expect("ours");
        let report = Report::of(forebay(&["--config", text(file.path()), "doctor"]));
        report.says(check, "failed", "");
        let mount = forebay(&["--config", text(file.path()), "mount"]).output().expect("it starts");
        let (said, about) = (String::from_utf8_lossy(&mount.stderr), &report.finding(check)["about"]);
        assert_eq!(mount.status.code(), Some(2), "{fault}: {said}");
        let about = about.as_str().expect("text").replace('\n', "; ");
        assert!(said.contains(&about), "{fault}: doctor says {about:?}, mount says {said:?}");
    }
    let good = format!(
        "control = 'unix:{}'\n{}",
        folder.path().join("socket").display(),
        place("disk", &folder.path().join("tier"))
    );
    fs::write(file.path(), format!("[mount]\n{}{good}", usual.concat())).expect("ours");
    let report = Report::of(forebay(&["--config", text(file.path()), "doctor"]));
    for check in ["control socket", "least memory", "disk tier", "mount point", "source"] {
        report.says(check, "ok", "");
    }
    assert!(!folder.path().join("tier").exists(), "a check makes nothing");
}
