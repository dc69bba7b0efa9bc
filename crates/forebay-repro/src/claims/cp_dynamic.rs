//! cp-dynamic: the depth as seeks get shorter and places slower, against the paper's formula.

use std::collections::BTreeMap;

use forebay_core::{Action, DeviceCost, Event, EventKind, Extent, FileId, IoId};
use forebay_device::device;
use serde::Deserialize;

use crate::server::{Benchmark, Length, Server};
use crate::{Context, Error, Experiment, Finding, Measure};
use forebay_sim::chart::{Axis, Chart, Series};
use forebay_sim::timed::{Record, run_recorded};
use forebay_sim::{processors, sweep};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    #[serde(default)]
    server: Server,
    devices: Vec<String>,
    handlers: Vec<u32>,
    benchmark: Benchmark,
    tasks: u64,
    policy: String,
}

/// A device and a number of handlers at a time.
#[derive(Clone, Copy)]
struct Point<'a> {
    device: &'a str,
    handlers: u32,
}

/// A run with so many handlers at a time.
#[derive(Clone, Copy)]
struct Followed<'a> {
    handlers: u32,
    run: &'a Follower,
}

/// A fetch of the full depth: where, and how much; and what the formula says.
#[derive(Clone, Copy, Debug)]
struct Fetch {
    place: u64,
    bytes: u64,
    formula: u64,
}

/// Follows D_seek beside the core, from what it is told and answers alone.
struct Follower {
    cost: DeviceCost,
    page: u64,
    /// D_seek: each new seek counts an eighth.
    distance: f64,
    head: Option<u64>,
    places: BTreeMap<FileId, u64>,
    under_way: BTreeMap<IoId, Extent>,
    /// The last fetch of each file that was read once from its beginning; nothing of others, of
    /// which some may be cached.
    last: BTreeMap<FileId, Option<Extent>>,
    /// Pages of each file.
    ends: BTreeMap<FileId, u32>,
    full: Vec<Fetch>,
    distances: Vec<f64>,
}

impl Follower {
    fn new(cost: DeviceCost, page_bytes: u32) -> Follower {
        Follower {
            distance: cost.mean_distance() as f64,
            cost,
            page: page_bytes.into(),
            head: None,
            places: BTreeMap::new(),
            under_way: BTreeMap::new(),
            last: BTreeMap::new(),
            ends: BTreeMap::new(),
            full: Vec::new(),
            distances: Vec::new(),
        }
    }

    fn place(&self, extent: Extent) -> u64 {
        self.places.get(&extent.file).copied().unwrap_or(0) + u64::from(extent.start) * self.page
    }

    fn arrived(&mut self, io: IoId) {
        let Some(extent) = self.under_way.remove(&io) else { return };
        let place = self.place(extent);
        if let Some(far) = self.head.map(|head| head.abs_diff(place)).filter(|&far| far > 0) {
            self.distance += (far as f64 - self.distance) / 8.0;
            self.distances.push(self.distance);
        }
        self.head = Some(place + u64::from(extent.len) * self.page);
    }

    /// A fetch is of the full depth if it is less than twice the one before it in its file, and the
    /// file does not end with it.
    fn fetched(&mut self, extent: Extent) {
        let last = self.last.entry(extent.file).or_insert(Some(Extent { len: 0, start: 0, ..extent }));
        let goes_on = last.filter(|last| last.end() == extent.start);
        *last = goes_on.map(|_| extent);
        let whole = self.ends.get(&extent.file).is_some_and(|&end| extent.end() < end);
        if goes_on.is_some_and(|before| whole && extent.start > 0 && extent.len < 2 * before.len) {
            let place = self.place(extent);
            let formula = self.cost.competitive_depth(self.distance as u64, place) / self.page * self.page;
            self.full.push(Fetch { place, bytes: u64::from(extent.len) * self.page, formula });
        }
    }
}

