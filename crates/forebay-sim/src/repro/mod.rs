//! The claims of the papers, each checked by an experiment: a description in `experiments/` (what
//! the paper says, what is set up and why, by which rule the result is judged) and the code that
//! runs it, a file here.
//!
//! To add one: its description, its file, and its line in `EXPERIMENTS`.

mod amp_adapt;
mod amp_caches;
mod amp_recency;
mod amp_sampling;
mod amp_streams;
mod amp_table1;
mod auto_ablation;
mod auto_best;
mod auto_convergence;
mod auto_harm;
mod auto_mixed;
mod auto_regret;
mod books;
mod cases;
mod cp_antic;
mod cp_bound;
mod cp_depth;
mod cp_dynamic;
mod cp_index;
mod cp_media;
mod cp_micro;
mod cp_optimal;
mod cp_random;
mod cp_slowstart;
mod disks;
mod em_ceiling;
mod em_constrain;
mod em_micro;
mod em_second;
mod em_space;
mod em_thrash;
mod ground;
mod mixture;
mod page;
mod past_currency;
mod past_hits;
mod past_supply;
mod raid;
mod recorded;
mod sac_clock;
mod sac_dynamic;
mod sac_fault;
mod sac_motive;
mod sac_static;
mod sac_web;
mod scenario;
mod scm_copy;
mod scm_esf;
mod scm_ets;
mod scm_http;
mod scm_labels;
mod scm_mixed;
mod scm_table1;
mod scm_vod;
mod scripted;
mod server;
mod two_levels;
mod verdict;

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::chart::Chart;
use crate::{Watch, timed, untimed};

pub use page::page;
pub use verdict::{Rule, Verdict};

