//! Bounds the fetches that a store has under way: beyond the bound they wait, and urgent ones are let in first.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

/// Something that may begin, and holds its [`Turn`] until it is over.
type Start = Box<dyn FnOnce(Turn) + Send>;

/// A bound, and who waits for it.
pub(super) struct Gate {
    state: Mutex<State>,
}

struct State {
    free: usize,
    urgent: VecDeque<Start>,
    rest: VecDeque<Start>,
}

/// Leave to be under way; dropping it lets the next one in.
pub(super) struct Turn(Arc<Gate>);

impl Gate {
    /// A gate for `width` at once, at least one.
    pub(super) fn new(width: usize) -> Arc<Gate> {
        let state = State { free: width.max(1), urgent: VecDeque::new(), rest: VecDeque::new() };
        Arc::new(Gate { state: Mutex::new(state) })
    }

    /// Calls `start` as soon as there is room: now, or from the thread that makes room.
    pub(super) fn enter(self: &Arc<Self>, urgent: bool, start: Start) {
        {
            let mut state = self.state.lock();
            if state.free == 0 {
                let queue = if urgent { &mut state.urgent } else { &mut state.rest };
                return queue.push_back(start);
            }
            state.free -= 1;
        }
        start(Turn(Arc::clone(self)));
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        let next = state.urgent.pop_front().or_else(|| state.rest.pop_front());
        let Some(next) = next else {
            state.free += 1;
            return;
        };
        drop(state);
        next(Turn(Arc::clone(&self.0)));
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
}
