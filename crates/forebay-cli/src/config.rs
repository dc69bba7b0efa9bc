//! The configuration file: TOML whose keys are the options themselves.
//!
//! ```toml
//! log = "info"          # an option of every command
//! [mount]               # options of `forebay mount`
//! memory = "2GiB"
//! allow-other = true
//! [trace.info]          # options of `forebay trace info`
//! json = true
//! ```
//!
//! A value becomes the default of its option before the command line is read. So it passes the same
//! parser as on the command line, and the command line and the environment override it.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, Command};
use toml::{Table, Value};

use crate::options::definitions;
use crate::{failure, near};

/// A fault of a configuration file.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("cannot read the configuration {}: {source}", file.display())]
    Unreadable { file: PathBuf, source: std::io::Error },
    /// The user's own, which was not asked for: HOME may be that of another user.
    #[error(
        "cannot read the configuration {}: {source}; set HOME to your own folder, or FOREBAY_CONFIG=/dev/null for none",
        file.display()
    )]
    Usual { file: PathBuf, source: std::io::Error },
    #[error("{}: {reason}", file.display())]
    Syntax { file: PathBuf, reason: String },
    #[error("{}: unknown {place}; {advice}", file.display())]
    Unknown { file: PathBuf, place: String, advice: String },
    #[error("{}: {place} {reason}", file.display())]
    Value { file: PathBuf, place: String, reason: String },
}

/// The commands with the defaults of a file, and that file, if there is one.
pub(crate) struct Configured {
    pub(crate) command: Command,
    pub(crate) given: Option<Given>,
}

impl Configured {
    /// Without a file.
    pub(crate) fn without(command: Command) -> Configured {
        Configured { command, given: None }
    }
}

/// A file that was read. A default that it gives looks like any other to the parser.
pub(crate) struct Given {
    file: PathBuf,
    table: Table,
}

impl Given {
    /// The place where the file sets an option of a command, if it does.
    pub(crate) fn place(&self, command: &str, option: &str) -> Option<String> {
        let names = [command, "mount"];
        let tables = if command == "doctor" { &names[..] } else { &names[..1] };
        tables.iter().find_map(|name| {
            let key = self.table.get(*name)?.as_table()?.keys().find(|key| key.replace('_', "-") == option)?;
            Some(format!("{}: `{key}` in [{name}]", self.file.display()))
        })
    }
}

/// Makes the values of the file the defaults of the options. Without a `file`, reads the user's own
/// if there is one.
pub(crate) fn apply(command: Command, file: Option<&Path>) -> Result<Configured, Error> {
    match file {
        Some(file) => read(command, file, true),
        None => match usual_file() {
            Some(file) => read(command, &file, false),
            None => Ok(Configured::without(command)),
        },
    }
}

/// The same of a file, which has to be there if it was `wanted`.
fn read(command: Command, file: &Path, wanted: bool) -> Result<Configured, Error> {
    let file = file.to_path_buf();
    match std::fs::read_to_string(&file) {
        Ok(text) => defaults(command, &file, &text),
        Err(error) if error.kind() == ErrorKind::NotFound && !wanted => Ok(Configured::without(command)),
        Err(source) if wanted => Err(Error::Unreadable { file, source }),
        Err(source) => Err(Error::Usual { file, source }),
    }
}

/// `~/.config/forebay/config.toml`, or that file under `XDG_CONFIG_HOME`.
fn usual_file() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")))?;
    Some(folder.join("forebay/config.toml"))
}

/// The commands with the defaults that the text of a file gives.
pub(crate) fn defaults(command: Command, file: &Path, text: &str) -> Result<Configured, Error> {
    let table: Table = text.parse().map_err(|error| syntax(file, text, &error))?;
    let command = match table.get("mount") {
        Some(Value::Table(mount)) => examined(command, file, mount)?,
        _ => command,
    };
    let command = set(command, file, "", table.clone())?;
    Ok(Configured { command, given: Some(Given { file: file.to_path_buf(), table }) })
}

/// `forebay doctor` examines the mount that the file describes: so the options that both commands
/// have count for both.
fn examined(command: Command, file: &Path, mount: &Table) -> Result<Command, Error> {
    let Some(mut doctor) = command.find_subcommand("doctor").cloned() else { return Ok(command) };
    for (key, value) in mount {
        if options(&doctor).any(|arg| is_named(arg, key)) {
            doctor = default(doctor, file, "mount", key, value)?;
        }
    }
    Ok(command.mut_subcommand("doctor", |_| doctor))
}

/// Whether a key of the file is the option's.
fn is_named(arg: &Arg, key: &str) -> bool {
    arg.get_long() == Some(&key.replace('_', "-"))
}