/// The code of an experiment.
type Check = fn(&Experiment, &Context<'_>) -> Result<Finding, Error>;

/// The experiments that there are: their descriptions and their code.
const EXPERIMENTS: &[(&str, Check)] = &[
    (include_str!("../../../../experiments/cp-bound.toml"), cp_bound::check),
    (include_str!("../../../../experiments/cp-depth.toml"), cp_depth::check),
    (include_str!("../../../../experiments/cp-slowstart.toml"), cp_slowstart::check),
    (include_str!("../../../../experiments/cp-dynamic.toml"), cp_dynamic::check),
    (include_str!("../../../../experiments/cp-micro.toml"), cp_micro::check),
    (include_str!("../../../../experiments/cp-antic.toml"), cp_antic::check),
    (include_str!("../../../../experiments/cp-random.toml"), cp_random::check),
    (include_str!("../../../../experiments/cp-optimal.toml"), cp_optimal::check),
    (include_str!("../../../../experiments/cp-index.toml"), cp_index::check),
    (include_str!("../../../../experiments/cp-media.toml"), cp_media::check),
    (include_str!("../../../../experiments/em-thrash.toml"), em_thrash::check),
    (include_str!("../../../../experiments/em-micro.toml"), em_micro::check),
    (include_str!("../../../../experiments/em-ceiling.toml"), em_ceiling::check),
    (include_str!("../../../../experiments/em-second.toml"), em_second::check),
    (include_str!("../../../../experiments/em-constrain.toml"), em_constrain::check),
    (include_str!("../../../../experiments/em-blast.toml"), cases::check),
    (include_str!("../../../../experiments/em-factors.toml"), cases::check),
    (include_str!("../../../../experiments/em-space.toml"), em_space::check),
    (include_str!("../../../../experiments/sac-motive.toml"), sac_motive::check),
    (include_str!("../../../../experiments/sac-static.toml"), sac_static::check),
    (include_str!("../../../../experiments/sac-dynamic.toml"), sac_dynamic::check),
    (include_str!("../../../../experiments/sac-clock.toml"), sac_clock::check),
    (include_str!("../../../../experiments/sac-fault.toml"), sac_fault::check),
    (include_str!("../../../../experiments/sac-web.toml"), sac_web::check),
    (include_str!("../../../../experiments/scm-ets.toml"), scm_ets::check),
    (include_str!("../../../../experiments/scm-esf.toml"), scm_esf::check),
    (include_str!("../../../../experiments/scm-copy.toml"), scm_copy::check),
    (include_str!("../../../../experiments/scm-http.toml"), scm_http::check),
    (include_str!("../../../../experiments/scm-vod.toml"), scm_vod::check),
    (include_str!("../../../../experiments/scm-mixed.toml"), scm_mixed::check),
    (include_str!("../../../../experiments/scm-table1.toml"), scm_table1::check),
    (include_str!("../../../../experiments/scm-labels.toml"), scm_labels::check),
    (include_str!("../../../../experiments/amp-recency.toml"), amp_recency::check),
    (include_str!("../../../../experiments/amp-table1.toml"), amp_table1::check),
    (include_str!("../../../../experiments/amp-sampling.toml"), amp_sampling::check),
    (include_str!("../../../../experiments/amp-adapt.toml"), amp_adapt::check),
    (include_str!("../../../../experiments/amp-loops.toml"), amp_caches::check),
    (include_str!("../../../../experiments/amp-scan.toml"), amp_caches::check),
    (include_str!("../../../../experiments/amp-kernel.toml"), amp_caches::check),
    (include_str!("../../../../experiments/amp-glimpse.toml"), amp_caches::check),
    (include_str!("../../../../experiments/amp-dbt3.toml"), amp_caches::check),
    (include_str!("../../../../experiments/past-channels.toml"), cases::check),
    (include_str!("../../../../experiments/past-habits.toml"), cases::check),
    (include_str!("../../../../experiments/auto-optimum.toml"), cases::check),
    (include_str!("../../../../experiments/past-currency.toml"), past_currency::check),
    (include_str!("../../../../experiments/past-supply-memory.toml"), past_supply::check),
    (include_str!("../../../../experiments/past-supply-degree.toml"), past_supply::check),
    (include_str!("../../../../experiments/past-hits.toml"), past_hits::check),
    (include_str!("../../../../experiments/past-views.toml"), amp_caches::check),
    (include_str!("../../../../experiments/auto-cp.toml"), auto_best::check),
    (include_str!("../../../../experiments/auto-scm.toml"), auto_best::check),
    (include_str!("../../../../experiments/auto-sac.toml"), auto_best::check),
    (include_str!("../../../../experiments/auto-amp.toml"), auto_best::check),
    (include_str!("../../../../experiments/auto-mixed.toml"), auto_mixed::check),
    (include_str!("../../../../experiments/auto-ablation.toml"), auto_ablation::check),
    (include_str!("../../../../experiments/auto-regret.toml"), auto_regret::check),
    (include_str!("../../../../experiments/auto-convergence.toml"), auto_convergence::check),
    (include_str!("../../../../experiments/auto-harm.toml"), auto_harm::check),
];

/// The claims about real time, and the bench that measures each.
const LIVE: &[(&str, &str)] = &[("amp-live", "amp"), ("amp-cost", "contexts")];

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
    /// What is set up, what was chosen where the paper is silent, and why.
    pub setting: String,
    /// How it is judged, and why so.
    pub judgement: String,
    /// The rules of the judgement, by name.
    #[serde(default)]
    pub rules: BTreeMap<String, Rule>,
    /// Whatever the experiment's code is told.
    #[serde(default)]
    pub parameters: toml::Table,
}

impl Experiment {
    /// What the code is told, as it wants it.
    fn parameters<T: DeserializeOwned>(&self) -> Result<T, Error> {
        self.parameters.clone().try_into().map_err(|source: toml::de::Error| self.wrong(source.message()))
    }

    /// A rule by its name.
    fn rule(&self, name: &str) -> Result<Rule, Error> {
        self.rules.get(name).copied().ok_or_else(|| self.wrong(&format!("no rule is called `{name}`")))
    }

    /// What was measured, judged by a rule. An error if there is nothing to judge.
    fn judged(&self, rule: &str, value: f64, (what, paper): (&str, &str), ours: String) -> Result<Measure, Error> {
        if value.is_nan() {
            let reason =
                format!("`{what}` has no figure to judge by `{rule}`: a policy or load that it names is not run");
            return Err(self.wrong(&reason));
        }
        let verdict = Some(self.rule(rule)?.judge(value));
        Ok(Measure { what: what.to_owned(), paper: paper.to_owned(), ours, verdict })
    }

