//! em-second: in which order prefetched, unread pages are given up (CPEM §4.1).

use forebay_core::{BlockKey, EventKind, FileId, HandlerId};
use serde::Deserialize;

use crate::scripted::Scripted;
use crate::{Context, Error, Experiment, Finding, Measure};
use forebay_sim::chart::{Axis, Chart, Series};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    policy: String,
    plain: String,
    frames: u32,
    page_bytes: u32,
    /// Pages that each handler prefetches.
    depth: u32,
    /// Handlers of each kind.
    handlers: u32,
    /// For how long those that run after their prefetch do, milliseconds.
    run_ms: u64,
}

/// The kinds of handler after their prefetch. In the order in which their pages should go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Exits,
    Runs,
    Sleeps,
}

const KINDS: [(Kind, &str); 3] =
    [(Kind::Exits, "of handlers that exited"), (Kind::Runs, "of handlers that ran since"), (Kind::Sleeps, "of others")];

/// Files of the handlers are numbered by kind; behind them is the one that fills memory.
const FILLER: u32 = 10_000;

/// Pages of its file that each handler reads.
const READ: u32 = 2;

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let parameters: Parameters = experiment.parameters()?;
    let (mut measures, mut charts) = (Vec::new(), Vec::new());
    let mut summary = String::new();
    for (name, judged) in [(&parameters.policy, true), (&parameters.plain, false)] {
        context.step(usize::from(!judged), 2)?;
        let (gone, held) = run(name, &parameters, experiment)?;
        let inversions = inversions(&gone);
        let places: Vec<String> = KINDS
            .iter()
            .map(|&(kind, what)| {
                let places: Vec<usize> = (0..gone.len()).filter(|&place| gone[place] == kind).collect();
                match (places.first(), places.last()) {
                    (Some(first), Some(last)) => format!("{what} {} to {}", first + 1, last + 1),
                    _ => format!("{what} none"),
                }
            })
            .collect();
        let ours = format!("{:.1} % of pairs in the wrong order; {}", inversions * 100.0, places.join(", "));
        let what = format!("{name}: the order in which {} unread pages go", gone.len());
        let paper = "exited, ran since, others";
        if judged {
            measures.push(experiment.judged("inversions", inversions, Measure::shown(&what, paper, ours.clone()))?);
            let sleepers = gone.iter().filter(|&&kind| kind == Kind::Sleeps).count();
            let went = sleepers as f64 / held.max(1) as f64;
            let what = "of those that deserve a second chance, how many go all the same in the end";
            measures.push(experiment.judged(
                "for_ever",
                went,
                Measure::shown(what, "none stays for ever", format!("{went:.2}")),
            )?);
            summary = ours;
        } else {
            measures.push(Measure::shown(&what, "by recency alone", ours));
        }
        charts.push(chart(name, &gone));
    }
    Ok(Finding::new(summary, measures, charts))
}

/// The kinds of unread pages, in the order in which they are evicted, and how many the sleepers
/// had.
fn run(name: &str, parameters: &Parameters, experiment: &Experiment) -> Result<(Vec<Kind>, usize), Error> {
    let policy = experiment.policy(name)?;
    let Parameters { frames, page_bytes, depth, handlers, .. } = *parameters;
    let mut core = Scripted::new(policy, frames, page_bytes, depth);
    // Those that sleep prefetch first, so that a plain FIFO would give up theirs first.
    let kinds = [Kind::Sleeps, Kind::Runs, Kind::Exits];
    let of = |file: u32| kinds.get((file / handlers) as usize).copied();
    let number = 3 * handlers;
    // Two reads of a page: the first brings a window, the second the one behind it.
    for file in 0..number {
        core.open(file, 8 * depth);
        (0..READ).for_each(|block| core.read(file, file, block, 1));
        core.wait(1);
    }
    let of_sleepers = (0..handlers).flat_map(|file| (READ..8 * depth).map(move |block| (file, block)));
    let held =
        of_sleepers.filter(|&(file, block)| core.core.frame(BlockKey::new(FileId(file), block)).is_some()).count();
    core.wait(parameters.run_ms);
    for file in 0..number {
        match of(file) {
            Some(Kind::Runs) => core.tell(EventKind::Ran { handler: HandlerId(file) }),
            Some(Kind::Exits) => core.tell(EventKind::Exited { handler: HandlerId(file) }),
            _ => {}
        }
    }
    // Another handler reads whole blocks here and there, as often as it takes.
    let blocks = 64 * frames;
    core.open(FILLER, blocks);
    for step in 0..16 * frames {
        core.read(FILLER, FILLER, step.wrapping_mul(7919) % blocks, 1);
        core.wait(10);
    }
    let unread = |key: &&BlockKey| key.file() != FileId(FILLER) && key.block() >= READ;
    Ok((core.evicted.iter().filter(unread).filter_map(|key| of(key.file().0)).collect(), held))
}

/// The share of pairs of different kinds that went in the wrong order.
fn inversions(gone: &[Kind]) -> f64 {
    let rank = |kind: Kind| KINDS.iter().position(|known| known.0 == kind);
    let (mut wrong, mut all) = (0u64, 0u64);
    for (place, &first) in gone.iter().enumerate() {
        for &second in &gone[place + 1..] {
            all += u64::from(first != second);
            wrong += u64::from(rank(first) > rank(second));
        }
    }
    if all == 0 { 1.0 } else { wrong as f64 / all as f64 }
}

fn chart(name: &str, gone: &[Kind]) -> Chart {
    let line = |&(kind, what): &(Kind, &str)| {
        let mut count = 0.0;
        let point = |(place, &of): (usize, &Kind)| {
            count += f64::from(u8::from(of == kind));
            (place as f64 + 1.0, count)
        };
        Series { name: what.to_owned(), points: gone.iter().enumerate().map(point).collect() }
    };
    Chart {
        title: format!("Unread pages given up, {name}"),
        x: Axis::linear("pages given up in all"),
        y: Axis::linear("pages of this kind"),
        series: KINDS.iter().map(line).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_in_the_wrong_order() {
        use Kind::{Exits, Runs, Sleeps};
        assert_eq!(inversions(&[Exits, Exits, Runs, Sleeps]), 0.0);
        assert_eq!(inversions(&[Sleeps, Runs, Exits]), 1.0);
        assert_eq!(inversions(&[Exits, Sleeps, Runs]), 1.0 / 3.0);
        assert_eq!(inversions(&[]), 1.0, "nothing seen shows nothing");
    }
}