/// A command, `path` by name, with the defaults that its table gives it and the commands below it.
fn set(mut command: Command, file: &Path, path: &str, table: Table) -> Result<Command, Error> {
    for (key, value) in table {
        command = match (value, command.find_subcommand(&key).cloned()) {
            (Value::Table(options), Some(below)) => {
                let below = set(below, file, &within(path, &key), options)?;
                command.mut_subcommand(key, |_| below)
            }
            (value, _) => default(command, file, path, &key, &value)?,
        };
    }
    Ok(command)
}

/// `trace.info`, the name of the table of a command below another.
fn within(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// A command with one more default.
fn default(command: Command, file: &Path, path: &str, key: &str, value: &Value) -> Result<Command, Error> {
    let file = file.to_path_buf();
    let place = if path.is_empty() { format!("`{key}`") } else { format!("`{key}` in [{path}]") };
    let Some(arg) = options(&command).find(|arg| is_named(arg, key)) else {
        return Err(Error::Unknown { file, place, advice: advice(&command, path, key) });
    };
    if takes_list(arg) && value.as_array().is_some_and(Vec::is_empty) {
        let reason = "is an empty list: leave it out for the default".to_owned();
        return Err(Error::Value { file, place, reason });
    }
    let Some(texts) = texts(arg, value) else {
        let list = if takes_list(arg) { ", or a list of these" } else { "" };
        let kind = value.type_str();
        let reason = format!("must be a text, a number or a boolean{list}, not a value of type {kind}");
        return Err(Error::Value { file, place, reason });
    };
    for text in &texts {
        check(arg, text).map_err(|reason| Error::Value {
            file: file.clone(),
            place: place.clone(),
            reason: format!("is wrong: {reason}"),
        })?;
    }
    let id = arg.get_id().clone();
    Ok(command.mut_arg(id, |arg| arg.default_values(texts)))
}

/// A value as it would stand on the command line, each time that it would stand there.
fn texts(arg: &Arg, value: &Value) -> Option<Vec<String>> {
    match (value, arg.get_value_delimiter()) {
        (Value::Array(_), _) if !takes_list(arg) => None,
        (Value::Array(values), Some(delimiter)) => {
            let texts = values.iter().map(text).collect::<Option<Vec<_>>>()?;
            Some(vec![texts.join(&delimiter.to_string())])
        }
        (Value::Array(values), None) => values.iter().map(text).collect(),
        (value, _) => Some(vec![text(value)?]),
    }
}

/// Whether an option takes several values, separated by commas or by standing several times.
fn takes_list(arg: &Arg) -> bool {
    arg.get_value_delimiter().is_some() || matches!(arg.get_action(), ArgAction::Append)
}

/// A single value.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) => Some(value.to_string()),
        Value::Datetime(_) | Value::Table(_) | Value::Array(_) => None,
    }
}

/// Whether the option's own parser takes the value. Otherwise clap would report it only where
/// nothing overrides it, in a message that does not name the file.
fn check(arg: &Arg, value: &str) -> Result<(), String> {
    let long = arg.get_long().unwrap_or_default().to_owned();
    let argument = format!("--{long}={value}");
    // Without its relations to options that are not here.
    let names = arg.get_value_names().unwrap_or_default().to_vec();
    let mut bare = Arg::new(arg.get_id().clone()).long(long).value_parser(arg.get_value_parser().clone());
    bare = bare.value_names(names).action(arg.get_action().clone());
    if let Some(delimiter) = arg.get_value_delimiter() {
        bare = bare.value_delimiter(delimiter);
    }
    let alone = Command::new("forebay").no_binary_name(true).disable_help_flag(true).arg(bare);
    alone.try_get_matches_from([argument]).map(|_| ()).map_err(|error| failure::in_one_line(&error))
}

/// The options of a command that a file may set.
fn options(command: &Command) -> impl Iterator<Item = &Arg> {
    let not_itself = |arg: &&Arg| !matches!(arg.get_id().as_str(), "config" | "help" | "version");
    command.get_arguments().filter(|arg| arg.get_long().is_some() && !arg.is_hide_set()).filter(not_itself)
}

/// The keys and tables that are nearly the unknown `key`, or else the tables that it belongs to.
fn advice(command: &Command, path: &str, key: &str) -> String {
    let keys = options(command).filter_map(Arg::get_long).map(|key| (key, key.to_owned()));
    let tables = command.get_subcommands().filter(|command| !command.is_hide_set()).map(Command::get_name);
    let tables = tables.map(|name| (name, format!("[{}]", within(path, name))));
    let known: Vec<(&str, String)> = keys.chain(tables).collect();
    let near = near::near(key, known.iter().map(|(name, _)| *name));
    let shown = |name: &str| known.iter().find(|(known, _)| *known == name).map(|(_, shown)| shown.clone());
    let near = || near::said(near.into_iter().filter_map(shown).collect());
    // At the top, an option of a command mostly lacks its table.
    let own = tables_of(key);
    let first = if path.is_empty() { own.clone().or_else(near) } else { near().or_else(|| own.clone()) };
    first.unwrap_or_else(|| {
        let command =
            path.split('.').filter(|name| !name.is_empty()).map(|name| format!("{name} ")).collect::<String>();
        format!("`forebay {command}--help` lists the known ones")
    })
}

