//! `forebay repro`: checks the papers' claims.

mod rows;

use std::path::Path;
use std::time::Instant;

use forebay_repro::{Checked, Context, Error, Experiment, Kind, Verdict};
use forebay_sim::chart;
use serde::Serialize;
use serde_json::Value;

use crate::failure::Failure;
use crate::options::{Report, Repro};
use crate::progress::Progress;
use crate::report::{self, Fields};

/// A checked claim.
#[derive(Debug, Serialize)]
struct Record {
    id: String,
    /// The paper's figure.
    paper: String,
    ours: String,
    /// The claim's, and the thing that it is about: the paper's system, where there is one.
    verdict: Verdict,
    about: Kind,
    /// Whether the paper's opponents are as bad as it says.
    opponent: Option<Verdict>,
    /// Whether what is wanted beyond the paper is there.
    wanted: Option<Verdict>,
    seconds: f64,
    seed: u64,
    /// Only a small part of the runs was done.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    quick: bool,
}

/// A claim that can be checked.
#[derive(Debug, Serialize)]
struct Listed {
    id: String,
    source: String,
    paper: String,
}

/// Checks the claims and shows the results; a failure if a claim fails about the paper's system, or
/// a claim of our own.
pub(crate) fn run(options: &Repro) -> Result<(), Failure> {
    let experiments = experiments(options)?;
    if options.list {
        return list(&experiments, options);
    }
    if let (Some(path), false) = (&options.report.plot, experiments.len() == 1) {
        let path = path.display();
        return Err(Failure::input(format!(
            "--plot {path} draws the curves of one claim; --html draws those of several"
        )));
    }
    let all = experiments.len();
    if let (Some(path), Some(experiment)) = (&options.report.plot, experiments.first())
        && !forebay_repro::is_drawn(experiment)
    {
        let (path, id) = (path.display(), &experiment.id);
        return Err(Failure::input(format!("--plot {path}: {id} has figures, but nothing to draw; --json has them")));
    }
    let (records, findings, stopped) = check(experiments, options)?;
    show(&records, &findings, options)?;
    if let Some(path) = &options.html {
        std::fs::write(path, forebay_repro::page(&findings, options.seed, options.quick))
            .map_err(|error| Failure::run(format!("cannot write {}: {error}", path.display())))?;
    }
    stopped.outcome(records.len(), all)?;
    // An opponent that is better here than in the paper is no fault of ours.
    let said = if options.quick { "; of a quick run that says little" } else { "" };
    let fails = |record: &&Record| record.verdict == Verdict::Fails && record.about != Kind::Opponent;
    let failed: Vec<&str> = records.iter().filter(fails).map(|record| record.id.as_str()).collect();
    if failed.is_empty() { Ok(()) } else { Err(Failure::run(format!("the claim fails: {}{said}", failed.join(", ")))) }
}

/// Shows verdicts; as JSON and CSV also whatever the page has in tables. Draws the picture.
fn show(records: &[Record], findings: &[Checked], options: &Repro) -> Result<(), Failure> {
    let shown = Report { plot: None, ..options.report.clone() };
    if shown.json {
        report::show(&rows::whole(records, findings)?, &shown, || None)?;
    } else if shown.csv {
        report::show(&rows::rows(records, findings)?, &shown, || None)?;
    } else {
        let own = findings.iter().all(|checked| checked.experiment.kind() == Kind::Ours);
        let told = records.iter().map(|record| told(record, own)).collect::<Result<Vec<_>, _>>()?;
        report::show(&told, &shown, || None)?;
    }
    let (Some(path), Some(Checked { finding, .. })) = (&options.report.plot, findings.first()) else { return Ok(()) };
    let chart = finding.charts.iter().find(|chart| !chart.is_empty());
    let map = finding.maps.iter().find(|map| !map.is_empty());
    let drawn = match (chart, map) {
        (Some(chart), _) => chart.write(path),
        (None, Some(map)) => map.write(path),
        (None, None) => {
            return Err(Failure::run(format!("{} is not drawn: there is nothing to draw here", path.display())));
        }
    };
    drawn.map_err(|error| match error {
        chart::Error::Ending { .. } => Failure::input(error),
        chart::Error::Write { .. } => Failure::run(error),
    })
}

