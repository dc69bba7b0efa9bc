//! `mount.forebay`: the command as mount(8) calls it for a line of /etc/fstab.
//!
//! mount(8) runs `/sbin/mount.forebay SOURCE POINT [-sfnv] -o OPTIONS` for the type `forebay`, and
//! `/sbin/mount.fuse.forebay` for `fuse.forebay`. mount.fuse3(8) runs `forebay SOURCE POINT -o
//! OPTIONS` for `fuse.forebay`, and for the source `forebay#SOURCE` of type `fuse`. All of these
//! become a `forebay mount --daemon`, and end with the exit codes of mount(8).

mod words;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{ExitCode, Stdio};

use clap::{Command, Parser};
use forebay_source::uri;

use crate::failure::Failure;
use crate::options::{self, Fstab};
use crate::{daemon, near, output};
use words::Word;

/// The names under which mount(8) calls.
const NAMES: [&str; 2] = ["mount.forebay", "mount.fuse.forebay"];

/// mount(8): a wrong line.
const USAGE: u8 = 1;
/// mount(8): the mount failed.
const FAILED: u8 = 32;

/// Words that are for mount(8), systemd or the kernel, and those that state how each mount is: for
/// reading only, without devices and without the rights of owners. mount(8) says `rw` unless the
/// line says `ro`, so it is no wish.
const IGNORED: [&str; 41] = [
    "ro",
    "rw",
    "defaults",
    "auto",
    "noauto",
    "user",
    "nouser",
    "users",
    "owner",
    "group",
    "_netdev",
    "nofail",
    "quiet",
    "silent",
    "loud",
    "sync",
    "async",
    "dirsync",
    "suid",
    "nosuid",
    "dev",
    "nodev",
    "atime",
    "noatime",
    "diratime",
    "nodiratime",
    "relatime",
    "norelatime",
    "strictatime",
    "nostrictatime",
    "lazytime",
    "nolazytime",
    "iversion",
    "noiversion",
    "mand",
    "nomand",
    "default_permissions",
    "subtype",
    "comment",
    "uhelper",
    "helper",
];

/// Options of `forebay mount` that a line does not choose: its fields and mount(8) do.
const CHOSEN: [&str; 4] = ["mountpoint", "daemon", "help", "version"];

/// Whether the program was called to mount for mount(8) or mount.fuse3(8).
pub(crate) fn is_called(args: &[OsString]) -> bool {
    let name = args.first().and_then(|name| Path::new(name).file_name());
    if name.is_some_and(|name| NAMES.iter().any(|known| name == *known)) {
        return true;
    }
    matches!(args, [_, first, _, o, _] if o == "-o" && !is_command(first))
}

fn is_command(word: &OsStr) -> bool {
    word.to_str().is_some_and(|word| word.starts_with('-') || options::definitions().find_subcommand(word).is_some())
}

/// Mounts; returns once the mount is ready, with an exit code of mount(8).
pub(crate) fn main(args: &[OsString]) -> ExitCode {
    match checked(args) {
        Err(failure) => failure.report_as(USAGE),
        Ok(call) if call.fake => ExitCode::SUCCESS,
        Ok(call) => match call.mount() {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => failure.report_as(FAILED),
        },
    }
}

/// A call that makes sense.
#[derive(Debug)]
struct Call {
    /// The arguments of the command that mounts.
    args: Vec<OsString>,
    fake: bool,
    verbose: bool,
}

impl Call {
    fn mount(&self) -> Result<(), Failure> {
        let line = daemon::start(Stdio::null(), &self.args).map_err(|failure| match failure {
            // The reason is printed; the code is that of `forebay mount`.
            Failure::Said(_) => Failure::Said(FAILED),
            other => other,
        })?;
        if self.verbose { output::print(&line) } else { Ok(()) }
    }
}

/// The call in the terms of `forebay mount`, parsed once to see that it makes sense.
fn checked(args: &[OsString]) -> Result<Call, Failure> {
    let line = Fstab::try_parse_from(args)?;
    let args = translated(&line)?;
    options::parse([OsString::from("forebay")].into_iter().chain(args.iter().cloned()))?;
    Ok(Call { args, fake: line.fake, verbose: line.verbose })
}

/// The arguments of the command that mounts.
pub(crate) fn translated(line: &Fstab) -> Result<Vec<OsString>, Failure> {
    let mut settings = Settings::new(line.sloppy);
    settings.sources.push(line.source.clone());
    for text in &line.options {
        for word in words::split(text).map_err(Failure::input)? {
            settings.take(word)?;
        }
    }
    // `mount -a` compares this with the line, to see whether it is mounted.
    let shown = uri::without_user(&line.source.to_string_lossy());
    let mut args: Vec<OsString> = vec!["mount".into(), "--daemon".into(), joined("fs-name", shown.as_ref())];
    args.extend(settings.sources.iter().map(|source| joined("source", source)));
    args.push(joined("mountpoint", line.point.as_os_str()));
    args.extend(settings.others.iter().map(|(name, value)| match value {
        Some(value) => joined(name, value),
        None => format!("--{name}").into(),
    }));
    Ok(args)
}

/// `--name=value`
fn joined(name: &str, value: &OsStr) -> OsString {
    let mut arg = OsString::from(format!("--{name}="));
    arg.push(value);
    arg
}

/// Options of `forebay mount` as a line sets them.
struct Settings {
    sloppy: bool,
    known: BTreeMap<String, String>,
    sources: Vec<OsString>,
    /// By name; of a name that comes twice the last counts.
    others: Vec<(String, Option<OsString>)>,
}

