//! The readers: handlers that run tasks (a closed loop), or one reader for each arriving request
//! (an open one). They choose the next request and the pause before it, and share the processors.

use std::collections::VecDeque;

use forebay_core::Instant;
use forebay_trace::Workload;

use super::setup::Load;

/// A handler, or the reader of one request of an open loop.
#[derive(Clone, Debug, Default)]
pub(super) struct Reader {
    /// Its request, by its place in the trace.
    pub(super) entry: u32,
    /// When it asked.
    pub(super) begun: Instant,
    /// Its task; the rest of its requests are at the places `next..end`.
    pub(super) task: u32,
    next: u32,
    end: u32,
    /// When the task began; `None` before its first request.
    pub(super) task_begun: Option<Instant>,
    /// The files that the task has open.
    pub(super) files: Vec<u32>,
    /// Devices that are still at work on its write.
    pub(super) writing: u32,
    /// When the consumer has taken each of the task's last answers, as many as its buffer holds.
    taken: VecDeque<Instant>,
}

impl Reader {
    /// When a buffer of so many answers has room again, if an answer came now that the consumer
    /// needs so many nanoseconds for.
    fn room(&mut self, now: Instant, think: u64, buffered: usize) -> Instant {
        let begins = self.taken.back().map_or(now, |&last| last.max(now));
        self.taken.push_back(begins.plus(think));
        let oldest = if self.taken.len() == buffered { self.taken.pop_front() } else { None };
        oldest.unwrap_or(now).max(now)
    }
}

/// A reader's next step after an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Next {
    /// Asks again after so many nanoseconds.
    Ask(u64),
    /// Its task is over. Asks again, for the next one, after so many nanoseconds.
    Task(u64),
    /// Its task is over, and no other is left.
    Rest,
}

/// All readers.
pub(super) struct Readers {
    all: Vec<Reader>,
    free: Vec<u32>,
    /// How many are not at rest.
    pub(super) busy: u32,
    next_task: u32,
    tasks: u32,
    think: Option<u64>,
    /// Whether the trace gives think times.
    traced: bool,
    /// How many answers are buffered for a consumer.
    buffered: usize,
    /// For an open loop: requests in the order of their times, and which is next.
    arrivals: Vec<u32>,
    next_arrival: usize,
    speed: f64,
}

impl Readers {
    pub(super) fn new(load: &Load, buffered: u32, workload: &Workload) -> Readers {
        let tasks = workload.tasks() as u32;
        let mut readers = Readers {
            all: Vec::new(),
            free: Vec::new(),
            busy: 0,
            next_task: 0,
            tasks,
            think: None,
            traced: workload.is_timed(),
            buffered: buffered.max(1) as usize,
            arrivals: Vec::new(),
            next_arrival: 0,
            speed: 1.0,
        };
        match *load {
            Load::Closed { handlers, think_ns, .. } => {
                readers.think = think_ns;
                readers.all = vec![Reader::default(); handlers.min(tasks) as usize];
                for reader in 0..readers.all.len() as u32 {
                    readers.take_task(reader, workload);
                }
                readers.busy = readers.all.len() as u32;
            }
            Load::Open { speed } => {
                readers.speed = speed;
                readers.arrivals = workload.by_time();
            }
        }
        readers
    }

    pub(super) fn get(&self, reader: u32) -> &Reader {
        &self.all[reader as usize]
    }

    pub(super) fn get_mut(&mut self, reader: u32) -> &mut Reader {
        &mut self.all[reader as usize]
    }

    /// How many handlers a closed loop has.
    pub(super) fn handlers(&self) -> u32 {
        self.all.len() as u32
    }

    /// When the next request of an open loop comes.
    pub(super) fn next_arrival(&self, workload: &Workload) -> Option<Instant> {
        let &place = self.arrivals.get(self.next_arrival)?;
        let at = workload.entry(place).at;
        Some(Instant(if self.speed == 1.0 { at } else { (at as f64 / self.speed) as u64 }))
    }

    /// It has come. Returns its reader.
    pub(super) fn arrive(&mut self) -> u32 {
        let entry = self.arrivals[self.next_arrival];
        self.next_arrival += 1;
        self.busy += 1;
        let reader = self.free.pop().unwrap_or_else(|| {
            self.all.push(Reader::default());
            self.all.len() as u32 - 1
        });
        // Its one request is a task with no further requests.
        self.all[reader as usize].entry = entry;
        reader
    }

    /// Whether no reader will ask any more.
    pub(super) fn are_done(&self) -> bool {
        self.busy == 0 && self.next_arrival >= self.arrivals.len()
    }

    /// A reader's next step after an answer that it has now.
    pub(super) fn go_on(&mut self, reader: u32, now: Instant, workload: &Workload) -> Next {
        let state = &mut self.all[reader as usize];
        if state.next < state.end {
            let before = workload.entry(state.entry).at;
            state.entry = workload.in_task(state.next);
            state.next += 1;
            let traced = if self.traced { workload.entry(state.entry).at.saturating_sub(before) } else { 0 };
            let think = self.think.unwrap_or(traced);
            return Next::Ask(state.room(now, think, self.buffered).since(now));
        }
        if self.take_task(reader, workload) {
            return Next::Task(self.think.unwrap_or(0));
        }
        self.busy -= 1;
        self.free.push(reader);
        Next::Rest
    }

    /// A handler takes the next task, if one is left.
    fn take_task(&mut self, reader: u32, workload: &Workload) -> bool {
        if !self.arrivals.is_empty() || self.next_task >= self.tasks {
            return false;
        }
        let places = workload.task(self.next_task);
        let state = &mut self.all[reader as usize];
        (state.task, state.task_begun) = (self.next_task, None);
        state.taken.clear();
        state.entry = workload.in_task(places.start);
        (state.next, state.end) = (places.start + 1, places.end);
        self.next_task += 1;
        true
    }
}

/// Processors: first come, first served.
pub(super) struct Processors {
    /// Nanoseconds of computation after every answer, and for each KiB of it.
    time: u64,
    per_kib: u64,
    free: u32,
    line: VecDeque<u32>,
}

impl Processors {
    pub(super) fn new(load: &Load) -> Processors {
        let (time, per_kib, free) = match *load {
            Load::Closed { cpu_ns, cpu_ns_per_kib, processors, .. } => (cpu_ns, cpu_ns_per_kib, processors),
            Load::Open { .. } => (0, 0, 0),
        };
        Processors { time, per_kib, free, line: VecDeque::new() }
    }

    /// How long a reader computes with an answer of `bytes`, nanoseconds.
    pub(super) fn time(&self, bytes: u32) -> u64 {
        self.time.saturating_add(self.per_kib.saturating_mul(bytes.into()) / 1024)
    }

    /// A reader wants one. `false`: it waits in line.
    pub(super) fn take(&mut self, reader: u32) -> bool {
        if self.free == 0 {
            self.line.push_back(reader);
            return false;
        }
        self.free -= 1;
        true
    }

    /// A processor falls free. Returns the reader that has it now.
    pub(super) fn release(&mut self) -> Option<u32> {
        let next = self.line.pop_front();
        self.free += u32::from(next.is_none());
        next
    }
}
