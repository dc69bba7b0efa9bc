//! amp-adapt: how the sizes of AMP's partitions follow the loops (AMP §4.3, Fig. 13), on a workload
//! like glimpse's.

use forebay_core::papers::amp::Settings;
use forebay_core::random::Random;
use forebay_core::replacement::Arc;
use forebay_core::{BlockKey, Caller, ContextId, FileId, HandlerId};
use serde::Deserialize;

use crate::{Context, Error, Experiment, Finding, Measure};
use forebay_sim::chart::{Axis, Chart, Series};
use forebay_sim::untimed::Contexts;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// Blocks of the cache.
    frames: u32,
    accesses: u64,
    /// How often sizes are looked at.
    every: u64,
    /// All indexed files, which one context scans again and again.
    files: u32,
    /// Blocks of each index, in the beginning and in the end.
    index: [u32; 2],
    /// Of a hundred accesses, those of the scan, of each index, the fastest first, and of all else.
    shares: [u32; 5],
    /// Blocks of all else, of which a few are read most.
    other: u32,
}

/// The sizes seen at a moment: frames of the scan's partition, of the indexes', of the default one;
/// blocks of an index.
struct Look {
    at: u64,
    frames: [u32; 5],
    index: u32,
}

const SCAN: usize = 0;
const OTHER: usize = 4;
const NAMES: [&str; 5] = ["MRU 1, all files", "MRU 2", "MRU 3", "MRU 4", "ARC"];

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let mut parameters: Parameters = experiment.parameters()?;
    if context.quick {
        parameters.accesses /= 4;
    }
    let looks = run(&parameters, context)?;
    let course = Course::of(&looks, f64::from(parameters.files))
        .ok_or_else(|| experiment.wrong("too few accesses to look at"))?;
    let Course { held, scan, growth, grown, .. } = course;
    let ours = format!(
        "indexes have {} of their blocks, the scan {}; partitions grow {growth:.1} times while indexes grow {grown:.1} times",
        percent(held),
        percent(scan)
    );
    Ok(Finding::new(ours, course.judged(experiment)?, vec![chart(&looks)]))
}

/// How partitions went.
struct Course {
    /// The shares of their wishes that the indexes, and the scan, have in the end.
    held: f64,
    scan: f64,
    /// Once they are known, how closely the indexes' partitions follow, by how many times these
    /// grow, and by how many times the indexes.
    follows: f64,
    growth: f64,
    grown: f64,
    end: [u32; 5],
}

impl Course {
    fn of(looks: &[Look], files: f64) -> Option<Course> {
        let end = looks.last()?;
        let indexes = |look: &Look| f64::from(look.frames[1..OTHER].iter().sum::<u32>());
        let settled = &looks[looks.len() / 4..];
        let first = settled.first().unwrap_or(end);
        Some(Course {
            held: indexes(end) / f64::from(3 * end.index),
            scan: f64::from(end.frames[SCAN]) / files,
            follows: correlation(settled.iter().map(|look| Both { x: f64::from(look.index), y: indexes(look) })),
            growth: indexes(end) / indexes(first).max(1.0),
            grown: f64::from(end.index) / f64::from(first.index.max(1)),
            end: end.frames,
        })
    }

