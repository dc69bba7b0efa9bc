//! Every option, defined once: its name, meaning, default and parser are here and nowhere else.
//!
//! The rest follows from the name by rule: `--allow-other` is `FOREBAY_ALLOW_OTHER` in the
//! environment and `allow-other` (or `allow_other`) in the table of its command in the TOML file
//! (`config.rs`); `docs/cli.md` is written from here too (`reference.rs`). The command line comes
//! before the environment, then the file, then the default. Variables of commands for experiments
//! contain the command's name: `FOREBAY_SIM_MEMORY`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use clap::{Arg, ArgAction, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum, value_parser};

mod cache;
mod contexts;
mod control;
mod device;
mod disk;
mod doctor;
mod explain;
mod fstab;
mod kernel_cache;
mod reading;
mod report;
mod repro;
mod run;
mod serve;
mod shown;
pub(crate) mod sim;
mod soak;
mod sources;
mod stores;
mod stripe;
mod tier;
mod top;
mod trace;
mod warm;

pub(crate) use cache::{Cache, CacheCommand, CacheFolder};
pub(crate) use contexts::{
    Contexts, ContextsClear, ContextsCommand, ContextsExport, ContextsShow, Exported, Kept, Told,
};
pub(crate) use control::{Access, Clients, ControlAt};
pub(crate) use device::{Device, DeviceCheck, DeviceCommand, DeviceImport, DeviceList, DeviceSchedulers, DeviceShow};
pub(crate) use disk::Disk;
pub(crate) use doctor::{Configuration, Doctor};
pub(crate) use explain::{At, Explain};
pub(crate) use fstab::Fstab;
pub(crate) use kernel_cache::KernelCache;
pub(crate) use reading::Reading;
pub(crate) use report::Report;
pub(crate) use repro::Repro;
pub(crate) use run::{Mapped, Program, Record, Run};
pub(crate) use serve::Serve;
pub(crate) use shown::Shown;
pub(crate) use sim::Sim;
pub(crate) use soak::Soak;
pub(crate) use sources::Sources;
pub(crate) use stores::{Settings, Stores, labels};
pub(crate) use stripe::Stripe;
pub(crate) use tier::{Amount, Tier, without_a_folder};
pub(crate) use top::Top;
pub(crate) use trace::{Trace, TraceCommand, TraceConvert, TraceFormats, TraceGenerate, TraceInfo, TracePlay};
pub(crate) use warm::Warm;

use crate::config::{self, Configured};
use crate::failure::Failure;
use crate::journal;

/// The heading of the options that every command has.
const EVERY: &str = "Options of every command";

/// A read cache that looks ahead: it learns what each reader will want and fetches it in time, in
/// pieces large enough to be cheap, within one memory budget.
#[derive(Debug, Parser)]
#[command(name = "forebay", version, max_term_width = 110, subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Forebay {
    /// Take options from this TOML file instead of ~/.config/forebay/config.toml
    #[arg(long, global = true, help_heading = EVERY, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Levels to log: off, error, warn, info, debug or trace
    ///
    /// A level by module works as well. Example: `--log warn,forebay_live=debug`
    #[arg(long, global = true, help_heading = EVERY, value_name = "LEVEL", default_value = "warn", value_parser = journal::levels)]
    pub(crate) log: String,

    /// Append the log to this file instead of standard error
    #[arg(long, global = true, help_heading = EVERY, value_name = "FILE")]
    pub(crate) log_file: Option<PathBuf>,

    /// The form of the log: text, or a line of JSON for each message
    ///
    /// If standard error leads to the journal, text has no time, since the journal has one, and
    /// its level is the journal's. Example: `--log-format json`
    #[arg(long, global = true, help_heading = EVERY, value_name = "FORMAT", value_enum, default_value = "text")]
    pub(crate) log_format: LogFormat,

    /// The command.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The form of the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum LogFormat {
    /// Seconds since the start, level, module, message
    Text,
    /// An object for each message
    Json,
}

