//! `forebay trace`

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, Subcommand, builder::PossibleValue, value_parser};
use forebay_trace::generate::{Kind, Parameter, kinds};
use forebay_trace::{Columns, Format};

use super::Report;
use super::sim::Span;
use crate::period::Period;
use crate::size::Size;

/// `forebay trace`
#[derive(Debug, Args)]
pub(crate) struct Trace {
    /// The command
    #[command(subcommand)]
    pub(crate) command: TraceCommand,
}

/// `forebay trace …`
#[derive(Debug, Subcommand)]
pub(crate) enum TraceCommand {
    /// Show the content of traces: requests, blocks, sizes, popularity, sequences
    Info(TraceInfo),
    /// List the formats of traces that can be read, public ones with their sources
    Formats(TraceFormats),
    /// Write a trace in another format
    Convert(TraceConvert),
    /// Make a synthetic trace: Zipf, sequential, the papers' loads
    Generate(TraceGenerate),
    /// Run a trace in real time on files of a folder or of a mount
    ///
    /// The workload is the one that `forebay sim --device` simulates. Example: `forebay trace play
    /// one-rand-10 /mnt/data --handlers 16`
    Play(TracePlay),
}

/// How to read a trace.
#[derive(Debug, Args)]
pub(crate) struct Reading {
    /// The format of the trace, unless its name and content tell it
    ///
    /// `forebay trace formats` lists them. Example: `--format twitter`
    #[arg(long, value_name = "NAME")]
    pub(crate) format: Option<Format>,

    /// The columns of CSV, where no header tells them
    ///
    /// A column is a number or a name of the header, or none. reads=, writes= and ignored= say
    /// words of operations. Without --format, columns that are named make the trace CSV. Example:
    /// `--columns time-col=1,obj-id-col=2,obj-size-col=3,op-col=4,reads=0,writes=1`
    #[arg(long, value_name = "COLUMNS")]
    pub(crate) columns: Option<Columns>,

    /// The action of blkparse that is the request: Q, D or C
    ///
    /// Q: the program's request. D: the request to the device. C: its completion. Example:
    /// `--action D`
    #[arg(long, value_name = "LETTER")]
    pub(crate) action: Option<char>,
}

impl Reading {
    /// The options in the library's terms.
    pub(crate) fn options(&self) -> forebay_trace::Options {
        let columns = self.columns.clone().unwrap_or_default();
        forebay_trace::Options { format: self.format, columns, action: self.action }
    }
}

/// `forebay trace info`
#[derive(Debug, Args)]
pub(crate) struct TraceInfo {
    /// The traces, compressed or not
    #[arg(value_name = "TRACE", required = true)]
    pub(crate) traces: Vec<PathBuf>,

    /// The block that ranges are split into; by default the trace's own
    #[arg(long, value_name = "SIZE")]
    pub(crate) block_bytes: Option<Size>,

    /// How to read them
    #[command(flatten)]
    pub(crate) reading: Reading,

    /// How to show the results
    #[command(flatten)]
    pub(crate) report: Report,
}

/// `forebay trace formats`
#[derive(Debug, Args)]
pub(crate) struct TraceFormats {
    /// How to show them
    #[command(flatten)]
    pub(crate) report: Report,
}

/// `forebay trace convert`
#[derive(Debug, Args)]
pub(crate) struct TraceConvert {
    /// The trace
    #[arg(value_name = "IN")]
    pub(crate) input: PathBuf,

    /// The file to write; .gz, .xz and .zst compress
    #[arg(value_name = "OUT")]
    pub(crate) output: PathBuf,

    /// The format to write; by default that of OUT's ending
    #[arg(long, value_name = "NAME")]
    pub(crate) to: Option<Format>,

    /// How to read it
    #[command(flatten)]
    pub(crate) reading: Reading,

    /// How to show what was done
    #[command(flatten)]
    pub(crate) report: Report,
}

/// `forebay trace generate`
#[derive(Debug, Args)]
pub(crate) struct TraceGenerate {
    /// The kind of trace
    #[arg(value_name = "KIND", value_parser = kind_names())]
    pub(crate) kind: String,

    /// The file to write; .gz, .xz and .zst compress
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: PathBuf,

    /// The format to write; by default that of FILE's ending
    #[arg(long, value_name = "NAME")]
    pub(crate) to: Option<Format>,

    /// The seed of everything random
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    pub(crate) seed: u64,

    /// The parameters of the workload
    #[command(flatten)]
    pub(crate) parameters: Parameters,

    /// How to show what was done
    #[command(flatten)]
    pub(crate) report: Report,
}

