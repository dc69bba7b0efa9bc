//! Renewal, with a giver whose answers the test sets.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::UNIX_EPOCH;

use super::*;

/// Gives the answers of a list one after the other, each after a pause, then the last one again.
struct Script {
    answers: Mutex<VecDeque<Result<Said, Missing>>>,
    asked: Arc<AtomicUsize>,
    pause: Duration,
}

/// The number of the key, and how long it lasts.
#[derive(Clone)]
struct Said(usize, Option<Duration>);

const HOUR: Option<Duration> = Some(Duration::from_secs(3600));

fn refused() -> Missing {
    Missing::Refused { place: "the test".into(), reason: "it wants so".into() }
}

#[async_trait]
impl Giver for Script {
    async fn give(&self) -> Result<Given, Missing> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        tokio::time::sleep(self.pause).await;
        let mut answers = self.answers.lock();
        let answer = if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() };
        let Said(number, lasts) = answer.expect("a script has an answer")?;
        let credential = AwsCredential { key_id: format!("key-{number}"), secret_key: "secret".into(), token: None };
        Ok(Given { credential, end: lasts.map(|lasts| SystemTime::now() + lasts) })
    }
}

/// Credentials by these answers, and how often they were asked for.
fn scripted(pause: u64, answers: Vec<Result<Said, Missing>>) -> (Credentials, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let pause = Duration::from_millis(pause);
    let script = Script { answers: Mutex::new(answers.into()), asked: Arc::clone(&asked), pause };
    (Credentials::new("s3://test", script), asked)
}

async fn key(credentials: &Credentials) -> Result<String, Missing> {
    credentials.get().await.map(|credential| credential.key_id.clone())
}

