//! LRU's curve at once against its caches one by one.

use forebay_core::presets::Replacement;
use forebay_sim::Unwatched;
use forebay_sim::untimed::{self, Algorithm, Capacity, Points, Run, Sampling};

use crate::replay::{ONE_CORE, Workload, seconds};
use crate::report::{Row, median};

const LRU: Algorithm = Algorithm::Online(Replacement::Lru);

/// The whole exact curve, and that of a hundredth of the blocks, against eight sizes of LRU one
/// after the other, all on one core.
pub(crate) fn run(smoke: bool) -> anyhow::Result<Vec<Row>> {
    let workload = Workload::new(smoke);
    let open = || workload.open();
    let capacities: Vec<Capacity> = (1..=8).map(|eighth| Capacity::Blocks(workload.capacity() * eighth / 4)).collect();
    let points = Points::At(capacities.clone());
    let (mut exact, mut sampled, mut taken) = (Vec::new(), Vec::new(), Vec::new());
    let mut furthest = 0.0f64;
    for _ in 0..if smoke { 1 } else { 3 } {
        let mut one_by_one = 0.0;
        let mut ratios = Vec::new();
        for &capacity in &capacities {
            let run = Run { algorithm: LRU, capacity };
            let (took, outcomes) = seconds(|| untimed::replay(&open, &ONE_CORE, &[run], &Unwatched))?;
            one_by_one += took;
            ratios.extend(outcomes);
        }
        let curve = |sampling| seconds(|| untimed::curve(&open, &ONE_CORE, LRU, sampling, &points, &Unwatched));
        let (whole, curve_of_all) = curve(Sampling::Exact)?;
        anyhow::ensure!(curve_of_all == ratios, "the exact curve is not LRU's");
        let (part, curve_of_some) = curve(Sampling::Rate(0.01))?;
        let apart = ratios.iter().zip(&curve_of_some).map(|(a, b)| (a.miss_ratio - b.miss_ratio).abs());
        furthest = apart.fold(furthest, f64::max);
        exact.push(one_by_one / whole);
        sampled.push(one_by_one / part);
        taken.push((one_by_one, whole, part));
    }
    let middle = |of: fn(&(f64, f64, f64)) -> f64| median(taken.iter().map(of).collect());
    let (one_by_one, whole, part) = (middle(|took| took.0), middle(|took| took.1), middle(|took| took.2));
    let row = |what: &str, ratio, wanted, detail| Row {
        bench: "curve",
        what: what.into(),
        against: "eight sizes one by one".into(),
        ratio,
        wanted: Some(wanted),
        detail,
        point: None,
    };
    Ok(vec![
        row("LRU's exact curve", median(exact), 1.0, format!("{whole:.2} s and {one_by_one:.2} s")),
        row(
            "LRU's curve, 1 % sampled",
            median(sampled),
            20.0,
            format!("{part:.3} s and {one_by_one:.2} s; miss ratios at most {furthest:.4} apart"),
        ),
    ])
}
