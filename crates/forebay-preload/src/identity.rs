//! From a stack to the id of a context.
//!
//! An id is a hash of the program's build and of the return addresses, each as its module's build
//! and its offset in the module. So it is the same at any load address, and in the next run. Each
//! of the innermost 64 return addresses counts once, in order of first appearance, innermost first:
//! the depth of a recursion does not change its id. If the stack has 64 or more, addresses outside
//! of the outermost one that appears twice don't count either, since the depth decides how many of
//! them are seen. From the first address on that lies in no module (code made at run time), none
//! counts.

use std::cell::Cell;
use std::sync::atomic::Ordering;

use forebay_callers::{Chunk, Subject, Text, dictionary, mix};

use crate::memory;
use crate::process::{FILES, Process};
use crate::record::Note;
use crate::thread::Thread;
use crate::unwind::module::module_of;
use crate::unwind::rule::Cache;
use crate::unwind::{Addresses, DEEPEST, Trace};

/// Ids by the keys of traces.
static IDS: Cache<4096> = Cache::new();
/// Room for a line: 64 frames with long paths.
const LINE: usize = 32 << 10;

/// The id of the context that `trace` is in; 0 if nothing is known of it.
#[inline(always)]
pub(crate) fn of(process: &Process, thread: &Thread, trace: &Trace<'_>) -> u64 {
    match IDS.get(trace.key) {
        Some(id) => id,
        None => identify(process, thread, trace),
    }
}

#[cold]
#[inline(never)]
fn identify(process: &Process, thread: &Thread, trace: &Trace<'_>) -> u64 {
    let own = process.own.0..process.own.1;
    let count = distinct(trace.addresses, trace.count, |address| own.contains(&address));
    if count == 0 {
        return 0;
    }
    let (mut id, mut known) = (process.program, 0);
    for address in trace.addresses[..count].iter().map(Cell::get) {
        let Some(module) = module_of(address.wrapping_sub(1)) else { break };
        id = mix(id.rotate_left(11) ^ module.hash() ^ mix(address.wrapping_sub(module.base) as u64));
        known += 1;
    }
    let id = id.max(1);
    let frames = &trace.addresses[..known];
    if process.table.as_ref().is_some_and(|table| table.names(id)) {
        line(process, id, frames, |line| process.names().into_iter().for_each(|names| dictionary::append(names, line)));
    }
    if process.log().is_some() && process.young().contexts[id as usize % FILES].swap(id, Ordering::Relaxed) != id {
        let note = Note { process, thread, context: id, at: 0 };
        line(process, id, frames, |line| {
            note.write(Chunk::slots(line), |chunk| chunk.text(Subject::Context, id, line));
        });
    }
    IDS.put(trace.key, id);
    id
}

/// Keeps each address once, in order of first appearance, and returns how many. Of a stack that was
/// cut it keeps only those within its recursion. It leaves out those that are `not_meant`.
fn distinct(addresses: &Addresses, count: usize, not_meant: impl Fn(usize) -> bool) -> usize {
    // How many were kept when an address last appeared again.
    let (mut kept, mut within) = (0, 0);
    for at in 0..count.min(DEEPEST) {
        let address = addresses[at].get();
        if addresses[..kept].iter().any(|known| known.get() == address) {
            within = kept;
        } else if !not_meant(address) {
            addresses[kept].set(address);
            kept += 1;
        }
    }
    if count == DEEPEST && within > 0 { within } else { kept }
}

/// Writes the line of a context in memory that lasts as long as `used` takes.
fn line(process: &Process, id: u64, frames: &[Cell<usize>], used: impl FnOnce(&[u8])) {
    let Some(pages) = memory::pages(LINE) else { return };
    // SAFETY: fresh pages of this length.
    let mut text = Text::new(unsafe { std::slice::from_raw_parts_mut(pages, LINE) });
    text.digits(id, 16, 16);
    text.byte(b'\t');
    text.bytes(process.line());
    text.byte(b'\t');
    for (index, address) in frames.iter().map(Cell::get).enumerate() {
        let Some(module) = module_of(address.wrapping_sub(1)) else { break };
        if index > 0 {
            text.byte(b' ');
        }
        text.name(module.name().to_bytes());
        text.byte(b'@');
        module.build().write(&mut text);
        text.byte(b'+');
        text.hex(address.wrapping_sub(module.base) as u64);
    }
    text.byte(b'\n');
    if !text.is_full() {
        used(text.written());
    }
    // SAFETY: the pages of above; the text is not used any more.
    unsafe { memory::free(pages, LINE) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(addresses: &[usize]) -> Vec<usize> {
        let all = [const { Cell::new(0) }; DEEPEST];
        all.iter().zip(addresses).for_each(|(place, address)| place.set(*address));
        let count = distinct(&all, addresses.len().min(DEEPEST), |address| address == 99);
        all[..count].iter().map(Cell::get).collect()
    }

    #[test]
    fn each_address_counts_once_and_a_cut_recursion_at_any_depth_the_same() {
        assert_eq!(of(&[1, 2, 3]), [1, 2, 3]);
        assert_eq!(of(&[1, 2, 2, 2, 3, 4]), [1, 2, 3, 4]);
        assert_eq!(of(&[1, 2, 3, 2, 3, 4]), [1, 2, 3, 4]);
        let stack = |depth: usize| [vec![1], vec![2; depth], (10..20).collect()].concat();
        let whole = of(&stack(1));
        assert!((1..=52).all(|depth| of(&stack(depth)) != [1, 2]) && of(&stack(20)) == whole);
        assert!((53..200).all(|depth| of(&stack(depth)) == [1, 2]));
        assert_eq!(of(&[99, 1, 99, 2]), [1, 2]);
        // Deep without recursion: all of it.
        assert_eq!(of(&(1..90).collect::<Vec<_>>()), (1..=64).collect::<Vec<_>>());
    }
}
