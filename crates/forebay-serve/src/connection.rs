//! One connection, from its first byte to its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;

use crate::answer::Service;
use crate::limits::{HEAD_LINES, Limits, WRITE_BUFFER};
use crate::patience::Patient;

/// Answers the requests of a connection, until either side ends it or `stop` turns true; then what is being answered is finished.
pub(crate) async fn serve<S>(
    service: Arc<Service>,
    stream: S,
    handler: u32,
    limits: &Limits,
    mut stop: watch::Receiver<bool>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let stream = TokioIo::new(Patient::new(stream, limits.stall));
    let asked = Arc::new(AtomicBool::new(false));
    let asks = Arc::clone(&asked);
    let answer = service_fn(move |request| {
        asks.store(true, Ordering::Relaxed);
        Arc::clone(&service).answer(handler, request)
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(limits.idle).max_headers(HEAD_LINES);
    http.max_header_size(limits.header_bytes).max_buf_size(WRITE_BUFFER.max(limits.header_bytes));
    let connection = http.serve_connection(stream, answer);
    tokio::pin!(connection);
    let first = tokio::time::sleep(limits.request);
    tokio::pin!(first);
    let mut waits_for_first = true;
    loop {
        tokio::select! {
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    log::debug!("connection {handler}: {error}");
                }
                return;
            }
            () = first.as_mut(), if waits_for_first => {
                waits_for_first = false;
                if !asked.load(Ordering::Relaxed) {
                    return log::debug!("connection {handler}: no request came in time");
                }
            }
            _ = stop.wait_for(|stop| *stop) => break,
        }
    }
    connection.as_mut().graceful_shutdown();
    if let Err(error) = connection.await {
        log::debug!("connection {handler}: {error}");
    }
}
