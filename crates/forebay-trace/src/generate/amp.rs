//! The streams of AMP §4.1, Fig. 5, as far as Table 1 describes them: "accesses with patterns but,
//! more importantly, irregularities", of blocks 1 to 100. Two of the seven are elsewhere: (b),
//! "pure loops", is `loop`, and (g), "uniformly random", is `uniform`.
//!
//! | stream | Table 1 | here |
//! | --- | --- | --- |
//! | a | "temporally clustered accesses moving through the file" | `amp-clustered` |
//! | c | "loops with each block moved around randomly" | `amp-moved` |
//! | d | "temporally clustered accesses with localized small loops" | `amp-small-loops` |
//! | e, f | "loops in which a block is accessed again with prob. 0.6", "… 0.5" | `amp-again` |
//!
//! The figure's plots say no more, so sizes are assumed, at the parameters. **Streams e and f** can
//! be read in two ways. Blocks are accessed once or again; those accessed once have their access in
//! the first round, or not before the last one. In the first case they lie before all others in the
//! list ever after, and R̄ is near 0.2. The paper's 0.008 and 0.010 are near 0. So the second case
//! must be meant, in which no block is older than one that is accessed again. (They are 0.5 / 60
//! and 0.5 / 50: as many accesses have an R as blocks are accessed again, and one of them has the
//! 0.5 of a list of one. So there are two rounds, and exactly that many blocks are accessed again.)

use super::parameters::{Kind, Value, Values, parameter};
use super::random::Random;
use super::{BLOCK_BYTES, Workload, WrongWorkload};
use crate::{Request, Shape};

pub(super) const KINDS: &[Kind] = &[
    Kind {
        name: "amp-clustered",
        summary: "blocks near a place that moves through the file (AMP §4.1, stream a)",
        parameters: &[
            parameter("requests", Value::Count(1000), "requests, in which the place moves from end to end"),
            parameter("blocks", Value::Count(100), "blocks of the file"),
            parameter("near", Value::Count(30), "blocks that are near: one of them, all equally often"),
        ],
        make: |values| {
            let (requests, blocks, near) = (values.whole("requests"), values.whole("blocks"), values.whole("near"));
            Ok(Box::new(Clustered { requests, blocks, near, done: 0 }))
        },
    },
    Kind {
        name: "amp-moved",
        summary: "a loop, each access of which is moved randomly (AMP §4.1, stream c)",
        parameters: &[
            parameter("tasks", Value::Count(10), "rounds"),
            parameter("blocks", Value::Count(100), "blocks of the loop"),
            parameter("by", Value::Count(100), "places that an access is moved forward or back, at most"),
        ],
        make: moved,
    },
    Kind {
        name: "amp-small-loops",
        summary: "small loops, one after the other through the file (AMP §4.1, stream d)",
        parameters: &[
            parameter("tasks", Value::Count(7), "small loops"),
            parameter("blocks", Value::Count(100), "blocks of the file"),
            parameter("rounds", Value::Count(10), "rounds of each"),
        ],
        make: |values| {
            let (loops, blocks, rounds) = (values.whole("tasks"), values.whole("blocks"), values.whole("rounds"));
            Ok(Box::new(SmallLoops { loops, blocks, rounds, done: 0, round: 0, at: 0 }))
        },
    },
    Kind {
        name: "amp-again",
        summary: "a loop, some of whose blocks are accessed once only (AMP §4.1, streams e and f)",
        parameters: &[
            parameter("tasks", Value::Count(2), "rounds"),
            parameter("blocks", Value::Count(100), "blocks of the loop"),
            parameter("again", Value::Real(0.6), "part of the blocks that every round accesses; 0.5 is stream f"),
            parameter("late", Value::Real(1.0), "part of the others that the last round accesses; the rest the first"),
        ],
        make: again,
    },
];

/// A block of the file.
fn block(number: u64) -> Request {
    Request { offset: number.saturating_mul(BLOCK_BYTES.into()), len: BLOCK_BYTES, ..Request::default() }
}

const RANGES: Shape = Shape::Ranges { block_bytes: BLOCK_BYTES };

struct Clustered {
    requests: u64,
    blocks: u64,
    near: u64,
    done: u64,
}

impl Workload for Clustered {
    fn shape(&self) -> Shape {
        RANGES
    }

    fn step(&mut self, random: &mut Random, batch: &mut Vec<Request>) {
        let place = (u128::from(self.done) * u128::from(self.blocks) / u128::from(self.requests)) as u64;
        let number = place.saturating_add(random.below(self.near)).saturating_sub(self.near / 2);
        batch.push(block(number.min(self.blocks - 1)));
        self.done += 1;
    }
}

struct Moved {
    rounds: u64,
    blocks: u64,
    by: u64,
    done: u64,
    /// Accesses whose place is not reached yet: place and block.
    pending: Vec<(u64, u64)>,
}

/// The most accesses of a loop, since it is kept in memory.
const MOST: u64 = 1 << 24;

