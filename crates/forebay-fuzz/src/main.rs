//! Runs targets one after the other, each in a process of its own, and makes small what ends one.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use cap::Cap;
use clap::Parser;
use forebay_fuzz::minimise::minimise;
use forebay_fuzz::worker::{self, Journal, Work};
use forebay_fuzz::{Target, corpus, targets};

/// The memory that a worker may have allocated at any time, in bytes. No target needs a tenth of
/// it.
const MEMORY: usize = 256 << 20;

/// How many processes making an input small may take.
const TRIES: usize = 300;

#[global_allocator]
static ALLOCATOR: Cap<std::alloc::System> = Cap::new(std::alloc::System, usize::MAX);

/// Fuzzes the decoders of bytes from outside.
#[derive(Parser)]
struct Options {
    /// Only these targets, separated by commas
    #[arg(long, value_delimiter = ',')]
    targets: Vec<String>,
    /// How long all targets together may take
    #[arg(long, default_value_t = 120.0)]
    seconds: f64,
    /// The seed; without it a fresh one
    #[arg(long)]
    seed: Option<u64>,
    /// The folder of examples, a folder for each target
    #[arg(long, default_value_os_t = corpus::folder())]
    corpus: PathBuf,
    /// The folder where inputs are kept that ended a process
    #[arg(long, default_value = "target/fuzz-findings")]
    findings: PathBuf,
    /// Lists the targets
    #[arg(long)]
    list: bool,
    /// Runs one target, named by --targets, on this file alone
    #[arg(long)]
    file: Option<PathBuf>,
    /// Works in this process, and writes each input here before it is run
    #[arg(long, hide = true)]
    journal: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(options: &Options) -> Result<bool> {
    let targets = chosen(&options.targets)?;
    if options.list {
        targets.iter().for_each(|target| println!("{:18} {}", target.name, target.about));
        return Ok(true);
    }
    let seed = options.seed.unwrap_or_else(rand::random);
    let time = Duration::try_from_secs_f64(options.seconds / targets.len() as f64).context("--seconds")?;
    if let (Some(file), [target]) = (&options.file, targets.as_slice()) {
        limit()?;
        let input = std::fs::read(file).with_context(|| file.display().to_string())?;
        println!("{:?}", worker::once(target, &input)?);
        return Ok(true);
    }
    if let (Some(journal), [target]) = (&options.journal, targets.as_slice()) {
        limit()?;
        let examples = corpus::examples(&options.corpus, target.name).context("examples")?;
        let Work { inputs, time, outcomes } = worker::work(target, examples, seed, time, &Journal::create(journal)?)?;
        println!("{inputs} {} {outcomes}", time.as_millis());
        return Ok(true);
    }
    println!("seed {seed}");
    // In memory if that is possible: some targets decode files.
    let scratch = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir())?;
    let mut found = 0;
    for target in &targets {
        match fuzz(target, options, seed, time, scratch.path())? {
            Ended::Well(line) => println!("{:18} {line}", target.name),
            Ended::Badly(input, said) => {
                found += 1;
                report(target, options, seed, &input, &said, scratch.path())?;
            }
        }
    }
    println!("{} targets, {found} findings", targets.len());
    Ok(found == 0)
}

/// The targets of these names, or all.
fn chosen(names: &[String]) -> Result<Vec<Target>> {
    let all = targets::all();
    if names.is_empty() {
        return Ok(all);
    }
    let find = |name: &String| all.iter().find(|target| target.name == name).copied();
    names.iter().map(|name| find(name).with_context(|| format!("no target is called {name}; --list has all"))).collect()
}

fn limit() -> Result<()> {
    ALLOCATOR.set_limit(MEMORY).map_err(|()| anyhow::anyhow!("too much memory is taken already"))
}

/// The end of a worker.
enum Ended {
    /// Its figures as a line.
    Well(String),
    /// The input that ended it, and the last lines that it printed.
    Badly(Vec<u8>, String),
}

fn fuzz(target: &Target, options: &Options, seed: u64, time: Duration, scratch: &Path) -> Result<Ended> {
    let journal = scratch.join("journal");
    let said = std::fs::File::create(scratch.join("said"))?;
    let mut command = worker_of(target, scratch)?;
    command.arg("--seed").arg(seed.to_string()).arg("--seconds").arg(time.as_secs_f64().to_string());
    command.arg("--corpus").arg(&options.corpus).arg("--journal").arg(&journal);
    let output = command.stderr(said).output()?;
    if !output.status.success() {
        let said = std::fs::read(scratch.join("said"))?;
        let said = String::from_utf8_lossy(&said);
        let last: Vec<&str> = said.lines().rev().take(4).collect();
        let said = last.into_iter().rev().collect::<Vec<_>>().join("\n");
        if output.status.code() == Some(2) && !journal.exists() {
            bail!("{}: {said}", target.name);
        }
        return Ok(Ended::Badly(Journal::read(&journal)?, format!("{}\n{said}", output.status)));
    }
    let line = String::from_utf8_lossy(&output.stdout).into_owned();
    let numbers: Vec<u64> = line.split_whitespace().filter_map(|number| number.parse().ok()).collect();
    let [inputs, millis, outcomes] = numbers[..] else { bail!("{}: it printed {line:?}", target.name) };
    let rate = inputs * 1000 / millis.max(1);
    Ok(Ended::Well(format!("{inputs:10} inputs {rate:8}/s {outcomes:5} outcomes")))
}

/// A process for one target. Its files lie in `scratch`, so that none stays if it is killed.
fn worker_of(target: &Target, scratch: &Path) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("--targets").arg(target.name).stdin(Stdio::null()).env("TMPDIR", scratch);
    // Settings of the caller's must not change what options mean.
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("FOREBAY_")) {
        command.env_remove(name);
    }
    Ok(command)
}

/// Makes the input small, keeps it, and says so.
fn report(target: &Target, options: &Options, seed: u64, input: &[u8], said: &str, scratch: &Path) -> Result<()> {
    let file = scratch.join("candidate");
    let fails = |input: &[u8]| {
        let once = || -> Result<bool> {
            std::fs::write(&file, input)?;
            let mut command = worker_of(target, scratch)?;
            let status = command.arg("--file").arg(&file).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
            Ok(!status.success())
        };
        once().unwrap_or(false)
    };
    let smallest = minimise(input, TRIES, fails);
    std::fs::create_dir_all(&options.findings)?;
    let path = options.findings.join(format!("{}-{seed}", target.name));
    std::fs::write(&path, &smallest)?;
    println!("{:18} FOUND with seed {seed}: {said}", target.name);
    println!(
        "    {} bytes in {}: {}",
        smallest.len(),
        path.display(),
        smallest[..smallest.len().min(200)].escape_ascii()
    );
    Ok(())
}
