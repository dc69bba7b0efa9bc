//! Bounds on what clients can take up.

use std::time::Duration;

use crate::body::PIECE;

/// Bytes that a connection gathers before it writes them, at most.
pub(crate) const WRITE_BUFFER: usize = 64 << 10;

/// Lines of a request's head.
pub(crate) const HEAD_LINES: usize = 100;

/// Bounds on what clients can take up. Whoever exceeds one is answered so, or the connection is
/// closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Connections at once. When more want to be served, one after the other of those that are is
    /// ended after its answer; one that has not asked for anything yet has a second.
    pub connections: usize,
    /// Bytes of a request's head, its first line included; at least 8 KiB.
    pub header_bytes: usize,
    /// From the beginning of a connection to the end of the head of its first request, the
    /// handshake included.
    pub request: Duration,
    /// From the end of an answer to the end of the head of the next request.
    pub idle: Duration,
    /// For how long a client may take nothing of its answer.
    pub stall: Duration,
    /// For how long answers may take that are under way when the server is told to end.
    pub grace: Duration,
    /// For how long a file stays open after it was asked for last, at least; at most twice as long.
    pub open: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        let seconds = Duration::from_secs;
        Limits {
            connections: 128,
            header_bytes: 16 << 10,
            request: seconds(10),
            idle: seconds(60),
            stall: seconds(30),
            grace: seconds(10),
            open: seconds(30),
        }
    }
}

impl Limits {
    /// Bytes that a connection takes at most, beside the cache: a piece of a file that was read,
    /// another that is being written, what is read and written of heads, and what encryption holds.
    pub const CONNECTION: u64 = (2 * PIECE + 3 * WRITE_BUFFER) as u64;

    /// Bytes that all connections take at most.
    pub fn bytes(&self) -> u64 {
        self.connections as u64 * Limits::CONNECTION
    }
}