/// `forebay trace play`
#[derive(Debug, Args)]
pub(crate) struct TracePlay {
    /// The trace: a file, compressed or not, or a synthetic one
    ///
    /// A file is in any format that `forebay trace info` knows. A synthetic trace has the name and
    /// the parameters of `forebay trace generate`. Example: `one-rand-10:files=100,tasks=500`
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,

    /// The folder of the trace's files, as --lay makes them, or a mount of it
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,

    /// Make the files of the trace in FOLDER, and run nothing
    ///
    /// These are the files that the trace reads or lists, named by their numbers. Correct files
    /// that are there already are kept.
    #[arg(long, conflicts_with_all = ["handlers", "think", "cpu", "private_memory", "warm_up", "limit", "verify"])]
    pub(crate) lay: bool,

    /// Files hold zeros, and with --lay take no room on the disk
    ///
    /// Without this option every block differs from every other.
    #[arg(long)]
    pub(crate) sparse: bool,

    /// Tasks that run at a time, each on a thread of its own
    ///
    /// Several numbers run one after the other. Example: `--handlers 1,16,64`
    #[arg(long, value_name = "COUNTS", value_delimiter = ',', default_value = "1")]
    #[arg(value_parser = value_parser!(u32).range(1..=100_000))]
    pub(crate) handlers: Vec<u32>,

    /// How long a handler thinks after each request; by default as in the trace
    #[arg(long, value_name = "TIME")]
    pub(crate) think: Option<Period>,

    /// How long a handler computes after each request
    #[arg(long, value_name = "TIME")]
    pub(crate) cpu: Option<Period>,

    /// Memory that each task takes and writes to; the papers' handlers have 1MB
    #[arg(long, value_name = "SIZE")]
    pub(crate) private_memory: Option<Size>,

    /// The beginning, which does not count: a number of requests, or a time
    ///
    /// Example: `--warm-up 1000` or `--warm-up 30s`
    #[arg(long, value_name = "SPAN")]
    pub(crate) warm_up: Option<Span>,

    /// End early: after a number of requests, or a time
    #[arg(long, value_name = "SPAN")]
    pub(crate) limit: Option<Span>,

    /// Compare every byte read with the one that --lay wrote
    #[arg(long)]
    pub(crate) verify: bool,

    /// The seed of a synthetic trace
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    pub(crate) seed: u64,

    /// How to read the trace
    #[command(flatten)]
    pub(crate) reading: Reading,

    /// How to show the results
    #[command(flatten)]
    pub(crate) report: Report,
}

fn kind_names() -> PossibleValuesParser {
    PossibleValuesParser::new(kinds().map(|kind| PossibleValue::new(kind.name).help(kind.summary)))
}

/// The parameters of a workload: an option for every parameter of the table of workloads.
#[derive(Debug, Default)]
pub(crate) struct Parameters(pub(crate) Vec<(&'static str, String)>);

/// The heading of these options.
const PARAMETERS: &str = "Options of the kinds";

/// A kind that has a parameter.
struct User {
    kind: &'static Kind,
    parameter: &'static Parameter,
}

/// The kinds' parameters, those of one name together, in the order of their first appearance.
fn parameters() -> Vec<(&'static str, Vec<User>)> {
    let mut named: Vec<(&str, Vec<User>)> = Vec::new();
    for kind in kinds() {
        for parameter in kind.parameters {
            let user = User { kind, parameter };
            match named.iter_mut().find(|(name, _)| *name == parameter.name) {
                Some((_, users)) => users.push(user),
                None => named.push((parameter.name, vec![user])),
            }
        }
    }
    named
}

/// The meaning of a parameter, by the kinds that have it; kinds with the same meaning stand
/// together.
fn meaning(users: &[User]) -> String {
    let mut meanings: Vec<(String, Vec<&str>)> = Vec::new();
    for User { kind, parameter } in users {
        let meaning = format!("{} (default {})", parameter.what, parameter.default);
        match meanings.iter_mut().find(|(known, _)| *known == meaning) {
            Some((_, kinds)) => kinds.push(kind.name),
            None => meanings.push((meaning, vec![kind.name])),
        }
    }
    let meanings: Vec<String> =
        meanings.into_iter().map(|(meaning, kinds)| format!("{}: {meaning}", kinds.join(", "))).collect();
    meanings.join("; ")
}

impl Args for Parameters {
    fn augment_args(command: Command) -> Command {
        parameters().into_iter().fold(command, |command, (name, users)| {
            let arg = Arg::new(name).long(name).value_name("VALUE").help(meaning(&users));
            command.arg(arg.help_heading(PARAMETERS))
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Parameters {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Parameters, clap::Error> {
        let said =
            parameters().into_iter().filter_map(|(name, _)| Some((name, matches.get_one::<String>(name)?.clone())));
        Ok(Parameters(said.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
