//! A body must come at some rate: a storage that drips is as good as one that is silent.
//!
//! The silence of a connection has a limit of its own. But one byte just before it, again and
//! again, would keep a connection and its readers for ever.

use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

/// So many bytes within a patience, or the rest of the body. No link that is of use is so slow.
const LEAST: usize = 4 << 10;

/// The bytes of a body, as they come.
pub(crate) struct Flow {
    patience: Duration,
    since: Instant,
    came: usize,
}

/// Too few bytes came.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the answer comes too slowly: less than 4 KiB in {0:?}")]
pub struct TooSlow(Duration);

impl Flow {
    /// A body that begins now.
    pub(crate) fn new(patience: Duration) -> Flow {
        Flow { patience, since: Instant::now(), came: 0 }
    }

    /// Waits for the next bytes.
    pub(crate) async fn next<T>(&mut self, bytes: impl Future<Output = T>) -> Result<T, TooSlow> {
        timeout_at(self.since + self.patience, bytes).await.map_err(|_| TooSlow(self.patience))
    }

    /// So many bytes have come.
    pub(crate) fn came(&mut self, bytes: usize) {
        self.came += bytes;
        if self.came >= LEAST {
            (self.since, self.came) = (Instant::now(), 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::sleep;

    /// When a body of pieces of this many bytes, one each so many milliseconds, ends: the number of
    /// pieces that came.
    async fn pieces(bytes: usize, each: u64, most: usize) -> usize {
        let mut flow = Flow::new(Duration::from_secs(6));
        for came in 0..most {
            if flow.next(sleep(Duration::from_millis(each))).await.is_err() {
                return came;
            }
            flow.came(bytes);
        }
        most
    }

    #[tokio::test(start_paused = true)]
    async fn drops_are_no_answer_and_a_slow_link_is() {
        assert_eq!(pieces(1, 2_900, 100).await, 2, "a byte now and then");
        assert_eq!(pieces(1_000, 1_000, 1_000).await, 1_000, "1 kB/s");
        assert_eq!(pieces(64 << 10, 5_900, 100).await, 100, "large pieces, each after a while");
        assert_eq!(pieces(700, 1_200, 100).await, 5, "just too slow");
    }
}
