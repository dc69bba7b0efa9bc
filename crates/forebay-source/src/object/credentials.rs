//! Credentials of S3 sources that no setting gives: asked for when a request first needs them, and
//! renewed while the source is in use.
//!
//! ```text
//!  given                          due                       late      end
//!    ├──────── as they are ────────┼── renewed behind them ──┼─ waited ─┼── none
//!    │                             │  5 min, or a quarter    │ 10 s, or a tenth
//! ```
//!
//! There is one renewal at a time, and every request that needs it waits for the same one. While a
//! renewal fails the old credentials are used up to their end. Past it the request fails, and is
//! tried again by the rule of all requests (`remote/patience.rs`).
//!
//! Credentials without an end are kept until the server refuses them: another program may have
//! written new ones into the file that they are from.

mod chain;
mod http;
mod missing;
mod process;
mod profile;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use object_store::CredentialProvider;
use object_store::aws::AwsCredential;
use parking_lot::Mutex;
use tokio::time::Instant;

pub(super) use chain::Chain;
pub(super) use missing::Missing;
pub(super) use profile::Profile;

/// From how long before their end on credentials are renewed, at most; as the AWS SDKs have it.
const DUE: Duration = Duration::from_secs(5 * 60);

/// From how long before their end on a request waits for the renewal, at most: a signature has to
/// arrive while it is valid, by the server's clock.
const LATE: Duration = Duration::from_secs(10);

/// The pause after a renewal that failed while the old credentials last.
const REST: Duration = Duration::from_secs(10);

/// The pause while there are no credentials. All requests that come meanwhile get the same error,
/// so that many readers don't run a process many times a second.
const PAUSE: Duration = Duration::from_secs(1);

/// How long after a renewal a refusal may concern the old credentials.
const YOUNG: Duration = Duration::from_secs(10);

/// Credentials with their end.
pub(super) struct Given {
    pub(super) credential: AwsCredential,
    /// `None` if no end is known.
    pub(super) end: Option<SystemTime>,
}

/// A place where credentials come from.
#[async_trait]
pub(super) trait Giver: Send + Sync + 'static {
    /// Asks for credentials, once. Ends in time, whatever happens.
    async fn give(&self) -> Result<Given, Missing>;
}

/// The credentials of one source.
#[derive(Clone)]
pub(super) struct Credentials(Arc<Inner>);

struct Inner {
    /// The source, for messages.
    name: String,
    giver: Box<dyn Giver>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    held: Option<Held>,
    renewal: Option<Renewal>,
    /// The last renewal, if it failed.
    failed: Option<Failed>,
}

type Outcome = Result<Arc<AwsCredential>, Missing>;
type Renewal = Shared<BoxFuture<'static, Outcome>>;

struct Held {
    credential: Arc<AwsCredential>,
    times: Option<Times>,
    /// When it was first given.
    since: Instant,
    /// Whether it replaced other credentials.
    replaced_others: bool,
    /// When it was last given.
    given: Instant,
    /// Whether the server has refused it since.
    doubted: bool,
}

/// When to renew credentials.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Times {
    due: SystemTime,
    late: SystemTime,
    end: SystemTime,
}

struct Failed {
    at: Instant,
    error: Missing,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Age {
    Fresh,
    Due,
    Late,
    Over,
}

/// The next step of a request.
enum Next {
    Goes(Outcome),
    Waits(Renewal),
}

impl Credentials {
    /// Credentials of the source `name`. Sends no request yet.
    pub(super) fn new(name: &str, giver: impl Giver) -> Credentials {
        let (name, giver) = (name.to_owned(), Box::new(giver));
        Credentials(Arc::new(Inner { name, giver, state: Mutex::default() }))
    }

    /// Credentials to sign with now. Must be called on a thread of a runtime.
    pub(super) async fn get(&self) -> Outcome {
        let next = self.0.next(&mut self.0.state.lock());
        match next {
            Next::Goes(outcome) => outcome,
            Next::Waits(renewal) => renewal.await,
        }
    }

