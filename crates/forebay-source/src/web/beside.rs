//! Two ways to ask for one thing, since a server may be silent to the usual one.
//!
//! ```text
//!  alone        only the usual way is waited for
//!  then         the other way is asked beside it, and the first answer counts
//!  until both   an error of the other way is none as long as the usual way may still answer
//! ```

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use futures::future::{Either, select};
use tokio::time::{Instant, timeout, timeout_at};

use crate::remote::Answer;

/// How long the usual way is waited for, from the question on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shares {
    /// Before the other way is asked.
    pub(super) alone: Duration,
    /// Before an error of the other way counts.
    pub(super) both: Duration,
}

/// The shares of the questions to one server.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waits {
    /// HEAD, beside which a byte is asked for. The two differ only in the body, so errors count.
    pub(super) head: Shares,
    /// PROPFIND at a server that has not answered PROPFIND yet.
    pub(super) propfind: Shares,
    /// PROPFIND at a server that has answered it: a long listing takes its time.
    pub(super) known: Shares,
}

/// The answer that came first, and its question.
pub(super) enum First<A, B> {
    /// The answer to the usual one.
    Usual(Answer<A>),
    /// The answer to the other one, while the usual one is not answered.
    Other(Answer<B>),
}

impl Waits {
    /// For a server that may be silent for `silence` before a try ends, and for `patience` in all.
    pub(super) fn new(silence: Duration, patience: Duration) -> Waits {
        let silence = silence.min(patience);
        let alone = (patience / 8).min(silence / 2);
        Waits {
            head: Shares { alone, both: alone },
            propfind: Shares { alone, both: silence.min(patience / 2) },
            known: Shares { alone: silence * 4 / 5, both: patience },
        }
    }
}

/// Asks the usual way, and the other one if that takes longer than its share.
pub(super) async fn beside<A, B>(
    shares: Shares,
    usual: impl Future<Output = Answer<A>>,
    other: impl Future<Output = Answer<B>>,
) -> First<A, B> {
    let (began, mut usual) = (Instant::now(), pin!(usual));
    if let Ok(answer) = timeout(shares.alone, usual.as_mut()).await {
        return First::Usual(answer);
    }
    let trouble = match select(usual.as_mut(), pin!(other)).await {
        Either::Left((Err(trouble), other)) if trouble.error.is_transient() => {
            return match other.await {
                Err(theirs) if theirs.error.is_transient() => First::Usual(Err(trouble)),
                answer => First::Other(answer),
            };
        }
        Either::Left((answer, _)) => return First::Usual(answer),
        Either::Right((Ok(answer), _)) => return First::Other(Ok(answer)),
        Either::Right((Err(trouble), _)) => trouble,
    };
    if trouble.error.is_transient() {
        return First::Usual(usual.await);
    }
    match timeout_at(began + shares.both, usual).await {
        Ok(Err(theirs)) if theirs.error.is_transient() => First::Other(Err(trouble)),
        Ok(answer) => First::Usual(answer),
        Err(_) => First::Other(Err(trouble)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use crate::remote::Trouble;

    const SHARES: Shares = Shares { alone: Duration::from_secs(2), both: Duration::from_secs(6) };

    fn passing() -> Trouble {
        Trouble::new(Error::Storage { name: "x".into(), reason: "busy".into() }, "503")
    }

    fn missing() -> Trouble {
        Trouble::new(Error::NotFound("x".into()), "404")
    }

    /// The way whose answer comes first of two that take these numbers of seconds, whether it is a
    /// good answer, and after how many seconds it comes.
    async fn first(usual: (u64, Answer<()>), other: (u64, Answer<()>)) -> (&'static str, bool, u64) {
        let after = async |(seconds, answer)| {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            answer
        };
        let began = Instant::now();
        let (way, answer) = match beside(SHARES, after(usual), after(other)).await {
            First::Usual(answer) => ("usual", answer),
            First::Other(answer) => ("other", answer),
        };
        (way, answer.is_ok(), began.elapsed().as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_answer_counts_and_an_error_only_in_the_end() {
        for (usual, other, expected) in [
            ((1, Ok(())), (0, Ok(())), ("usual", true, 1)),
            ((1, Err(passing())), (0, Ok(())), ("usual", false, 1)),
            ((99, Ok(())), (1, Ok(())), ("other", true, 3)),
            ((3, Ok(())), (9, Ok(())), ("usual", true, 3)),
            ((3, Err(missing())), (9, Ok(())), ("usual", false, 3)),
            ((3, Err(passing())), (9, Ok(())), ("other", true, 11)),
            ((3, Err(passing())), (9, Err(passing())), ("usual", false, 11)),
            ((5, Ok(())), (0, Err(missing())), ("usual", true, 5)),
            ((99, Ok(())), (0, Err(missing())), ("other", false, 6)),
            ((5, Err(passing())), (0, Err(missing())), ("other", false, 5)),
            ((99, Ok(())), (0, Err(passing())), ("usual", true, 99)),
        ] {
            let said = format!("{usual:?} {other:?}");
            assert_eq!(first(usual, other).await, expected, "{said}");
        }
    }

    #[test]
    fn shares_fit_into_the_patience() {
        for (silence, patience) in [(10, 30), (10, 3), (10, 1), (10, 600)].map(|(a, b)| (a * 1000, b * 1000)) {
            let [silence, patience] = [silence, patience].map(Duration::from_millis);
            let Waits { head, propfind, known } = Waits::new(silence, patience);
            assert!(head.alone <= patience / 8 && head.alone < silence && head.both == head.alone);
            assert!(propfind.alone <= patience / 8 && propfind.both <= patience / 2);
            assert!(known.alone < patience.min(silence));
        }
    }
}
