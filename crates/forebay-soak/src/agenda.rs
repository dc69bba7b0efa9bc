//! The simulated world: what happens when. One thread does one job after the other; time passes
//! only between jobs, and the seed says in which order simultaneous ones are done.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use forebay_core::Instant;
use forebay_live::world::{Bell, Job, Pause, Rounds, World};
use parking_lot::Mutex;

use crate::dice::{Dice, Who};

/// When a job is due: the moment, a draw among equals, and the order of arrival.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Due {
    at: Instant,
    drawn: u64,
    number: u64,
}

struct Jobs {
    now: Instant,
    number: u64,
    dice: Dice,
    due: BTreeMap<Due, Job>,
}

/// The world of one life. Its copies are the same world.
#[derive(Clone)]
pub(crate) struct Agenda {
    jobs: Arc<Mutex<Jobs>>,
}

impl Agenda {
    /// An empty agenda at the beginning of time.
    pub(crate) fn new(seed: u64) -> Agenda {
        let dice = Dice::of(seed, Who::Agenda);
        Agenda { jobs: Arc::new(Mutex::new(Jobs { now: Instant(0), number: 0, dice, due: BTreeMap::new() })) }
    }

    /// Does the next job. `false` if there is none.
    pub(crate) fn step(&self) -> bool {
        let mut jobs = self.jobs.lock();
        let Some((due, job)) = jobs.due.pop_first() else { return false };
        assert!(due.at >= jobs.now, "time goes backwards");
        jobs.now = due.at;
        drop(jobs);
        job();
        true
    }

    /// Does `job` so many nanoseconds from now.
    pub(crate) fn later(&self, nanoseconds: u64, job: impl FnOnce() + Send + 'static) {
        let mut jobs = self.jobs.lock();
        jobs.number += 1;
        let due = Due { at: jobs.now.plus(nanoseconds), drawn: jobs.dice.below(1 << 16), number: jobs.number };
        jobs.due.insert(due, Box::new(job));
    }

    /// Has the next round of a task done so many nanoseconds from now, and at no other time.
    fn round(&self, task: &Arc<Task>, nanoseconds: u64) {
        let mut state = task.state.lock();
        state.ticket += 1;
        let (ticket, agenda, next) = (state.ticket, self.clone(), Arc::clone(task));
        drop(state);
        self.later(nanoseconds, move || agenda.work(&next, ticket));
    }

    fn work(&self, task: &Arc<Task>, ticket: u64) {
        let mut state = task.state.lock();
        if state.ticket != ticket {
            return;
        }
        let Some(mut rounds) = state.rounds.take() else { return };
        drop(state);
        let pause = rounds();
        let mut state = task.state.lock();
        if pause == Pause::Over {
            return;
        }
        state.rounds = Some(rounds);
        let rung = state.ticket != ticket;
        drop(state);
        match pause {
            // The bell rang meanwhile: the next round is on the agenda.
            _ if rung => {}
            Pause::For(pause) => self.round(task, pause.as_nanos() as u64),
            _ => self.round(task, 0),
        }
    }
}

impl World for Agenda {
    fn now(&self) -> Instant {
        self.jobs.lock().now
    }

    fn after(&self, delay: Duration, job: Job) {
        self.later(delay.as_nanos() as u64, job);
    }

    fn spawn(&self, _name: &str, rounds: Rounds) -> io::Result<Bell> {
        let task = Arc::new(Task { state: Mutex::new(Rest { ticket: 0, rounds: Some(rounds) }) });
        self.round(&task, 0);
        let agenda = self.clone();
        Ok(Arc::new(move || agenda.round(&task, 0)))
    }
}

/// Work in rounds.
struct Task {
    state: Mutex<Rest>,
}

struct Rest {
    /// The round that is on the agenda; those before it do not count any more.
    ticket: u64,
    /// `None` while a round is worked on, and once it was the last.
    rounds: Option<Rounds>,
}
