//! scm-http: downloads by clients of five bandwidths (SCM §5.2.3, Fig. 8).

use serde::Deserialize;

use crate::disks::highest;
use crate::raid::{ESF, ETS, LINUX, Part, Place, Raid, Run, closed, listed, mean, percent, percents, run};
use crate::{Context, Error, Experiment, Finding, Measure};
use forebay_sim::chart::Axis;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    #[serde(default)]
    raid: Raid,
    /// MB/s of a client of the fastest site, case by case; and that over a client's of the slowest.
    fast: Vec<f64>,
    ratio: f64,
    sites: u32,
    clients: u32,
    /// How long a download takes that never waits.
    seconds: f64,
    seeds: u64,
}

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let mut parameters: Parameters = experiment.parameters()?;
    if context.quick {
        parameters.seconds /= 10.0;
    }
    let Parameters { raid, fast, ratio, sites, clients, seconds, seeds } = parameters;
    let place = |&fast: &f64| Place {
        at: fast,
        parts: vec![Part::new(
            "downloads",
            &[
                ("streams", clients.to_string()),
                ("sites", sites.to_string()),
                ("fast", format!("{:.0}", fast * 1e6)),
                ("slow", format!("{:.0}", fast * 1e6 / ratio)),
                ("seconds", format!("{:.0}", seconds.max(1.0))),
            ],
        )],
        load: closed(),
        seconds: None,
        warm_up: None,
    };
    let places: Vec<Place> = fast.iter().map(place).collect();
    let policies = [LINUX, "even", ETS, ESF].map(str::to_owned);
    let table = run(&places, &policies, seeds, &raid, (experiment, context))?;
    // How long a site's downloads take, in the mean.
    let site = |number: u32| {
        move |run: &Run| {
            let of_site = (1..=clients).filter(|client| (client - 1) % sites == number);
            let seconds: Vec<f64> = of_site.map(|client| run.streams.handler(client).seconds()).collect();
            seconds.iter().sum::<f64>() / seconds.len().max(1) as f64
        }
    };
    let times = |policy: &str, number: u32| table.ratios((policy, LINUX), site(number));
    let fastest = times(ETS, 0);
    let slower: Vec<(f64, f64)> = (1..sites).map(|number| (f64::from(number + 1), mean(&times(ETS, number)))).collect();
    let over = table.ratios((ETS, ESF), site(0));
    let judged = |rule: &str, value, what: &str, paper: &str, ours| experiment.judged(rule, value, (what, paper), ours);
    let mut measures = vec![
        judged("fastest", mean(&fastest), "fastest clients, ets over linux", "-18 %", percents(&fastest))?,
        judged("slower", highest(&slower).1, "slower clients, by site: the worst", "-1 to -12 %", percents(&slower))?,
        judged("esf", mean(&over), "fastest clients, ets over esf", "below", percents(&over))?,
    ];
    for policy in &policies {
        for number in [0, 1, sites.saturating_sub(1)] {
            let line = table.line(policy, site(number));
            measures.push(Measure::shown(&format!("{policy}: seconds at site {}", number + 1), "", listed(&line)));
        }
        let distances = table.line(policy, |run| run.streams.handler(1).distance());
        if distances.iter().all(|point| point.1.is_finite()) {
            measures.push(Measure::shown(&format!("{policy}: distance of a fastest client"), "", listed(&distances)));
        }
    }
    let ours = format!(
        "fastest clients {}; slower ones {} to {}",
        percent(mean(&fastest)),
        percent(crate::disks::lowest(&slower).1),
        percent(highest(&slower).1)
    );
    let x = Axis::linear("MB/s of a client of the fastest site");
    let charts = vec![table.chart("Downloads: the fastest clients", (x, "seconds"), site(0))];
    Ok(Finding::new(ours, measures, charts))
}
