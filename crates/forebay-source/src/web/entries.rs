//! The links of a page that are names of its folder, rather than of the frame around the listing.
//!
//! Links count by their place: where a page has its names between `<pre>` and `</pre>`, in a table
//! or in a list, links beside that are a header's or a footer's. A place counts if the link to the
//! folder above is in it, or if it has at least as many links as there are names beside it. A link
//! to another host counts only if all names have another host, as behind a proxy.

use html5gum::StartTag;

/// The kinds of place, in the order in which they are tried, and what is in none of them.
const PLACES: usize = 4;

/// How many classes there are: see [`Class`].
pub(super) const CLASSES: usize = 2 * PLACES;

/// The place of a link, and whether its host is another one. A page is read once, so names are kept
/// apart by class until its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Class {
    place: usize,
    foreign: bool,
}

/// The target of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Target {
    /// A name of the folder.
    Name,
    /// The folder above.
    Above,
    /// Something else.
    Other,
}

/// The classes of names that count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Classes([bool; CLASSES]);

/// The places that are open, and the links that have been seen.
#[derive(Debug, Default)]
pub(super) struct Entries {
    /// How many elements of each place are open.
    open: [u32; PLACES - 1],
    /// How many templates are open, in which nothing counts.
    templates: u32,
    seen: [Seen; PLACES],
}

/// The links in one kind of place.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    links: u64,
    /// Names by the host of the page, and by another one.
    names: u64,
    foreign: u64,
    above: bool,
}

impl Class {
    /// Its number, less than [`CLASSES`].
    pub(super) fn number(self) -> usize {
        2 * self.place + usize::from(self.foreign)
    }
}

impl Classes {
    /// Names of all classes count.
    pub(super) const ALL: Classes = Classes([true; CLASSES]);

    /// Whether names of the class with this number count.
    pub(super) fn has(self, number: usize) -> bool {
        self.0.get(number).is_some_and(|&counts| counts)
    }
}

impl Entries {
    pub(super) fn opens(&mut self, tag: &StartTag<()>) {
        match tag.name.as_slice() {
            // Nothing closes one that closes itself.
            _ if tag.self_closing => {}
            b"template" => self.templates += 1,
            name => self.open_mut(name).into_iter().for_each(|open| *open += 1),
        }
    }

    pub(super) fn closes(&mut self, name: &[u8]) {
        match name {
            b"template" => self.templates = self.templates.saturating_sub(1),
            name => self.open_mut(name).into_iter().for_each(|open| *open = open.saturating_sub(1)),
        }
    }

    fn open_mut(&mut self, name: &[u8]) -> Option<&mut u32> {
        let place = match name {
            b"pre" => 0,
            b"table" => 1,
            b"ul" | b"ol" => 2,
            _ => return None,
        };
        self.open.get_mut(place)
    }

    /// Counts a link; returns its class, unless it counts for nothing.
    pub(super) fn links(&mut self, target: Target, foreign: bool) -> Option<Class> {
        if self.templates > 0 {
            return None;
        }
        let place = self.open.iter().position(|&open| open > 0).unwrap_or(PLACES - 1);
        let seen = &mut self.seen[place];
        seen.links += 1;
        match target {
            Target::Name if foreign => seen.foreign += 1,
            Target::Name => seen.names += 1,
            Target::Above => seen.above = true,
            Target::Other => {}
        }
        Some(Class { place, foreign })
    }

    /// The classes that count, once the page has ended. `root` tells whether the folder is the root
    /// of its server, where a link to any host may look like one to a name.
    pub(super) fn classes(&self, root: bool) -> Classes {
        let names = |seen: &Seen| seen.names + seen.foreign;
        let all: u64 = self.seen.iter().map(names).sum();
        let place = self.seen[..PLACES - 1].iter().position(|seen| {
            let beside = all - names(seen);
            seen.links > 0 && (seen.above || seen.links >= beside)
        });
        let mut counts = Classes([false; CLASSES]);
        let kept = |number: &usize| place.is_none_or(|place| place == *number);
        let own: u64 = (0..PLACES).filter(kept).map(|number| self.seen[number].names).sum();
        let others: u64 = (0..PLACES).filter(kept).map(|number| self.seen[number].foreign).sum();
        let links: u64 = (0..PLACES).filter(kept).map(|number| self.seen[number].links).sum();
        let foreign = own == 0 && (!root || links == others);
        for number in (0..PLACES).filter(kept) {
            counts.0[2 * number] = true;
            counts.0[2 * number + 1] = foreign;
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_counts_by_its_link_upwards_or_by_the_number_of_its_links() {
        // Links in a place and beside it, whether one leads upwards, and what counts.
        for (inside, beside, above, counts) in
            [(3, 1, false, [true, false]), (1, 3, false, [false, true]), (0, 3, true, [true, false])]
        {
            let mut entries = Entries::default();
            entries.open[1] = 1;
            (0..inside).for_each(|_| assert!(entries.links(Target::Name, false).is_some()));
            if above {
                entries.links(Target::Above, false);
            }
            entries.open[1] = 0;
            (0..beside).for_each(|_| assert!(entries.links(Target::Name, false).is_some()));
            let classes = entries.classes(false);
            let [table, none] = [1, 3].map(|place| classes.has(Class { place, foreign: false }.number()));
            // Where no place counts, all links do.
            assert_eq!([table && !none, none], counts, "{inside} {beside} {above}");
        }
    }
}
