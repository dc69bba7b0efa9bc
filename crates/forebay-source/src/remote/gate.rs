//! Bounds the fetches that a store has under way: beyond the bound they wait, and urgent ones are
//! let in first.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::FetchId;

/// A task that may begin, and holds its [`Turn`] until it is over. Without a turn it was called
/// off.
type Start = Box<dyn FnOnce(Option<Turn>) + Send>;

/// The tasks that wait, in order.
type Line = VecDeque<(FetchId, Start)>;

/// A bound, and the tasks that wait for it.
pub(crate) struct Gate {
    state: Mutex<State>,
}

struct State {
    free: usize,
    urgent: Line,
    rest: Line,
}

/// Room for further requests of a fetch that is under way.
#[derive(Clone, Copy, Default)]
pub(crate) struct Room<'a>(pub(super) Option<&'a Arc<Gate>>);

/// Permission to be under way; dropping it lets the next one in.
pub(crate) struct Turn(Arc<Gate>);

impl Gate {
    /// A gate for `width` at once, at least one.
    pub(super) fn new(width: usize) -> Arc<Gate> {
        let state = State { free: width.max(1), urgent: Line::new(), rest: Line::new() };
        Arc::new(Gate { state: Mutex::new(state) })
    }

    /// Calls `start` as soon as there is room: now, or from the thread that makes room.
    pub(super) fn enter(self: &Arc<Self>, id: FetchId, urgent: bool, start: Start) {
        {
            let mut state = self.state.lock();
            if state.free == 0 {
                let queue = if urgent { &mut state.urgent } else { &mut state.rest };
                return queue.push_back((id, start));
            }
            state.free -= 1;
        }
        start(Some(Turn(Arc::clone(self))));
    }

    /// Calls off the fetch if it still waits.
    pub(super) fn call_off(&self, id: FetchId) {
        let mut state = self.state.lock();
        let State { urgent, rest, .. } = &mut *state;
        let found = [rest, urgent].into_iter().find_map(|line| {
            let place = line.iter().position(|(other, _)| *other == id)?;
            line.remove(place)
        });
        drop(state);
        if let Some((_, start)) = found {
            start(None);
        }
    }
}

impl Room<'_> {
    /// At most `most` turns, as far as no fetch waits for them.
    pub(crate) fn turns(&self, most: usize) -> Vec<Turn> {
        let Some(gate) = self.0 else { return Vec::new() };
        let mut state = gate.state.lock();
        let count = state.free.min(most);
        state.free -= count;
        (0..count).map(|_| Turn(Arc::clone(gate))).collect()
    }
}

impl fmt::Debug for Room<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Room")
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        let next = state.urgent.pop_front().or_else(|| state.rest.pop_front());
        let Some((_, next)) = next else {
            state.free += 1;
            return;
        };
        drop(state);
        next(Some(Turn(Arc::clone(&self.0))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_the_width_and_urgent_first() {
        let gate = Gate::new(2);
        let (turns, order) = (Arc::new(Mutex::new(VecDeque::new())), Arc::new(Mutex::new(Vec::new())));
        for (name, urgent) in [(0, false), (1, false), (2, false), (3, true), (4, false), (5, true)] {
            let (turns, order) = (Arc::clone(&turns), Arc::clone(&order));
            gate.enter(
                FetchId::unique(),
                urgent,
                Box::new(move |turn| {
                    order.lock().push(name);
                    turns.lock().push_back(turn);
                }),
            );
        }
        assert_eq!(*order.lock(), [0, 1]);
        loop {
            let Some(turn) = turns.lock().pop_front() else { break };
            drop(turn);
        }
        assert_eq!(*order.lock(), [0, 1, 3, 5, 2, 4]);
        assert_eq!(gate.state.lock().free, 2);
    }

    #[test]
    fn room_is_what_is_free_and_is_given_back() {
        let gate = Gate::new(4);
        let entered = Arc::new(Mutex::new(None));
        let kept = Arc::clone(&entered);
        gate.enter(FetchId::unique(), true, Box::new(move |turn| *kept.lock() = turn));
        let more = Room(Some(&gate)).turns(7);
        assert_eq!((more.len(), Room(Some(&gate)).turns(7).len()), (3, 0));
        drop(more);
        assert_eq!((Room(Some(&gate)).turns(2).len(), Room::default().turns(2).len()), (2, 0));
        drop(entered.lock().take());
        assert_eq!(gate.state.lock().free, 4);
    }

    #[test]
    fn only_who_waits_is_called_off_and_the_others_come_in() {
        let gate = Gate::new(1);
        let names = [0; 4].map(|_| FetchId::unique());
        let (turns, calls) = (Arc::new(Mutex::new(VecDeque::new())), Arc::new(Mutex::new(Vec::new())));
        for (i, name) in names.into_iter().enumerate() {
            let (turns, calls) = (Arc::clone(&turns), Arc::clone(&calls));
            let start = move |turn: Option<Turn>| {
                calls.lock().push((i, turn.is_some()));
                turns.lock().extend(turn);
            };
            gate.enter(name, i == 2, Box::new(start));
        }
        for name in [names[0], names[1], names[2], names[1], FetchId::unique()] {
            gate.call_off(name);
        }
        assert_eq!(*calls.lock(), [(0, true), (1, false), (2, false)]);
        let first = turns.lock().pop_front();
        drop(first);
        assert_eq!(calls.lock().last(), Some(&(3, true)));
        let last = turns.lock().pop_front();
        drop(last);
        assert_eq!(gate.state.lock().free, 1);
    }
}
