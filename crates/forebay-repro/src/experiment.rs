//! An experiment as it is described, what its code is given, and what it finds.

use std::collections::BTreeMap;

use forebay_core::{Policy, UnknownPolicy};
use forebay_sim::Watch;
use forebay_sim::chart::{Chart, HeatMap};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::sheet::Sheet;
use crate::{Error, Rule, Verdict};

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
    /// The parameters of the experiment's code.
    #[serde(default)]
    pub parameters: toml::Table,
    /// The measures and charts of the runs, where formulas can say it.
    pub(crate) sheet: Option<Sheet>,
}

impl Experiment {
    /// The parameters, as the code's own type.
    pub(crate) fn parameters<T: DeserializeOwned>(&self) -> Result<T, Error> {
        self.parameters.clone().try_into().map_err(|source: toml::de::Error| self.wrong(source.message()))
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
        Ok(Measure { verdict: Some(self.rule(rule)?.judge(value)), ..measure })
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
    /// The verdict: the worst of those on the measures that are judged.
    pub verdict: Verdict,
    /// Everything that was measured for it.
    pub measures: Vec<Measure>,
    /// The curves.
    pub charts: Vec<Chart>,
    /// Tables of shares in colours.
    pub maps: Vec<HeatMap>,
}

/// One thing that was measured.
#[derive(Clone, PartialEq, Debug)]
pub struct Measure {
    /// The thing measured.
    pub what: String,
    /// The paper's word on it; empty if nothing.
    pub paper: String,
    /// The value here.
    pub ours: String,
    /// The verdict on it, if it is judged.
    pub verdict: Option<Verdict>,
}

impl Measure {
    /// One that is not judged, or not yet.
    pub(crate) fn shown(what: &str, paper: &str, ours: String) -> Measure {
        Measure { what: what.to_owned(), paper: paper.to_owned(), ours, verdict: None }
    }
}

impl Finding {
    /// Of these measures, with the worst verdict among them.
    pub(crate) fn new(ours: String, measures: Vec<Measure>, charts: Vec<Chart>) -> Finding {
        let verdict = measures.iter().filter_map(|measure| measure.verdict).min().unwrap_or(Verdict::Fails);
        Finding { ours, verdict, measures, charts, maps: Vec::new() }
    }
}
