//! A trace's own future, told: what a reader that knows its order would say beforehand.
//!
//! Where handlers share one pool of tasks, the order of the pool is one list. Else each task is a
//! list, told when it begins.

use std::ops::Range;

use forebay_core::{EventKind, Extent, FileId, ToldId};
use forebay_trace::Workload;

use super::setup::{Load, Setup};

/// Which tasks tell the cache at level 0 what they will read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Told {
    /// None.
    #[default]
    Nobody,
    /// All of them.
    Everybody,
    /// All but the first so many.
    From(u32),
}

impl Told {
    /// The first task that tells.
    fn first(self) -> Option<u32> {
        match self {
            Told::Nobody => None,
            Told::Everybody => Some(0),
            Told::From(first) => Some(first),
        }
    }
}

/// The rest of a list.
#[derive(Clone, Debug)]
struct Rest {
    list: ToldId,
    /// Places of requests, tasks being in order.
    places: Range<u32>,
}

/// The lists, as far as they are not told yet.
#[derive(Debug, Default)]
pub(super) struct Lists {
    first: Option<u32>,
    pool: bool,
    rests: Vec<Rest>,
}

impl Lists {
    pub(super) fn new(setup: &Setup, workload: &Workload) -> Lists {
        let tasks = workload.tasks() as u32;
        let first = setup.told.first().filter(|&first| first < tasks);
        let pool = matches!(setup.load, Load::Closed { pool: true, .. }) || !workload.names_handlers();
        let whole = |first| Rest { list: ToldId(0), places: workload.task(first).start..workload.task(tasks - 1).end };
        Lists { first, pool, rests: first.filter(|_| pool).map(whole).into_iter().collect() }
    }

    /// A reader begins a task. Whether a list of its own begins with it.
    pub(super) fn begins(&mut self, reader: u32, task: u32, workload: &Workload) -> Option<ToldId> {
        self.first.filter(|&first| !self.pool && task >= first)?;
        let list = ToldId(reader);
        self.rests.retain(|rest| rest.list != list);
        self.rests.push(Rest { list, places: workload.task(task) });
        Some(list)
    }

    /// The next part of each list, for which `room` says how many items it may have. Says which
    /// file each event is about.
    pub(super) fn next(
        &mut self,
        workload: &Workload,
        block_bytes: u64,
        room: impl Fn(ToldId) -> u32,
    ) -> Vec<(u32, EventKind)> {
        let mut told = Vec::new();
        for Rest { list, places } in &mut self.rests {
            let mut left = room(*list);
            while places.start < places.end {
                let entry = workload.entry(workload.in_task(places.start));
                let (start, end) = (entry.offset / block_bytes, entry.end().div_ceil(block_bytes));
                let extent = Extent::between(FileId(entry.file()), start as u32, end as u32);
                let items = 2 + extent.len / 64;
                if items > left {
                    break;
                }
                places.start += 1;
                left -= items;
                if !entry.writes() {
                    told.push((entry.file(), EventKind::Told { list: *list, extent }));
                }
            }
        }
        self.rests.retain(|rest| !rest.places.is_empty());
        told
    }
}
