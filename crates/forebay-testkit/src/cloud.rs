//! The places of a cloud that give credentials, on the loopback: the metadata of an instance
//! (IMDSv2), a container's agent, and the portal of a login in a browser (SSO).
//!
//! They are fakes, because the real ones exist only in that cloud. Paths, headers and answers are
//! those of Amazon's documentation. A key that they give says where it is from and how many were
//! given: `instance-1`, `portal-3`. S3 servers that check keys don't know them.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::acceptor::Acceptor;
use crate::odd_web::Reply;
use crate::requests::{Reader, Request, Requests};

/// The role that the instance has.
pub const ROLE: &str = "the-role";

/// The secret key of all credentials.
pub const SECRET: &str = "cloud-secret-key";

/// The session token of all credentials.
pub const SESSION: &str = "cloud-session-token";

/// The value of `Authorization` without which the container's agent gives nothing.
pub const CONTAINER_TOKEN: &str = "container-token";

/// The login that the portal takes.
pub const LOGIN: &str = "portal-login";

/// The token that renews a login at the portal.
pub const REFRESH: &str = "portal-refresh";

/// The cloud. Stopped when dropped.
#[derive(Debug)]
pub struct Cloud {
    places: Arc<Places>,
    acceptor: Acceptor,
}

#[derive(Debug, Default)]
struct Places {
    requests: Requests,
    /// How long credentials last.
    lasts: Duration,
    given: AtomicUsize,
    /// Tokens of instance metadata that were given.
    tokens: AtomicU64,
    failing: AtomicBool,
}

impl Cloud {
    /// Starts a cloud whose credentials last so long.
    pub fn start(lasts: Duration) -> io::Result<Cloud> {
        let places = Arc::new(Places { lasts, ..Places::default() });
        let serve = Arc::clone(&places);
        let acceptor = Acceptor::start("cloud", move |mut stream, stop| {
            let Ok(copy) = stream.try_clone() else { return };
            let mut reader = Reader::new(copy);
            while let Ok(Some(request)) = reader.next() {
                serve.requests.add(&request);
                if !serve.answer(&request).send(&mut stream, stop).unwrap_or(false) {
                    break;
                }
            }
        })?;
        Ok(Cloud { places, acceptor })
    }

    /// Its address, as `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.acceptor.address())
    }

    /// The requests that came.
    pub fn requests(&self) -> &Requests {
        &self.places.requests
    }

    /// How often credentials were given.
    pub fn given(&self) -> usize {
        self.places.given.load(Ordering::SeqCst)
    }

    /// Answers 500 to everything from now on, or no longer.
    pub fn set_failing(&self, failing: bool) {
        self.places.failing.store(failing, Ordering::SeqCst);
    }
}

impl Places {
    fn answer(&self, request: &Request) -> Reply {
        if self.failing.load(Ordering::SeqCst) {
            return Reply::new(500);
        }
        match (request.method.as_str(), request.path()) {
            ("PUT", "/latest/api/token") => self.token(request),
            ("GET", path) if path.starts_with("/latest/meta-data/") => self.metadata(request),
            ("GET", "/container") if request.header("authorization") == Some(CONTAINER_TOKEN) => {
                json(self.credentials("container"))
            }
            ("GET", "/federation/credentials") if request.header("x-amz-sso_bearer_token") == Some(LOGIN) => {
                json(self.of_portal())
            }
            ("POST", "/token") if String::from_utf8_lossy(&request.body).contains(REFRESH) => json(format!(
                r#"{{"accessToken": "{LOGIN}", "expiresIn": 3600, "tokenType": "Bearer", "refreshToken": "{REFRESH}"}}"#
            )),
            ("GET", "/federation/credentials") => json_of(401, r#"{"message": "Session token not found or invalid"}"#)
                .header("x-amzn-ErrorType", "UnauthorizedException"),
            _ => Reply::new(403),
        }
    }

    /// The first step of IMDSv2.
    fn token(&self, request: &Request) -> Reply {
        const TTL: &str = "x-aws-ec2-metadata-token-ttl-seconds";
        let Some(ttl) = request.header(TTL) else { return Reply::new(400) };
        let number = self.tokens.fetch_add(1, Ordering::SeqCst) + 1;
        Reply::new(200).header(TTL, ttl).body("text/plain", format!("token-{number}"))
    }

    /// The second step: without a token of the first there is nothing.
    fn metadata(&self, request: &Request) -> Reply {
        let tokens = self.tokens.load(Ordering::SeqCst);
        let known = |token: &str| (1..=tokens).any(|number| token == format!("token-{number}"));
        if !request.header("x-aws-ec2-metadata-token").is_some_and(known) {
            return Reply::new(401);
        }
        let role = request.path().strip_prefix("/latest/meta-data/iam/security-credentials/");
        match role {
            Some("") => Reply::new(200).body("text/plain", ROLE),
            Some(ROLE) => Reply::new(200).body("text/plain", self.credentials("instance")),
            _ => Reply::new(404),
        }
    }

    /// Credentials as instances and containers get them.
    fn credentials(&self, place: &str) -> String {
        let (key, end) = self.give(place);
        format!(
            r#"{{"Code": "Success", "LastUpdated": "{}", "Type": "AWS-HMAC", "AccessKeyId": "{key}",
                "SecretAccessKey": "{SECRET}", "Token": "{SESSION}", "Expiration": "{}"}}"#,
            rfc_3339(SystemTime::now()),
            rfc_3339(end)
        )
    }

    fn of_portal(&self) -> String {
        let (key, end) = self.give("portal");
        let end = end.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        format!(
            r#"{{"roleCredentials": {{"accessKeyId": "{key}", "secretAccessKey": "{SECRET}",
                "sessionToken": "{SESSION}", "expiration": {end}}}}}"#
        )
    }

    fn give(&self, place: &str) -> (String, SystemTime) {
        let number = self.given.fetch_add(1, Ordering::SeqCst) + 1;
        (format!("{place}-{number}"), SystemTime::now() + self.lasts)
    }
}