impl Settings {
    fn new(sloppy: bool) -> Settings {
        Settings { sloppy, known: settable(&options::definitions()), sources: Vec::new(), others: Vec::new() }
    }

    fn take(&mut self, Word { name, value }: Word) -> Result<(), Failure> {
        let option = name.replace('_', "-");
        match (name.as_str(), value) {
            (name, _) if IGNORED.contains(&name) || name.starts_with("x-") || name.starts_with("X-") => {}
            ("exec", None) => self.set("noexec".into(), Some("false".into())),
            ("remount", _) => {
                return Err(Failure::input("a mount of Forebay keeps its options: unmount it, then mount it again"));
            }
            (_, value) if option == "source" => self.sources.extend(value),
            (_, value) if self.known.contains_key(&option) => self.set(option, value),
            _ if self.sloppy => {}
            _ => return Err(self.unknown(&name)),
        }
        Ok(())
    }

    fn set(&mut self, option: String, value: Option<OsString>) {
        self.others.retain(|(name, _)| *name != option);
        self.others.push((option, value));
    }

    fn unknown(&self, name: &str) -> Failure {
        let near = near::advice(name, self.known.keys().map(String::as_str).chain(IGNORED));
        let advice = near.unwrap_or_else(|| "`forebay mount --help` lists those of Forebay".to_owned());
        Failure::input(format!("unknown mount option `{name}`; {advice}"))
    }
}

/// The options of `forebay mount` that a line can set, each with its short help.
pub(crate) fn settable(definitions: &Command) -> BTreeMap<String, String> {
    let mount = definitions.find_subcommand("mount").map(Command::get_arguments).into_iter().flatten();
    let args = mount.chain(definitions.get_arguments()).filter(|arg| !arg.is_hide_set());
    let named = args.filter_map(|arg| Some((arg.get_long()?, arg.get_help().map(ToString::to_string)?)));
    named.filter(|(name, _)| !CHOSEN.contains(name)).map(|(name, help)| (name.to_owned(), help)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Command as Chosen;

    fn line(args: &[&str]) -> Vec<OsString> {
        ["/sbin/mount.forebay"].iter().chain(args).map(OsString::from).collect()
    }

    fn mount(options: &str) -> Result<Box<crate::options::Mount>, String> {
        let call = checked(&line(&["s3://bucket", "/mnt/data", "-o", options])).map_err(|error| error.to_string())?;
        let args = ["forebay".into(), "--config=/dev/null".into()].into_iter().chain(call.args);
        match options::parse(args).map_err(|error| error.to_string())?.command {
            Chosen::Mount(mount) => Ok(mount),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_option_of_the_command_stands_in_a_line_with_dashes_or_underscores() {
        let definitions = options::definitions();
        let known = settable(&definitions);
        for arg in definitions.find_subcommand("mount").unwrap().get_arguments().filter(|arg| !arg.is_hide_set()) {
            let Some(name) = arg.get_long() else { continue };
            assert!(known.contains_key(name) || CHOSEN.contains(&name), "{name}");
        }
        assert!(known.contains_key("log-file") && !known.contains_key("detached"));
        for allow in ["allow-other", "allow_other", "allow_other=true"] {
            let mount = mount(&format!("rw,memory=2GiB,{allow},_netdev,x-systemd.idle-timeout=5,comment=a b")).unwrap();
            assert!(mount.allow_other && mount.daemon);
            assert_eq!(mount.reading.memory.bytes(), 2 << 30);
            assert_eq!((mount.fs_name.as_deref(), mount.places.len()), (Some("s3://bucket"), 0));
        }
    }

    #[test]
    fn of_a_word_that_comes_twice_the_last_counts_and_sources_add_up() {
        let mount =
            mount(r#"memory=1GiB,noexec,exec,memory=3GiB,source="b=stripe:64KiB:/c,/d",source=e=/f g"#).unwrap();
        assert!(!mount.noexec);
        assert_eq!(mount.reading.memory.bytes(), 3 << 30);
        assert_eq!(mount.sources.named, ["s3://bucket", "b=stripe:64KiB:/c,/d", "e=/f g"]);
        assert_eq!(mount.mountpoint.as_deref(), Some(Path::new("/mnt/data")));
    }

    #[test]
    fn mistakes_name_the_word() {
        for (options, said) in [
            ("memroy=1GiB", "unknown mount option `memroy`; a near one is memory"),
            ("allow_othr", "near one is allow-other"),
            ("zzz", "`forebay mount --help` lists"),
            ("memory=much", "'much'"),
            ("memory", "'--memory <SIZE>'"),
            ("remount", "unmount it, then mount it again"),
            ("detached", "unknown mount option `detached`"),
            ("a=\"b", "closed"),
        ] {
            let error = mount(options).unwrap_err();
            assert!(error.contains(said), "{options}: {error}");
        }
        assert!(checked(&line(&["s3://bucket", "/mnt", "-s", "-o", "zzz"])).is_ok());
        assert!(checked(&line(&["s3://bucket"])).is_err());
    }

    #[test]
    fn it_knows_how_it_is_called() {
        let called = |args: &[&str]| is_called(&args.iter().map(OsString::from).collect::<Vec<_>>());
        assert!(called(&["/sbin/mount.forebay"]));
        assert!(called(&["mount.fuse.forebay", "a", "b", "-o", "ro"]));
        assert!(called(&["forebay", "s3://bucket", "/mnt/data", "-o", "rw,dev,suid"]));
        assert!(!called(&["forebay", "mount", "a", "-o", "b"]));
        assert!(!called(&["forebay", "--log", "info", "-o", "b"]));
        assert!(!called(&["forebay", "mount", "a", "b"]));
        assert!(!called(&[]));
    }
}
