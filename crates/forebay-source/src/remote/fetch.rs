//! One version of a remote file, read by ranges.

use std::sync::Arc;

use super::asker::Asker;
use super::gate::{Gate, Room};
use super::{Range, Trouble};
use crate::{Error, Fetch, FetchId, Identity, Name, Object, Result};

/// One version of a remote file.
pub(super) struct RemoteObject {
    file: Arc<File>,
    gate: Arc<Gate>,
}

/// The context of requests for its ranges.
struct File {
    identity: Identity,
    asker: Arc<Asker>,
}

impl RemoteObject {
    pub(super) fn new(identity: Identity, asker: Arc<Asker>, gate: Arc<Gate>) -> RemoteObject {
        RemoteObject { file: Arc::new(File { identity, asker }), gate }
    }
}

impl Object for RemoteObject {
    fn identity(&self) -> &Identity {
        &self.file.identity
    }

    fn fetch(&self, fetch: Fetch) {
        let (file, id, urgent) = (Arc::clone(&self.file), fetch.id, fetch.urgent);
        let (pending, gate) = (Pending { fetch: Some(fetch), name: file.name() }, Arc::clone(&self.gate));
        self.gate.enter(
            id,
            urgent,
            Box::new(move |turn| {
                let Some(turn) = turn else { return pending.finish(Err(Error::CalledOff)) };
                let runtime = file.asker.runtime.clone();
                runtime.start(async move {
                    file.answer(pending, Room(Some(&gate))).await;
                    drop(turn);
                });
            }),
        );
    }

    fn call_off(&self, fetch: FetchId) {
        self.gate.call_off(fetch);
    }
}

impl File {
    async fn answer(&self, mut pending: Pending, room: Room<'_>) {
        let Some(fetch) = &mut pending.fetch else { return };
        let outcome = self.read(fetch, room).await;
        if let (Err(Error::Stale(_)), Name::Path { path, .. }) = (&outcome, &self.identity.name)
            && let (Some(folder), Some(name)) = (path.parent(), path.file_name())
        {
            self.asker.names.forget(folder, name);
        }
        pending.finish(outcome);
    }

    /// Tries a prefetch once, and demand for as long as the patience lasts.
    async fn read(&self, fetch: &mut Fetch, room: Room<'_>) -> Result<()> {
        let Name::Path { path, .. } = &self.identity.name else { return Err(Error::Stale(self.name())) };
        if fetch.len == 0 {
            return Ok(());
        }
        let mut tries = self.asker.patience.tries(&self.asker.complaints);
        loop {
            let range = Range {
                path,
                version: &self.identity.version,
                offset: fetch.offset,
                len: fetch.len,
                label: &fetch.label,
                room,
                patience: self.asker.patience.0,
            };
            let trouble: Trouble = match self.asker.remote.read(range, &mut fetch.buffer).await {
                Ok(()) => return Ok(()),
                Err(trouble) => trouble,
            };
            if !fetch.urgent {
                self.asker.complaints.hear(&trouble);
                return Err(trouble.error);
            }
            tries.after(trouble).await?;
        }
    }

    /// For messages.
    fn name(&self) -> String {
        self.identity.name.to_string()
    }
}

/// A fetch that is reported on even if its task is dropped.
struct Pending {
    fetch: Option<Fetch>,
    name: String,
}

impl Pending {
    fn finish(mut self, outcome: Result<()>) {
        if let Some(fetch) = self.fetch.take() {
            fetch.finish(outcome);
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(fetch) = self.fetch.take() {
            let name = std::mem::take(&mut self.name);
            fetch.finish(Err(Error::Storage { name, reason: "the request was abandoned".into() }));
        }
    }
}
