//! Readers: each opens, reads, seeks, closes in the midst, tells what it will read, and goes away,
//! as its own draws have it.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use forebay_core::{Caller, ContextId, HandlerId, Instant};
use forebay_live::engine::OpenFile;
use forebay_source::{BLOCK, Label};

use crate::bounds::Fault;
use crate::dice::{Dice, Who};
use crate::reference::Edition;
use crate::scenario::Scenario;

/// A file that a reader has open.
#[derive(Clone)]
pub(crate) struct Opened {
    pub(crate) file: Arc<OpenFile>,
    pub(crate) edition: Edition,
}

/// How a reader goes through a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Walk {
    Forwards,
    Backwards,
    Strided(u64),
    Anywhere,
}

/// A read, by its reader.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    pub(crate) reader: u32,
    /// Which of the reader's opens it is of.
    pub(crate) visit: u64,
    pub(crate) edition: Edition,
    pub(crate) offset: u64,
    pub(crate) len: usize,
    pub(crate) since: Instant,
    pub(crate) caller: Caller,
    pub(crate) label: Option<Label>,
    /// How long the bytes are held, in nanoseconds, if they are.
    pub(crate) held: Option<u64>,
}

/// A file to be read, and the part of it, where a list says so.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) file: u32,
    pub(crate) range: Option<Range<u64>>,
}

/// A step of a reader.
pub(crate) enum Step {
    /// Thinks on.
    Nothing,
    /// Opens a file.
    Open(u32),
    Read(Opened, Box<Reading>),
    /// Tells a list, which it follows from then on; `true` replaces what it told before.
    Tell(Vec<Entry>, bool),
    /// Takes its list back.
    Untell,
    Close(Opened),
}

/// A reader.
pub(crate) struct Reader {
    number: u32,
    dice: Dice,
    handler: u32,
    context: u32,
    opened: Option<Opened>,
    opening: bool,
    visit: u64,
    walk: Walk,
    next: u64,
    /// The part of the file that it reads.
    part: Range<u64>,
    /// The most bytes of a read.
    longest: u64,
    /// Reads under way, and how many there may be.
    under_way: u32,
    depth: u32,
    /// The file that it had open last.
    last: u32,
    /// Files that it has told, and not read yet.
    plan: VecDeque<Entry>,
    tells: bool,
}

impl Reader {
    pub(crate) fn new(number: u32, seed: u64, scenario: &Scenario) -> Reader {
        let mut dice = Dice::of(seed, Who::Reader(u64::from(number)));
        let longest = dice.scale(scenario.reads, 2 << 20);
        let depth = if dice.chance(700) { 1 } else { dice.from(2, 6) as u32 };
        let tells = dice.chance(500);
        Reader {
            number,
            dice,
            handler: number + 1,
            context: 0,
            opened: None,
            opening: false,
            visit: 0,
            walk: Walk::Forwards,
            next: 0,
            part: 0..0,
            longest,
            under_way: 0,
            depth,
            last: 0,
            plan: VecDeque::new(),
            tells,
        }
    }

    /// How long it thinks now, in nanoseconds.
    pub(crate) fn thinks(&mut self) -> u64 {
        match self.dice.below(50) {
            0 => self.dice.scale(1_000_000_000, 100_000_000_000),
            1..5 => self.dice.scale(1_000_000, 1_000_000_000),
            _ => self.dice.scale(100, 4_000_000),
        }
    }

    /// Its next step.
    pub(crate) fn steps(&mut self, scenario: &Scenario, now: Instant) -> Step {
        if self.opening {
            return Step::Nothing;
        }
        let away = self.dice.chance(scenario.often(Fault::Away) / 4);
        let Some(opened) = self.opened.clone() else { return self.begins(scenario) };
        let done = self.part.is_empty() || !self.part.contains(&self.next);
        if away {
            return self.goes_away().map_or(Step::Nothing, Step::Close);
        }
        if done && self.under_way == 0 {
            if self.plan.is_empty() && self.dice.chance(300) {
                self.next = self.part.start;
                return Step::Nothing;
            }
            return self.closes().map_or(Step::Nothing, Step::Close);
        }
        if done || self.under_way >= self.depth {
            return Step::Nothing;
        }
        if self.plan.is_empty() && self.dice.chance(40) {
            self.next = self.dice.from(self.part.start, self.part.end - 1);
        }
        let reading = self.reads(&opened, scenario, now);
        self.under_way += 1;
        Step::Read(opened, Box::new(reading))
    }