/// The tables of the commands that have an option, at most three, as advice.
fn tables_of(key: &str) -> Option<String> {
    let definitions = definitions();
    let has = |command: &&Command| !command.is_hide_set() && options(command).any(|arg| is_named(arg, key));
    let tables = definitions.get_subcommands().filter(has).take(3).map(|command| format!("[{}]", command.get_name()));
    let tables: Vec<String> = tables.collect();
    (!tables.is_empty()).then(|| format!("it belongs to {}", tables.join(", ")))
}

/// A mistake of TOML, with its line.
fn syntax(file: &Path, text: &str, error: &toml::de::Error) -> Error {
    let line = error.span().map(|span| 1 + text[..span.start.min(text.len())].matches('\n').count());
    let line = line.map(|line| format!("line {line}: ")).unwrap_or_default();
    Error::Syntax { file: file.to_path_buf(), reason: format!("{line}{}", error.message().replace('\n', "; ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The memory of a mount under a configuration, on a command line without it.
    fn memory(config: &str, args: &[&str]) -> String {
        let command = defaults(definitions(), Path::new("c.toml"), config).unwrap().command;
        let args = ["forebay", "mount", "a", "b"].iter().chain(args);
        let matches = command.try_get_matches_from(args).unwrap();
        let (_, mount) = matches.subcommand().unwrap();
        mount.get_one::<crate::size::Size>("memory").unwrap().to_string()
    }

    fn error(config: &str) -> String {
        defaults(definitions(), Path::new("c.toml"), config).err().expect("it is refused").to_string()
    }

    #[test]
    fn the_file_comes_before_the_default_and_after_the_command_line() {
        assert_eq!(memory("", &[]), "512MiB");
        assert_eq!(memory("[mount]\nmemory = '64MiB'", &[]), "64MiB");
        assert_eq!(memory("[mount]\nmemory = '64MiB'", &["--memory", "1GiB"]), "1GiB");
        assert_eq!(memory("[mount]\nmemory = 1048576", &[]), "1MiB");
    }

    #[test]
    fn a_file_that_cannot_be_read_is_told_with_a_way_out() {
        let folder = tempfile::tempdir().unwrap();
        // A folder cannot be read as a file, not even by root.
        let file = folder.path().join("config.toml");
        std::fs::create_dir(&file).unwrap();
        let asked = read(definitions(), &file, true).err().unwrap().to_string();
        assert!(asked.starts_with("cannot read the configuration ") && !asked.contains("HOME"), "{asked}");
        let usual = read(definitions(), &file, false).err().unwrap().to_string();
        assert!(usual.contains("HOME") && usual.contains("FOREBAY_CONFIG=/dev/null"), "{usual}");
        assert!(read(definitions(), &folder.path().join("none"), false).is_ok());
    }

    #[test]
    fn keys_have_dashes_or_underscores_and_flags_can_be_set() {
        for key in ["allow-other", "allow_other"] {
            let config = format!("[mount]\n{key} = true");
            let command = defaults(definitions(), Path::new("c.toml"), &config).unwrap().command;
            let flag = |args: &[&str]| {
                let matches = command.clone().try_get_matches_from(["forebay", "mount"].iter().chain(args)).unwrap();
                *matches.subcommand().unwrap().1.get_one::<bool>("allow_other").unwrap()
            };
            assert!(flag(&["a", "b"]), "{key}");
            assert!(!flag(&["--allow-other=false", "a", "b"]), "{key}");
        }
    }

    #[test]
    fn a_list_stands_for_an_option_that_can_be_given_several_times() {
        let sources = |config: &str, args: &[&str]| {
            let command = defaults(definitions(), Path::new("c.toml"), config).unwrap().command;
            let matches = command.try_get_matches_from(["forebay", "mount"].iter().chain(args)).unwrap();
            let sources = matches.subcommand().unwrap().1.get_many::<std::ffi::OsString>("source").unwrap();
            sources.map(|source| source.display().to_string()).collect::<Vec<_>>()
        };
        let config = "[mount]\nsource = ['a=/x,y', 'b=s3://z']\nmountpoint = '/mnt'";
        assert_eq!(sources(config, &[]), ["a=/x,y", "b=s3://z"]);
        assert_eq!(sources(config, &["/srv", "/mnt/srv"]), ["a=/x,y", "b=s3://z"], "the command ignores them then");
        assert_eq!(sources(config, &["--source", "/srv"]), ["/srv"]);
        assert_eq!(sources("[mount]\nsource = '/x'", &[]), ["/x"]);
    }

    #[test]
    fn an_empty_list_is_no_list() {
        for (table, key) in [("mount", "source"), ("mount", "disk"), ("sim", "policy"), ("sim", "memory")] {
            let said = error(&format!("[{table}]\n{key} = []"));
            assert_eq!(said, format!("c.toml: `{key}` in [{table}] is an empty list: leave it out for the default"));
        }
    }

    #[test]
    fn a_file_knows_where_it_sets_an_option() {
        let text = "[mount]\ndisk_size = '1G'\n[serve]\ndisk-free = '5%'";
        let given = defaults(definitions(), Path::new("c.toml"), text).unwrap().given.unwrap();
        assert_eq!(given.place("mount", "disk-size").unwrap(), "c.toml: `disk_size` in [mount]");
        assert_eq!(given.place("doctor", "disk-size").unwrap(), "c.toml: `disk_size` in [mount]");
        assert_eq!(given.place("serve", "disk-free").unwrap(), "c.toml: `disk-free` in [serve]");
        for (command, option) in [("serve", "disk-size"), ("mount", "disk-free"), ("sim", "disk-size")] {
            assert_eq!(given.place(command, option), None);
        }
    }

    #[test]
    fn an_option_that_needs_or_excludes_another_can_stand_alone() {
        for config in ["[serve]\ntls-cert = 'x'", "[mount]\nsource-password-file = 'x'"] {
            defaults(definitions(), Path::new("c.toml"), config).unwrap();
        }
    }

    #[test]
    fn commands_below_others_have_tables_below_theirs() {
        let config = "[trace.info]\njson = true\n[sim]\nmemory = ['1%', 4096]";
        let command = defaults(definitions(), Path::new("c.toml"), config).unwrap().command;
        let matches = command.clone().try_get_matches_from(["forebay", "trace", "info", "x"]).unwrap();
        let (_, info) = matches.subcommand().and_then(|(_, trace)| trace.subcommand()).unwrap();
        assert!(info.get_one::<bool>("json").unwrap());
        let matches = command.try_get_matches_from(["forebay", "sim", "x"]).unwrap();
        let memory = matches.subcommand().unwrap().1.get_many::<forebay_sim::untimed::Capacity>("memory").unwrap();
        assert_eq!(memory.map(ToString::to_string).collect::<Vec<_>>(), ["1%", "4096b"], "a list is several values");
    }

    #[test]
    fn an_option_of_every_command_stands_at_the_top() {
        let command = defaults(definitions(), Path::new("c.toml"), "log = 'debug'").unwrap().command;
        let matches = command.try_get_matches_from(["forebay", "policies"]).unwrap();
        assert_eq!(matches.get_one::<String>("log").unwrap(), "debug");
    }

    #[test]
    fn mistakes_name_the_file_the_key_and_what_is_known() {
        let unknown = error("[mount]\nmemroy = 1");
        assert_eq!(unknown, "c.toml: unknown `memroy` in [mount]; a near one is memory");
        let table = error("[munt]\nmemory = 1");
        assert!(table.starts_with("c.toml: unknown `munt`; near ones are [mount]"), "{table}");
        let strange = error("[mount]\nxyz = 1");
        assert_eq!(strange, "c.toml: unknown `xyz` in [mount]; `forebay mount --help` lists the known ones");
        let astray = error("memory = '1GiB'");
        assert!(astray.starts_with("c.toml: unknown `memory`; it belongs to [mount], [serve], ["), "{astray}");
        let elsewhere = error("[mount]\nlisten = '127.0.0.1:80'");
        assert!(elsewhere.ends_with("; it belongs to [serve]"), "{elsewhere}");
        assert!(error("config = 'x'").contains("unknown `config`"));
        assert!(error("[reference]\nx = 1").contains("unknown"));
        let list = error("[mount]\nmemory = [1]");
        assert!(list.contains("`memory` in [mount] must be a text, a number or a boolean, not a value of type array"));
        let nested = error("[trace.info]\nxyz = 1");
        assert!(nested.ends_with("unknown `xyz` in [trace.info]; `forebay trace info --help` lists the known ones"));
        let below = error("[trace.inform]\nx = 1");
        assert!(below.contains("unknown `inform` in [trace]; near ones are [trace.info]"), "{below}");
        let policy = error("[mount]\npolicy = 'psychic'");
        assert!(policy.contains("`policy` in [mount] is wrong") && policy.contains("competitive"), "{policy}");
        assert!(!policy.contains('\n'), "{policy}");
        let syntax = error("log = 'info'\n[mount\n");
        assert!(syntax.starts_with("c.toml: line 2: "), "{syntax}");
    }
}