    fn judged(&self, experiment: &Experiment) -> Result<Vec<Measure>, Error> {
        let Course { held, scan, follows, growth, grown, end } = *self;
        let judged = |rule: &str, value: f64, what: &str, paper: &str, ours: String| {
            experiment.judged(rule, value, Measure::shown(what, paper, ours))
        };
        let order = (2..OTHER).filter(|&at| end[at] <= end[at - 1]).count();
        let shorter = "of its blocks an index has, times as many as the scan of all files";
        let ordered = "indexes that have no more than a faster one";
        let followed = "correlation of their size with their partitions', once known";
        let (held_and_scan, sizes) = (format!("{} and {}", percent(held), percent(scan)), &end[1..OTHER]);
        let both = format!("{growth:.2} times, they themselves {grown:.2} times");
        Ok(vec![
            judged("shorter", held / scan.max(1e-9), shorter, "more", held_and_scan)?,
            judged("order", order as f64, ordered, "both", format!("{sizes:?}"))?,
            judged("follows", follows, followed, "grows", format!("{follows:.2}"))?,
            judged("growth", growth / grown, "growth of their partitions over theirs", "grows", both)?,
            Measure::shown("frames in the end: scan, indexes, ARC", "", format!("{end:?}")),
        ])
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn chart(looks: &[Look]) -> Chart {
    let points = |of: &dyn Fn(&Look) -> u32| looks.iter().map(|look| (look.at as f64, f64::from(of(look)))).collect();
    let partition =
        |(at, name): (usize, &&str)| Series { name: (*name).to_owned(), points: points(&|look| look.frames[at]) };
    let wanted = Series { name: "blocks of the three indexes".to_owned(), points: points(&|look| 3 * look.index) };
    Chart {
        title: "Sizes of AMP's partitions".to_owned(),
        x: Axis::linear("accesses"),
        y: Axis::linear("blocks"),
        series: NAMES.iter().enumerate().map(partition).chain([wanted]).collect(),
    }
}

/// Five contexts take turns at random, by their shares.
fn run(parameters: &Parameters, context: &Context<'_>) -> Result<Vec<Look>, Error> {
    let seed = context.seed as u32;
    let mut cache: Contexts<Arc> = Contexts::new(parameters.frames, Settings { seed, ..Settings::AMP }.into());
    let mut random = Random::new(seed);
    let all: u32 = parameters.shares.iter().sum();
    let mut positions = [0; 5];
    let mut looks = Vec::new();
    let [small, large] = parameters.index.map(u64::from);
    for at in 1..=parameters.accesses {
        let index = (small + (large.saturating_sub(small)) * at / parameters.accesses) as u32;
        let mut drawn = random.below(all.into()) as u32;
        let whose = parameters.shares.iter().position(|&share| {
            let own = drawn < share;
            drawn = drawn.saturating_sub(share);
            own
        });
        let whose = whose.unwrap_or(OTHER);
        let block = match whose {
            SCAN => next(&mut positions[SCAN], parameters.files),
            // The lower of three: low ones are read most.
            OTHER => (0..3).map(|_| random.below(parameters.other.into()) as u32).min().unwrap_or(0),
            _ => next(&mut positions[whose], index),
        };
        // Blocks have numbers of their own, by context.
        let key = whose as u32 + 5 * block;
        let caller = Caller { handler: HandlerId(0), context: ContextId(whose as u32) };
        cache.refer_to(key, BlockKey::new(FileId(whose as u32), block), caller);
        if at % parameters.every == 0 {
            looks.push(Look { at, frames: by_context(&cache), index });
            context.step(at as usize, parameters.accesses as usize)?;
        }
    }
    Ok(looks)
}

/// The next block of a loop.
fn next(position: &mut u32, blocks: u32) -> u32 {
    *position = if *position + 1 < blocks { *position + 1 } else { 0 };
    *position
}

/// The frames of each context's partition: none as long as it has none, and its blocks are in the
/// default one.
fn by_context(cache: &Contexts<Arc>) -> [u32; 5] {
    let sizes = cache.sizes();
    let mut frames = [0; 5];
    frames[OTHER] = sizes.first().copied().unwrap_or(0);
    for learnt in cache.callers().learnt() {
        if let (Some(own), Some(number)) = (frames.get_mut(learnt.id as usize), learnt.partition) {
            *own = sizes.get(2 + usize::from(number)).copied().unwrap_or(0);
        }
    }
    frames
}

/// Two sizes at one moment.
#[derive(Clone, Copy)]
struct Both {
    x: f64,
    y: f64,
}

/// Pearson's.
fn correlation(points: impl Iterator<Item = Both> + Clone) -> f64 {
    let count = points.clone().count().max(1) as f64;
    let mean = |of: fn(Both) -> f64| points.clone().map(of).fold(0.0, |sum, value| sum + value) / count;
    let middle = Both { x: mean(|point| point.x), y: mean(|point| point.y) };
    let spread = |of: fn(Both) -> f64| {
        let off = |point: Both| Both { x: point.x - middle.x, y: point.y - middle.y };
        points.clone().map(|point| of(off(point))).fold(0.0, |sum, value| sum + value)
    };
    let (xx, yy, xy) = (spread(|off| off.x * off.x), spread(|off| off.y * off.y), spread(|off| off.x * off.y));
    xy / (xx * yy).sqrt().max(f64::MIN_POSITIVE)
}