    /// Takes in the server's refusal of the credentials that a request was signed with. True if
    /// another try has better ones, or may have.
    pub(super) fn doubt(&self) -> bool {
        let state = &mut *self.0.state.lock();
        let Some(held) = &mut state.held else { return true };
        if held.given.elapsed() < YOUNG && !held.doubted {
            // Just asked for. The refusal is of those before, or there are no better ones.
            return held.replaced_others && held.since.elapsed() < YOUNG;
        }
        held.doubted = true;
        true
    }
}

impl Inner {
    fn next(self: &Arc<Self>, state: &mut State) -> Next {
        let rests = |pause| state.failed.as_ref().filter(|failed| failed.at.elapsed() < pause);
        let Some((held, age)) = state.held.as_ref().map(|held| (held, held.age(SystemTime::now()))) else {
            return self.next_of_none(state);
        };
        let credential = Arc::clone(&held.credential);
        match age {
            Age::Fresh => {}
            Age::Due | Age::Late if rests(REST).is_some() => {}
            Age::Due => drop(self.renewal(state)),
            Age::Late => return Next::Waits(self.renewal(state)),
            Age::Over => return self.next_of_none(state),
        }
        Next::Goes(Ok(credential))
    }

    fn next_of_none(self: &Arc<Self>, state: &mut State) -> Next {
        match &state.failed {
            Some(failed) if failed.at.elapsed() < PAUSE => Next::Goes(Err(failed.error.clone())),
            _ => Next::Waits(self.renewal(state)),
        }
    }

    /// The renewal under way, or a new one. It goes on even if no request waits for it any more.
    fn renewal(self: &Arc<Self>, state: &mut State) -> Renewal {
        if let Some(renewal) = state.renewal.as_ref().filter(|renewal| renewal.peek().is_none()) {
            return renewal.clone();
        }
        let inner = Arc::clone(self);
        let task = tokio::spawn(async move { inner.renewed(inner.giver.give().await) });
        let renewal = task.map(|ended| ended.unwrap_or(Err(Missing::Abandoned))).boxed().shared();
        state.renewal = Some(renewal.clone());
        renewal
    }

    fn renewed(&self, given: Result<Given, Missing>) -> Outcome {
        let now = SystemTime::now();
        let state = &mut *self.state.lock();
        state.renewal = None;
        let held = given.and_then(|given| Held::new(given, state.held.as_ref(), now));
        match held {
            Ok(held) => {
                state.failed = None;
                Ok(Arc::clone(&state.held.insert(held).credential))
            }
            Err(error) => {
                let first = state.failed.is_none();
                state.failed = Some(Failed { at: Instant::now(), error: error.clone() });
                let Some(held) = state.held.as_ref().filter(|held| held.age(now) != Age::Over) else {
                    return Err(error);
                };
                if first {
                    log::warn!("{}: {error}; the old credentials are used to their end", self.name);
                }
                Ok(Arc::clone(&held.credential))
            }
        }
    }
}

impl Held {
    /// Takes the credentials given at `now`. An error if they have ended already.
    fn new(given: Given, before: Option<&Held>, now: SystemTime) -> Result<Held, Missing> {
        let times = given.end.map(|end| Times::new(now, end).ok_or(Missing::Over(end))).transpose()?;
        let given_at = Instant::now();
        let same = before.filter(|before| *before.credential == given.credential);
        Ok(Held {
            credential: Arc::new(given.credential),
            times,
            since: same.map_or(given_at, |same| same.since),
            replaced_others: same.map_or(before.is_some(), |same| same.replaced_others),
            given: given_at,
            doubted: false,
        })
    }

    fn age(&self, now: SystemTime) -> Age {
        match self.times.map(|times| times.age(now)) {
            Some(Age::Over) => Age::Over,
            _ if self.doubted => Age::Late,
            age => age.unwrap_or(Age::Fresh),
        }
    }
}

impl Times {
    /// The times of credentials that are given now; `None` if they have ended.
    fn new(now: SystemTime, end: SystemTime) -> Option<Times> {
        let left = end.duration_since(now).ok().filter(|left| !left.is_zero())?;
        Some(Times { due: end - DUE.min(left / 4), late: end - LATE.min(left / 10), end })
    }

    fn age(&self, now: SystemTime) -> Age {
        let ages = [(self.end, Age::Over), (self.late, Age::Late), (self.due, Age::Due)];
        ages.into_iter().find(|(from, _)| now >= *from).map_or(Age::Fresh, |(_, age)| age)
    }
}

#[async_trait]
impl CredentialProvider for Credentials {
    type Credential = AwsCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<AwsCredential>> {
        self.get().await.map_err(|missing| object_store::Error::Generic { store: "S3", source: Box::new(missing) })
    }
}

/// Without the credentials.
impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("name", &self.0.name).finish_non_exhaustive()
    }
}
