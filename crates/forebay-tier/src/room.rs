//! The room of the file system: files are made where it allows, and removed where it does not.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::io::Errno;

use crate::disk::Room;
use crate::layout::{FILE, file_of};
use crate::store::{State, Store};
use crate::writer::Writer;

/// The file of that number, which is made if need be. `None` if there is no room for it: it is
/// withdrawn.
pub(crate) fn file(store: &Store, number: u32) -> io::Result<Option<Arc<OwnedFd>>> {
    if let Some(file) = &store.state.lock().files[number as usize] {
        return Ok(Some(Arc::clone(file)));
    }
    let made = match spare(store)? {
        spare if spare < FILE => Err(Errno::NOSPC.into()),
        _ => store.disk.create(&store.folder.file(number), FILE).map(Arc::new),
    };
    let mut state = store.state.lock();
    match made {
        Ok(file) => {
            state.files[number as usize] = Some(Arc::clone(&file));
            Ok(Some(file))
        }
        Err(error) if is_of_room(&error) => {
            state.withdraw(number);
            state.withheld.push(number);
            tell(store, &mut state);
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Says once that there is too little room.
fn tell(store: &Store, state: &mut State) {
    if std::mem::replace(&mut state.told_of_room, true) {
        return;
    }
    let files = state.files.iter().flatten().count();
    log::warn!(
        "{}: its file system has too little room beside what --disk-free leaves: the disk tier has {files} of {} files \
         of {} MiB, and makes more once there is room",
        store.options.dir.display(),
        state.files.len(),
        FILE >> 20
    );
}

/// Says so if there is no room for a single file, those included that are there.
pub(crate) fn tell_of_none(store: &Store, there: usize, room: Room) {
    let usable = (room.free + there as u64 * FILE).saturating_sub(store.options.free.of(room.bytes));
    if usable < FILE {
        tell(store, &mut store.state.lock());
    }
}

/// No room, or another program's file at that place.
fn is_of_room(error: &io::Error) -> bool {
    let of_room = [Errno::NOSPC, Errno::DQUOT, Errno::EXIST].map(Errno::raw_os_error);
    error.raw_os_error().is_some_and(|errno| of_room.contains(&errno))
}

/// Bytes that the file system has beyond those that stay free.
fn spare(store: &Store) -> io::Result<u64> {
    let room = store.disk.room(&store.folder.segments())?;
    Ok(room.free.saturating_sub(store.options.free.of(room.bytes)))
}

/// Removes as many files as there is too little room for; makes them possible again if there is
/// room. File systems may give room back later than a file is gone, so it is not looked at again
/// before the next time.
pub(crate) fn tend(writer: &mut Writer) -> io::Result<()> {
    let store = Arc::clone(&writer.store);
    let room = store.disk.room(&store.folder.segments())?;
    let lacking = store.options.free.of(room.bytes).saturating_sub(room.free);
    for _ in 0..lacking.div_ceil(FILE) {
        let open = writer.open.as_ref().map(|open| file_of(open.segment));
        let Some(number) = store.state.lock().oldest(open) else { break };
        if Some(number) == open {
            writer.abandon();
        }
        let mut state = store.state.lock();
        state.withdraw(number);
        state.withheld.push(number);
        drop(state);
        match store.disk.remove(&store.folder.file(number)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    let withheld = !store.state.lock().withheld.is_empty();
    if withheld && spare(&store)? >= FILE {
        let mut state = store.state.lock();
        let number = state.withheld.swap_remove(0);
        state.grant(number);
    }
    Ok(())
}