/// A record as people read it. Beside `own` claims alone there is no paper and no opponent.
fn told(record: &Record, own: bool) -> Result<Fields, Failure> {
    let mut fields = report::of_record(record)?;
    if record.quick {
        fields.shift_remove("quick");
        fields.insert("verdict".to_owned(), format!("{} (of a quick run: it says little)", record.verdict).into());
    }
    if record.about == Kind::Ours {
        // It is the claim's verdict.
        fields.insert("wanted".to_owned(), Value::Null);
    }
    if !own {
        return Ok(fields);
    }
    let kept = fields.into_iter().filter(|(name, _)| !matches!(name.as_str(), "about" | "opponent" | "wanted"));
    Ok(kept.map(|(name, value)| if name == "paper" { ("wanted".to_owned(), value) } else { (name, value) }).collect())
}

/// A description that makes no sense, or names a trace or a device that is not there, is bad input,
/// whenever that turns out.
fn unchecked(error: Error) -> Failure {
    match error {
        Error::Description { .. } | Error::Device(_) | Error::Trace(_) | Error::Workload(_) => Failure::input(error),
        _ => Failure::run(error),
    }
}

/// The experiments that the user names, each once, in their order on the command line.
fn experiments(options: &Repro) -> Result<Vec<Experiment>, Failure> {
    if options.claims.is_empty() {
        return forebay_repro::experiments().map_err(Failure::input);
    }
    let mut experiments: Vec<Experiment> = Vec::new();
    for claim in &options.claims {
        let experiment = experiment(claim)?;
        if !experiments.contains(&experiment) {
            experiments.push(experiment);
        }
    }
    Ok(experiments)
}

/// An experiment by the name of its claim, or by the file that describes it.
fn experiment(claim: &str) -> Result<Experiment, Failure> {
    if !claim.ends_with(".toml") {
        return forebay_repro::experiment(claim).map_err(Failure::input);
    }
    let text =
        std::fs::read_to_string(claim).map_err(|error| Failure::input(format!("cannot read {claim}: {error}")))?;
    let folder = Path::new(claim).parent().unwrap_or(Path::new(""));
    forebay_repro::described_in(&text, folder).map_err(|error| Failure::input(format!("{claim}: {error}")))
}

fn list(experiments: &[Experiment], options: &Repro) -> Result<(), Failure> {
    let listed = |experiment: &Experiment| Listed {
        id: experiment.id.clone(),
        source: experiment.paper.clone(),
        paper: experiment.figure.clone(),
    };
    report::show(&experiments.iter().map(listed).collect::<Vec<_>>(), &options.report, || None)
}

/// The records and findings of experiments that ran, and the progress bar.
type Outcome = (Vec<Record>, Vec<Checked>, Progress);

/// Runs one experiment after the other, since each uses all processors.
fn check(experiments: Vec<Experiment>, options: &Repro) -> Result<Outcome, Failure> {
    let progress = Progress::new("checking", experiments.len());
    let (mut records, mut findings) = (Vec::new(), Vec::new());
    for experiment in experiments {
        let began = Instant::now();
        let run = progress.run();
        let finding =
            match forebay_repro::run(&experiment, &Context { seed: options.seed, quick: options.quick, watch: &run }) {
                Err(_) if progress.stopped() => break,
                finding => finding.map_err(unchecked)?,
            };
        records.push(Record {
            id: experiment.id.clone(),
            paper: experiment.figure.clone(),
            ours: finding.ours.clone(),
            verdict: finding.verdict,
            about: finding.kind(),
            opponent: finding.of(Kind::Opponent),
            wanted: finding.of(Kind::Ours),
            seconds: began.elapsed().as_secs_f64(),
            seed: options.seed,
            quick: options.quick,
        });
        findings.push(Checked { experiment, finding });
    }
    progress.clear();
    Ok((records, findings, progress))
}
