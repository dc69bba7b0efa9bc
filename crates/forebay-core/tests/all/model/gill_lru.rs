//! Gill and Bathen's list as a vector, next to go first: each block with whether it is unread, and
//! old.

use std::collections::BTreeSet;

use super::Twin;

#[derive(Clone, Copy, PartialEq, Eq)]
struct Page {
    block: u32,
    unread: bool,
    old: bool,
}

pub(crate) struct GillLru {
    capacity: usize,
    pages: Vec<Page>,
}

impl GillLru {
    fn page(&mut self, block: u32) -> &mut Page {
        self.pages.iter_mut().find(|page| page.block == block).expect("only residents are spoken of")
    }
}

impl Twin for GillLru {
    fn new(capacity: usize) -> GillLru {
        GillLru { capacity, pages: Vec::new() }
    }

    fn hit(&mut self, block: u32) {
        let page = *self.page(block);
        self.pages.retain(|other| other.block != block);
        self.pages.push(page);
    }

    fn first_use(&mut self, block: u32) {
        self.page(block).unread = false;
    }

    fn prefetched(&mut self, block: u32) {
        self.page(block).unread = true;
    }

    fn admit(&mut self, block: u32, held: &BTreeSet<u32>) -> bool {
        if self.pages.len() == self.capacity {
            loop {
                let next = self.pages.iter().position(|page| !held.contains(&page.block));
                let Some(next) = next else { return false };
                let page = self.pages.remove(next);
                if !page.unread || page.old {
                    break;
                }
                self.pages.push(Page { old: true, ..page });
            }
        }
        self.pages.push(Page { block, unread: false, old: false });
        true
    }

    fn forget(&mut self, block: u32) {
        self.pages.retain(|other| other.block != block);
    }

    fn residents(&self) -> BTreeSet<u32> {
        self.pages.iter().map(|page| page.block).collect()
    }
}
