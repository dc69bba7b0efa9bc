//! `auto`: the papers' answers in one policy. This page lists the parts of looking ahead; those of
//! the prefetch cache are in `cache/`, the others in `worth/`, `duel`, `bimodal` and `ages`.
//! `docs/auto.md` gives the reasons.
//!
//! Five questions, and the parts that answer them:
//!
//! | question | answer | where |
//! | --- | --- | --- |
//! | how much in a piece | CP: the worth of a switch; past it, the best for lengths of streams | `pieces` `odds` |
//! | when the next one | CP: when the reader enters the latest piece | `pieces` |
//! | how much may be unread, which goes | CPEM's prefetch cache, whose pages pay rent | `cache/` |
//! | which device gives up a frame | the one whose frames save least waiting | `worth/` |
//! | which block of it | AMP's loops, ARC that admits few new blocks, or ARC: a sample tells which misses least | `duel` `bimodal` |
//!
//! The parts of looking ahead, each of which `auto:without=PART` leaves out:
//!
//! | part | rests on | test | pays on |
//! | --- | --- | --- | --- |
//! | `whole` | files are read to the same end again | `tests/all/knowledge.rs` | small files that are read whole |
//! | `lengths` | streams have a mean length | `tests/all/knowledge.rs` | index search, streams of some hundred blocks |
//! | `habits` | streams of one program context are alike | `tests/all/habits.rs` | readers of small parts beside scans |
//! | `company` | a stream alone on a device pays no switch | `tests/all/explain.rs` | one stream and reuse in one memory |
//! | `near` | free frames cost nothing | `tests/all/near.rs` | files that fit, read at random |
//! | `steps` | mostly equal steps go on (Leap) | `steps.rs` here, `tests/all/elsewhere.rs` | arrays, strides on stores |
//! | `sequel` | what followed last time follows again | `sequel.rs` here, `tests/all/elsewhere.rs` | starts of containers |
//! | `floor` | blocks ahead that bring no hits are in vain | `floor.rs` here, `tests/timed/floor.rs` of the simulator | lists that are read whole, much memory |

mod ages;
mod bimodal;
pub mod cache;
pub mod duel;
mod floor;
pub mod knowledge;
mod near;
mod odds;
mod pieces;
mod sequel;
mod steps;
pub mod worth;

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use crate::counters::Counters;
use crate::explain::Elsewhere;
use crate::files::INITIAL_WINDOW;
use crate::hint::Usual;
use crate::reason::Reason;
use crate::seams::{Begun, Miss, Near, Needs, Plan, Prefetcher, Sight, Tally, Visit};
use crate::stream::Stream;
use crate::types::{BlockKey, ContextId, DeviceId, Extent, FileId, HandlerId, StreamId};

use floor::Floor;
use knowledge::{Habits, Knowledge, Whose};
use pieces::Outlook;
use sequel::Sequel;
use steps::Steps;

/// The most places that are remembered, 24 bytes each; in small caches as many as there are frames.
const MOST_PLACES: u32 = 1 << 16;

/// The parts of looking ahead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Parts {
    /// Whether the knowledge of a file, its length and how far it was read before, stands in for
    /// slow start.
    pub whole: bool,
    /// Whether pieces are as large as the mean length of streams so far makes them best.
    pub lengths: bool,
    /// Whether the knowledge of a program context counts: how long its streams are, and that it
    /// reads at random.
    pub habits: bool,
    /// Whether pieces are smaller for a stream that has its device to itself.
    pub company: bool,
    /// Whether blocks near misses are loaded, if their file has room in free frames.
    pub near: bool,
    /// Whether the next steps are fetched of a reader that moves in mostly equal ones.
    pub steps: bool,
    /// Whether what followed a place last time is fetched again.
    pub sequel: bool,
    /// Whether nothing is fetched ahead on devices where that brings no hits.
    pub floor: bool,
}

impl Parts {
    /// All of them.
    pub const ALL: Parts = Parts {
        whole: true,
        lengths: true,
        habits: true,
        company: true,
        near: true,
        steps: true,
        sequel: true,
        floor: true,
    };
}