fn json(body: impl Into<Vec<u8>>) -> Reply {
    json_of(200, body)
}

fn json_of(code: u16, body: impl Into<Vec<u8>>) -> Reply {
    Reply::new(code).body("application/json", body)
}

/// A time as `2018-09-07T08:49:58Z`, cut to whole seconds.
pub fn rfc_3339(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let (days, seconds) = (seconds / 86_400, seconds % 86_400);
    // Days since the first of March of the year 0, so that a leap day is the last of its year.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = (era * 400 + year + u64::from(month >= 10), if month < 10 { month + 3 } else { month - 9 });
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asking::ask;
    use crate::header::Header;

    #[test]
    fn times_are_written_as_dates() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_536_310_198, "2018-09-07T08:49:58Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
        ] {
            assert_eq!(rfc_3339(UNIX_EPOCH + Duration::from_secs(seconds)), text);
        }
    }

    #[test]
    fn each_place_wants_to_see_something() {
        let cloud = Cloud::start(Duration::from_secs(60)).unwrap();
        let address = cloud.acceptor.address();
        let asked = |method: &str, path: &str, headers: &[Header]| ask(address, method, path, headers).unwrap();
        let role = "/latest/meta-data/iam/security-credentials/";
        let token = "x-aws-ec2-metadata-token";
        assert_eq!(asked("GET", role, &[]).code, 401);
        assert_eq!(asked("GET", role, &[Header::new(token, "token-1")]).code, 401, "it was not given");
        let first = asked("PUT", "/latest/api/token", &[Header::new("x-aws-ec2-metadata-token-ttl-seconds", "60")]);
        assert_eq!(asked("GET", role, &[Header::new(token, first.text())]).text(), ROLE);
        let given = asked("GET", &format!("{role}{ROLE}"), &[Header::new(token, first.text())]).text();
        assert!(given.contains("instance-1") && given.contains(SESSION), "{given}");
        assert_eq!(asked("GET", "/container", &[]).code, 403);
        assert!(
            asked("GET", "/container", &[Header::new("Authorization", CONTAINER_TOKEN)]).text().contains("container-2")
        );
        let portal = "/federation/credentials?role_name=r&account_id=1";
        assert_eq!(asked("GET", portal, &[Header::new("x-amz-sso_bearer_token", "another")]).code, 401);
        assert!(asked("GET", portal, &[Header::new("x-amz-sso_bearer_token", LOGIN)]).text().contains("portal-3"));
        cloud.set_failing(true);
        assert_eq!(asked("GET", "/container", &[Header::new("Authorization", CONTAINER_TOKEN)]).code, 500);
        assert_eq!((cloud.given(), cloud.requests().count("GET", "/container")), (3, 3));
    }
}
