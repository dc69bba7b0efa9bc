//! The thread that opens what lists name, ahead of their readers, and tells it to the core.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use forebay_core::{Extent, ToldId};
use forebay_source::{BLOCK, Error, Result};

use super::{Ahead, Lists, Named, Opened, Slot, State, Told, is_linked};
use crate::site::Located;
use crate::tree::{Branch, Tree};
use crate::world::{Bell, Pause};

/// Files of a list that are open ahead of its readers, at most.
const WINDOW: usize = 512;

/// Opens under way, at most.
const AT_ONCE: usize = 64;

/// A folder of which so many names come next is listed first: one look at the folder answers the
/// look-ups of all its names.
const WORTH_A_LISTING: usize = 16;

/// How often it is looked whether readers have gone on; twice as long each time that they have not,
/// up to the longest.
const LOOKS: Duration = Duration::from_millis(10);
const LONGEST: Duration = Duration::from_secs(1);

/// Bytes of a chunk of the core: what an item of its window names at most.
const ITEM: u64 = 64 * BLOCK as u64;

/// Starts it. It ends when there is nothing left to do, or the tree is gone.
pub(super) fn start(tree: &Arc<Tree>) -> io::Result<Bell> {
    let weak = Arc::downgrade(tree);
    let mut pause = LOOKS;
    tree.engine().world().spawn("forebay-told", Box::new(move || round(&weak, &mut pause)))
}

/// Works on all lists, and says when that is worth while again.
fn round(tree: &Weak<Tree>, pause: &mut Duration) -> Pause {
    let Some(tree) = tree.upgrade() else { return Pause::Over };
    let moved = work(&tree);
    let mut state = tree.lists().state.lock();
    if !moved && state.is_idle() {
        state.bell = None;
        return Pause::Over;
    }
    *pause = if moved { LOOKS } else { (*pause * 2).min(LONGEST) };
    // A tree that is dropped meanwhile goes with this.
    if moved || !state.opened.is_empty() { Pause::None } else { Pause::For(*pause) }
}

impl State {
    /// Whether nothing waits for anything.
    fn is_idle(&self) -> bool {
        let done = |told: &Told| told.names.len() == 0 && told.window.is_empty();
        self.over.is_empty() && self.opening == 0 && self.opened.is_empty() && self.lists.values().all(done)
    }

    fn by_id(&mut self, id: ToldId) -> Option<&mut Told> {
        self.lists.values_mut().find(|told| told.id == id)
    }
}

/// One round. Whether anything came of it.
fn work(tree: &Arc<Tree>) -> bool {
    let lists = tree.lists();
    let over = std::mem::take(&mut lists.state.lock().over);
    over.iter().for_each(|&id| tree.engine().untell(id));
    let mut moved = !over.is_empty();
    moved |= take_in(tree, lists);
    moved |= let_go(tree, lists);
    moved |= tell(tree, lists);
    moved | open(tree, lists)
}

/// Takes in the opens that have ended.
fn take_in(tree: &Arc<Tree>, lists: &Lists) -> bool {
    let opened = std::mem::take(&mut lists.state.lock().opened);
    let any = !opened.is_empty();
    for Opened { id, number, path, object } in opened {
        // Not under the lock: it may ask the file system.
        let object = match object {
            // Sources that have links are of this machine, so this does not take long.
            Err(error) if is_linked(&error) => tree.linked(&path),
            object => object,
        };
        let held = object.map(|it| tree.engine().hold(it.object, it.device));
        let mut state = lists.state.lock();
        state.opening -= 1;
        let Some(told) = state.by_id(id) else { continue };
        let at = number.checked_sub(told.passed).and_then(|at| usize::try_from(at).ok());
        let Some(slot) = at.and_then(|at| told.window.get_mut(at)) else { continue };
        match held {
            Ok(held) => {
                let range = slot.range.clone().unwrap_or(0..u64::MAX);
                let end = range.end.min(held.size());
                slot.ahead = Ahead::Open { told: range.start.min(end), end, held };
            }
            Err(error) => {
                log::debug!("told list: {}: {error}", path.display());
                slot.ahead = Ahead::Missing;
                told.misses(path.display().to_string());
            }
        }
    }
    any
}

/// Lets go of files that their readers have passed.
fn let_go(tree: &Arc<Tree>, lists: &Lists) -> bool {
    let (_, views) = tree.engine().lists(ToldId(0));
    // Closing may take its time, so nothing is locked then.
    let (mut gone, mut ended): (Vec<Slot>, Vec<Told>) = (Vec::new(), Vec::new());
    let mut state = lists.state.lock();
    // A list that the core does not know any more is over.
    let known = |told: &Told| told.extents == 0 || views.iter().any(|view| view.list == told.id);
    let over: Vec<String> = state.lists.iter().filter(|(_, told)| !known(told)).map(|(name, _)| name.clone()).collect();
    ended.extend(over.iter().filter_map(|name| state.lists.remove(name)));
    for told in state.lists.values_mut() {
        told.sees(&views);
        while told.window.front().is_some_and(|slot| told.has_passed(slot)) {
            if let Some(slot) = told.window.pop_front() {
                told.passed += 1;
                gone.push(slot);
            }
        }
    }
    drop(state);
    !gone.is_empty() || !ended.is_empty()
}

