//! The threads on which requests to object stores run: one small runtime a process, shared by all
//! stores.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use tokio::runtime::{Builder, Handle, Runtime};

use crate::{Error, Result, shared};

/// Threads of the runtime at most. They only move bytes from sockets into frames.
const THREADS: usize = 4;

/// A share of the runtime, which ends with the last one. Every task holds one, so no task is cut
/// off.
#[derive(Clone, Debug)]
pub struct Shared(Arc<Threads>);

#[derive(Debug)]
struct Threads(Option<Runtime>);

/// The runtime of this process.
pub fn shared() -> io::Result<Shared> {
    static SHARED: shared::Shared<Threads> = shared::Shared::new();
    let threads = SHARED.get(|| {
        let threads = std::thread::available_parallelism().map_or(2, |cores| cores.get().clamp(2, THREADS));
        let runtime =
            Builder::new_multi_thread().worker_threads(threads).thread_name("forebay-store").enable_all().build()?;
        Ok(Arc::new(Threads(Some(runtime))))
    })?;
    Ok(Shared(threads))
}

impl Shared {
    /// Runs a request and waits for it. Unlike `block_on` this may be called from any thread.
    pub fn wait<T: Send + 'static>(
        &self,
        name: &str,
        request: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        let (send, receive) = sync_channel(1);
        self.start(async move {
            let _ = send.send(request.await);
        });
        receive
            .recv()
            .unwrap_or_else(|_| Err(Error::Storage { name: name.into(), reason: "the request was abandoned".into() }))
    }

    /// Starts a task.
    pub fn start(&self, task: impl Future<Output = ()> + Send + 'static) {
        let share = self.clone();
        self.0.handle().spawn(async move {
            task.await;
            drop(share);
        });
    }
}

impl Threads {
    fn handle(&self) -> &Handle {
        self.0.as_ref().expect("the runtime is taken out only when dropped").handle()
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            // No task is left, and the last share may be dropped on a thread of the runtime, which
            // must not wait for itself.
            runtime.shutdown_background();
        }
    }
}
