//! An experiment as it is described, what its code is given, and what it finds.

use std::collections::BTreeMap;

use forebay_core::{Policy, UnknownPolicy};
use forebay_sim::Watch;
use forebay_sim::chart::{Chart, HeatMap};
use forebay_sim::timed::Outcome;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::sheet::Sheet;
use crate::{Error, Kind, Rule, Verdict};

/// An experiment as its description has it.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Its name, that of the claim.
    pub id: String,
    /// Where the claim is made: paper and sections.
    pub paper: String,
    /// The claim, in the paper's terms.
    pub claim: String,
    /// The paper's figure, in a few words.
    pub figure: String,
    /// The setup, the choices made where the paper is silent, and why.
    pub setting: String,
    /// How it is judged, and why so.
    pub judgement: String,
    /// The rules of the judgement, by name.
    #[serde(default)]
    pub rules: BTreeMap<String, Rule>,
    /// The rules that are about the paper's opponents.
    #[serde(default)]
    pub opponent: Vec<String>,
    /// The rules that are about what is wanted beyond the paper.
    #[serde(default)]
    pub wanted: Vec<String>,
    /// The parameters of the experiment's code.
    #[serde(default)]
    pub parameters: toml::Table,
    /// The measures and charts of the runs, where formulas can say it.
    pub(crate) sheet: Option<Sheet>,
}

impl Experiment {
    /// The parameters, as the code's own type.
    pub(crate) fn parameters<T: DeserializeOwned>(&self) -> Result<T, Error> {
        // With the key, which only the whole text of the error has.
        let wrong = |source: toml::de::Error| self.wrong(source.to_string().trim_end());
        self.parameters.clone().try_into().map_err(wrong)
    }

    /// The thing that the claim is about: a paper's system, or Forebay where the claim is of our
    /// own.
    pub fn kind(&self) -> Kind {
        let own = ["auto-", "past-", "today-"].iter().any(|of_ours| self.id.starts_with(of_ours));
        if own { Kind::Ours } else { Kind::System }
    }

    /// The thing that a rule is about.
    fn about(&self, rule: &str) -> Kind {
        let among = |rules: &[String]| rules.iter().any(|named| named == rule);
        match () {
            () if among(&self.opponent) => Kind::Opponent,
            () if among(&self.wanted) => Kind::Ours,
            () => self.kind(),
        }
    }

    /// A rule by its name.
    pub(crate) fn rule(&self, name: &str) -> Result<Rule, Error> {
        self.rules.get(name).copied().ok_or_else(|| self.wrong(&format!("no rule is called `{name}`")))
    }

    /// A measure, judged by a rule. An error if there is nothing to judge.
    pub(crate) fn judged(&self, rule: &str, value: f64, measure: Measure) -> Result<Measure, Error> {
        if value.is_nan() {
            let what = &measure.what;
            let reason =
                format!("`{what}` has no figure to judge by `{rule}`: a policy or load that it names is not run");
            return Err(self.wrong(&reason));
        }
        Ok(Measure { verdict: Some(self.rule(rule)?.judge(value)), kind: self.about(rule), ..measure })
    }

    /// An error unless a value is a share, above 0 and at most 1.
    pub(crate) fn share(&self, key: &str, value: f64) -> Result<(), Error> {
        if value > 0.0 && value <= 1.0 {
            return Ok(());
        }
        Err(self.wrong(&format!("{key} is {value}, and no share of the distinct blocks: above 0, at most 1")))
    }

    /// A policy by its name.
    pub(crate) fn policy(&self, name: &str) -> Result<Policy, Error> {
        name.parse().map_err(|error: UnknownPolicy| self.wrong(&error.to_string()))
    }

    pub(crate) fn wrong(&self, reason: &str) -> Error {
        Error::Description { id: self.id.clone(), reason: reason.replace('\n', "; ") }
    }
}

/// The inputs of a check besides its description.
pub struct Context<'a> {
    /// Fixes whatever is random.
    pub seed: u64,
    /// Whether a small part of the runs will do, to see that all is in order; what is found says
    /// little.
    pub quick: bool,
    /// The onlooker.
    pub watch: &'a dyn Watch,
}

