//! Limits on what clients can use up.

use std::time::Duration;

use crate::body::PIECE;

/// The most bytes that a connection gathers before it writes them.
pub(crate) const WRITE_BUFFER: usize = 64 << 10;

/// Lines of a request's head.
pub(crate) const HEAD_LINES: usize = 100;

/// Limits on what clients can use up. A client that exceeds one is refused, or its connection is
/// closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Connections at once. When more want to be served, the server ends open ones, one after
    /// another, each after its answer. One that has not asked for anything yet may be `young`.
    pub connections: usize,
    /// For how long a connection keeps its place without a request, handshake included, when
    /// another one wants it.
    pub young: Duration,
    /// Bytes of a request's head, its first line included; at least 8 KiB.
    pub header_bytes: usize,
    /// From the beginning of a connection to the end of the head of its first request, the
    /// handshake included. Also for each 4 KiB of a request's body.
    pub request: Duration,
    /// From the end of an answer to the end of the head of the next request.
    pub idle: Duration,
    /// For how long a client may take nothing of its answer.
    pub stall: Duration,
    /// For how long a client may take less than 64 KiB of its last answer once another client wants
    /// its place.
    pub dawdle: Duration,
    /// How long answers under way may take after the server is told to end.
    pub grace: Duration,
    /// The least time that a file stays open after its last request; the most is twice as long.
    pub open: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        let seconds = Duration::from_secs;
        Limits {
            connections: 128,
            young: seconds(1),
            header_bytes: 16 << 10,
            request: seconds(10),
            idle: seconds(60),
            stall: seconds(30),
            dawdle: seconds(10),
            grace: seconds(10),
            open: seconds(30),
        }
    }
}

impl Limits {
    /// The most bytes of a connection, beside the cache: a piece of a file that was read, another
    /// that is being written, buffers for heads, and those of encryption.
    pub const CONNECTION: u64 = (2 * PIECE + 3 * WRITE_BUFFER) as u64;

    /// The most bytes of all connections.
    pub fn bytes(&self) -> u64 {
        self.connections as u64 * Limits::CONNECTION
    }
}
