//! One version of a striped file: reads go to the members that have the bytes.
//!
//! A read within one chunk is handed on as it is, into the same memory; the engine asks for nothing
//! else. A read that spans members becomes one read of each, into memory of its own, and the parts
//! are put together when the last one has come.
//!
//! A range of the file is one range of each member's own bytes, so labels are handed on whole.
//! Known weakness: a member hears only of its share of the hits that are told with a fetch from it.
//! The other members' shares in that label are lost, since those members are asked another time
//! with another label.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::{Stripes, of_member};
use crate::{Error, Fetch, FetchId, Identity, Label, Object, Result, Run, Segments};

/// A member's part of a file.
pub(super) struct Part {
    pub(super) object: Arc<dyn Object>,
    /// The member, for messages.
    pub(super) member: Arc<str>,
}

/// See the file's head.
pub(super) struct StripedObject {
    identity: Identity,
    stripes: Stripes,
    parts: Vec<Part>,
    /// A member was found changed: nothing more of this version is read, of no part.
    stale: Arc<AtomicBool>,
}

impl StripedObject {
    pub(super) fn new(identity: Identity, stripes: Stripes, parts: Vec<Part>) -> StripedObject {
        StripedObject { identity, stripes, parts, stale: Arc::default() }
    }

    /// Takes in a member's outcome, and adds its name to errors.
    fn judge(&self, member: usize) -> impl FnOnce(Result<()>) -> Result<()> + Send + use<> {
        let (name, stale) = (Arc::clone(&self.parts[member].member), Arc::clone(&self.stale));
        move |outcome| {
            if let Err(Error::Stale(_)) = outcome {
                stale.store(true, Ordering::Relaxed);
            }
            outcome.map_err(|error| of_member(error, &name))
        }
    }

    /// Hands on a fetch that lies within one chunk.
    fn hand_on(&self, member: usize, fetch: Fetch) {
        let judge = self.judge(member);
        let Fetch { id, offset, buffer, len, urgent, label, done } = fetch;
        let done = Box::new(move |buffer, outcome| done(buffer, judge(outcome)));
        let label = self.label_of(&label, member);
        let offset = self.stripes.share(offset, member);
        self.parts[member].object.fetch(Fetch { id, offset, buffer, len, urgent, label, done });
    }

    /// The label for a member, in its own bytes.
    fn label_of(&self, label: &Label, member: usize) -> Label {
        let within = |range| self.stripes.within(range, member);
        Label { demand: within(&label.demand), hits: within(&label.hits) }
    }

    fn gather(&self, range: Range<u64>, fetch: Fetch) {
        let wanted: Vec<(usize, Range<u64>)> = (0..self.parts.len())
            .map(|member| (member, self.stripes.within(&range, member)))
            .filter(|(_, within)| !within.is_empty())
            .collect();
        let (id, urgent, label) = (fetch.id, fetch.urgent, fetch.label.clone());
        let gathering = Arc::new(Gathering {
            stripes: self.stripes,
            range,
            state: Mutex::new(State { fetch: Some(fetch), came: Vec::new(), expected: wanted.len() }),
        });
        for (member, within) in wanted {
            let (gathering, judge) = (Arc::clone(&gathering), self.judge(member));
            let len = (within.end - within.start) as usize;
            let (offset, buffer, label) = (within.start, Segments::own(len), self.label_of(&label, member));
            let done = Box::new(move |buffer, outcome| gathering.came(member, buffer, judge(outcome)));
            self.parts[member].object.fetch(Fetch { id, offset, buffer, len, urgent, label, done });
        }
    }
}

/// A read that spans members.
struct Gathering {
    stripes: Stripes,
    /// The range in the file.
    range: Range<u64>,
    state: Mutex<State>,
}

struct State {
    fetch: Option<Fetch>,
    came: Vec<(usize, Segments, Result<()>)>,
    expected: usize,
}

impl Gathering {
    /// A member answered. The last one's thread puts everything together.
    fn came(&self, member: usize, buffer: Segments, outcome: Result<()>) {
        let mut state = self.state.lock();
        state.came.push((member, buffer, outcome));
        if state.came.len() < state.expected {
            return;
        }
        let (fetch, mut came) = (state.fetch.take(), std::mem::take(&mut state.came));
        drop(state);
        let Some(mut fetch) = fetch else { return };
        came.sort_by_key(|&(member, ..)| member);
        let outcome = came.iter().try_for_each(|(.., outcome)| outcome.clone());
        if outcome.is_ok() {
            let brought: BTreeMap<usize, Vec<u8>> =
                came.iter().map(|(member, buffer, _)| (*member, buffer.to_vec())).collect();
            self.fill(&mut fetch.buffer, &brought);
        }
        fetch.finish(outcome);
    }

    /// Fills a buffer with the bytes of each member.
    fn fill(&self, buffer: &mut Segments, brought: &BTreeMap<usize, Vec<u8>>) {
        for (member, chunk) in self.stripes.chunks(self.range.clone()) {
            let Some(bytes) = brought.get(&member) else { continue };
            let from = self.stripes.share(chunk.start, member) - self.stripes.share(self.range.start, member);
            let len = chunk.end - chunk.start;
            buffer.write((chunk.start - self.range.start) as usize, &bytes[from as usize..(from + len) as usize]);
        }
    }
}

impl Object for StripedObject {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The places of the parts, in the members' own bytes, if they are the same on all of them.
    fn layout(&self) -> Vec<Run> {
        let layouts: Vec<Vec<Run>> = self.parts.iter().map(|part| part.object.layout()).collect();
        let length = |member: usize| self.parts[member].object.version().size;
        // The first member's part is never the shorter one.
        let fits = |(member, layout): (usize, &Vec<Run>)| *layout == cut(&layouts[0], length(member));
        if layouts.iter().enumerate().all(fits) { layouts.into_iter().next().unwrap_or_default() } else { Vec::new() }
    }

    fn fetch(&self, fetch: Fetch) {
        if self.stale.load(Ordering::Relaxed) {
            return fetch.finish(Err(Error::Stale(self.identity.name.to_string())));
        }
        let range = fetch.offset..fetch.offset.saturating_add(fetch.len as u64);
        let member = self.stripes.member(range.start);
        match self.stripes.chunks(range.clone()).nth(1) {
            None => self.hand_on(member, fetch),
            Some(_) => self.gather(range, fetch),
        }
    }

    /// Members that have not begun with their part end it; one part is enough to end the whole. The
    /// others may bring theirs in vain.
    fn call_off(&self, fetch: FetchId) {
        self.parts.iter().for_each(|part| part.object.call_off(fetch));
    }

    fn stripes(&self) -> Option<Stripes> {
        Some(self.stripes)
    }
}

/// The first `len` bytes of a layout.
fn cut(layout: &[Run], len: u64) -> Vec<Run> {
    let runs = layout.iter().filter(|run| run.offset < len);
    runs.map(|run| Run { len: run.len.min(len - run.offset), ..*run }).collect()
}