impl Context<'_> {
    /// `done` of `all` steps are done; an error if it is to stop.
    pub(crate) fn step(&self, done: usize, all: usize) -> Result<(), Error> {
        self.watch.progress(done as u64, all as u64);
        if self.watch.stopped() { Err(Error::Stopped) } else { Ok(()) }
    }
}

/// An experiment under way.
#[derive(Clone, Copy)]
pub(crate) struct Job<'a> {
    pub(crate) experiment: &'a Experiment,
    pub(crate) context: &'a Context<'a>,
}

/// The finding of a check.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    /// Our figure, in a few words.
    pub ours: String,
    /// The claim's verdict: the worst of those on the measures of its kind ([`Finding::kind`]).
    pub verdict: Verdict,
    /// Everything that was measured for it.
    pub measures: Vec<Measure>,
    /// The curves.
    pub charts: Vec<Chart>,
    /// Tables of shares in colours.
    pub maps: Vec<HeatMap>,
    /// The figures of single runs, where the claim is about a table of them.
    pub cells: Vec<CellFigure>,
}

/// A policy in a cell: on one load, on one device, with one memory.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct CellFigure {
    /// The load, by the name that its description gives it.
    pub load: String,
    /// The device.
    pub device: String,
    /// The share of the load's distinct blocks that memory holds.
    pub memory: f64,
    /// The policy, and whatever else tells runs of the cell apart.
    pub policy: String,
    /// Whether it is only shown, and counts for no best.
    pub beside: bool,
    /// The rate, or the wait, that the claim is about.
    pub figure: f64,
    /// The unit of the figure, and of the bound.
    pub unit: &'static str,
    /// The figure that no policy passes, if one is known.
    pub bound: Option<f64>,
    /// The figure over the best of the cell that counts, where more is better.
    pub share_of_best: Option<f64>,
    /// The share of references that Belady's policy misses there.
    pub opt_miss_ratio: Option<f64>,
    /// The mean time until a read is answered, in milliseconds.
    pub response_ms: f64,
    /// Bytes that readers got.
    pub bytes: u64,
    /// Requests to the device.
    pub device_requests: u64,
    /// Bytes that the device read.
    pub device_bytes: u64,
}

impl CellFigure {
    /// The figures that any run tells; the rest is for the claim to say.
    pub(crate) fn of(outcome: &Outcome) -> CellFigure {
        CellFigure {
            response_ms: outcome.response_ms,
            bytes: outcome.bytes,
            device_requests: outcome.device_requests,
            device_bytes: outcome.device_bytes,
            ..CellFigure::default()
        }
    }
}

/// One thing that was measured.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Measure {
    /// The thing measured.
    pub what: String,
    /// The paper's word on it; empty if nothing.
    pub paper: String,
    /// The value here.
    pub ours: String,
    /// The verdict on it, if it is judged.
    pub verdict: Option<Verdict>,
    /// The thing that the verdict is about.
    pub kind: Kind,
}

impl Measure {
    /// One that is not judged, or not yet.
    pub(crate) fn shown(what: &str, paper: &str, ours: String) -> Measure {
        Measure { what: what.to_owned(), paper: paper.to_owned(), ours, ..Measure::default() }
    }
}

impl Finding {
    /// Of these measures. The verdict is that on the paper's system; of a claim without one, that
    /// on ours; and only if there is neither, that on the opponents.
    pub(crate) fn new(ours: String, measures: Vec<Measure>, charts: Vec<Chart>) -> Finding {
        let (maps, cells) = (Vec::new(), Vec::new());
        let mut finding = Finding { ours, verdict: Verdict::Fails, measures, charts, maps, cells };
        finding.verdict = finding.of(finding.kind()).unwrap_or(Verdict::Fails);
        finding
    }

    /// The worst verdict on measures of a kind; none if none is judged.
    pub fn of(&self, kind: Kind) -> Option<Verdict> {
        self.measures.iter().filter(|measure| measure.kind == kind).filter_map(|measure| measure.verdict).min()
    }

    /// The thing that the claim's verdict is about.
    pub fn kind(&self) -> Kind {
        let judged = |kind: &Kind| self.of(*kind).is_some();
        [Kind::System, Kind::Ours, Kind::Opponent].into_iter().find(judged).unwrap_or_default()
    }
}
