//! The flight recorder: every event that the core is given and every action that it answers with, a
//! line of JSON each.
//!
//! The first line is the [`Header`]. Replaying the events through a core of the same policy and
//! setup must give the same actions. That is why a result from the simulator holds for the live
//! engine, and the other way round.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use forebay_core::index::Hashed;
use forebay_core::{Action, Actions, Event, Policy, Setup};
use serde::{Deserialize, Serialize};

/// The first line of a flight.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Header {
    /// The version of this format.
    pub forebay_flight: u32,
    /// The policy's name.
    pub policy: String,
    /// The setup that the core was built with.
    pub setup: Setup,
}

/// Any other line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Line {
    /// The core was told.
    Event(Event),
    /// The core decided.
    Action(Action),
}

/// Writes a flight on a thread of its own, so that no thread waits for the disk while the engine is
/// locked. Lines that are not written yet are in memory, outside the budget: a flight is for
/// looking into a fault, not for every day.
#[derive(Debug)]
pub(crate) struct FlightRecorder {
    lines: Option<Sender<Line>>,
    writer: Option<JoinHandle<()>>,
}

impl FlightRecorder {
    /// Begins a flight.
    pub(crate) fn create(path: &Path, policy: Policy, setup: &Setup) -> io::Result<FlightRecorder> {
        let mut out = BufWriter::new(File::create(path)?);
        let header = Header { forebay_flight: 1, policy: policy.to_string(), setup: setup.clone() };
        serde_json::to_writer(&mut out, &header)?;
        out.write_all(b"\n")?;
        let (lines, received) = channel::<Line>();
        let writer = std::thread::Builder::new().name("forebay-flight".into()).spawn(move || {
            if let Err(error) = write(&received, &mut out) {
                log::error!("the flight recorder stops: {error}");
            }
        })?;
        Ok(FlightRecorder { lines: Some(lines), writer: Some(writer) })
    }

    pub(crate) fn record(&self, event: Event, actions: &[Action]) {
        let Some(lines) = &self.lines else { return };
        // A writer that gave up has said why.
        let _ = lines.send(Line::Event(event));
        for &action in actions {
            let _ = lines.send(Line::Action(action));
        }
    }
}

/// Writes the lines received until the sender is gone. The file has all of them whenever no line
/// waits, so that a mount that is killed leaves its flight.
fn write(received: &Receiver<Line>, out: &mut BufWriter<File>) -> io::Result<()> {
    loop {
        let line = match received.try_recv() {
            Ok(line) => line,
            Err(_) => {
                out.flush()?;
                let Ok(line) = received.recv() else { return Ok(()) };
                line
            }
        };
        serde_json::to_writer(&mut *out, &line)?;
        out.write_all(b"\n")?;
    }
}

impl Drop for FlightRecorder {
    fn drop(&mut self) {
        drop(self.lines.take());
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

/// The outcome of a replay.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Replayed {
    /// Events replayed.
    pub events: u64,
    /// Actions that were the same.
    pub same: u64,
    /// The first line (counted from one) whose action was another, if any was.
    pub differs_at: Option<u64>,
}

/// Replays a recorded flight through a fresh core and compares its actions with those recorded. A
/// last line that was cut off by a crash is passed over. The events must be those of a driver: a
/// core takes their order for granted.
pub fn replay(path: &Path) -> io::Result<Replayed> {
    let (header, lines) = read(BufReader::new(File::open(path)?))?;
    let bad = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
    let policy: Policy = header.policy.parse().map_err(|error| bad(format!("line 1: {error}")))?;
    let mut core = policy.build::<Hashed>(header.setup);
    let mut expected = Actions::new();
    let mut found = Replayed::default();
    let mut next = 0;
    for (number, line) in (2..).zip(lines) {
        match line? {
            Line::Event(event) => {
                let missing = next < expected.len();
                if missing && found.differs_at.is_none() {
                    found.differs_at = Some(number);
                }
                expected.clear();
                next = 0;
                core.handle(&[event], &mut expected);
                found.events += 1;
            }
            Line::Action(action) if expected.get(next) == Some(&action) => {
                next += 1;
                found.same += 1;
            }
            Line::Action(_) => found.differs_at = found.differs_at.or(Some(number)),
        }
    }
    Ok(found)
}

/// The header of a flight, and its lines up to the first that is none: a crash may cut off the last
/// one. A line that cannot be read is an error.
pub fn read(from: impl BufRead) -> io::Result<(Header, impl Iterator<Item = io::Result<Line>>)> {
    let bad = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
    let mut lines = from.lines();
    let first = lines.next().ok_or_else(|| bad("an empty file is no flight".into()))??;
    let header = serde_json::from_str(&first).map_err(|error| bad(format!("line 1: {error}")))?;
    let lines = lines.map_while(|line| match line {
        Ok(text) => serde_json::from_str(&text).ok().map(Ok),
        Err(error) => Some(Err(error)),
    });
    Ok((header, lines))
}