fn moved(values: &Values) -> Result<Box<dyn Workload>, WrongWorkload> {
    let (rounds, blocks, by) = (values.whole("tasks"), values.whole("blocks"), values.whole("by"));
    match (blocks <= MOST, by <= MOST, rounds <= MOST) {
        (false, _, _) => Err(values.wrong("blocks", "at most 16777216")),
        (_, false, _) => Err(values.wrong("by", "at most 16777216")),
        (_, _, false) => Err(values.wrong("tasks", "at most 16777216")),
        _ => Ok(Box::new(Moved { rounds, blocks, by, done: 0, pending: Vec::new() })),
    }
}

impl Workload for Moved {
    fn shape(&self) -> Shape {
        RANGES
    }

    fn step(&mut self, random: &mut Random, batch: &mut Vec<Request>) {
        let start = self.done * self.blocks;
        self.pending.extend((0..self.blocks).map(|number| (start + number + random.between(0, 2 * self.by), number)));
        // Every access is moved back, by at most twice `by`. Of the same place, the earlier access
        // comes first.
        self.pending.sort_by_key(|&(place, _)| place);
        self.done += 1;
        let next = if self.done == self.rounds { u64::MAX } else { start + self.blocks };
        let reached = self.pending.partition_point(|&(place, _)| place < next);
        batch.extend(self.pending.drain(..reached).map(|(_, number)| block(number)));
    }
}

struct SmallLoops {
    loops: u64,
    blocks: u64,
    rounds: u64,
    /// Small loops begun, the current one's round, and how far that is.
    done: u64,
    round: u64,
    at: u64,
}

impl SmallLoops {
    /// Where the small loop of this number begins.
    fn start(&self, number: u64) -> u64 {
        (u128::from(self.blocks) * u128::from(number) / u128::from(self.loops)) as u64
    }
}

impl Workload for SmallLoops {
    fn shape(&self) -> Shape {
        RANGES
    }

    fn step(&mut self, random: &mut Random, batch: &mut Vec<Request>) {
        (self.round, self.at) = (0, self.start(self.done));
        self.done += 1;
        self.go_on(random, batch);
    }

    fn go_on(&mut self, _random: &mut Random, batch: &mut Vec<Request>) -> bool {
        let (start, end) = (self.start(self.done - 1), self.start(self.done));
        if start == end || self.round == self.rounds {
            return false;
        }
        batch.push(block(self.at));
        self.at += 1;
        if self.at == end {
            (self.round, self.at) = (self.round + 1, start);
        }
        true
    }
}

struct Again {
    rounds: u64,
    /// How each block is accessed.
    kinds: Vec<Accessed>,
    again: f64,
    late: f64,
    done: u64,
    at: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum Accessed {
    Always,
    First,
    Last,
}

fn again(values: &Values) -> Result<Box<dyn Workload>, WrongWorkload> {
    let (blocks, again, late) = (values.whole("blocks"), values.real("again"), values.real("late"));
    for (name, part) in [("again", again), ("late", late)] {
        if part > 1.0 {
            return Err(values.wrong(name, "it is a part, at most 1"));
        }
    }
    if blocks > MOST {
        return Err(values.wrong("blocks", "at most 16777216"));
    }
    let kinds = vec![Accessed::Always; blocks as usize];
    Ok(Box::new(Again { rounds: values.whole("tasks"), kinds, again, late, done: 0, at: 0 }))
}

impl Again {
    /// Exactly so many of each kind, on random blocks.
    fn choose(&mut self, random: &mut Random) {
        let blocks = self.kinds.len();
        let always = (blocks as f64 * self.again).round() as usize;
        let last = ((blocks - always) as f64 * self.late).round() as usize;
        for (at, kind) in self.kinds.iter_mut().enumerate() {
            *kind = match at {
                _ if at < always => Accessed::Always,
                _ if at < always + last => Accessed::Last,
                _ => Accessed::First,
            };
        }
        for left in (1..blocks).rev() {
            self.kinds.swap(left, random.below(left as u64 + 1) as usize);
        }
    }
}

impl Workload for Again {
    fn shape(&self) -> Shape {
        RANGES
    }

    fn step(&mut self, random: &mut Random, batch: &mut Vec<Request>) {
        if self.done == 0 {
            self.choose(random);
        }
        self.done += 1;
        self.at = 0;
        self.go_on(random, batch);
    }

    fn go_on(&mut self, _random: &mut Random, batch: &mut Vec<Request>) -> bool {
        let (first, last) = (self.done == 1, self.done == self.rounds);
        let accessed = |kind: &Accessed| match kind {
            Accessed::Always => true,
            Accessed::First => first,
            Accessed::Last => last,
        };
        match self.kinds[self.at..].iter().position(accessed) {
            Some(ahead) => {
                batch.push(block((self.at + ahead) as u64));
                self.at += ahead + 1;
                true
            }
            None => false,
        }
    }
}
