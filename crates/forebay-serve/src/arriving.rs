//! The body of a request, as it comes.

use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body as HttpBody, Incoming};
use tokio::time::{Instant, timeout_at};

use crate::refusal::Refusal;

/// The bytes that prolong the wait for more of them.
const ENOUGH: usize = 4 << 10;

/// A body that must come: a client that sends little for too long is given up. Otherwise a few
/// bytes now and then would keep a connection's place for ever.
pub(crate) struct Arriving {
    body: Incoming,
    patience: Duration,
    until: Instant,
    /// Bytes since `until` was set.
    came: usize,
}

impl Arriving {
    /// The body of a request whose head has come. `patience` is how long 4 KiB may take, or the
    /// rest if that is less.
    pub(crate) fn new(body: Incoming, patience: Duration) -> Arriving {
        Arriving { body, patience, until: Instant::now() + patience, came: 0 }
    }

    /// The next bytes; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Refusal> {
        loop {
            let frame = std::future::poll_fn(|cx| Pin::new(&mut self.body).poll_frame(cx));
            let frame = timeout_at(self.until, frame).await.map_err(|_| Refusal::late())?;
            let Some(frame) = frame else { return Ok(None) };
            let frame = frame.map_err(|_| Refusal::bad_request("the body is broken off"))?;
            let Ok(bytes) = frame.into_data() else { continue };
            self.came += bytes.len();
            if self.came >= ENOUGH {
                (self.until, self.came) = (Instant::now() + self.patience, 0);
            }
            return Ok(Some(bytes));
        }
    }
}