/// The prefetcher of `auto`.
#[derive(Clone, Debug)]
pub struct Auto {
    parts: Parts,
    /// How far streams go, if a part goes by that.
    knowledge: Option<Knowledge>,
    /// Where each stream is expected to end, by its place.
    ends: Vec<Option<u32>>,
    steps: Option<Steps>,
    sequel: Option<Sequel>,
    floor: Option<Floor>,
}

impl Auto {
    /// For this many streams on this many devices; `by_context` if program contexts are told apart.
    pub fn new(parts: Parts, streams: u32, devices: usize, by_context: bool, frames: u32) -> Auto {
        let knows = parts.whole || parts.lengths || parts.habits;
        let knowledge = knows.then(|| {
            let knowledge = Knowledge::new(streams, devices);
            if by_context && parts.habits { knowledge.by_context() } else { knowledge }
        });
        Auto {
            parts,
            knowledge,
            ends: vec![None; streams.max(1) as usize],
            steps: parts.steps.then(Steps::new),
            sequel: parts.sequel.then(|| Sequel::new(frames.clamp(64, MOST_PLACES))),
            floor: parts.floor.then(|| Floor::new(devices)),
        }
    }

    /// Whether nothing is fetched ahead on a device.
    fn rests(&self, device: DeviceId) -> bool {
        self.floor.as_ref().is_some_and(|floor| floor.rests(device.index()))
    }

    /// The knowledge, if the part `habits` goes by it.
    fn habits(&mut self) -> Option<&mut Knowledge> {
        self.knowledge.as_mut().filter(|_| self.parts.habits)
    }
}

impl Prefetcher for Auto {
    fn needs(&self) -> Needs {
        Needs {
            endings: self.parts.habits,
            company: self.parts.company,
            near: self.parts.near,
            // Where one request is served at a time a second one only waits behind it.
            elsewhere: (self.parts.steps || self.parts.sequel).then_some(2),
            ..Needs::default()
        }
    }

    fn plan(&mut self, sight: &Sight<'_>) -> Plan {
        let whose = whose(sight.stream);
        if let Some(knowledge) = self.habits() {
            knowledge.weigh(whose, sight.worth_a_switch);
        }
        if self.rests(whose.device) {
            return Plan::NOTHING.because(Reason::NoGain, Reason::Nothing);
        }
        let known = self.knowledge.as_ref();
        let of_context = known.and_then(|knowledge| knowledge.of_context(whose));
        let habits = of_context.or_else(|| known?.of_device(whose.device));
        pieces::plan(&Outlook {
            sight,
            end: self.expected_end(sight.id),
            mean_length: habits.filter(|_| self.parts.lengths).and_then(Habits::mean_length),
            habits: habits.filter(|_| self.parts.habits),
            of_context: self.parts.habits && of_context.is_some(),
        })
    }

    fn takes_place(&mut self, stream: StreamId) {
        if let Some(end) = self.ends.get_mut(stream.index()) {
            *end = None;
        }
    }

    fn begins(&mut self, begun: &Begun<'_>) -> u32 {
        let Begun { id, stream, blocks, request, competitive_depth } = *begun;
        if let Some(knowledge) = &mut self.knowledge {
            let first = BlockKey::new(stream.file, stream.first);
            let end = knowledge.begins(whose(stream), first, blocks);
            if let Some(known) = self.ends.get_mut(id.index()) {
                *known = end.filter(|_| self.parts.whole);
            }
            knowledge.goes_on(first, stream.next);
        }
        // With habits a stream may have no first window: it has the reach of one all the same.
        // Reading through a gap must be worth it: no longer than a switch.
        if self.parts.habits { INITIAL_WINDOW.max(request).min(competitive_depth) } else { 0 }
    }

    fn goes_on(&mut self, stream: &Stream, at_end: bool) {
        let Some(knowledge) = &mut self.knowledge else { return };
        knowledge.goes_on(BlockKey::new(stream.file, stream.first), stream.next);
        knowledge.came_to(whose(stream), stream.next - stream.first.min(stream.next));
        if stream.steps == 1 && stream.left {
            knowledge.went_on_after_all(whose(stream));
        }
        if at_end {
            was_long(knowledge, stream);
            if stream.first == 0 {
                knowledge.is_over(whose(stream), true);
            }
        }
    }