    fn wrong(&self, reason: &str) -> Error {
        Error::Description { id: self.id.clone(), reason: reason.replace('\n', "; ") }
    }
}

/// What a check is given besides its description.
pub struct Context<'a> {
    /// Fixes whatever is random.
    pub seed: u64,
    /// Whether a small part of the runs will do, to see that all is in order; what is found says
    /// little.
    pub quick: bool,
    /// Who looks on.
    pub watch: &'a dyn Watch,
}

impl Context<'_> {
    /// `done` of `all` steps are done; an error if it is to stop.
    fn step(&self, done: usize, all: usize) -> Result<(), Error> {
        self.watch.progress(done as u64, all as u64);
        if self.watch.stopped() { Err(Error::Stopped) } else { Ok(()) }
    }
}

/// What a check found.
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
}

/// One thing that was measured.
#[derive(Clone, PartialEq, Debug)]
pub struct Measure {
    /// What.
    pub what: String,
    /// What the paper says of it; empty if nothing.
    pub paper: String,
    /// What it is here.
    pub ours: String,
    /// The verdict on it, if it is judged.
    pub verdict: Option<Verdict>,
}

impl Measure {
    /// One that is not judged.
    fn shown(what: &str, paper: &str, ours: String) -> Measure {
        Measure { what: what.to_owned(), paper: paper.to_owned(), ours, verdict: None }
    }
}

impl Finding {
    /// Of these measures, with the worst verdict among them.
    fn new(ours: String, measures: Vec<Measure>, charts: Vec<Chart>) -> Finding {
        let verdict = measures.iter().filter_map(|measure| measure.verdict).min().unwrap_or(Verdict::Fails);
        Finding { ours, verdict, measures, charts }
    }
}