/// Tells the core what is open, in order, as far as it has room.
fn tell(tree: &Arc<Tree>, lists: &Lists) -> bool {
    let ids: Vec<ToldId> = lists.state.lock().lists.values().map(|told| told.id).collect();
    let mut any = false;
    for id in ids {
        let (room, _) = tree.engine().lists(id);
        let mut state = lists.state.lock();
        let Some(told) = state.by_id(id) else { continue };
        let extents = next(told, room);
        drop(state);
        if !extents.is_empty() {
            tree.engine().tell_list(id, &extents);
            any = true;
        }
    }
    any
}

/// The next extents of a list, of at most so many items of the core.
fn next(told: &mut Told, room: u32) -> Vec<Extent> {
    let (mut extents, mut left) = (Vec::new(), u64::from(room));
    for slot in &mut told.window {
        if slot.extents.is_some() {
            continue;
        }
        match &mut slot.ahead {
            Ahead::Opening => break,
            Ahead::Missing => continue,
            Ahead::Open { held, told: from, end } => {
                if from < end {
                    // One more, since it may not begin where an item does.
                    let Some(items) = left.checked_sub(1).filter(|&items| items > 0) else { break };
                    let upto = (*end).min(from.saturating_add(items.saturating_mul(ITEM)));
                    left = left.saturating_sub(1 + (upto - *from).div_ceil(ITEM));
                    extents.push(held.blocks(*from, upto));
                    told.extents = told.extents.wrapping_add(1);
                    *from = upto;
                    if upto < *end {
                        break;
                    }
                }
                slot.extents = Some(told.extents);
            }
        }
    }
    extents
}

/// A name to be opened.
struct Next {
    id: ToldId,
    number: u64,
    named: Named,
}

/// Opens what comes next.
fn open(tree: &Arc<Tree>, lists: &Lists) -> bool {
    let mut state = lists.state.lock();
    let mut next: Vec<Next> = Vec::new();
    let mut free = AT_ONCE.saturating_sub(state.opening);
    for told in state.lists.values_mut() {
        while free > 0 && told.window.len() < WINDOW {
            let Some(named) = told.names.pop() else { break };
            let number = told.passed + told.window.len() as u64;
            told.window.push_back(Slot { ahead: Ahead::Opening, range: named.range.clone(), extents: None });
            next.push(Next { id: told.id, number, named });
            free -= 1;
        }
    }
    state.opening += next.len();
    drop(state);
    list_first(tree, &next);
    let any = !next.is_empty();
    for Next { id, number, named: Named { path, .. } } in next {
        let within = tree.within(&path);
        let weak = Arc::downgrade(tree);
        let ended = move |object| {
            let Some(tree) = Weak::upgrade(&weak) else { return };
            let lists = tree.lists();
            let mut state = lists.state.lock();
            state.opened.push(Opened { id, number, path, object });
            let bell = state.bell.clone();
            drop(state);
            bell.inspect(|bell| bell());
        };
        match within {
            None => ended(Err(Error::NotFound(String::new()))),
            Some((branch, inside)) => {
                let Branch { source, device, .. } = &tree.branches()[branch];
                let device = *device;
                let then = move |object: Result<_>| ended(object.map(|object| Located { device, object }));
                source.open_then(&inside, Box::new(then));
            }
        }
    }
    any
}

/// Lists the folders of which many names come next, if their source is asked for each name.
fn list_first(tree: &Arc<Tree>, next: &[Next]) {
    let mut listed: Vec<&Path> = Vec::new();
    for Next { named, .. } in next {
        let Some(folder) = named.path.parent().filter(|folder| !listed.contains(folder)) else { continue };
        listed.push(folder);
        let named_in = next.iter().filter(|other| other.named.path.parent() == Some(folder)).count();
        if named_in < WORTH_A_LISTING {
            continue;
        }
        let Some((branch, path)) = tree.within(&named.path) else { continue };
        let source = &tree.branches()[branch].source;
        let inside: PathBuf = path.parent().map(Path::to_owned).unwrap_or_default();
        // A source of this machine answers at once, and remembers nothing.
        if source.stat(&inside).is_ok_and(|found| found.told.is_some())
            && let Err(error) = source.listing(&inside)
        {
            log::debug!("told list: the folder {}: {error}", inside.display());
        }
    }
}
