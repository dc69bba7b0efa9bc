//! One connection, from its first byte to its end.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Notify, watch};

use crate::answer::Service;
use crate::limits::{HEAD_LINES, Limits, WRITE_BUFFER};
use crate::patience::{Patient, Taken};

/// The bytes of its last answer that a client must take within [`Limits::dawdle`] when another one
/// wants its place. Slower clients would keep all others out for as long as they like.
const LEAST: u64 = 64 << 10;

/// The other end of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Client {
    /// The connection's number, by which readers are told apart.
    pub(crate) handler: u32,
    /// Its address; none if it came through a socket.
    pub(crate) address: Option<SocketAddr>,
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "connection {}", self.handler)?;
        self.address.map_or(Ok(()), |address| write!(f, " from {address}"))
    }
}

/// Signals that end a connection from our side.
pub(crate) struct Ending<'a> {
    /// Turns true when the server stops.
    pub(crate) stop: watch::Receiver<bool>,
    /// Tells one connection that another wants its place.
    pub(crate) wanted: &'a Notify,
}

/// Answers the requests of a connection, until either side ends it or it is told to end; then the
/// answer under way is finished.
pub(crate) async fn serve<S>(
    service: Arc<Service>,
    stream: S,
    client: Client,
    limits: &Limits,
    Ending { mut stop, wanted }: Ending<'_>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let stream = Patient::new(stream, limits.stall);
    let taken = stream.taken();
    let stream = TokioIo::new(stream);
    // Its first request has come.
    let asked = Arc::new(Notify::new());
    let asks = Arc::clone(&asked);
    let answer = service_fn(move |request| {
        asks.notify_one();
        Arc::clone(&service).answer(client, request)
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(limits.idle).max_headers(HEAD_LINES);
    http.max_header_size(limits.header_bytes).max_buf_size(WRITE_BUFFER.max(limits.header_bytes));
    let connection = http.serve_connection(stream, answer);
    tokio::pin!(connection);
    let first = tokio::time::sleep(limits.request);
    tokio::pin!(first);
    let young = tokio::time::sleep(limits.young);
    tokio::pin!(young);
    let (mut waits_for_first, mut is_young) = (true, true);
    let crowded = loop {
        tokio::select! {
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    log::debug!("{client}: {error}");
                }
                return;
            }
            () = asked.notified(), if waits_for_first => waits_for_first = false,
            () = first.as_mut(), if waits_for_first => {
                return log::debug!("{client}: no request came in time");
            }
            () = young.as_mut(), if is_young => is_young = false,
            () = wanted.notified(), if !waits_for_first => break true,
            () = wanted.notified(), if waits_for_first && !is_young => {
                return log::debug!("{client}: no request came while another wanted the place");
            }
            _ = stop.wait_for(|stop| *stop) => break false,
        }
    };
    connection.as_mut().graceful_shutdown();
    tokio::select! {
        ended = connection => {
            if let Err(error) = ended {
                log::debug!("{client}: {error}");
            }
        }
        () = dawdles(&taken, limits.dawdle), if crowded => {
            log::debug!("{client}: too slow while another wants its place");
        }
    }
}

/// Waits until a client has taken little for so long, though bytes waited for it.
async fn dawdles(taken: &Taken, long: Duration) {
    loop {
        let (before, waited) = (taken.bytes(), taken.waits());
        tokio::time::sleep(long).await;
        if waited && taken.waits() && taken.bytes() - before < LEAST {
            return;
        }
    }
}
