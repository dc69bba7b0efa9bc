//! One rule for every request to a storage: how it is tried again, and when it is given up.
//!
//! A try that failed for a reason that may pass is repeated after a pause. The pause doubles from
//! one try to the next, up to [`LONGEST`], and is drawn between half of that and the whole, so that
//! many readers do not come back at once. If a storage asks to be left alone for some time
//! (`Retry-After`), the pause is at least that long. No pause of our own is longer than half of the
//! patience that is left. Once next to nothing of it is left, or less than the storage asks for,
//! the caller gets the last error.

use std::future::Future;
use std::time::Duration;

use std::time::Instant as Moment;

use tokio::time::{Instant, sleep, timeout_at};

use super::complaints::Complaints;
use super::{Answer, Trouble};
use crate::{Error, Result};

/// The pause after the first try.
const FIRST: Duration = Duration::from_millis(100);

/// The longest pause that is not asked for.
const LONGEST: Duration = Duration::from_secs(5);

/// A patience of which less than this part is left is over.
const LITTLE: u32 = 20;

/// For how long a storage that fails is asked again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Patience(pub(crate) Duration);

/// The tries of one request.
pub(super) struct Tries<'a> {
    patience: Duration,
    complaints: &'a Complaints,
    began: Instant,
    /// When the try under way began.
    this_began: Instant,
    failed: u32,
}

impl Patience {
    /// A request that begins now.
    pub(super) fn tries<'a>(&self, complaints: &'a Complaints) -> Tries<'a> {
        let now = Instant::now();
        Tries { patience: self.0, complaints, began: now, this_began: now, failed: 0 }
    }

    /// [`since`](Patience::since) now.
    #[cfg(test)]
    pub(super) async fn with<T, F>(&self, complaints: &Complaints, name: &str, ask: impl Fn() -> F + Send) -> Result<T>
    where
        F: Future<Output = Answer<T>> + Send,
    {
        self.from(Instant::now(), complaints, name, ask).await
    }

    /// Asks until there is an answer, or the patience, counted from `since`, has run out. No try
    /// lasts longer than that.
    pub(super) async fn since<T, F>(
        &self,
        since: Moment,
        complaints: &Complaints,
        name: &str,
        ask: impl Fn() -> F + Send,
    ) -> Result<T>
    where
        F: Future<Output = Answer<T>> + Send,
    {
        self.from(Instant::from_std(since), complaints, name, ask).await
    }

    async fn from<T, F>(
        &self,
        began: Instant,
        complaints: &Complaints,
        name: &str,
        ask: impl Fn() -> F + Send,
    ) -> Result<T>
    where
        F: Future<Output = Answer<T>> + Send,
    {
        let mut tries = Tries { began, ..self.tries(complaints) };
        loop {
            let silent = || {
                let error = Error::Storage { name: name.to_owned(), reason: "no answer".into() };
                Err(Trouble::new(error, "silence"))
            };
            match timeout_at(tries.began + self.0, ask()).await.unwrap_or_else(|_| silent()) {
                Ok(answer) => return Ok(answer),
                Err(trouble) => tries.after(trouble).await?,
            }
        }
    }
}

impl Tries<'_> {
    /// Waits for the next try, or says why there is none.
    pub(super) async fn after(&mut self, trouble: Trouble) -> Result<()> {
        self.complaints.hear(&trouble);
        let Trouble { error, wait, .. } = trouble;
        let Error::Storage { name, reason } = error else { return Err(error) };
        let now = Instant::now();
        // The try took so long that bytes must have flowed: the storage is alive.
        if now - self.this_began > 2 * self.patience {
            self.began = now;
            self.failed = 0;
        }
        let left = Left { of: self.patience, after: now - self.began };
        let Some(pause) = left.pause(self.failed, wait) else {
            return Err(Error::GivenUp { name, reason, after: left.after });
        };
        log::debug!("{name}: try {} failed: {reason}", self.failed + 1);
        sleep(pause).await;
        self.failed += 1;
        self.this_began = Instant::now();
        Ok(())
    }
}