    /// It has no file open: it takes the next of its list, or any.
    fn begins(&mut self, scenario: &Scenario) -> Step {
        let files = scenario.files.len() as u64;
        let told = self.dice.chance(scenario.often(Fault::Told));
        if self.tells && told {
            if self.dice.chance(100) {
                self.plan.clear();
                return Step::Untell;
            }
            let (replaces, count) = (self.dice.chance(600), self.dice.scale(1, 100));
            let entries: Vec<Entry> = (0..count).map(|_| self.entry(files)).collect();
            if replaces {
                self.plan.clear();
            }
            self.plan.extend(entries.iter().cloned());
            return Step::Tell(entries, replaces);
        }
        // Some of what is told is never read.
        let skips = self.dice.chance(80);
        if skips {
            self.plan.pop_front();
        }
        let (any, returns) = (self.dice.below(files) as u32, self.dice.chance(200));
        let any = if returns { self.last } else { any };
        let file = self.plan.front().map_or(any, |entry| entry.file);
        (self.opening, self.last) = (true, file);
        Step::Open(file)
    }

    fn entry(&mut self, files: u64) -> Entry {
        let file = self.dice.below(files) as u32;
        let start = self.dice.below(1 << 20);
        let range = self.dice.chance(300).then(|| start..start + self.dice.scale(1, 1 << 20));
        Entry { file, range }
    }

    /// Its file is open.
    pub(crate) fn has_opened(&mut self, opened: Opened) {
        let size = opened.file.size();
        self.opening = false;
        self.visit += 1;
        let planned = self.plan.pop_front();
        let told = planned.is_some();
        let part = planned.and_then(|entry| entry.range).unwrap_or(0..size);
        self.part = part.start.min(size)..part.end.min(size);
        let stride = self.dice.scale(BLOCK as u64, 1 << 20);
        self.walk = match self.dice.below(10) {
            _ if told => Walk::Forwards,
            0..6 => Walk::Forwards,
            6 => Walk::Backwards,
            7 => Walk::Strided(stride),
            _ => Walk::Anywhere,
        };
        self.next = if self.walk == Walk::Backwards { self.part.end.saturating_sub(1) } else { self.part.start };
        self.context = self.dice.below(6) as u32;
        self.opened = Some(opened);
    }

    /// Its file could not be opened.
    pub(crate) fn has_not_opened(&mut self) {
        self.opening = false;
        self.plan.pop_front();
    }

    fn reads(&mut self, opened: &Opened, scenario: &Scenario, now: Instant) -> Reading {
        let left = self.part.end - self.next;
        let len = self.dice.scale(1, self.longest);
        let mut offset = self.next;
        match self.walk {
            Walk::Forwards => self.next += len.min(left),
            Walk::Backwards => {
                offset = self.next.saturating_sub(len).max(self.part.start);
                // Before the beginning there is nothing left.
                self.next = if offset == self.part.start { self.part.end } else { offset };
            }
            Walk::Strided(stride) => self.next += stride,
            Walk::Anywhere => self.next = self.dice.from(self.part.start, self.part.end),
        }
        let len = len.min(self.part.end - offset);
        let (labelled, holds) =
            (self.dice.chance(scenario.often(Fault::Label)), self.dice.chance(scenario.often(Fault::Lease)));
        let (wanted, hits) = (self.dice.below(len + 1), self.dice.below(1 << 18));
        let hits = offset.saturating_sub(hits)..offset;
        let label = labelled.then(|| Label { demand: offset..offset + wanted, hits });
        let held = self.dice.scale(1000, 10_000_000_000);
        let caller = Caller { handler: HandlerId(self.handler), context: ContextId(self.context) };
        let (reader, visit, edition) = (self.number, self.visit, opened.edition);
        let held = holds.then_some(held);
        Reading { reader, visit, edition, offset, len: len as usize, since: now, caller, label, held }
    }

    /// A read of it is over. Whether its file is still the one that it was of.
    pub(crate) fn is_answered(&mut self, reading: &Reading) -> bool {
        self.under_way -= 1;
        self.opened.is_some() && self.visit == reading.visit
    }

    /// Closes its file, also while it reads.
    pub(crate) fn closes(&mut self) -> Option<Opened> {
        self.opened.take()
    }

    /// Goes away; another one comes in its place.
    fn goes_away(&mut self) -> Option<Opened> {
        self.handler += 1000;
        self.plan.clear();
        self.closes()
    }
}