/// A command of `forebay`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Mount sources read-only under a folder, through the cache
    ///
    /// The mount stays in the foreground until it is interrupted or unmounted. Example: `forebay
    /// mount --memory 2GiB s3://bucket/prefix /mnt/data`
    Mount(Box<Mount>),
    /// Serve sources over HTTP, through the cache
    ///
    /// Mounts of other machines, browsers and programs that read ranges are its clients. It runs
    /// until it is interrupted. Example: `forebay serve /srv/data --listen 127.0.0.1:7680`
    Serve(Box<Serve>),
    /// Measure the cost of a switch and of a transfer on a storage
    ///
    /// The storage is a disk, a folder or an object store. Mounts use the measured profile.
    /// Example: `forebay profile /srv/data`
    Profile(Profile),
    /// Show the counters of a mount or a server
    ///
    /// These are hits, misses, prefetched blocks that were used, late or wasted, and the division
    /// of memory. Example: `forebay stats /mnt/data --watch`
    Stats(Stats),
    /// Show all mounts live: throughput, devices, and streams with their reasons
    ///
    /// Arrow keys go from mount to mount, q ends. Example: `forebay top` or `forebay top --json
    /// /mnt/data`
    Top(Top),
    /// Read files through a mount before they are needed, or tell it their order
    ///
    /// A mount that knows the order fetches each file shortly before it is read. Example: `forebay
    /// warm --order --from epoch.txt`
    Warm(Warm),
    /// Explain the depth of each stream and the size of each partition
    ///
    /// The answer is of a mount now, or of a trace at some moment. Example: `forebay explain
    /// day.parquet --device ibm-10k --at 30s`
    Explain(Box<Explain>),
    /// Run a program whose reads mounts can tell apart by program context
    ///
    /// A context is the call stack that leads to a read. Children of the program are included.
    /// Example: `forebay run -- grep -r word /mnt/data`
    Run(Run),
    /// Run a program and write a trace of its reads and those of its children
    ///
    /// The program must be dynamically linked and without privileges of its own. Example: `forebay
    /// record --output build.parquet -- make`
    Record(Record),
    /// Show, export and forget the hints of mounts about program contexts
    ///
    /// A context is the call stack that leads to a read. Example: `forebay contexts show`
    Contexts(Contexts),
    /// Look at, check and clear the folder of a disk tier
    ///
    /// The folder is that of `forebay mount --disk`. Example: `forebay cache info /nvme/forebay`
    Cache(Cache),
    /// Copy a tree to folders on several devices, to be mounted as one set
    ///
    /// The files are dealt out over the folders. Example: `forebay stripe /srv/data
    /// stripe:64KiB:/d1,/d2`
    Stripe(Stripe),
    /// List the policies, with their papers
    ///
    /// One policy of each axis makes a name for --policy, as in competitive+lru.
    Policies(Policies),
    /// Show the gain of looking ahead, without root, network or mount
    ///
    /// Concurrent readers read from a slow disk, modelled in real time, under four policies. One
    /// of them is the default. Example: `forebay demo`
    Demo(Demo),
    /// Show, convert, make and run traces
    ///
    /// Traces are recorded or synthetic. Example: `forebay trace info day.parquet`
    Trace(Box<Trace>),
    /// Replay a trace for miss ratios or, with a modelled device, for times
    ///
    /// Example: `forebay sim day.parquet --policy lru,arc` or `forebay sim one-whole-0 --device
    /// ibm-10k`
    Sim(Box<Sim>),
    /// Show, import and check models of devices
    ///
    /// Example: `forebay device show ibm-10k`
    Device(Device),
    /// Serve a modelled disk at its pace, as a file for a loop device
    ///
    /// It runs until it is interrupted or unmounted. Example: `forebay disk --device ibm-10k
    /// disk.img /mnt/disk`
    Disk(Disk),
    /// Check what a mount needs, and say what to do
    ///
    /// The command fails if a check fails. Example: `forebay doctor s3://bucket`
    Doctor(Box<Doctor>),
    /// Check the claims of the papers
    ///
    /// The command fails if a claim fails. Example: `forebay repro cp-depth`
    Repro(Repro),
    /// Run the engine in a simulated world with faults, seed by seed
    ///
    /// Every byte is compared, and every event is followed by a look at all invariants. The command
    /// fails if a seed does. `--log info` shows the warnings of that world, too. Example: `forebay
    /// soak --seeds 10000`
    Soak(Soak),
    /// Print a script that completes the command in a shell
    ///
    /// Example: `forebay completions bash >/etc/bash_completion.d/forebay`
    Completions(Completions),
    /// Write the pages of man(1)
    #[command(hide = true)]
    Manual(Manual),
    /// Print docs/cli.md, docs/metrics.md or docs/traces.md
    #[command(hide = true)]
    Reference {
        /// The page
        #[arg(value_enum, default_value = "cli")]
        page: Page,
    },
}