impl Record for Follower {
    fn record(&mut self, _level: usize, event: Event, actions: &[Action]) {
        match event.kind {
            EventKind::Placed { extent, at_byte } => {
                self.places.insert(extent.file, at_byte);
                self.ends.insert(extent.file, extent.end());
            }
            EventKind::Arrived { io } => self.arrived(io),
            _ => {}
        }
        for action in actions {
            if let Action::Fetch { io, extent, .. } = *action {
                self.under_way.insert(io, extent);
                self.fetched(extent);
            }
        }
    }
}

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let mut parameters: Parameters = experiment.parameters()?;
    if context.quick {
        parameters.tasks /= 4;
        parameters.handlers.retain(|&handlers| u64::from(handlers) * 4 <= parameters.tasks);
    }
    let points: Vec<Point<'_>> = parameters
        .devices
        .iter()
        .flat_map(|device| parameters.handlers.iter().map(move |&handlers| Point { device, handlers }))
        .collect();
    let runs = sweep(
        &points,
        processors(),
        || context.watch.stopped(),
        |point| followed(point.device, point.handlers, &parameters, experiment, context),
    );
    let runs: Vec<Follower> =
        runs.into_iter().map(|run| run.unwrap_or(Err(Error::Stopped))).collect::<Result<_, _>>()?;
    let (mut measures, mut ours, mut depths) = (Vec::new(), Vec::new(), Vec::new());
    let mut at = runs.iter();
    for name in &parameters.devices {
        let of = parameters.handlers.iter().zip(at.by_ref());
        let of: Vec<Followed<'_>> = of.map(|(&handlers, run)| Followed { handlers, run }).collect();
        measures.extend(judged(name, &of, experiment)?);
        let curve: Vec<(u32, f64)> = of.iter().map(|of| (of.handlers, of.run.depth())).collect();
        let ends = [curve.first(), curve.last()].map(|end| end.map_or((0, 0.0), |&(n, bytes)| (n, bytes / 1e3)));
        ours.push(format!("{name}: {:.0} KB at {}, {:.0} KB at {}", ends[0].1, ends[0].0, ends[1].1, ends[1].0));
        let points = curve.iter().map(|&(handlers, bytes)| (f64::from(handlers), bytes / 1e3)).collect();
        depths.push(Series { name: name.clone(), points });
    }
    let charts = vec![
        Chart {
            title: "The depth over concurrency".to_owned(),
            x: Axis::logarithmic("request handlers at a time"),
            y: Axis::linear("mean depth, KB"),
            series: depths,
        },
        over_places(&points, &runs),
    ];
    Ok(Finding::new(ours.join("; "), measures, charts))
}

/// One run.
fn followed(
    drive: &str,
    handlers: u32,
    parameters: &Parameters,
    experiment: &Experiment,
    context: &Context<'_>,
) -> Result<Follower, Error> {
    let policy = experiment.policy(&parameters.policy)?;
    let workload = parameters.benchmark.load(&experiment.id, parameters.tasks, context.seed)?;
    let server = Server { drive: drive.to_owned(), ..parameters.server.clone() };
    let setup = server.setup(policy, handlers, Length::whole(&workload), context.seed)?;
    let cost = device(drive)?.build(context.seed)?.cost();
    let mut follower = Follower::new(cost, server.page_bytes);
    run_recorded(&setup, &workload, context.watch, &mut follower)?;
    Ok(follower)
}

impl Follower {
    /// The mean depth, bytes.
    fn depth(&self) -> f64 {
        self.full.iter().map(|fetch| fetch.bytes as f64).sum::<f64>() / self.full.len() as f64
    }

    /// The share of fetches that are off the formula by more than a page, which is what its
    /// rounding may do.
    fn wrong(&self) -> f64 {
        let wrong = self.full.iter().filter(|fetch| fetch.bytes.abs_diff(fetch.formula) > self.page).count();
        wrong as f64 / self.full.len() as f64
    }

    /// The mean depth in the outermost sixth of the drive over that in the innermost.
    fn outer_over_inner(&self) -> f64 {
        let sixth = self.cost.capacity / 6;
        let mean = |of: &dyn Fn(u64) -> bool| {
            let there: Vec<f64> = self.full.iter().filter(|f| of(f.place)).map(|f| f.bytes as f64).collect();
            there.iter().sum::<f64>() / there.len() as f64
        };
        mean(&|place| place < sixth) / mean(&|place| place > self.cost.capacity - sixth)
    }

    /// The same of f_transfer.
    fn rates(&self) -> f64 {
        let rate = |twelfths: u64| self.cost.transfer_rate(self.cost.capacity / 12 * twelfths) as f64;
        rate(1) / rate(11)
    }
}

