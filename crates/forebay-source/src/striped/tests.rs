//! Striped objects over parts that answer when and as the test says.

use std::sync::mpsc::{Receiver, TryRecvError, channel};

use parking_lot::Mutex;

use super::*;
use crate::{Fetch, FetchId, Label, Run, Segments};

const UNIT: u64 = 4096;

/// A part whose fetches wait for the test.
struct Waiting {
    identity: Identity,
    layout: Vec<Run>,
    queue: Mutex<Vec<Fetch>>,
}

impl Object for Waiting {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn layout(&self) -> Vec<Run> {
        self.layout.clone()
    }

    fn fetch(&self, fetch: Fetch) {
        self.queue.lock().push(fetch);
    }

    fn call_off(&self, id: FetchId) {
        let mut queue = self.queue.lock();
        let Some(place) = queue.iter().position(|fetch| fetch.id == id) else { return };
        let fetch = queue.remove(place);
        drop(queue);
        fetch.finish(Err(Error::CalledOff));
    }
}

/// A part that has other names.
fn linked(number: u64, chunks: u64) -> Identity {
    let version = Version { size: chunks * UNIT, ..Version::default() };
    Identity { name: Name::Linked(Inode { device: 1, number, mount: 0 }), version }
}

impl Waiting {
    fn of(identity: Identity) -> Waiting {
        Waiting { identity, layout: Vec::new(), queue: Mutex::default() }
    }

    /// Answers the oldest fetch; every block gets `fill` and its own number in the part.
    fn answer(&self, fill: u8, outcome: Result<()>) {
        let mut fetch = self.queue.lock().remove(0);
        for block in 0..fetch.len.div_ceil(4096) {
            let number = (fetch.offset / 4096) as u8 + block as u8;
            fetch.buffer.write(block * 4096, &[fill, number]);
        }
        fetch.finish(outcome);
    }

    fn waiting(&self) -> usize {
        self.queue.lock().len()
    }
}

fn object(parts: &[Arc<Waiting>]) -> StripedObject {
    let named = |(number, part): (usize, &Arc<Waiting>)| Part {
        object: Arc::clone(part) as _,
        member: format!("/d{number}").into(),
    };
    let size = parts.iter().map(|part| part.version().size).sum();
    let identity = together(&"set".into(), Path::new("x"), size, parts.iter().map(|part| part.identity()));
    let stripes = Stripes::new(UNIT, parts.len()).unwrap();
    StripedObject::new(identity, stripes, parts.iter().enumerate().map(named).collect())
}

fn parts(members: usize, chunks: u64) -> Vec<Arc<Waiting>> {
    (0..members).map(|member| Arc::new(Waiting::of(linked(member as u64 + 1, chunks)))).collect()
}

fn fetch(object: &dyn Object, chunks: std::ops::Range<u64>) -> (FetchId, Receiver<Result<Vec<u8>>>) {
    let (send, receive) = channel();
    let done = Box::new(move |buffer: Segments, outcome: Result<()>| {
        send.send(outcome.map(|()| buffer.to_vec())).unwrap();
    });
    let (id, len) = (FetchId::unique(), ((chunks.end - chunks.start) * UNIT) as usize);
    object.fetch(Fetch {
        id,
        offset: chunks.start * UNIT,
        buffer: Segments::own(len),
        len,
        urgent: true,
        label: Label::default(),
        done,
    });
    (id, receive)
}

/// (member, block within it) of each block.
fn seen(bytes: &[u8]) -> Vec<(u8, u8)> {
    bytes.chunks(4096).map(|block| (block[0], block[1])).collect()
}

#[test]
fn what_spans_members_is_put_together_in_whatever_order_it_comes() {
    let parts = parts(3, 4);
    let object = object(&parts);
    for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0]] {
        let (_, came) = fetch(&object, 2..10);
        for member in order {
            assert_eq!(came.try_recv().unwrap_err(), TryRecvError::Empty);
            assert_eq!(parts[member].waiting(), 1, "one read a member, however many chunks");
            parts[member].answer(member as u8, Ok(()));
        }
        let expected = [(2, 0), (0, 1), (1, 1), (2, 1), (0, 2), (1, 2), (2, 2), (0, 3)];
        assert_eq!(seen(&came.try_recv().unwrap().unwrap()), expected);
    }
}

#[test]
fn a_chunk_is_one_members_own_business() {
    let parts = parts(3, 4);
    let object = object(&parts);
    let (_, came) = fetch(&object, 7..8);
    assert_eq!(parts.iter().map(|part| part.waiting()).collect::<Vec<_>>(), [0, 1, 0]);
    parts[1].answer(9, Ok(()));
    assert_eq!(seen(&came.try_recv().unwrap().unwrap()), [(9, 2)]);
}