async fn pass(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn many_requests_ask_once() {
    let (credentials, asked) = scripted(500, vec![Ok(Said(1, HOUR)), Ok(Said(2, HOUR))]);
    assert_eq!(asked.load(Ordering::SeqCst), 0, "nobody needed any");
    let keys = futures::future::join_all((0..100).map(|_| key(&credentials))).await;
    assert!(keys.iter().all(|key| key.as_deref() == Ok("key-1")), "{keys:?}");
    pass(7200).await;
    assert_eq!(key(&credentials).await.as_deref(), Ok("key-1"));
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

/// The request that began a renewal may be given up; the others don't begin anew.
#[tokio::test(start_paused = true)]
async fn a_renewal_outlives_the_request_that_began_it() {
    let (credentials, asked) = scripted(500, vec![Ok(Said(1, HOUR))]);
    assert!(tokio::time::timeout(Duration::from_millis(100), credentials.get()).await.is_err());
    assert_eq!(key(&credentials).await.as_deref(), Ok("key-1"));
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_an_error_for_all_and_tried_again_after_a_pause() {
    let (credentials, asked) = scripted(0, vec![Err(refused()), Ok(Said(1, None))]);
    for _ in 0..10 {
        assert_eq!(key(&credentials).await, Err(refused()));
    }
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    tokio::time::sleep(PAUSE).await;
    assert_eq!(key(&credentials).await.as_deref(), Ok("key-1"));
}

#[tokio::test(start_paused = true)]
async fn what_is_over_when_it_comes_is_an_error() {
    let (credentials, _) = scripted(0, vec![Ok(Said(1, Some(Duration::ZERO)))]);
    assert!(matches!(key(&credentials).await, Err(Missing::Over(_))));
}

/// The server refuses the credentials that are held: the next request waits for others, and gets
/// them.
#[tokio::test(start_paused = true)]
async fn refused_credentials_are_renewed() {
    let (credentials, asked) = scripted(10, vec![Ok(Said(1, None)), Ok(Said(2, None))]);
    assert_eq!(key(&credentials).await.as_deref(), Ok("key-1"));
    assert!(!credentials.doubt(), "just asked for; there are no better ones");
    assert_eq!(key(&credentials).await.as_deref(), Ok("key-1"));
    pass(60).await;
    assert!(credentials.doubt() && credentials.doubt());
    let keys = futures::future::join_all((0..100).map(|_| key(&credentials))).await;
    assert!(keys.iter().all(|key| key.as_deref() == Ok("key-2")), "{keys:?}");
    assert_eq!(asked.load(Ordering::SeqCst), 2);
    assert!(credentials.doubt(), "requests that were under way had the old ones");
    assert_eq!(key(&credentials).await.as_deref(), Ok("key-2"));
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

/// Asking again brings the same credentials: then the refusal counts.
#[tokio::test(start_paused = true)]
async fn credentials_that_stay_the_same_are_refused_for_good() {
    let (credentials, asked) = scripted(10, vec![Ok(Said(1, None))]);
    assert_eq!(key(&credentials).await.as_deref(), Ok("key-1"));
    pass(60).await;
    assert!(credentials.doubt());
    assert_eq!(key(&credentials).await.as_deref(), Ok("key-1"));
    assert!(!credentials.doubt());
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

/// While renewing fails, the old ones are used, and the giver is asked from time to time.
#[tokio::test(start_paused = true)]
async fn the_old_ones_are_used_while_a_renewal_fails() {
    let (credentials, asked) = scripted(10, vec![Ok(Said(1, HOUR)), Err(refused()), Err(refused()), Ok(Said(2, HOUR))]);
    assert_eq!(key(&credentials).await.as_deref(), Ok("key-1"));
    pass(60).await;
    assert!(credentials.doubt());
    for _ in 0..100 {
        assert_eq!(key(&credentials).await.as_deref(), Ok("key-1"));
    }
    assert_eq!(asked.load(Ordering::SeqCst), 2);
    tokio::time::sleep(REST).await;
    assert_eq!(key(&credentials).await.as_deref(), Ok("key-1"));
    tokio::time::sleep(REST).await;
    assert_eq!(key(&credentials).await.as_deref(), Ok("key-2"));
    assert_eq!(asked.load(Ordering::SeqCst), 4);
}

/// The clock of ends is the system's, so these pass in real time: half of them is due, and no
/// request waits for the renewal.
#[tokio::test]
async fn what_is_due_is_renewed_behind_requests() {
    let (credentials, asked) = scripted(0, vec![Ok(Said(1, HOUR)), Ok(Said(2, HOUR))]);
    assert_eq!(key(&credentials).await.as_deref(), Ok("key-1"));
    let now = SystemTime::now();
    let times = Times { due: now, late: now + Duration::from_secs(1000), end: now + Duration::from_secs(1000) };
    credentials.0.state.lock().held.as_mut().expect("held").times = Some(times);
    assert_eq!(key(&credentials).await.as_deref(), Ok("key-1"), "nobody waits");
    while asked.load(Ordering::SeqCst) < 2 || key(&credentials).await.as_deref() != Ok("key-2") {
        tokio::task::yield_now().await;
    }
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

#[test]
fn credentials_are_due_before_they_are_late_and_late_before_they_end() {
    let at = |seconds: f64| UNIX_EPOCH + Duration::from_secs_f64(seconds);
    let times = |end| Times::new(at(0.0), at(end)).expect("not over");
    assert_eq!(times(3600.0), Times { due: at(3300.0), late: at(3590.0), end: at(3600.0) });
    assert_eq!(times(8.0), Times { due: at(6.0), late: at(7.2), end: at(8.0) });
    assert_eq!(Times::new(at(5.0), at(5.0)), None);
    assert_eq!(Times::new(at(5.0), at(4.0)), None);
    for (now, age) in [
        (0.0, Age::Fresh),
        (5.9, Age::Fresh),
        (6.0, Age::Due),
        (7.2, Age::Late),
        (7.9, Age::Late),
        (8.0, Age::Over),
        (9.0, Age::Over),
    ] {
        assert_eq!(times(8.0).age(at(now)), age, "{now}");
    }
}

#[test]
fn nothing_shows_a_secret() {
    let credential =
        || AwsCredential { key_id: "key".into(), secret_key: "hidden".into(), token: Some("token".into()) };
    let (credentials, _) = scripted(0, vec![Err(refused())]);
    let held = Held::new(Given { credential: credential(), end: None }, None, SystemTime::now()).expect("no end");
    credentials.0.state.lock().held = Some(held);
    let shown = format!("{credentials:?}");
    assert!(!shown.contains("hidden") && shown.contains("s3://test"), "{shown}");
}