    fn is_closed(&mut self, stream: &Stream, blocks: u32) {
        let Some(knowledge) = &mut self.knowledge else { return };
        learn(knowledge, stream, blocks);
        // A file within the first window tells nothing.
        if stream.first == 0 && blocks > INITIAL_WINDOW {
            knowledge.is_over(whose(stream), stream.next >= blocks);
        }
    }

    fn is_over(&mut self, stream: &Stream, blocks: u32) {
        if let Some(knowledge) = self.habits() {
            learn(knowledge, stream, blocks);
        }
    }

    fn is_left(&mut self, stream: &Stream) {
        if let Some(knowledge) = self.habits() {
            knowledge.went_nowhere(whose(stream));
        }
    }

    fn hinted(&mut self, context: ContextId, usual: Usual) {
        if let Some(knowledge) = &mut self.knowledge {
            knowledge.hint(context, usual);
        }
    }

    fn learnt(&self, out: &mut BTreeMap<ContextId, Usual>) {
        let contexts = self.knowledge.iter().flat_map(Knowledge::contexts);
        out.extend(
            contexts.map(|(context, habits)| (context, habits.usual())).filter(|(_, usual)| *usual != Usual::UNKNOWN),
        );
    }

    fn near(&self, miss: &Miss<'_>) -> Option<Near> {
        if self.rests(miss.file.device_of(miss.block)) {
            return None;
        }
        near::near(miss)
    }

    fn elsewhere(&mut self, visit: &Visit<'_>, next: &mut Vec<Extent>) {
        if let Some(steps) = &mut self.steps {
            steps.follow(visit, next);
        }
        if let Some(sequel) = &mut self.sequel
            && next.is_empty()
        {
            sequel.follow(visit, next);
        }
        // They go on learning.
        if self.rests(visit.device) {
            next.clear();
        }
    }

    fn served(&mut self, device: DeviceId, counters: &Counters, tally: Tally) {
        if let Some(floor) = &mut self.floor {
            floor.looks(device.index(), counters, tally);
        }
    }

    fn mean_length(&self, device: DeviceId, context: ContextId) -> Option<u32> {
        let knowledge = self.knowledge.as_ref().filter(|_| self.parts.lengths)?;
        knowledge.mean_length(Whose { device, context })
    }

    fn expected_end(&self, stream: StreamId) -> Option<u32> {
        self.ends.get(stream.index()).copied().flatten()
    }

    fn explain_elsewhere(&self, handler: HandlerId, file: FileId) -> Option<Elsewhere> {
        let steps = self.steps.as_ref().and_then(|steps| steps.explain(handler, file));
        steps.or_else(|| self.sequel.as_ref()?.explain(handler, file))
    }

    fn footprint(&self) -> usize {
        self.knowledge.as_ref().map_or(0, Knowledge::footprint)
            + self.ends.len() * size_of::<Option<u32>>()
            + self.steps.as_ref().map_or(0, Steps::footprint)
            + self.sequel.as_ref().map_or(0, Sequel::footprint)
            + self.floor.as_ref().map_or(0, Floor::footprint)
    }
}

/// The device and the context whose habits the end of a stream tells.
fn whose(stream: &Stream) -> Whose {
    Whose { device: stream.device, context: stream.context }
}

/// A stream is over that had not come to the end of its file.
fn learn(knowledge: &mut Knowledge, stream: &Stream, blocks: u32) {
    if stream.steps > 0 {
        was_long(knowledge, stream);
    } else if stream.next < blocks && !stream.left {
        knowledge.went_nowhere(whose(stream));
    }
}

/// A stream is over that went beyond its first read.
fn was_long(knowledge: &mut Knowledge, stream: &Stream) {
    let (whose, blocks) = (whose(stream), stream.next - stream.first.min(stream.next));
    if stream.left { knowledge.was_long_after_all(whose, blocks) } else { knowledge.was_long(whose, blocks) }
}