/// A page that the command writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Page {
    /// docs/cli.md
    Cli,
    /// docs/metrics.md
    Metrics,
    /// docs/traces.md
    Traces,
}

/// `forebay mount`
#[derive(Debug, Args)]
#[command(override_usage = "forebay mount [OPTIONS] <SOURCE>... <MOUNTPOINT>")]
pub(crate) struct Mount {
    /// The sources to read, then the empty folder to mount at
    ///
    /// A source is a folder, a URL such as s3://bucket/prefix, or a set that files are striped
    /// over, as in stripe:64KiB:/d1,/d2. NAME=SOURCE gives a source a folder of its own; several
    /// sources need such names. Example: `hot=/ssd cold=s3://bucket /mnt/data`
    // One list, split in code: two would make clap take `SOURCE` before an option for the mount
    // point.
    #[arg(num_args = 1.., value_name = "SOURCE")]
    pub(crate) places: Vec<OsString>,

    #[command(flatten)]
    pub(crate) sources: Sources,

    /// The empty folder to mount at, with --source
    ///
    /// /dev/fd/N is a FUSE descriptor that the parent process has mounted and left open. Example:
    /// `--source /srv/data --mountpoint /mnt/data`
    #[arg(long, value_name = "FOLDER", conflicts_with = "places")]
    pub(crate) mountpoint: Option<PathBuf>,

    /// How they are read.
    #[command(flatten)]
    pub(crate) reading: Reading,

    /// Keep read blocks in the kernel's page cache, or in the mount's memory
    ///
    /// Until they are read, prefetched blocks count against --memory. Example: `--kernel-cache on`
    #[arg(long, value_enum, default_value = "auto")]
    pub(crate) kernel_cache: KernelCache,

    #[command(flatten)]
    pub(crate) told: Told,

    #[command(flatten)]
    pub(crate) kept: Kept,

    #[command(flatten)]
    pub(crate) shown: Shown,

    /// Let other users read too, as far as owners and modes permit
    #[arg(long)]
    pub(crate) allow_other: bool,

    /// Let no program that lies in the mount be run
    #[arg(long)]
    pub(crate) noexec: bool,

    /// Return once the mount is ready, and go on in the background
    #[arg(long, short)]
    pub(crate) daemon: bool,

    /// Where the mount shows counters and takes lists: unix:PATH, an address, or off
    ///
    /// Prometheus reads /metrics there, a browser shows /, and programs tell what they will read
    /// (docs/metrics.md, docs/told.md). A socket is for the user who mounts; an address that other
    /// machines can reach needs a token. Without a socket here it is
    /// $XDG_RUNTIME_DIR/forebay/PID.sock, if that variable is set. Example: `--control
    /// 127.0.0.1:9100` or `--control unix:/run/data.sock,127.0.0.1:9100`
    #[arg(long, value_name = "WHERE", value_delimiter = ',')]
    pub(crate) control: Vec<ControlAt>,

    /// The clients of an address.
    #[command(flatten)]
    pub(crate) clients: Clients,

    /// Threads that answer the kernel; by default one for each processor
    #[arg(long, value_name = "COUNT", value_parser = value_parser!(u16).range(1..=256))]
    pub(crate) threads: Option<u16>,

    /// Set by mount.forebay: the table of mounts shows the source as it stands in fstab
    #[arg(long, hide = true)]
    pub(crate) fs_name: Option<String>,

    /// Set for the process that goes on in the background
    #[arg(long, hide = true)]
    pub(crate) detached: bool,

    /// Set by a program that ends the mount by closing our standard input
    ///
    /// The folder was made for this mount and goes with it, with `mount` and `control` in it.
    #[arg(long, hide = true, value_name = "DIR")]
    pub(crate) attached: Option<PathBuf>,
}

