//! `Retry-After` of a store that has too much to do. The client keeps this header to itself, so it
//! is read where answers pass through (`answers.rs`).

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use object_store::client::HttpResponse;
use parking_lot::Mutex;

use super::refusal;
use crate::Error;
use crate::remote::{Trouble, retry_after};

/// The longest wish that is kept, so that one odd answer does not count for years.
const LONGEST: Duration = Duration::from_secs(3600);

/// The moment until which a store wants to be left alone.
#[derive(Clone, Debug, Default)]
pub(super) struct Waits(Arc<Mutex<Option<Instant>>>);

impl Waits {
    /// The trouble of a request concerning `path` that failed; `means` translates the error.
    pub(super) fn trouble(
        &self,
        path: &Path,
        means: fn(&str, &object_store::Error) -> Error,
        error: &object_store::Error,
    ) -> Trouble {
        let wait = self.0.lock().map(|until| until.saturating_duration_since(Instant::now()));
        let wait = wait.filter(|wait| !wait.is_zero());
        let kind = refusal::kind(error);
        Trouble { error: means(&path.display().to_string(), error), hint: refusal::hint(&kind), kind, wait }
    }

    /// Takes in the `Retry-After` of an answer.
    pub(super) fn listen(&self, answer: &HttpResponse) {
        if matches!(answer.status().as_u16(), 429 | 503)
            && let Some(wish) = answer.headers().get("retry-after").and_then(|wish| wish.to_str().ok())
            && let Some(wait) = retry_after(wish, SystemTime::now())
        {
            self.heed(wait);
        }
    }

    fn heed(&self, wait: Duration) {
        let until = Instant::now() + wait.min(LONGEST);
        let known = &mut *self.0.lock();
        *known = Some(until).max(*known);
    }
}