/// Why a claim was not checked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nobody knows such a claim.
    #[error("no claim is called `{id}`; there are {}", names().join(", "))]
    Unknown {
        /// What was asked for.
        id: String,
    },
    /// It is a claim of the papers about real time.
    #[error("`{id}` is about real time: `forebay-bench {bench}` measures it; here are {}", names().join(", "))]
    Live {
        /// What was asked for.
        id: String,
        /// Which bench measures it.
        bench: &'static str,
    },
    /// A description makes no sense.
    #[error("experiment `{id}`: {reason}")]
    Description {
        /// Of which experiment.
        id: String,
        /// Why.
        reason: String,
    },
    /// A device is not there.
    #[error(transparent)]
    Device(#[from] forebay_device::Error),
    /// A simulation gave nothing.
    #[error(transparent)]
    Timed(#[from] timed::Error),
    /// A recorded workload cannot be read.
    #[error(transparent)]
    Trace(#[from] forebay_trace::Error),
    /// A replay gave nothing.
    #[error(transparent)]
    Untimed(#[from] untimed::Error),
    /// A trace is no workload.
    #[error(transparent)]
    Workload(#[from] forebay_trace::WorkloadError),
    /// Whoever looks on wants it to stop.
    #[error("stopped before the end")]
    Stopped,
}

/// The experiments that there are, in order.
pub fn experiments() -> Result<Vec<Experiment>, Error> {
    EXPERIMENTS.iter().map(|(text, _)| parse(text)).collect()
}

/// The experiment of a claim.
pub fn experiment(id: &str) -> Result<Experiment, Error> {
    if let Some(found) = experiments()?.into_iter().find(|experiment| experiment.id == id) {
        return Ok(found);
    }
    Err(match LIVE.iter().find(|(live, _)| *live == id) {
        Some(&(_, bench)) => Error::Live { id: id.to_owned(), bench },
        None => Error::Unknown { id: id.to_owned() },
    })
}

/// An experiment by a description of one's own, such as a copy of one in `experiments/` with other
/// parameters: what is checked, and by which code, its `id` says.
pub fn described(text: &str) -> Result<Experiment, Error> {
    let described = parse(text)?;
    experiment(&described.id).map(|_| described)
}

/// Runs an experiment.
pub fn run(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let same = |text: &str| parse(text).is_ok_and(|known| known.id == experiment.id);
    let &(_, check) =
        EXPERIMENTS.iter().find(|(text, _)| same(text)).ok_or_else(|| Error::Unknown { id: experiment.id.clone() })?;
    check(experiment, context)
}

fn parse(text: &str) -> Result<Experiment, Error> {
    toml::from_str(text).map_err(|error: toml::de::Error| {
        let id = text.lines().find_map(|line| line.strip_prefix("id = ")).unwrap_or("?").trim_matches('"').to_owned();
        Error::Description { id, reason: error.message().replace('\n', "; ") }
    })
}

fn names() -> Vec<String> {
    experiments().unwrap_or_default().into_iter().map(|experiment| experiment.id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_are_whole_and_known_by_their_names() {
        let experiments = experiments().unwrap();
        for experiment in &experiments {
            assert_eq!(super::experiment(&experiment.id).unwrap(), *experiment);
            let texts =
                [&experiment.paper, &experiment.claim, &experiment.figure, &experiment.setting, &experiment.judgement];
            assert!(texts.iter().all(|text| text.len() > 5), "{}", experiment.id);
            assert!(!experiment.rules.is_empty(), "{} is judged by no rule", experiment.id);
        }
        for &(id, _) in LIVE {
            assert!(matches!(experiment(id), Err(Error::Live { .. })), "{id} is there and about real time");
        }
        assert!(matches!(experiment("cp-"), Err(Error::Unknown { .. })));
    }

    #[test]
    fn a_description_that_makes_no_sense_is_named() {
        let error = parse("id = \"x-y\"\npaper = 7").unwrap_err().to_string();
        assert!(error.starts_with("experiment `x-y`: "), "{error}");
        let mut experiment = experiment("cp-depth").unwrap();
        let context = Context { seed: 1, quick: false, watch: &crate::Unwatched };
        experiment.rules.clear();
        assert!(run(&experiment, &context).unwrap_err().to_string().contains("no rule is called `switch_ms`"));
        experiment.parameters.insert("colour".into(), 1.into());
        assert!(run(&experiment, &context).unwrap_err().to_string().contains("colour"));
    }

    /// Small parts of the experiments that need no long run to show anything. (The others are run
    /// whole, by hand.)
    #[test]
    fn some_experiments_run_quickly() {
        let context = Context { seed: 1, quick: true, watch: &crate::Unwatched };
        let judged = [
            "em-second",
            "em-space",
            "em-constrain",
            "sac-motive",
            "sac-static",
            "sac-dynamic",
            "amp-recency",
            "amp-table1",
            "amp-sampling",
            "amp-adapt",
        ];
        let one = ["scm-ets", "scm-esf", "scm-copy", "scm-http", "scm-vod", "scm-mixed", "past-supply-memory"];
        let auto = ["auto-scm", "auto-mixed", "auto-regret", "auto-convergence", "auto-harm"];
        let shown: Vec<&str> = one.into_iter().chain(["scm-table1", "scm-labels", "past-hits"]).chain(auto).collect();
        for id in judged.into_iter().chain(shown.iter().copied()) {
            let finding = run(&experiment(id).unwrap(), &context).unwrap();
            assert!(!finding.charts.is_empty() && !finding.ours.is_empty(), "{id}");
            let fails: Vec<_> = finding.measures.iter().filter(|m| m.verdict == Some(Verdict::Fails)).collect();
            // What is claimed of many handlers is not so with few, what of full caches not of
            // caches that fill, and what of rates not before these are known.
            let excused = id == "em-constrain" || id.starts_with("sac-") || shown.contains(&id);
            assert!(fails.is_empty() || excused, "{id}: {fails:?}");
        }
    }

    #[test]
    fn nothing_measured_holds_nothing() {
        assert_eq!(Finding::new(String::new(), vec![], vec![]).verdict, Verdict::Fails);
    }
}