/// `forebay profile`
#[derive(Debug, Args)]
pub(crate) struct Profile {
    /// A folder, a large file, a disk, an object store or a set of these
    ///
    /// Example: `s3://bucket`, `/srv/data` or `stripe:64KiB:/d1,/d2`
    #[arg(value_name = "TARGET")]
    pub(crate) target: OsString,

    /// Seconds to measure
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = value_parser!(u16).range(1..=120))]
    #[arg(env = "FOREBAY_PROFILE_SECONDS")]
    pub(crate) seconds: u16,

    #[command(flatten)]
    pub(crate) stores: Stores,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `forebay stats`
#[derive(Debug, Args)]
pub(crate) struct Stats {
    /// The folder that the mount is at, its control socket, or an address
    ///
    /// An address is that of a mount's --control or of `forebay serve`. Example: `/mnt/data`,
    /// `unix:/run/data.sock`, `host:7680` or `https://host:7680`
    #[arg(value_name = "MOUNTPOINT")]
    pub(crate) mountpoint: PathBuf,

    #[command(flatten)]
    pub(crate) access: Access,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,

    /// Show the counters again every second, until interrupted
    #[arg(long, short)]
    pub(crate) watch: bool,
}

/// `forebay policies`
#[derive(Debug, Args)]
pub(crate) struct Policies {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `forebay demo`
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Seconds to measure, in all
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = value_parser!(u16).range(5..=600))]
    #[arg(env = "FOREBAY_DEMO_SECONDS")]
    pub(crate) seconds: u16,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `forebay completions`
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell: bash, elvish, fish, powershell or zsh
    #[arg(value_name = "SHELL", value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

/// `forebay manual`
#[derive(Debug, Args)]
pub(crate) struct Manual {
    /// The folder for the pages
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
}

/// Reads the command line, the environment and the configuration file.
pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Forebay, Failure> {
    let args: Vec<OsString> = args.into_iter().collect();
    // The file changes defaults, so it must be known before the second, final parse.
    let first = definitions().ignore_errors(true).try_get_matches_from(&args)?;
    let file = first.try_get_one::<PathBuf>("config").ok().flatten();
    let asked = first.subcommand_name() == Some("doctor");
    let (configured, mut fault) = match config::apply(definitions(), file.map(PathBuf::as_path)) {
        Ok(configured) => (configured, None),
        Err(fault) if asked => (Configured::without(definitions()), Some(fault.to_string())),
        Err(fault) => return Err(fault.into()),
    };
    let mount = if asked { Some(configured.command.clone()) } else { None };
    let matches = configured.command.try_get_matches_from(&args)?;
    if let Some((name, command)) = matches.subcommand() {
        let in_file = |option: &str| configured.given.as_ref()?.place(name, option);
        if asked {
            without_a_folder(command, |_| None)?;
            fault = fault.or(without_a_folder(command, in_file).err().map(|fault| fault.to_string()));
        } else {
            without_a_folder(command, in_file)?;
        }
    }
    let mut parsed = Forebay::from_arg_matches(&matches)?;
    if let Command::Doctor(doctor) = &mut parsed.command {
        doctor.mount = mount.and_then(|command| match described(command, doctor) {
            Ok(mount) => Some(Box::new(mount)),
            Err(failure) => {
                fault.get_or_insert(failure.to_string());
                None
            }
        });
        doctor.configuration = Configuration { file: parsed.config.clone(), fault };
    }
    Ok(parsed)
}

/// The mount that `forebay doctor` examines: that of the file and the environment, with the options
/// that both commands have as doctor has them.
fn described(command: clap::Command, doctor: &Doctor) -> Result<Mount, Failure> {
    let parsed = Forebay::from_arg_matches(&command.try_get_matches_from(["forebay", "mount"])?)?;
    let Command::Mount(mount) = parsed.command else {
        return Err(Failure::input("`mount` is another command"));
    };
    Ok(Mount { reading: doctor.reading.clone(), allow_other: doctor.allow_other, ..*mount })
}

/// The commands and their options, complete with variables and the values of flags.
pub(crate) fn definitions() -> clap::Command {
    complete(Forebay::command(), PREFIX)
}

/// Commands for experiments. Variables that are set for mounts must not change them, so their
/// options have variables of their own.
const EXPERIMENTS: [&str; 8] = ["explain", "record", "trace", "sim", "device", "disk", "repro", "soak"];

