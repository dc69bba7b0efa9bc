//! Measures Forebay. Each figure is a ratio of two things in one run, since machines are shared and
//! noisy, and a median of several alternating runs. BENCHMARKING.md lists the benches. README.md of
//! this crate, or of a bench's folder, explains its figures.
//!
//! Built with optimisation: `cargo run --release -p forebay-bench`. Names on the command line
//! choose the benches.

mod amp;
mod auto;
mod bridge;
mod compare;
mod context_id;
mod contexts;
mod contexts_engine;
mod curve;
mod distances;
mod foyer;
mod handlers;
mod hit;
mod kernel;
mod kernel_cache;
mod local_stream;
mod mount_hits;
mod object_stream;
mod partitions;
mod peers;
mod plot;
mod prefetch_cache;
mod programs;
mod replay;
mod report;
mod scrape;
mod serve;
mod storage_aware;
mod supply_chain;
mod tier;
mod timed;
mod told;
mod trace_read;
mod zipf;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use report::Row;

/// Measurements of Forebay as ratios within one run
#[derive(Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Options {
    #[command(subcommand)]
    chore: Option<Chore>,
    /// The benches to run; all of them by default
    #[arg(value_parser = BENCHES.iter().map(|(name, _)| *name).collect::<Vec<_>>())]
    names: Vec<String>,
    /// Run the smallest form, which shows only that everything runs
    #[arg(long)]
    smoke: bool,
    /// Print JSON: an array of records bench, what, against, ratio, wanted, detail
    #[arg(long)]
    json: bool,
    /// Draw the results of `handlers` into this SVG file
    #[arg(long)]
    plot: Option<PathBuf>,
    /// For `supply-chain`, `amp` and `auto`: only a glance, which takes minutes instead of an hour,
    /// with one run of each. For `peers`: a quarter of the data
    #[arg(long)]
    quick: bool,
    /// For `amp`, `auto`, `kernel`, `peers`, `storage-aware` and `supply-chain`: only points or
    /// parts whose names begin with this; may be given several times
    #[arg(long)]
    only: Vec<String>,
    /// For `peers`: how often each load is measured; medians count
    #[arg(long, default_value_t = 3)]
    runs: u32,
    /// For `peers`: one more mount, as NAME=COMMAND. COMMAND is a shell line that stays in the
    /// foreground; {endpoint}, {bucket}, {mountpoint} and {cache}, an empty folder, are replaced in
    /// it. Credentials are in the usual variables. May be given several times
    #[arg(long, value_name = "NAME=COMMAND")]
    peer: Vec<peers::Peer>,
    /// A workload, as JSON, whose memory is bounded from outside
    #[arg(long, hide = true)]
    read: Option<String>,
    /// One loop, to be counted from outside: forebay, quick-cache, nothing, a loop of
    /// `prefetch-cache` and a policy, or one of `partitions`, `distances` or `contexts`
    #[arg(long, hide = true)]
    count: Option<String>,
    /// The number of that loop's hits
    #[arg(long, hide = true, default_value_t = 0)]
    hits: u64,
    /// One replay whose memory is measured from outside: a policy, or nothing
    #[arg(long, hide = true)]
    weigh: Option<String>,
    /// The other processes of `kernel-cache`: a mount, and a reader
    #[arg(long, hide = true, num_args = 4)]
    serve: Vec<String>,
    #[arg(long, hide = true, num_args = 3)]
    visit: Vec<String>,
    /// A process of `peers` that reads small files
    #[arg(long, hide = true, num_args = 3)]
    small: Vec<String>,
}

/// Chores that measure nothing.
#[derive(Subcommand)]
enum Chore {
    /// Prints two runs beside each other
    Compare(compare::Compared),
}

/// A bench. Its argument is `--smoke`: show only that everything runs.
type Bench = fn(bool) -> anyhow::Result<Vec<Row>>;

const BENCHES: &[(&str, Bench)] = &[
    ("hit", hit::run),
    ("prefetch-cache", prefetch_cache::run),
    ("partitions", partitions::run),
    ("distances", distances::run),
    ("contexts", contexts::run),
    ("contexts-engine", contexts_engine::run),
    ("context-id", context_id::run),
    ("mount-hits", mount_hits::run),
    ("kernel-cache", kernel_cache::run),
    ("local-stream", local_stream::run),
    ("handlers", handlers::run),
    ("bridge", bridge::run),
    ("storage-aware", |smoke| storage_aware::run(smoke, &Options::parse().only)),
    ("supply-chain", |smoke| {
        let Options { quick, only, .. } = Options::parse();
        supply_chain::run(smoke, quick, &only)
    }),
    ("amp", |smoke| {
        let Options { names, quick, only, .. } = Options::parse();
        amp::run(smoke, quick, &only, names.is_empty())
    }),
    ("auto", |smoke| {
        let Options { quick, only, .. } = Options::parse();
        auto::run(smoke, quick, &only)
    }),
    ("programs", programs::run),
    ("tier", tier::run),
    ("foyer", foyer::run),
    ("timed", timed::run),
    ("object-stream", object_stream::run),
    ("told", told::run),
    ("serve", serve::run),
    ("scrape", scrape::run),
    ("peers", |smoke| {
        let Options { quick, only, runs, peer: peers, .. } = Options::parse();
        peers::run(&peers::Wanted { smoke, quick, only, runs, peers })
    }),
    ("kept", |smoke| {
        let Options { quick, only, runs, peer: peers, .. } = Options::parse();
        peers::kept(&peers::Wanted { smoke, quick, only, runs, peers })
    }),
    ("replay", replay::run),
    ("curve", curve::run),
    ("trace-read", trace_read::run),
    ("kernel", |smoke| kernel::run(smoke, &Options::parse().only)),
];

fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    if let Some(Chore::Compare(compared)) = &options.chore {
        return compare::run(compared);
    }
    if let Some(what) = &options.count {
        return hit::count(what, options.hits);
    }
    if let Some(what) = &options.weigh {
        return replay::weigh(what, options.smoke);
    }
    if let Some(job) = &options.read {
        return kernel::read(job);
    }
    if !options.serve.is_empty() {
        return kernel_cache::serve(&options.serve);
    }
    if !options.visit.is_empty() {
        return kernel_cache::read(&options.visit);
    }
    if !options.small.is_empty() {
        return peers::read_small(&options.small);
    }
    let mut rows = Vec::new();
    for (name, bench) in BENCHES {
        if options.names.is_empty() || options.names.iter().any(|wanted| wanted == name) {
            eprintln!("measuring {name} …");
            rows.extend(bench(options.smoke)?);
        }
    }
    if let Some(path) = &options.plot {
        plot::handlers(&rows, path)?;
    }
    report::print(&rows, options.json)
}
