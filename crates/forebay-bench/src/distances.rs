//! The cost of dividing trigger distances among streams (SCM §4.1), in instructions counted by
//! callgrind as differences of two lengths. A request with its prefetches is counted under `ets`
//! and `esf`, with ten streams and with ten thousand; and under `even`, which measures no rates.

use anyhow::{Context, bail};
use forebay_core::index::Hashed;
use forebay_core::{
    Action, Actions, ContextId, Core, DeviceCost, DeviceId, Event, EventKind, FileId, HandlerId, Instant, Policy,
    ReadId, Setup,
};

use crate::hit::{Rounds, each};
use crate::report::Row;

/// The prefix of this benchmark's loops in `--count`.
pub(crate) const PREFIX: &str = "distances/";

/// Small pieces, so that streams are soon past their ramp.
const CHOSEN: &str = "degree=8,distance=4";

/// Counts all figures.
pub(crate) fn run(smoke: bool) -> anyhow::Result<Vec<Row>> {
    let (lengths, many) = if smoke { (Rounds::new(1_000, 2_000), 100) } else { (Rounds::new(40_000, 120_000), 10_000) };
    let counted = |policy: &str, streams: u32| each(&format!("{PREFIX}{policy}/{streams}"), lengths);
    let plain = [counted("even", 10)?, counted("even", many)?];
    let mut rows = Vec::new();
    for policy in ["ets", "esf"] {
        let (few, many_streams) = (counted(policy, 10)?, counted(policy, many)?);
        rows.push(Row {
            bench: "distances",
            what: format!("instructions of a request under {policy}, {many} streams"),
            against: "10 streams".into(),
            ratio: many_streams / few,
            wanted: Some(1.1),
            detail: format!("{many_streams:.0} and {few:.0}; under even {:.0} and {:.0}", plain[1], plain[0]),
            point: None,
        });
    }
    Ok(rows)
}

/// One loop, to be counted from outside: the policy, and the number of streams.
pub(crate) fn count(what: &str, rounds: u64) -> anyhow::Result<()> {
    let (policy, streams) = what.rsplit_once('/').context("a loop of `distances` ends with a number of streams")?;
    let chosen = if policy.contains(':') { format!("{policy},{CHOSEN}") } else { format!("{policy}:{CHOSEN}") };
    let mut server = Server::new(chosen.parse()?, streams.parse()?);
    // Past the ramp, and with memory full.
    let warm = 40 * server.streams;
    (0..warm + rounds).try_for_each(|nth| server.request(nth))
}

/// Streams that ask in turn, each ten times a second. So each request ends a slot of its stream,
/// the dearest case.
struct Server {
    core: Box<dyn Core>,
    streams: u64,
    actions: Actions,
    fetched: Vec<EventKind>,
    answered: bool,
}

impl Server {
    fn new(policy: Policy, streams: u32) -> Server {
        let mut core = policy.build::<Hashed>(Setup {
            frames: streams * 24,
            block_bytes: 4096,
            streams: streams + 16,
            devices: vec![DeviceCost::flat(5_000_000, 100_000_000, 1)],
            referenced: Default::default(),
        });
        let mut actions = Actions::new();
        for file in 0..streams {
            let kind = EventKind::Open { file: FileId(file), device: DeviceId(0), bytes: 1 << 40 };
            core.handle(&[Event { at: Instant(0), kind }], &mut actions);
        }
        Server { core, streams: streams.into(), actions, fetched: Vec::new(), answered: false }
    }

    fn request(&mut self, nth: u64) -> anyhow::Result<()> {
        let at = Instant(nth * (100_000_000 / self.streams));
        let (file, block) = (FileId((nth % self.streams) as u32), nth / self.streams);
        let (read, context) = (ReadId(0), ContextId(0));
        self.tell(
            at,
            EventKind::Read { read, handler: HandlerId(file.0), context, file, offset: block * 4096, len: 4096 },
        );
        while let Some(kind) = self.fetched.pop() {
            self.tell(at, kind);
        }
        if !std::mem::take(&mut self.answered) {
            bail!("request {nth} was not answered");
        }
        self.tell(at, EventKind::Done { read });
        Ok(())
    }

    fn tell(&mut self, at: Instant, kind: EventKind) {
        self.core.handle(&[Event { at, kind }], &mut self.actions);
        for action in self.actions.drain(..) {
            match action {
                Action::Fetch { io, .. } => self.fetched.push(EventKind::Arrived { io }),
                Action::Ready { .. } => self.answered = true,
                _ => {}
            }
        }
    }
}