#[test]
fn the_error_of_a_member_has_its_name() {
    let parts = parts(3, 4);
    let object = object(&parts);
    let failed = || Err(Error::Storage { name: "x".into(), reason: "a bad sector".into() });
    let (_, came) = fetch(&object, 0..12);
    parts[2].answer(2, failed());
    parts[0].answer(0, Ok(()));
    parts[1].answer(1, failed());
    let error = came.try_recv().unwrap().unwrap_err();
    assert_eq!((error.to_string().as_str(), error.is_transient()), ("x in /d1: a bad sector", true));
    // And the next time it may succeed.
    let (_, came) = fetch(&object, 1..2);
    parts[1].answer(1, Ok(()));
    assert!(came.try_recv().unwrap().is_ok());
}

#[test]
fn a_changed_member_ends_the_version() {
    let parts = parts(2, 4);
    let object = object(&parts);
    let (_, came) = fetch(&object, 1..2);
    parts[1].answer(1, Err(Error::Stale("x".into())));
    assert_eq!(came.try_recv().unwrap().unwrap_err().to_string(), "x in /d1: changed since it was opened");
    let (_, came) = fetch(&object, 0..1);
    assert!(matches!(came.try_recv().unwrap(), Err(Error::Stale(_))), "no member is asked any more");
    assert_eq!(parts[0].waiting(), 0);
}

#[test]
fn calling_off_reaches_whoever_has_not_begun() {
    let parts = parts(3, 4);
    let object = object(&parts);
    let (id, came) = fetch(&object, 4..5);
    object.call_off(FetchId::unique());
    assert_eq!(parts[1].waiting(), 1);
    object.call_off(id);
    assert!(matches!(came.try_recv().unwrap(), Err(Error::CalledOff)));

    // If the read spans members, the part that has begun is waited for: its bytes are still being
    // written.
    let (id, came) = fetch(&object, 0..3);
    let begun = parts[2].queue.lock().remove(0);
    object.call_off(id);
    assert!(parts.iter().all(|part| part.waiting() == 0));
    assert_eq!(came.try_recv().unwrap_err(), TryRecvError::Empty);
    begun.finish(Ok(()));
    assert!(matches!(came.try_recv().unwrap(), Err(Error::CalledOff)));
}

#[test]
fn places_count_if_they_are_the_same_on_all_members() {
    let run = |offset, len, at_byte| Run { offset, len: len * UNIT, at_byte };
    let layout = |layouts: [Vec<Run>; 2], chunks: [u64; 2]| {
        let parts: Vec<_> = layouts.into_iter().zip(chunks).collect();
        let part = |(layout, chunks): (Vec<Run>, u64)| Arc::new(Waiting { layout, ..Waiting::of(linked(1, chunks)) });
        object(&parts.into_iter().map(part).collect::<Vec<_>>()).layout()
    };
    let two = vec![run(0, 2, 70_000), run(2 * UNIT, 2, 10_000)];
    assert_eq!(layout([two.clone(), two.clone()], [4, 4]), two);
    let shorter = vec![run(0, 2, 70_000), run(2 * UNIT, 1, 10_000)];
    assert_eq!(layout([two.clone(), shorter.clone()], [4, 3]), two, "the last row is not full");
    assert_eq!(layout([two.clone(), shorter], [4, 4]), [], "a hole, or unknown");
    assert_eq!(layout([two.clone(), vec![run(0, 4, 70_000)]], [4, 4]), []);
    assert_eq!(layout([two, Vec::new()], [4, 4]), []);
    assert_eq!(layout([Vec::new(), Vec::new()], [4, 4]), []);
}

#[test]
fn a_path_tells_files_apart_where_a_member_has_no_inodes() {
    let inodes = parts(2, 1);
    assert!(matches!(object(&inodes).identity().name, Name::Linked(_)));
    let key = Identity { name: Name::path(&"store".into(), Path::new("x")), ..linked(0, 1) };
    let keys = Arc::new(Waiting::of(key));
    let mixed = object(&[Arc::clone(&inodes[0]), keys]);
    assert_eq!(mixed.identity().name, Name::path(&"set".into(), Path::new("x")));
}

/// One inode in the first member is not enough.
#[test]
fn hard_links_have_one_inode_in_every_member() {
    let name = |second| {
        let parts = [1, second].map(|number| Arc::new(Waiting::of(linked(number, 1))));
        object(&parts).identity().name.clone()
    };
    assert_eq!(name(2), name(2));
    assert_ne!(name(2), name(3));
}

#[test]
fn the_version_is_that_of_all_members() {
    let whole = |parts: &[Arc<Waiting>]| object(parts).version().clone();
    let (first, mut other) = (parts(3, 4), parts(3, 4));
    assert_eq!(whole(&first), whole(&other));
    for member in 0..3 {
        let same = other[member].identity.clone();
        let changed = Version { changed: 7, ..same.version.clone() };
        other[member] = Arc::new(Waiting::of(Identity { version: changed, ..same.clone() }));
        assert_ne!(whole(&first), whole(&other), "member {member}");
        other[member] = Arc::new(Waiting::of(same));
    }
    other.swap(1, 2);
    assert_ne!(whole(&first), whole(&other), "in another order it is another file");
}
