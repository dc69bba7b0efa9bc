//! A naive twin of the lists: every item in a vector for ever, and linear scans.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use proptest::prelude::*;

use super::list::SPAN;
use super::{LEAP, SKIP, Told};
use crate::types::{BlockKey, Extent, FileId, HandlerId, Instant, ToldId};

struct Item {
    file: FileId,
    chunk: u32,
    left: BTreeSet<u32>,
    entry: u32,
    examined: bool,
}

struct Head {
    handler: Option<u32>,
    at: usize,
    front: usize,
}

#[derive(Default)]
struct List {
    items: Vec<Item>,
    /// Items before this are forgotten.
    base: usize,
    heads: Vec<Head>,
    entries: u32,
    read: u64,
}

impl List {
    fn tells(&mut self, extent: Extent) {
        if self.heads.is_empty() {
            self.heads.push(Head { handler: None, at: 0, front: 0 });
        }
        let mut blocks: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for block in extent.start..extent.end() {
            blocks.entry(block / SPAN).or_default().insert(block);
        }
        for (chunk, left) in blocks {
            self.items.push(Item { file: extent.file, chunk, left, entry: self.entries, examined: false });
        }
        self.entries += 1;
    }

    fn is_read(&mut self, extent: Extent, handler: u32, absent: bool) -> bool {
        let mut wanted: BTreeSet<u32> = (extent.start..extent.end()).collect();
        let mut named = false;
        for chunk in extent.start / SPAN..=(extent.end() - 1) / SPAN {
            for at in self.base..self.items.len() {
                let reach = self.heads.iter().map(|head| head.front).max().unwrap_or(0);
                let item = &mut self.items[at];
                let far = !absent && at > reach + LEAP as usize;
                if far || item.file != extent.file || item.chunk != chunk {
                    continue;
                }
                let read: Vec<u32> = item.left.intersection(&wanted).copied().collect();
                for block in &read {
                    item.left.remove(block);
                    wanted.remove(block);
                }
                self.read += read.len() as u64;
                if !read.is_empty() {
                    named = true;
                    self.moves(handler, at + 1);
                }
            }
        }
        named
    }

    fn moves(&mut self, handler: u32, next: usize) {
        if let Some(head) = self.heads.iter_mut().find(|head| head.handler == Some(handler)) {
            (head.at, head.front) = (head.at.max(next), head.front.max(next));
        } else if let Some(head) = self.heads.iter_mut().find(|head| head.handler.is_none()) {
            *head = Head { handler: Some(handler), at: next, front: head.front.max(next) };
        } else {
            self.heads.push(Head { handler: Some(handler), at: next, front: next });
        }
    }

    fn least(&self) -> usize {
        self.heads.iter().map(|head| head.at).min().unwrap_or(0).max(self.base)
    }

    fn trim(&mut self) {
        let least = self.least();
        while self.base < least.min(self.items.len()) {
            let waits = !self.items[self.base].left.is_empty() && self.base + SKIP as usize >= least;
            if waits {
                return;
            }
            self.base += 1;
        }
    }

    fn passed(&self) -> u32 {
        self.items.get(self.least()).map_or(self.entries, |item| item.entry)
    }

    /// The place of the next item, how far from its reader.
    fn next(&mut self) -> Option<(usize, usize)> {
        let mut nearest: Option<(usize, usize)> = None;
        for head in &mut self.heads {
            head.front = head.front.max(self.base);
            while head.front < self.items.len() && self.items[head.front].examined {
                head.front += 1;
            }
            let distance = head.front.saturating_sub(head.at);
            if head.front < self.items.len() && nearest.is_none_or(|(_, least)| distance < least) {
                nearest = Some((head.front, distance));
            }
        }
        nearest
    }

    fn names(&self, key: BlockKey) -> bool {
        let named = |item: &Item| item.file == key.file() && item.left.contains(&key.block());
        self.items[self.base..].iter().any(named)
    }
}

#[derive(Clone, Debug)]
enum Step {
    Tell { list: u32, extent: Extent },
    Clear { list: u32 },
    Read { handler: u32, extent: Extent, absent: bool },
    Next,
    Keep { key: BlockKey },
}

fn extent(most: u32) -> impl Strategy<Value = Extent> {
    (0..3u32, 0..200u32, 1..=most).prop_map(|(file, start, len)| Extent { file: FileId(file), start, len })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0..2u32, extent(90)).prop_map(|(list, extent)| Step::Tell { list, extent }),
        1 => (0..2u32).prop_map(|list| Step::Clear { list }),
        6 => (0..3u32, extent(12), any::<bool>())
            .prop_map(|(handler, extent, absent)| Step::Read { handler, extent, absent }),
        6 => Just(Step::Next),
        3 => (0..3u32, 0..290u32).prop_map(|(file, block)| Step::Keep { key: BlockKey::new(FileId(file), block) }),
    ];
    proptest::collection::vec(step, 1..150)
}

fn take(told: &mut Told, twin: &mut BTreeMap<u32, List>, step: &Step) -> Result<(), TestCaseError> {
    match *step {
        Step::Tell { list, extent } => {
            told.tells(ToldId(list), extent, Instant(0));
            twin.entry(list).or_default().tells(extent);
        }
        Step::Clear { list } => {
            told.clears(ToldId(list));
            twin.remove(&list);
        }
        Step::Read { handler, extent, absent } => {
            let named = told.is_read(extent, HandlerId(handler), absent, Instant(0));
            let mut expected = false;
            for list in twin.values_mut() {
                expected |= list.is_read(extent, handler, absent);
            }
            prop_assert_eq!(named, expected);
            if named {
                twin.values_mut().for_each(List::trim);
            }
        }
        Step::Next => {
            let wanted = told.next(&[]);
            let next = twin.iter_mut().filter_map(|(&list, of)| of.next().map(|(at, distance)| (distance, list, at)));
            let next = next.min_by_key(|&(distance, list, _)| (distance, list));
            prop_assert_eq!(wanted.map(|it| it.list.0), next.map(|(_, list, _)| list));
            if let (Some(wanted), Some((_, list, at))) = (wanted, next) {
                let item = twin.get_mut(&list).map(|of| &mut of.items[at]).expect("it is there");
                let extent = wanted.extent();
                let names: BTreeSet<u32> = (extent.start..extent.end()).filter(|&it| wanted.names(it)).collect();
                prop_assert_eq!(&names, &item.left);
                item.examined = true;
                told.examines(&wanted);
            }
        }
        Step::Keep { key } => {
            prop_assert_eq!(told.keeps(key), twin.values().any(|list| list.names(key)));
            if told.is_kept(key) {
                let kept: Vec<BlockKey> = told.kept().collect();
                prop_assert_eq!(&kept, &[key]);
                told.lets_go(key, false);
            }
        }
    }
    while told.spends().is_some() {}
    told.check();
    let views: Vec<_> = told.views().iter().map(|it| (it.list.0, it.entries, it.read, it.passed)).collect();
    let expected: Vec<_> = twin.iter().map(|(&list, of)| (list, of.entries, of.read, of.passed())).collect();
    prop_assert_eq!(views, expected);
    Ok(())
}

proptest! {
    /// The lists and their twin agree, whatever is told, read and looked at.
    #[test]
    fn lists_are_as_their_twin(steps in steps()) {
        let (mut told, mut twin) = (Told::new(40_000), BTreeMap::new());
        for step in &steps {
            take(&mut told, &mut twin, step)?;
        }
    }
}
