//! cp-slowstart: the sizes of the requests that a sequential reader makes, policy by policy.

use forebay_core::{Action, Event, Policy};
use forebay_device::{Description, device};
use forebay_trace::{Memory, Request, Shape};
use serde::Deserialize;

use crate::{Context, Error, Experiment, Finding, Measure};
use forebay_sim::chart::{Axis, Chart, Series};
use forebay_sim::timed::{Record, Setup, Workload, run_recorded};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    devices: Vec<String>,
    page_bytes: u32,
    file_bytes: u64,
    memory_bytes: u64,
    /// The policy whose windows are these, from the first one on.
    original: String,
    linux_pages: Vec<u32>,
    /// The policy whose windows double from the first one on, up to the depth.
    doubling: String,
    initial_pages: u32,
}

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let parameters: Parameters = experiment.parameters()?;
    let rule = experiment.rule("wrong_requests")?;
    let (mut measures, mut series, mut ours) = (Vec::new(), Vec::new(), Vec::new());
    for (done, name) in parameters.devices.iter().enumerate() {
        context.step(done, parameters.devices.len())?;
        let description = device(name)?;
        let depth = depth(&description, &parameters, context)?;
        for (policy, expected) in [(&parameters.original, None), (&parameters.doubling, Some(depth))] {
            let sizes = sizes(experiment.policy(policy)?, &description, &parameters, context)?;
            let wrong = wrong(&sizes, expected, &parameters);
            measures.push(Measure {
                what: format!("{policy} on {name}, pages a request"),
                paper: match expected {
                    None => joined(&parameters.linux_pages),
                    Some(depth) => format!("{}, doubling, up to {depth}", parameters.initial_pages),
                },
                ours: joined(&sizes),
                verdict: Some(rule.judge(wrong as f64)),
                ..Measure::default()
            });
            if done == 0 {
                ours.push(format!("{policy} {}", joined(&sizes[..sizes.len().min(6)])));
            }
            let points = sizes.iter().enumerate().map(|(i, &pages)| (i as f64 + 1.0, f64::from(pages)));
            series.push(Series { name: format!("{policy} on {name}"), points: points.collect() });
        }
    }
    let chart = Chart {
        title: "Slow start of a sequential reader".to_owned(),
        x: Axis::linear("request of the reader"),
        y: Axis::linear("pages"),
        series,
    };
    Ok(Finding::new(ours.join("; "), measures, vec![chart]))
}

/// The competitive depth where the file lies, in whole pages.
fn depth(description: &Description, parameters: &Parameters, context: &Context<'_>) -> Result<u32, Error> {
    let cost = description.build(context.seed)?.cost();
    let bytes = cost.competitive_depth(cost.mean_distance(), 0);
    Ok((bytes / u64::from(parameters.page_bytes)) as u32)
}

/// How many pages each request to the device has, in order, the last one apart, which the file's
/// end cuts short.
fn sizes(
    policy: Policy,
    description: &Description,
    parameters: &Parameters,
    context: &Context<'_>,
) -> Result<Vec<u32>, Error> {
    let page = parameters.page_bytes;
    let read = |offset| Request { offset, len: page, ..Request::default() };
    let requests = (0..parameters.file_bytes / u64::from(page)).map(|number| read(number * u64::from(page)));
    let mut source = Memory::new(requests.collect(), Shape::Ranges { block_bytes: page });
    let workload = Workload::load(&mut source)?;
    let setup = Setup {
        block_bytes: page,
        seed: context.seed,
        ..Setup::new(policy, parameters.memory_bytes, description.clone(), 1)
    };
    let mut fetches = Fetches::default();
    run_recorded(&setup, &workload, context.watch, &mut fetches)?;
    fetches.0.pop();
    Ok(fetches.0)
}

/// The sizes of what the core fetches, in blocks.
#[derive(Default)]
struct Fetches(Vec<u32>);

impl Record for Fetches {
    fn record(&mut self, _level: usize, _event: Event, actions: &[Action]) {
        self.0.extend(actions.iter().filter_map(|action| match action {
            Action::Fetch { extent, .. } => Some(extent.len),
            _ => None,
        }));
    }
}

/// How many requests are not as the claim says: of Linux without a `depth`, of competitive
/// prefetching with it.
fn wrong(sizes: &[u32], depth: Option<u32>, parameters: &Parameters) -> usize {
    let linux = &parameters.linux_pages;
    let expected = |number: usize| match (depth, number) {
        (None, number) => linux.get(number).or(linux.last()).copied().unwrap_or_default(),
        (Some(_), 0) => parameters.initial_pages,
        (Some(depth), number) => sizes[number - 1].saturating_mul(2).min(depth),
    };
    let wrong = sizes.iter().enumerate().filter(|&(number, &pages)| pages != expected(number)).count();
    // Too few requests say nothing.
    if sizes.len() < linux.len().max(8) { sizes.len() + 1 } else { wrong }
}

fn joined(sizes: &[u32]) -> String {
    let shown = sizes.iter().take(10).map(u32::to_string).collect::<Vec<_>>().join(" → ");
    if sizes.len() > 10 { format!("{shown} → …") } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wrong_request_counts() {
        let parameters = Parameters {
            devices: vec![],
            page_bytes: 4096,
            file_bytes: 0,
            memory_bytes: 0,
            original: String::new(),
            linux_pages: vec![16, 18, 32, 32],
            doubling: String::new(),
            initial_pages: 16,
        };
        let wrong = |sizes: &[u32], depth| wrong(sizes, depth, &parameters);
        assert_eq!(wrong(&[16, 18, 32, 32, 32, 32, 32, 32], None), 0);
        assert_eq!(wrong(&[16, 32, 32, 32, 32, 32, 32, 33], None), 2);
        assert_eq!(wrong(&[16, 32, 64, 128, 131, 131, 131, 131], Some(131)), 0);
        assert_eq!(wrong(&[16, 32, 64, 131, 131, 131, 131, 131], Some(131)), 1);
        assert!(wrong(&[16, 18, 32, 32], None) > 0 && wrong(&[], Some(131)) > 0);
    }
}
