//! One version of an object, read by ranges.
//!
//! Every request names the version it wants (`If-Match`), and every answer is compared with it, so bytes of another
//! version are never taken. The body goes into the frames as it comes.

use std::sync::Arc;

use futures::StreamExt;
use object_store::path::Path as Key;
use object_store::{Extensions, GetOptions, GetRange, ObjectStore};

use super::gate::Gate;
use super::runtime::Shared;
use super::{refusal, version};
use crate::arena::Segments;
use crate::label::Label;
use crate::source::{Error, Fetch, FetchId, Identity, Object, Result};

/// One version of an object.
pub(super) struct StoreObject {
    request: Arc<Request>,
    gate: Arc<Gate>,
    runtime: Shared,
}

/// What every range of the object is asked for with.
struct Request {
    identity: Identity,
    store: Arc<dyn ObjectStore>,
    key: Key,
}

impl StoreObject {
    pub(super) fn new(
        identity: Identity,
        store: Arc<dyn ObjectStore>,
        key: Key,
        gate: Arc<Gate>,
        runtime: Shared,
    ) -> StoreObject {
        StoreObject { request: Arc::new(Request { identity, store, key }), gate, runtime }
    }
}

impl Object for StoreObject {
    fn identity(&self) -> &Identity {
        &self.request.identity
    }

    fn fetch(&self, fetch: Fetch) {
        let (request, runtime) = (Arc::clone(&self.request), self.runtime.clone());
        let (id, urgent) = (fetch.id, fetch.urgent);
        let pending = Pending { fetch: Some(fetch), name: request.name() };
        self.gate.enter(
            id,
            urgent,
            Box::new(move |turn| {
                let Some(turn) = turn else { return pending.finish(Err(Error::CalledOff)) };
                let task = async move {
                    request.answer(pending).await;
                    drop(turn);
                };
                runtime.start(task);
            }),
        );
    }

    fn call_off(&self, fetch: FetchId) {
        self.gate.call_off(fetch);
    }
}

impl Request {
    async fn answer(&self, mut pending: Pending) {
        let Some(fetch) = &mut pending.fetch else { return };
        let outcome = self.read(fetch.offset, fetch.len, fetch.label.clone(), &mut fetch.buffer).await;
        pending.finish(outcome);
    }

    async fn read(&self, offset: u64, len: usize, label: Label, buffer: &mut Segments) -> Result<()> {
        if len == 0 {
            return Ok(());
        }
        let range = offset..offset + len as u64;
        // Only web servers are told.
        let mut extensions = Extensions::new();
        extensions.insert(label);
        let options = GetOptions {
            range: Some(GetRange::Bounded(range.clone())),
            // A weak tag matches nothing by the rules of HTTP; the answer's own tag is compared below.
            if_match: self.identity.version.tag.as_deref().filter(|tag| tag.starts_with('"')).map(str::to_owned),
            extensions,
            ..GetOptions::default()
        };
        let answer = self.store.get_opts(&self.key, options).await;
        let answer = answer.map_err(|error| refusal::of_range(&self.name(), &error))?;
        if version(&answer.meta) != self.identity.version || answer.range != range {
            return Err(Error::Stale(self.name()));
        }
        let mut body = answer.into_stream();
        let mut filled = 0;
        while let Some(bytes) = body.next().await {
            let bytes = bytes.map_err(|error| refusal::of_range(&self.name(), &error))?;
            if filled + bytes.len() > len {
                return Err(self.broken("more bytes came than were asked for"));
            }
            buffer.write(filled, &bytes);
            filled += bytes.len();
        }
        if filled == len { Ok(()) } else { Err(self.broken("the answer ended early")) }
    }

    /// For messages.
    fn name(&self) -> String {
        self.identity.name.to_string()
    }

    fn broken(&self, reason: &str) -> Error {
        Error::Storage { name: self.name(), reason: reason.into() }
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
