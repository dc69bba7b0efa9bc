//! Measures Forebay, each figure as a ratio of two things in one run, since machines are shared and noisy; medians of
//! several, alternating. What each figure means and how to read it is in BENCHMARKING.md.
//!
//! Built with optimisation: `cargo run --release -p forebay-bench`. Names on the command line choose what is measured.

mod bridge;
mod curve;
mod handlers;
mod hit;
mod kernel_cache;
mod local_stream;
mod mount_hits;
mod object_stream;
mod plot;
mod replay;
mod report;
mod timed;
mod trace_read;
mod zipf;

use std::path::PathBuf;

use clap::Parser;

use report::Row;

/// Measurements of Forebay as ratios within one run
#[derive(Parser)]
struct Options {
    /// What to measure; everything if nothing is named
    #[arg(value_parser = BENCHES.map(|(name, _)| name))]
    names: Vec<String>,
    /// So small that it shows only that everything runs
    #[arg(long)]
    smoke: bool,
    /// Print JSON: an array of records bench, what, against, ratio, wanted, detail
    #[arg(long)]
    json: bool,
    /// Draw what `handlers` measured into this SVG file
    #[arg(long)]
    plot: Option<PathBuf>,
    /// One loop of hits, to be counted from outside: forebay, quick-cache or nothing
    #[arg(long, hide = true)]
    count: Option<String>,
    /// How many hits that loop has
    #[arg(long, hide = true, default_value_t = 0)]
    hits: u64,
    /// One replay whose memory is measured from outside: a policy, or nothing
    #[arg(long, hide = true)]
    weigh: Option<String>,
    /// The other processes of `kernel-cache`: a mount, and a reader
    #[arg(long, hide = true, num_args = 4)]
    serve: Vec<String>,
    #[arg(long, hide = true, num_args = 3)]
    read: Vec<String>,
}

type Bench = fn(bool) -> anyhow::Result<Vec<Row>>;

const BENCHES: [(&str, Bench); 11] = [
    ("hit", hit::run),
    ("mount-hits", mount_hits::run),
    ("kernel-cache", kernel_cache::run),
    ("local-stream", local_stream::run),
    ("handlers", handlers::run),
    ("bridge", bridge::run),
    ("timed", timed::run),
    ("object-stream", object_stream::run),
    ("replay", replay::run),
    ("curve", curve::run),
    ("trace-read", trace_read::run),
];

fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    if let Some(what) = &options.count {
        return hit::count(what, options.hits);
    }
    if let Some(what) = &options.weigh {
        return replay::weigh(what, options.smoke);
    }
    if !options.serve.is_empty() {
        return kernel_cache::serve(&options.serve);
    }
    if !options.read.is_empty() {
        return kernel_cache::read(&options.read);
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
