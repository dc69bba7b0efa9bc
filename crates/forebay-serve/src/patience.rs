//! A connection that fails if the other end takes no bytes for too long, and tells how fast they
//! are taken.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// The bytes that the other end takes, as another task sees them.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    bytes: AtomicU64,
    /// Whether bytes wait to be taken.
    wait: AtomicBool,
}

impl Taken {
    /// All bytes that were taken up to now.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Whether the other end is waited for.
    pub(crate) fn waits(&self) -> bool {
        self.wait.load(Ordering::Relaxed)
    }
}

/// A stream that fails if none of the bytes to be written were taken for a while.
pub(crate) struct Patient<S> {
    stream: S,
    stall: Duration,
    /// Runs while bytes wait to be taken.
    clock: Pin<Box<Sleep>>,
    running: bool,
    taken: Arc<Taken>,
}

impl<S> Patient<S> {
    pub(crate) fn new(stream: S, stall: Duration) -> Patient<S> {
        Patient { stream, stall, clock: Box::pin(sleep(stall)), running: false, taken: Arc::default() }
    }

    /// The bytes that are taken from now on.
    pub(crate) fn taken(&self) -> Arc<Taken> {
        Arc::clone(&self.taken)
    }

    /// The outcome of a write of bytes.
    fn judge_bytes(&mut self, cx: &mut Context<'_>, outcome: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(bytes)) = &outcome {
            self.taken.bytes.fetch_add(*bytes as u64, Ordering::Relaxed);
        }
        self.judge(cx, outcome)
    }

    /// The outcome of a write, or an error if it has waited too long.
    fn judge<T>(&mut self, cx: &mut Context<'_>, outcome: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        self.taken.wait.store(outcome.is_pending(), Ordering::Relaxed);
        if outcome.is_ready() {
            self.running = false;
            return outcome;
        }
        if !self.running {
            self.running = true;
            let until = Instant::now() + self.stall;
            self.clock.as_mut().reset(until);
        }
        match self.clock.as_mut().poll(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(()) => Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client takes nothing"))),
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.judge_bytes(cx, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.judge_bytes(cx, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_flush(cx);
        self.judge(cx, outcome)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.judge(cx, outcome)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[test]
    fn whoever_takes_nothing_is_given_up() {
        const STALL: Duration = Duration::from_millis(50);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let (ours, mut theirs) = tokio::io::duplex(10);
            let mut ours = Patient::new(ours, STALL);
            let (written, taken) = tokio::join!(ours.write_all(&[7; 20]), async {
                let mut taken = [0; 10];
                theirs.read_exact(&mut taken).await.map(|_| taken)
            });
            assert!(written.is_ok());
            assert_eq!(taken.unwrap(), [7; 10]);
            let begun = Instant::now();
            let error = ours.write_all(&[7]).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
            assert!(begun.elapsed() >= STALL);
        });
    }
}
