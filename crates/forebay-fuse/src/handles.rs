//! Handles of open files and folders: numbers that the kernel gives back with every request.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fuser::FileHandle;
use parking_lot::RwLock;

/// Open files or folders, by handle. Handles are never used twice.
pub(crate) struct Handles<T> {
    open: RwLock<HashMap<u64, Arc<T>>>,
    next: AtomicU64,
}

impl<T> Handles<T> {
    pub(crate) fn new() -> Handles<T> {
        Handles { open: RwLock::new(HashMap::new()), next: AtomicU64::new(1) }
    }

    pub(crate) fn insert(&self, value: T) -> FileHandle {
        let handle = self.next.fetch_add(1, Ordering::Relaxed);
        self.open.write().insert(handle, Arc::new(value));
        FileHandle(handle)
    }

    pub(crate) fn get(&self, handle: FileHandle) -> Option<Arc<T>> {
        self.open.read().get(&handle.0).cloned()
    }

    /// Closes a handle. Its value goes once the last request on it is answered.
    pub(crate) fn remove(&self, handle: FileHandle) {
        let closed = self.open.write().remove(&handle.0);
        // Dropped here, without the lock: closing may take a while.
        drop(closed);
    }
}