/// The rest of a patience.
pub(super) struct Left {
    /// The whole.
    pub(super) of: Duration,
    /// How much of it has gone.
    pub(super) after: Duration,
}

impl Left {
    /// The pause after the try number `failed`, counted from zero, of a storage that wants to be
    /// left alone for `wait`; `None` if there is no time for another try.
    pub(super) fn pause(&self, failed: u32, wait: Option<Duration>) -> Option<Duration> {
        let left = self.of.checked_sub(self.after).filter(|&left| left > self.of / LITTLE)?;
        let whole = LONGEST.min(FIRST * (1 << failed.min(10)));
        let pause = whole.mul_f64(0.5 + rand::random::<f64>() / 2.0).min(left / 2);
        // The storage may ask for an hour, or for more years than a clock has.
        Some(pause.max(wait.unwrap_or_default())).filter(|&pause| pause < left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parking_lot::Mutex;

    fn trouble(wait: Option<Duration>) -> Trouble {
        let error = Error::Storage { name: "x".into(), reason: "busy".into() };
        Trouble { wait, ..Trouble::new(error, "503") }
    }

    /// When tries of a storage that fails `failures` times come, in milliseconds, and the outcome.
    async fn tried(patience: u64, failures: usize, wait: Option<Duration>) -> (Vec<u64>, Result<()>) {
        let (complaints, began, tries) = (Complaints::new("s"), Instant::now(), Mutex::new(Vec::new()));
        let ask = || async {
            tries.lock().push(began.elapsed().as_millis() as u64);
            if tries.lock().len() > failures { Ok(()) } else { Err(trouble(wait)) }
        };
        let outcome = Patience(Duration::from_secs(patience)).with(&complaints, "x", ask).await;
        (tries.into_inner(), outcome)
    }

    #[tokio::test(start_paused = true)]
    async fn pauses_grow_and_end_with_the_patience() {
        let (tries, outcome) = tried(30, usize::MAX, None).await;
        assert!((9..=22).contains(&tries.len()), "{tries:?}");
        assert!(tries.windows(2).all(|pair| pair[1] - pair[0] <= 5_001), "{tries:?}");
        assert!(tries[1] >= 50 && tries[1] <= 101, "{tries:?}");
        assert!(matches!(outcome, Err(Error::GivenUp { after, .. }) if after < Duration::from_secs(30)), "{outcome:?}");
        let (tries, outcome) = tried(30, 3, None).await;
        assert_eq!((tries.len(), outcome.is_ok()), (4, true));
        for patience in [1, 3, 30, 600] {
            let (tries, _) = tried(patience, usize::MAX, None).await;
            assert!(tries.last().is_some_and(|&last| last >= patience * 900), "of {patience} s: {tries:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_wish_of_the_storage_is_heeded_if_there_is_time() {
        let (tries, outcome) = tried(30, 2, Some(Duration::from_secs(5))).await;
        assert!(outcome.is_ok());
        assert!(tries[1] >= 5_000 && tries[2] >= tries[1] + 5_000, "{tries:?}");
        for wait in [5, u64::MAX] {
            let (tries, outcome) = tried(3, 2, Some(Duration::from_secs(wait))).await;
            assert_eq!((tries, outcome.unwrap_err().errno()), (vec![0], libc::EIO));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn silence_ends_with_the_patience_and_refusals_at_once() {
        let complaints = Complaints::new("s");
        let began = Instant::now();
        let patience = Patience(Duration::from_secs(7));
        let outcome = patience.with(&complaints, "x", std::future::pending::<Answer<()>>).await;
        assert_eq!((outcome.unwrap_err().errno(), began.elapsed().as_secs()), (libc::EIO, 7));
        let denied = || async { Err::<(), _>(Trouble::new(Error::Denied("x".into()), "403")) };
        let began = Instant::now();
        let outcome = patience.with(&complaints, "x", denied).await;
        assert_eq!((outcome.unwrap_err().errno(), began.elapsed()), (libc::EACCES, Duration::ZERO));
    }
}
