//! A fetch of which a tier has a part: pieces from the disk, one run from the source.
//!
//! ```text
//!   the fetch:   │ pieces │ what is missing │ pieces │
//!                    │             │             │
//!                  disk         source         disk       all at once
//!                    └─────────────┼─────────────┘
//!                                  ▼
//!          all there ──▶ done;  a piece was wrong ──▶ source ──▶ done
//! ```

use std::ops::Range;
use std::sync::Arc;

use forebay_core::tier::Run;
use forebay_source::{BLOCK, Fetch, FetchId, Label, Result, Segments};
use parking_lot::Mutex;

use crate::layout::bytes;
use crate::object::Tiered;
use crate::pieces::Group;
use crate::store::Lying;

type Done = Box<dyn FnOnce(Segments, Result<()>) + Send>;

/// A fetch under way, but for its memory and its end.
struct Gathering {
    tiered: Arc<Tiered>,
    id: FetchId,
    offset: u64,
    len: usize,
    urgent: bool,
    label: Label,
    /// Whether the source has no part of it.
    near: bool,
    state: Mutex<State>,
}

struct State {
    /// The memory of each part, in order, once the part is over. The last one is behind all parts.
    parts: Vec<Option<Segments>>,
    /// Parts that are not over.
    expected: usize,
    /// Bytes of the fetch that the disk failed to bring.
    missing: Option<Range<usize>>,
    outcome: Result<()>,
    done: Option<Done>,
}

/// A part of a fetch.
enum Part {
    Stored(Group),
    Missing(Run),
}

impl Part {
    fn blocks(&self) -> u32 {
        match self {
            Part::Stored(group) => group.blocks(),
            Part::Missing(run) => run.len,
        }
    }
}

/// Starts the parts of a fetch.
pub(crate) fn start(tiered: &Arc<Tiered>, fetch: Fetch, lying: Vec<Lying>, missing: Run) {
    let Fetch { id, offset, buffer, len, urgent, label, done } = fetch;
    let mut parts: Vec<Part> = Group::of_all(tiered.of, lying).into_iter().map(Part::Stored).collect();
    if missing.len > 0 {
        let before = |part: &Part| matches!(part, Part::Stored(group) if group.start() < missing.start);
        parts.insert(parts.partition_point(before), Part::Missing(missing));
    }
    let mut rest = buffer;
    let cut: Vec<Segments> = parts
        .iter()
        .map(|part| {
            let after = rest.split_off(bytes(part.blocks()));
            std::mem::replace(&mut rest, after)
        })
        .collect();
    let memory = cut.iter().map(|_| None).chain([Some(rest)]).collect();
    let state = State { parts: memory, expected: parts.len(), missing: None, outcome: Ok(()), done: Some(done) };
    let tiered = Arc::clone(tiered);
    let gathering = Arc::new(Gathering {
        tiered,
        id,
        offset,
        len,
        urgent,
        label,
        near: missing.len == 0,
        state: Mutex::new(state),
    });
    for (at, (part, memory)) in parts.into_iter().zip(cut).enumerate() {
        match part {
            Part::Stored(group) => gathering.read(at, group, memory),
            Part::Missing(run) => gathering.ask(at, run, memory),
        }
    }
}

impl Gathering {
    fn read(self: &Arc<Gathering>, at: usize, group: Group, memory: Segments) {
        let gathering = Arc::clone(self);
        let then = move |memory, missing: Vec<Run>| gathering.came(at, memory, &missing, Ok(()));
        group.read(&self.tiered.store, memory, self.urgent, Box::new(then));
    }

    fn ask(self: &Arc<Gathering>, at: usize, run: Run, memory: Segments) {
        let gathering = Arc::clone(self);
        let done = move |memory, outcome| gathering.came(at, memory, &[], outcome);
        let first = (u64::from(run.start) * BLOCK as u64 - self.offset) as usize;
        self.tiered.ask(self.part(first, memory, Box::new(done)));
    }

    /// A fetch of a part: the one with this name, since there is never more than one at a time.
    fn part(&self, first: usize, buffer: Segments, done: Done) -> Fetch {
        let (len, offset) = (buffer.len().min(self.len - first), self.offset + first as u64);
        Fetch { id: self.id, offset, buffer, len, urgent: self.urgent, label: self.label.clone(), done }
    }

    /// A part is over. The last one's thread goes on.
    fn came(&self, at: usize, memory: Segments, missing: &[Run], outcome: Result<()>) {
        let mut state = self.state.lock();
        state.parts[at] = Some(memory);
        for run in missing {
            let first = (u64::from(run.start) * BLOCK as u64 - self.offset) as usize;
            let (start, end) = (first, first + bytes(run.len));
            let all = state.missing.take().unwrap_or(start..end);
            state.missing = Some(all.start.min(start)..all.end.max(end));
        }
        if outcome.is_err() {
            state.outcome = outcome;
        }
        state.expected -= 1;
        if state.expected > 0 {
            return;
        }
        let parts = std::mem::take(&mut state.parts).into_iter().flatten();
        let memory = parts.reduce(|mut all, part| {
            all.append(part);
            all
        });
        let (missing, outcome) = (state.missing.take(), std::mem::replace(&mut state.outcome, Ok(())));
        let (Some(mut memory), Some(done)) = (memory, state.done.take()) else { return };
        drop(state);
        match missing {
            Some(missing) if outcome.is_ok() => self.repair(missing, memory, done),
            _ => {
                if self.near {
                    memory.set_near();
                }
                done(memory, outcome);
            }
        }
    }

    /// Asks the source for what the disk failed to bring, with all that lies between.
    fn repair(&self, missing: Range<usize>, mut before: Segments, done: Done) {
        let mut memory = before.split_off(missing.start);
        let after = memory.split_off(missing.end - missing.start);
        let whole = move |memory, outcome| {
            let mut all = before;
            all.append(memory);
            all.append(after);
            done(all, outcome);
        };
        let fetch = self.part(missing.start, memory, Box::new(whole));
        // Hits are told once.
        let label = self.label.rest(fetch.offset);
        self.tiered.ask(Fetch { label, ..fetch });
    }
}