/// The measures of a drive.
fn judged(name: &str, of: &[Followed<'_>], experiment: &Experiment) -> Result<Vec<Measure>, Error> {
    let mut measures = Vec::new();
    let wrong = of.iter().map(|of| of.run.wrong()).fold(0.0, f64::max);
    let fetches: usize = of.iter().map(|of| of.run.full.len()).sum();
    measures.push(Measure {
        what: format!("{name}: fetches of the full depth that are off f_seek(D_seek) and f_transfer(L)"),
        paper: "0".to_owned(),
        ours: format!("{:.2} % of {fetches}", wrong * 100.0),
        verdict: Some(experiment.rule("wrong")?.judge(if fetches > 100 { wrong } else { f64::NAN })),
        ..Measure::default()
    });
    let steps = of.windows(2).map(|pair| pair[1].run.depth() / pair[0].run.depth());
    let curve: Vec<String> = of
        .iter()
        .map(|Followed { handlers, run }| {
            let seeks = run.distances.iter().sum::<f64>() / run.distances.len().max(1) as f64 / 1e9;
            format!("{handlers}: {:.0} KB (D_seek {seeks:.1} GB)", run.depth() / 1e3)
        })
        .collect();
    measures.push(Measure {
        what: format!("{name}: the mean depth as handlers are added"),
        paper: "falls".to_owned(),
        ours: curve.join(", "),
        verdict: Some(experiment.rule("step")?.judge(steps.fold(0.0, f64::max))),
        ..Measure::default()
    });
    // With one handler D_seek has nothing to do with places; with more the elevator's return makes
    // it long at the rim.
    if let Some(&Followed { handlers, run }) = of.first() {
        let (depths, rates) = (run.outer_over_inner(), run.rates());
        measures.push(Measure {
            what: format!("{name}: the depth at the rim over that at the hub, {handlers} handlers"),
            paper: format!("as f_transfer: {rates:.2}"),
            ours: format!("{depths:.2}"),
            verdict: Some(experiment.rule("zones")?.judge(depths / rates)),
            ..Measure::default()
        });
    }
    Ok(measures)
}

/// Depths over places, in twelfths of the drive.
fn over_places(points: &[Point<'_>], runs: &[Follower]) -> Chart {
    let line = |(point, run): (&Point<'_>, &Follower)| {
        let Point { device, handlers } = point;
        let mut sums = [(0.0, 0u32); 12];
        for fetch in &run.full {
            let sum = &mut sums[((fetch.place as u128 * 12 / u128::from(run.cost.capacity.max(1))) as usize).min(11)];
            *sum = (sum.0 + fetch.bytes as f64 / 1e3, sum.1 + 1);
        }
        let share = |at: usize| (at as f64 + 0.5) / 12.0;
        let points = sums.iter().enumerate().filter(|(_, sum)| sum.1 > 0);
        let points = points.map(|(at, sum)| (share(at), sum.0 / f64::from(sum.1))).collect();
        Series { name: format!("{device}, {handlers} handlers"), points }
    };
    Chart {
        title: "The depth over places".to_owned(),
        x: Axis::linear("place, as a share of the drive"),
        y: Axis::linear("mean depth, KB"),
        series: points.iter().zip(runs).map(line).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_core::{Cause, DeviceId, Instant};

    /// CP §2's means: 540 KB at the mean distance; a seek of nothing leaves half a revolution, and
    /// one in eight steps counts.
    #[test]
    fn the_follower_goes_by_the_formula() {
        let cost = DeviceCost {
            seek: vec![(0, 0), (12_000_000_000, 7_530_000), (36_000_000_000, 22_590_000)],
            half_revolution: 3_000_000,
            zones: vec![(0, 51_300_000)],
            capacity: 36_000_000_000,
            channels: 1,
        };
        let mut follower = Follower::new(cost, 4096);
        let mut at = |kind, actions: &[Action]| follower.record(0, Event { at: Instant(0), kind }, actions);
        let extent = |file, start, len| Extent { file: FileId(file), start, len };
        let fetch = |io, extent| {
            let demand = Extent { len: 0, ..extent };
            Action::Fetch {
                io: IoId(io),
                extent,
                cause: Cause::Prefetch,
                demand,
                hits: Extent::default(),
                device: DeviceId(0),
            }
        };
        at(EventKind::Placed { extent: extent(0, 0, 1000), at_byte: 0 }, &[]);
        at(EventKind::Placed { extent: extent(1, 0, 1000), at_byte: 24_000_000_000 }, &[fetch(0, extent(0, 0, 100))]);
        // The head comes to the end of the first fetch, and goes far away.
        at(EventKind::Arrived { io: IoId(0) }, &[fetch(1, extent(1, 0, 50))]);
        at(EventKind::Arrived { io: IoId(1) }, &[fetch(2, extent(0, 100, 131)), fetch(3, extent(1, 50, 100))]);
        let far = 24_000_000_000.0 - 409_600.0;
        assert!((follower.distance - (12e9 + (far - 12e9) / 8.0)).abs() < 1.0);
        // The last one is twice the one before: slow start, not the depth.
        let seen: Vec<_> = follower.full.iter().map(|fetch| (fetch.place, fetch.bytes)).collect();
        assert_eq!(seen, [(100 * 4096, 131 * 4096)]);
        let millis = 7.53 * follower.distance / 12e9 + 3.0;
        assert_eq!(follower.full[0].formula, (millis * 51_300.0) as u64 / 4096 * 4096);
        assert_eq!((follower.wrong(), follower.depth()), (1.0, 131.0 * 4096.0));
    }
}