pub(crate) fn complete(command: clap::Command, prefix: &str) -> clap::Command {
    command.mut_args(|arg| in_environment(switch(arg), prefix)).mut_subcommands(|command| {
        let name = command.get_name();
        let own = prefix != PREFIX || EXPERIMENTS.contains(&name);
        let prefix = if own { format!("{prefix}{}_", upper(name)) } else { prefix.to_owned() };
        complete(command, &prefix)
    })
}

/// The prefix of all variables.
pub(crate) const PREFIX: &str = "FOREBAY_";

/// A name as variables have it.
fn upper(name: &str) -> String {
    name.to_uppercase().replace('-', "_")
}

/// A flag may have a value, so that `--daemon=false` overrides the environment and the file.
fn switch(arg: Arg) -> Arg {
    if !matches!(arg.get_action(), ArgAction::SetTrue) {
        return arg;
    }
    let arg = arg.action(ArgAction::Set).value_parser(BoolishValueParser::new()).value_name("BOOL");
    let arg = arg.num_args(0..=1).require_equals(true).default_missing_value("true").default_value("false");
    arg.hide_possible_values(true).hide_default_value(true)
}

/// The variable of an option is its name, unless the option names another: `--ttl` is
/// `FOREBAY_TTL`.
fn in_environment(arg: Arg, prefix: &str) -> Arg {
    match arg.get_long() {
        Some(long) if arg.get_env().is_none() => {
            let variable = format!("{prefix}{}", upper(long));
            arg.env(variable).hide_env_values(true)
        }
        _ => arg.hide_env_values(true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mount(args: &[&str]) -> Mount {
        let args = ["forebay", "--config", "/dev/null", "mount"].iter().chain(args).map(OsString::from);
        match parse(args).unwrap().command {
            Command::Mount(mount) => *mount,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_definitions_hold_together() {
        definitions().debug_assert();
    }

    #[test]
    fn options_may_stand_anywhere_among_the_places() {
        for args in [
            ["a", "b", "c", "--memory", "1GiB"],
            ["--memory", "1GiB", "a", "b", "c"],
            ["a", "b", "--memory", "1GiB", "c"],
            ["a", "-m", "1GiB", "b", "c"],
        ] {
            let mount = mount(&args);
            assert_eq!(mount.places, ["a", "b", "c"], "{args:?}");
            assert_eq!(mount.reading.memory.bytes(), 1 << 30, "{args:?}");
        }
    }

    #[test]
    fn a_flag_can_be_taken_back() {
        assert!(!mount(&["a", "b"]).daemon);
        assert!(mount(&["--daemon", "a", "b"]).daemon);
        assert!(mount(&["-d", "a", "b"]).daemon);
        assert!(!mount(&["--daemon=false", "a", "b"]).daemon);
    }

    #[test]
    fn a_short_help_fits_a_line() {
        fn walk(command: &clap::Command) {
            // An option of a synthetic trace has a meaning for each kind of trace.
            let arguments = command.get_arguments().filter(|_| command.get_name() != "generate");
            let helps = arguments.filter_map(clap::Arg::get_help);
            for help in helps.chain(command.get_subcommands().filter_map(clap::Command::get_about)) {
                let help = help.to_string();
                assert!(help.chars().count() <= 80, "{} characters: {help}", help.chars().count());
            }
            command.get_subcommands().for_each(walk);
        }
        walk(&definitions());
    }

    #[test]
    fn every_option_has_a_variable_of_its_name() {
        fn walk(command: &clap::Command, above: &str) {
            for arg in command.get_arguments().filter(|arg| arg.get_long().is_some()) {
                let variable = arg.get_env().unwrap().to_string_lossy().into_owned();
                let name = upper(arg.get_long().unwrap());
                assert!(variable.starts_with("FOREBAY_") && variable.ends_with(&name), "{variable}");
                if EXPERIMENTS.iter().any(|experiment| above.starts_with(&format!(" {experiment}"))) {
                    assert_eq!(variable, format!("FOREBAY{}_{name}", upper(above).replace(' ', "_")));
                }
            }
            for below in command.get_subcommands() {
                walk(below, &format!("{above} {}", below.get_name()));
            }
        }
        walk(&definitions(), "");
    }
}
