//! The readers: a process of their own, so that its memory can be bounded.
//!
//! The process says `ready` when it has its workload. Then each line that it gets starts a step.
//! The first is a short trial, which shows how much memory the readers take for themselves; it ends
//! with `tried`. The second is the run, which ends with the outcome as JSON. The memory is bounded
//! in between: while reads are under way, their pages cannot be taken back.

use std::io::{BufRead, stdin};
use std::path::PathBuf;

use forebay_play::{Content, Folder, Play};
use forebay_trace::generate::{self, Given};
use forebay_trace::{Span, Workload};
use serde::{Deserialize, Serialize};

/// The length of the trial, in seconds.
pub(super) const TRIAL: f64 = 1.0;

/// The same for all systems.
pub(super) const SEED: u64 = 1;

/// A synthetic workload: its name, and the parameters that differ from its defaults.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Description {
    kind: String,
    /// A list such as `files=500,bytes=4M`.
    parameters: String,
}

impl Description {
    pub(super) fn new(kind: &str, parameters: &str) -> Description {
        Description { kind: kind.to_owned(), parameters: parameters.to_owned() }
    }

    pub(super) fn load(&self) -> anyhow::Result<Workload> {
        Ok(Workload::load(&mut generate::named(&self.kind, &Given::list(&self.parameters)?, SEED)?)?)
    }
}

/// The process's orders.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Job {
    pub(super) workload: Description,
    pub(super) folder: PathBuf,
    pub(super) handlers: u32,
    /// Seconds before counting, and of counting.
    pub(super) seconds: (f64, f64),
    pub(super) verify: bool,
}

/// The process.
pub(crate) fn read(job: &str) -> anyhow::Result<()> {
    let job: Job = serde_json::from_str(job)?;
    let workload = job.workload.load()?;
    let folder = Folder::new(&job.folder);
    let play = |warm_up: f64, seconds: f64| {
        let verify = job.verify.then_some(Content::Pattern);
        let (warm_up, limit) = (Some(Span::Seconds(warm_up)), Some(Span::Seconds(warm_up + seconds)));
        Play { warm_up, limit, verify, ..Play::new(job.handlers) }.run(&workload, &folder, &|_, _| false)
    };
    println!("ready");
    stdin().lock().read_line(&mut String::new())?;
    play(TRIAL / 10.0, TRIAL)?;
    println!("tried");
    stdin().lock().read_line(&mut String::new())?;
    println!("{}", serde_json::to_string(&play(job.seconds.0, job.seconds.1)?)?);
    Ok(())
}
