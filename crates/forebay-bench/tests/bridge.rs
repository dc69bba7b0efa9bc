//! The bridge without a clock: the events and actions of the simulator's core, written down as a
//! flight, replay to the same actions. The second core is set up as in the live engine.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use forebay_core::{Action, Event, Policy};
use forebay_device::device;
use forebay_device::random::Random;
use forebay_live::budget::Budget;
use forebay_live::flight::{Header, Line, replay};
use forebay_sim::Unwatched;
use forebay_sim::timed::{Load, Record, Setup, Spread, Workload, run_recorded};
use forebay_trace::{Memory, Request, Shape};

const MEMORY: u64 = 32 << 20;

struct Flight(BufWriter<File>);

impl Flight {
    fn line(&mut self, line: &impl serde::Serialize) {
        serde_json::to_writer(&mut self.0, line).unwrap();
        self.0.write_all(b"\n").unwrap();
    }
}

impl Record for Flight {
    fn record(&mut self, _level: usize, event: Event, actions: &[Action]) {
        self.line(&Line::Event(event));
        actions.iter().for_each(|&action| self.line(&Line::Action(action)));
    }
}

/// Handlers that read portions of files, now and then elsewhere in the same file.
fn workload() -> Workload {
    let mut random = Random::new(3);
    let requests: Vec<Request> = (0..120)
        .flat_map(|handler| {
            let file = random.below(40);
            let jump = random.below(3) * (1 << 20);
            let reads = 1 + random.below(30);
            (0..reads).map(move |i| Request {
                file,
                handler,
                offset: i * 65536 + if i > reads / 2 { jump } else { 0 },
                len: 65536,
                ..Request::default()
            })
        })
        .collect();
    Workload::load(&mut Memory::new(requests, Shape::Ranges { block_bytes: 4096 })).unwrap()
}

fn fly(path: &Path, policy: Policy, load: Load) -> u64 {
    let budget = Budget::divide(MEMORY, policy).unwrap();
    let disk = device("ibm-10k").unwrap();
    let mut flight = Flight(BufWriter::new(File::create(path).unwrap()));
    let setup = budget.setup(vec![disk.build(1).unwrap().cost()]);
    flight.line(&Header { forebay_flight: 1, policy: policy.to_string(), setup });
    let mut setup = Setup::new(policy, u64::from(budget.frames) * 4096, disk, 1);
    setup.placement.spread = Spread::Scattered;
    setup.load = load;
    let outcome = run_recorded(&setup, &workload(), &Unwatched, &mut flight).unwrap();
    flight.0.flush().unwrap();
    outcome.requests
}

#[test]
fn a_simulated_flight_replays_to_the_same_actions() {
    let folder = tempfile::tempdir().unwrap();
    for policy in ["competitive", "linux+arc", "aggressive", "fixed+s3-fifo"] {
        for handlers in [1, 16] {
            let path = folder.path().join(format!("{policy}-{handlers}"));
            let requests = fly(&path, policy.parse().unwrap(), Load::closed(handlers));
            let replayed = replay(&path).unwrap();
            assert_eq!(replayed.differs_at, None, "{policy}, {handlers} handlers");
            assert!(replayed.events > 2 * requests && replayed.same > requests, "{replayed:?}");
        }
    }
}
