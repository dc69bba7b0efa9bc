//! Forebay side by side with other mounts of one S3 server, and with raw gets: rclone, s3fs, and
//! any mount that the user names. The server is on the loopback and in memory; a proxy makes it
//! distant. Each run has a mount of its own, tools take turns, and every read byte is compared with
//! the stored one.

mod judge;
mod kept;
mod load;
mod mounted;
mod parquet;
mod pattern;
mod raw;
mod readers;
mod scene;
mod tool;

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use anyhow::Context;
use forebay_testkit::s3::S3;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::kernel;
use crate::report::Row;
use judge::Figure;
use load::{LOADS, Load, Sizes};
use pattern::WrongBytes;
use scene::{Contender, SETTINGS, Scene, Setting};
use tool::Tool;

pub(crate) use kept::run as kept;
pub(crate) use tool::Peer;

/// The loads that the user wants measured.
pub(crate) struct Wanted {
    pub(crate) smoke: bool,
    pub(crate) quick: bool,
    /// Prefixes of names of loads, or of `SETTING/LOAD`.
    pub(crate) only: Vec<String>,
    pub(crate) runs: u32,
    pub(crate) peers: Vec<Peer>,
}

/// The outcome of one load.
struct Measured {
    setting: &'static Setting,
    load: Load,
    figures: Vec<Figure>,
}

/// A run that is shorter than this needs no bar.
const PATIENCE: Duration = Duration::from_secs(2);

pub(crate) fn run(wanted: &Wanted) -> anyhow::Result<Vec<Row>> {
    let versitygw = forebay_testkit::tools::find("versitygw").context("versitygw is missing: cargo xtask tools")?;
    let tools = tool::all(kernel::forebay()?, &wanted.peers);
    tools.iter().for_each(|tool| eprintln!("  {}: {}", tool.name, tool.version));
    let sizes = Sizes::new(wanted.smoke, wanted.quick);
    let folder = scene::scratch()?;
    let s3 = S3::start_in(&versitygw, &scene::memory())?;
    let chosen = chosen(&wanted.only);
    let runs = if wanted.smoke { 1 } else { wanted.runs.max(1) };
    let mut bar = Bar::new(chosen.iter().map(|&(_, load)| contenders(&tools, load).len() as u64).sum(), runs);
    let mut all = Vec::new();
    for (setting, load) in chosen {
        let scene = Scene::set(setting, &s3, &sizes, folder.path())?;
        let Some(stored) = load.store(&s3, &sizes, folder.path())? else { continue };
        let contenders = contenders(&tools, load);
        let mut figures: Vec<Figure> = contenders.iter().map(Figure::new).collect();
        for _ in 0..runs {
            for (contender, figure) in contenders.iter().zip(&mut figures) {
                bar.next(&format!("{}: {}", load.name(), figure.name));
                match scene.measure(contender, load, &stored) {
                    Ok(run) => figure.runs.push(run),
                    // A peer's run may fail, but wrong bytes end the bench for any tool.
                    Err(error) if figure.is_peer && !error.is::<WrongBytes>() => {
                        eprintln!("  {}, {}: {}: {error:#}", setting.words, load.name(), figure.name);
                    }
                    Err(error) => return Err(error.context(format!("{}: {}", load.name(), figure.name))),
                }
            }
        }
        load.remove(&s3, stored)?;
        all.push(Measured { setting, load, figures });
    }
    bar.bar.finish_and_clear();
    Ok(judge::rows(&all, &sizes, &tools))
}

/// The loads and settings that the user wants.
fn chosen(only: &[String]) -> Vec<(&'static Setting, Load)> {
    let wanted = |setting: &Setting, load: Load| {
        let (name, whole) = (load.name(), format!("{}/{}", setting.name, load.name()));
        only.is_empty() || only.iter().any(|prefix| name.starts_with(prefix) || whole.starts_with(prefix))
    };
    let all = SETTINGS.iter().flat_map(|setting| LOADS.map(|load| (setting, load)));
    all.filter(|&(setting, load)| wanted(setting, load)).collect()
}

/// All contenders of a load: the mounts, Forebay first, and those that only Forebay is compared
/// with.
fn contenders(tools: &[Tool], load: Load) -> Vec<Contender<'_>> {
    let forebay = &tools[0];
    let mut all: Vec<Contender> = tools.iter().map(Contender::Mount).collect();
    match load {
        Load::Streams(1) => {
            all.push(Contender::Forebay(forebay, tool::LITTLE));
            all.extend(raw::CONNECTIONS.map(Contender::Raw));
        }
        Load::Skips => all.extend([false, true].map(|random| Contender::Hints { tool: forebay, random })),
        _ => {}
    }
    all
}

/// The progress, on a terminal.
struct Bar {
    bar: ProgressBar,
    begun: Instant,
}

impl Bar {
    fn new(contenders: u64, runs: u32) -> Bar {
        let steps = contenders * u64::from(runs);
        let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{bar:30} {percent:>3} %  {eta} left  {msg}");
        Bar { bar: bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar())), begun: Instant::now() }
    }

    fn next(&mut self, what: &str) {
        if self.bar.is_hidden() && self.begun.elapsed() > PATIENCE && std::io::stderr().is_terminal() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.set_message(what.to_owned());
        self.bar.inc(1);
    }
}

/// A process that reads small files: `FOLDER FIRST COUNT`.
pub(crate) fn read_small(args: &[String]) -> anyhow::Result<()> {
    load::read_small(args)
}
