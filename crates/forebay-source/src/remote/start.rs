//! The first question to a storage, before a mount shows anything of it.
//!
//! ```text
//!  the address is wrong, or we are refused       told at once
//!  the storage is busy, or silent                asked again for as long as the patience lasts
//!  anything else that may pass                   asked again a few times
//! ```

use std::future::Future;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::patience::Left;
use super::{Answer, Trouble};
use crate::Error;

/// The delay before the notice that the start waits.
const NOTICE: Duration = Duration::from_secs(2);

/// How often a storage is asked whose trouble may pass, though it is not busy.
const TRIES: u32 = 3;

/// The kinds of trouble of a storage that is busy or silent: those of HTTP, and the codes of object
/// stores.
const BUSY: [&str; 17] = [
    "408",
    "425",
    "429",
    "502",
    "503",
    "504",
    "timeout",
    SILENCE,
    "SlowDown",
    "ServiceUnavailable",
    "ServerBusy",
    "Throttling",
    "ThrottlingException",
    "TooManyRequests",
    "TooManyRequestsException",
    "RequestLimitExceeded",
    "RequestTimeout",
];

/// The kind of trouble with a storage that has not answered at all.
const SILENCE: &str = "silence";

/// Asks until the storage answers, or its trouble does not pass. `tell` is told if that takes long.
pub(super) async fn ask<T, F>(
    patience: Duration,
    name: &str,
    tell: impl Fn(&str) + Send,
    question: impl Fn() -> F + Send,
) -> Answer<T>
where
    F: Future<Output = Answer<T>> + Send,
{
    let last = Mutex::new("no answer yet".to_owned());
    let mut answer = std::pin::pin!(tries(patience, name, &last, question));
    if let Ok(answer) = timeout(NOTICE, answer.as_mut()).await {
        return answer;
    }
    let reason = last.lock().clone();
    tell(&format!("waiting for {name}: {reason}; for up to {patience:?} in all (--patience)"));
    answer.await
}

async fn tries<T, F>(patience: Duration, name: &str, last: &Mutex<String>, question: impl Fn() -> F) -> Answer<T>
where
    F: Future<Output = Answer<T>>,
{
    let (began, mut failed) = (Instant::now(), 0);
    let end = began + patience;
    loop {
        let mut trouble = match timeout_at(end, question()).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(trouble)) => trouble,
            Err(_) => {
                let reason = if failed == 0 { "no answer".to_owned() } else { last.lock().clone() };
                Trouble::new(Error::Storage { name: name.to_owned(), reason }, SILENCE)
            }
        };
        let busy = is_busy(&trouble);
        let Error::Storage { reason, .. } = &mut trouble.error else { return Err(trouble) };
        if !busy && failed + 1 >= TRIES {
            return Err(trouble);
        }
        if reason.contains("timed out") {
            *reason = "no answer in time".to_owned();
        }
        last.lock().clone_from(reason);
        let left = Left { of: patience, after: began.elapsed() };
        let Some(pause) = left.pause(failed, trouble.wait) else {
            *reason = match trouble.wait.filter(|&wait| wait >= patience) {
                Some(wait) => format!("{reason}; it asks to be left alone for {wait:?} (--patience is {patience:?})"),
                None => format!("{reason}; given up after {:.0?} (--patience is {patience:?})", began.elapsed()),
            };
            return Err(trouble);
        };
        if !passes(&trouble) {
            return Err(trouble);
        }
        sleep(pause).await;
        failed += 1;
    }
}

/// Whether another try may help. No other try finds a server whose name is not known, or that takes
/// no connection.
fn passes(trouble: &Trouble) -> bool {
    let Error::Storage { reason, .. } = &trouble.error else { return false };
    let reason = reason.to_ascii_lowercase();
    let unreachable = ["connection refused", "dns error", "failed to lookup", "no credentials"];
    trouble.kind != "connection" && !unreachable.iter().any(|words| reason.contains(words))
}

/// Whether a storage has answered in its own language, or takes no connection in any.
pub(super) fn is_reached(trouble: &Trouble) -> bool {
    let kind = trouble.kind.as_str();
    let refused = kind != "400" && kind.parse::<u16>().is_ok();
    refused || kind == "connection" || BUSY.contains(&kind) && !matches!(kind, SILENCE | "timeout")
}

/// Whether the storage may answer later.
fn is_busy(trouble: &Trouble) -> bool {
    let timed_out = matches!(&trouble.error, Error::Storage { reason, .. } if reason.contains("timed out"));
    trouble.wait.is_some() || timed_out || BUSY.contains(&trouble.kind.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trouble(kind: &str, reason: &str) -> Trouble {
        Trouble::new(Error::Storage { name: "x".into(), reason: reason.into() }, kind)
    }

    /// How often a storage with this trouble is asked, for how long, and the lines that are told.
    async fn asked(make: impl Fn() -> Trouble + Send + Sync) -> (u32, Duration, Vec<String>) {
        let (tries, lines, began) = (Mutex::new(0), Mutex::new(Vec::new()), Instant::now());
        let question = || async {
            *tries.lock() += 1;
            Err::<(), _>(make())
        };
        let tell = |line: &str| lines.lock().push(line.to_owned());
        ask(Duration::from_secs(30), "x", tell, question).await.unwrap_err();
        (tries.into_inner(), began.elapsed(), lines.into_inner())
    }

    #[tokio::test(start_paused = true)]
    async fn wrong_addresses_are_told_at_once_and_busy_ones_waited_for() {
        let (tries, took, lines) = asked(|| trouble("connection", "no connection: Connection refused")).await;
        assert_eq!((tries, took, lines.len()), (1, Duration::ZERO, 0));
        let (tries, took, _) = asked(|| trouble("no answer", "dns error")).await;
        assert_eq!((tries, took), (1, Duration::ZERO));
        let (tries, took, _) = asked(|| Trouble::new(Error::Denied("x".into()), "403")).await;
        assert_eq!((tries, took), (1, Duration::ZERO));
        let (tries, took, lines) = asked(|| trouble("broken", "the answer broke off")).await;
        assert!(tries == TRIES && took < NOTICE && lines.is_empty(), "{tries} {took:?}");
        for kind in ["503", "429", "SlowDown", "timeout"] {
            let (tries, took, lines) = asked(|| trouble(kind, "it is busy")).await;
            assert!(tries > TRIES && took > Duration::from_secs(20), "{kind}: {tries} {took:?}");
            assert!(lines.len() == 1 && lines[0].contains("it is busy") && lines[0].contains("30s"), "{lines:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_busy_storage_is_asked_until_the_patience_is_over() {
        let began = Instant::now();
        let question = || async {
            let back = began.elapsed() > Duration::from_millis(2600);
            if back { Ok(()) } else { Err(trouble("429", "it is busy")) }
        };
        ask(Duration::from_secs(3), "x", |_| {}, question).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn silence_ends_with_the_patience() {
        let (began, lines) = (Instant::now(), Mutex::new(0));
        let silent = std::future::pending::<Answer<()>>;
        let error = ask(Duration::from_secs(7), "x", |_| *lines.lock() += 1, silent).await.unwrap_err();
        assert_eq!((began.elapsed().as_secs(), lines.into_inner()), (7, 1));
        assert!(error.error.to_string().contains("no answer; given up after 7s"), "{}", error.error);
    }
}
