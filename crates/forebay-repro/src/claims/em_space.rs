//! em-space: what the prefetch cache's bookkeeping takes (CPEM §4.1).

use forebay_core::history::EvictionHistory;
use serde::Deserialize;

use crate::scripted::Scripted;
use crate::{Context, Error, Experiment, Finding, Measure};
use forebay_sim::chart::{Axis, Chart, Series};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    policy: String,
    plain: String,
    memory_mib: u64,
    block_kib: Vec<u32>,
    handlers: u32,
    depth: u32,
}

/// Bytes of bookkeeping, in parts of memory.
struct Space {
    marks: f64,
    history: f64,
    /// Everything that the core keeps, and what it keeps without a prefetch cache.
    core: f64,
    plain: f64,
}

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let mut parameters: Parameters = experiment.parameters()?;
    if context.quick {
        parameters.memory_mib = parameters.memory_mib.min(32);
    }
    let (mut measures, mut ours) = (Vec::new(), Vec::new());
    let (mut lines, mut whole) = (Vec::new(), Vec::new());
    for (done, &kib) in parameters.block_kib.iter().enumerate() {
        context.step(done, parameters.block_kib.len())?;
        let space = space(&parameters, kib, experiment)?;
        let sum = space.marks + space.history;
        let what = format!("marks and eviction history, blocks of {kib} KiB");
        let text = format!("{} + {} = {}", percent(space.marks), percent(space.history), percent(sum));
        measures.push(experiment.judged("space", sum, Measure::shown(&what, "0.2 % + 0.2 %", text))?);
        measures.push(Measure::shown(
            &format!("all that the core keeps, blocks of {kib} KiB"),
            "",
            format!("{} ({} without a prefetch cache)", percent(space.core), percent(space.plain)),
        ));
        ours.push(format!("{} at {kib} KiB", percent(sum)));
        lines.push((f64::from(kib), sum * 100.0));
        whole.push((f64::from(kib), space.core * 100.0));
    }
    let chart = Chart {
        title: "Bookkeeping".to_owned(),
        x: Axis::logarithmic("KiB of a block"),
        y: Axis::linear("per cent of memory"),
        series: vec![
            Series { name: "marks and eviction history".to_owned(), points: lines },
            Series { name: "the core in all".to_owned(), points: whole },
        ],
    };
    Ok(Finding::new(ours.join(", "), measures, vec![chart]))
}

fn percent(share: f64) -> String {
    format!("{:.3} %", share * 100.0)
}

/// The space kept once memory is full of pages that many handlers prefetched and did not read.
fn space(parameters: &Parameters, kib: u32, experiment: &Experiment) -> Result<Space, Error> {
    let block_bytes = kib << 10;
    let frames = ((parameters.memory_mib << 20) / u64::from(block_bytes)) as u32;
    let depth = (parameters.depth << 12 >> block_bytes.trailing_zeros()).max(2);
    let filled = |name: &str| {
        let mut core = Scripted::new(experiment.policy(name)?, frames, block_bytes, depth);
        let files = parameters.handlers.min(frames / 2);
        let blocks = (2 * frames).div_ceil(files).max(4 * depth);
        (0..files).for_each(|file| core.open(file, blocks));
        // Side by side, until twice as much has come as there is room for.
        for block in 0..blocks {
            (0..files).for_each(|file| core.read(file, file, block, 1));
        }
        Ok::<_, Error>(core.core)
    };
    let (core, plain) = (filled(&parameters.policy)?, filled(&parameters.plain)?);
    let memory = f64::from(frames) * f64::from(block_bytes);
    let cache = core.reclaimer().ok_or_else(|| experiment.wrong("the policy has no prefetch cache"))?;
    Ok(Space {
        marks: cache.footprint() as f64 / memory,
        history: EvictionHistory::new(frames).footprint() as f64 / memory,
        core: core.footprint() as f64 / memory,
        plain: plain.footprint() as f64 / memory,
    })
}
