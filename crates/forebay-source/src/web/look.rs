//! Looking up a name.

use std::path::Path;
use std::time::{Duration, SystemTime};

use reqwest::{Method, StatusCode, Url};
use tokio::time::timeout;

use super::address::path_of;
use super::ask::{Led, Question, Reply};
use super::beside::{First, beside};
use super::coding::{CODED, fits, is_one_byte};
use super::elsewhere::{elsewhere, is_elsewhere, is_missing, may_be_folder};
use super::index::Folder;
use super::learnt::{Propfind, SILENCE};
use super::multistatus::Response;
use super::propfind::{Alone, Found, says_busy};
use super::ranges::refuses_ranges;
use super::trouble::{against_rules, not_found, refused};
use super::{Web, What, index};
use crate::Facts;
use crate::remote::{Answer, Told, Trouble};

/// How much of a page is read to see whether it lists a folder, in bytes.
const PAGE: usize = 4 << 20;

/// How often PROPFIND may fail in ways that might pass before the server counts as one without it.
const FAILURES: u32 = 2;

/// How often a listing is compared with a file in vain, and for how long each time.
const COMPARISONS: u32 = 3;
const COMPARISON: Duration = Duration::from_secs(1);

/// A name to look up.
#[derive(Clone, Debug)]
pub(super) struct Name<'a> {
    pub(super) path: &'a Path,
    /// Its address, without a slash at its end.
    pub(super) url: Url,
    /// For messages.
    pub(super) shown: String,
}

impl Web {
    /// Looks up a name, with any tag that the server gives it.
    pub(super) async fn look_at(&self, path: &Path) -> Answer<Told> {
        let name = self.named(path).await?;
        if let What::File(_) = self.settle().await? {
            return self.look_by_head(&name).await;
        }
        self.look_below(&name).await
    }

    /// The address of a file or a name.
    pub(super) async fn named<'a>(&self, path: &'a Path) -> Answer<Name<'a>> {
        let shown = self.name(path);
        let url = match self.settle().await? {
            What::Folder => self.address.name(path),
            What::File(name) => (path == Path::new(name)).then(|| self.address.itself().clone()),
        };
        let url = url.ok_or_else(|| not_found(&shown))?;
        Ok(Name { path, url, shown })
    }

    /// Looks up a name, if the URL names a folder.
    pub(super) async fn look_below(&self, name: &Name<'_>) -> Answer<Told> {
        match self.learnt.propfind() {
            Propfind::Refused(_) => self.look_or_folder(name).await,
            Propfind::Works if self.learnt.listings_lie.is_set() => self.look_or_folder(name).await,
            Propfind::Works => match self.propfind(name.url.clone(), &name.shown, Alone::new).await? {
                Found::Listing(listing) => self.of_listing(name, listing).await,
                Found::LacksSlash => Ok(Told::Folder(None)),
                Found::Missing => Err(not_found(&name.shown)),
                Found::Refused(_) | Found::Garbage(_) => self.look_or_folder(name).await,
            },
            Propfind::Unknown => self.look_and_learn(name).await,
        }
    }

    /// Tries PROPFIND. If it is refused at a name that exists, it is not used from now on.
    async fn look_and_learn(&self, name: &Name<'_>) -> Answer<Told> {
        let asked = self.begin_propfind::<Alone>(name.url.clone(), &name.shown);
        let reply = match beside(self.waits.propfind, asked, Box::pin(self.look_or_folder(name))).await {
            First::Usual(reply) => reply,
            First::Other(told) => {
                if told.is_ok() {
                    self.propfind_is_silent();
                }
                return told;
            }
        };
        let status = match self.end_propfind(reply, &name.shown, Alone::new).await {
            Ok(Found::Listing(listing)) => return self.of_listing(name, listing).await,
            Ok(Found::LacksSlash) => return Ok(Told::Folder(None)),
            Ok(Found::Missing) => 404,
            Ok(Found::Refused(status)) => status,
            Ok(Found::Garbage(_)) => 207,
            Err(trouble) => return self.despite(name, trouble).await,
        };
        let told = self.look_or_folder(name).await;
        if told.is_ok() || cannot(status) {
            self.learnt.propfind_is_refused(status);
        }
        told
    }

    /// PROPFIND is not answered, and a request of another kind for the same name is.
    pub(super) fn propfind_is_silent(&self) {
        if self.learnt.propfind() == Propfind::Unknown {
            self.say("PROPFIND is not answered", "; HEAD and pages for browsers are asked for instead");
        }
        self.learnt.propfind_is_refused(SILENCE);
    }

    /// PROPFIND failed in a way that might pass. If it fails again and HEAD does not, it counts as
    /// refused.
    async fn despite(&self, name: &Name<'_>, trouble: Trouble) -> Answer<Told> {
        let silent = trouble.kind == "timeout";
        if says_busy(&trouble) || !trouble.error.is_transient() || silent && self.learnt.failures.add() < FAILURES {
            return Err(trouble);
        }
        let told = self.look_or_folder(name).await?;
        if !silent {
            match self.propfind(name.url.clone(), &name.shown, Alone::new).await {
                Ok(Found::Listing(listing)) => return self.of_listing(name, listing).await,
                Ok(Found::LacksSlash) => return Ok(Told::Folder(None)),
                Err(trouble) if says_busy(&trouble) => return Err(trouble),
                _ => {}
            }
        }
        self.learnt.propfind_is_refused(500);
        Ok(told)
    }

    async fn of_listing(&self, name: &Name<'_>, listing: Alone) -> Answer<Told> {
        let Some((response, slash)) = listing.response().filter(|(response, _)| !response.refused()) else {
            return self.look_or_folder(name).await;
        };
        if response.folder.unwrap_or(slash) {
            return Ok(Told::Folder(response.modified.and_then(time)));
        }
        match facts(&response) {
            Some(facts) => Ok(Told::File(self.compared(name, facts).await)),
            None => self.look_by_head(name).await,
        }
    }

    /// Compares the first file of a PROPFIND with HEAD: files are read as HEAD describes them. A
    /// file that is silent or refused tells nothing, and another one is compared later.
    pub(super) async fn compared(&self, name: &Name<'_>, told: Facts) -> Facts {
        if self.learnt.compared.is_set() || self.learnt.comparisons.add() > COMPARISONS {
            return told;
        }
        match timeout(COMPARISON, self.compare(name, &told)).await {
            Ok(Some(facts)) => {
                self.learnt.compared.set();
                facts
            }
            _ => told,
        }
    }

    /// The right facts of a file; `None` if it does not answer.
    async fn compare(&self, name: &Name<'_>, told: &Facts) -> Option<Facts> {
        let Ok(Told::File(head)) = self.look_by_head(name).await else { return None };
        let differ = |facts: &Facts| {
            let times = facts.modified.zip(told.modified).is_some_and(|(one, other)| seconds(one) != seconds(other));
            let less =
                told.tag.is_none() && told.modified.is_none() && (facts.tag.is_some() || facts.modified.is_some());
            facts.size != told.size || told.tag.is_none() && times || less
        };
        if !differ(&head) {
            return Some(told.clone());
        }
        // One of the two is wrong; the bytes themselves tell which.
        match self.look_by_byte(name).await {
            Ok(Told::File(byte)) if byte.size == head.size => {
                self.learnt.listings_lie.set();
                self.say("listings tell other or less than the files themselves", "; each file is asked for");
                Some(byte)
            }
            Ok(Told::File(byte)) if !differ(&byte) => {
                self.learnt.no_head.set();
                Some(told.clone())
            }
            Ok(_) => Some(told.clone()),
            Err(_) => None,
        }
    }

    /// By HEAD or a byte. A name that is not found may be a folder, if this server knows folders
    /// only with a slash.
    async fn look_or_folder(&self, name: &Name<'_>) -> Answer<Told> {
        match self.look_by_head(name).await {
            Err(trouble) if is_missing(&trouble) => self.with_slash(name).await,
            told => told,
        }
    }

    /// Looks up a name by HEAD, or by a byte if HEAD does not tell.
    pub(super) async fn look_by_head(&self, name: &Name<'_>) -> Answer<Told> {
        if self.learnt.no_head.is_set() {
            return self.look_by_byte(name).await;
        }
        let question = Question::new(Method::HEAD, name.url.clone(), &name.shown);
        let reply = match beside(self.waits.head, self.asker.ask(&question), Box::pin(self.look_by_byte(name))).await {
            First::Usual(reply) => reply?,
            First::Other(told) => {
                if !self.learnt.no_head.set() {
                    self.say("HEAD is not answered", "; the first byte of each file is asked for instead");
                }
                return told;
            }
        };
        if reply.lacks_slash {
            self.learnt.redirects_folders.set();
            return Ok(Told::Folder(None));
        }
        match reply.status().as_u16() {
            200..300 => {
                self.learnt.head_finds.set();
                match reply.head.length.filter(|_| reply.head.coding.is_none() && !made_up(&reply)) {
                    Some(0) => self.look_at_nothing(name, &reply.head).await,
                    Some(length) => self.file(name, reply.led, &reply.head, length).await,
                    None => self.look_by_byte(name).await,
                }
            }
            404 | 410 if self.head_may_miss() => self.look_past_head(name, reply).await,
            401 | 404 | 407 | 410 | 429 => Err(reply.trouble(&name.shown)),
            _ if reply.head.wait.is_some() => Err(reply.trouble(&name.shown)),
            _ => {
                let told = self.look_by_byte(name).await?;
                self.learnt.no_head.set();
                Ok(told)
            }
        }
    }

    /// Whether the server finds any name, as a server does that answers each missing name with its
    /// front page. Tried once, by a name beside `path` that does not exist.
    pub(super) async fn finds_any_name(&self, path: &Path) -> bool {
        let tried = self.finds_any.get_or_try_init(|| async {
            let none = path.with_file_name(format!("forebay-{:016x}", rand::random::<u64>()));
            match self.look_at(&none).await {
                Ok(_) => Ok(true),
                Err(trouble) if is_elsewhere(&trouble) => Ok(true),
                Err(Trouble { error: crate::Error::NotFound(_), .. }) => Ok(false),
                Err(trouble) => Err(trouble),
            }
        });
        tried.await.is_ok_and(|finds| *finds)
    }

    /// Looks up a name by a request for its first byte.
    pub(super) async fn look_by_byte(&self, name: &Name<'_>) -> Answer<Told> {
        let question = Question::new(Method::GET, name.url.clone(), &name.shown);
        let reply = self.asker.ask(&question.clone().range(0, Some(1))).await?;
        let total = reply.head.range.and_then(|range| range.total);
        match reply.status() {
            _ if reply.lacks_slash => {}
            StatusCode::PARTIAL_CONTENT => match (reply.head.range, total) {
                (_, Some(total)) => return self.of_byte(name, reply, total).await,
                (None, None) => return Err(against_rules(&name.shown, "a part without Content-Range")),
                // The part does not tell the length of the whole either: its last byte does.
                (Some(_), None) => return self.look_by_open_range(name).await,
            },
            status if refuses_ranges(status) => {
                // An empty file has no first byte, and some servers refuse every range.
                let whole = self.asker.ask(&question).await?;
                if whole.status() == StatusCode::OK && total != Some(0) && whole.head.length != Some(0) {
                    self.learnt.is_read_whole(name.path);
                }
                return self.of_whole(name, whole).await;
            }
            _ => {}
        }
        self.of_whole(name, reply).await
    }

    /// The meaning of a part that is a file's first byte. The part itself tells whether a file with
    /// a label of a coding is stored so.
    async fn of_byte(&self, name: &Name<'_>, reply: Reply, size: u64) -> Answer<Told> {
        if reply.head.coding.is_some() {
            if !fits(name, &reply.head) || !is_one_byte(&reply.head, size) {
                return Err(against_rules(&name.shown, CODED));
            }
            self.learnt.is_stored_so(name.path);
        }
        self.learnt.ranges_work.set();
        self.file(name, reply.led, &reply.head, size).await
    }

    async fn look_by_open_range(&self, name: &Name<'_>) -> Answer<Told> {
        let question = Question::new(Method::GET, name.url.clone(), &name.shown).range(0, None);
        let reply = self.asker.ask(&question).await?;
        match reply.head.range.and_then(|range| range.part) {
            Some(part) if reply.status() == StatusCode::PARTIAL_CONTENT && part.start == 0 => {
                let coded = reply.head.coding.is_some();
                if coded && !self.is_stored_so(name, part.end, &reply.head).await? {
                    return Err(against_rules(&name.shown, CODED));
                }
                self.file(name, reply.led, &reply.head, part.end).await
            }
            _ => self.of_whole(name, reply).await,
        }
    }

    /// The meaning of an answer that is not a part of a file.
    async fn of_whole(&self, name: &Name<'_>, reply: Reply) -> Answer<Told> {
        if reply.lacks_slash {
            self.learnt.redirects_folders.set();
            return Ok(Told::Folder(None));
        }
        if reply.status() != StatusCode::OK {
            return Err(match reply.trouble(&name.shown) {
                trouble if reply.status().is_success() => Trouble { kind: "no length".into(), ..trouble },
                trouble => trouble,
            });
        }
        let untold = || {
            self.say("files without a length cannot be read", &format!(", as {}", name.shown));
            refused(&name.shown, libc::EOPNOTSUPP, "no length")
        };
        if reply.head.coding.is_some()
            && !self.is_stored_so(name, reply.head.length.unwrap_or_default(), &reply.head).await?
        {
            return Err(against_rules(&name.shown, CODED));
        }
        let (head, led, at) = (reply.head.clone(), reply.led, Folder::at(&reply.from));
        let page = made_up(&reply) && head.coding.is_none();
        if page {
            let read = move |body| index::parse(body, &at, |_, _| {}).is_some();
            if reply.read(&name.shown, PAGE, read).await.is_ok_and(|is_listing| is_listing) {
                return Ok(Told::Folder(None));
            }
        }
        match head.length {
            Some(length) => self.file(name, led, &head, length).await,
            None if page && led == Led::Away => Err(elsewhere(&name.shown)),
            // As of a folder whose page is no listing, in which names may be asked for.
            None if page && may_be_folder(name.path) => Ok(Told::Folder(None)),
            None => Err(untold()),
        }
    }

    /// Looks up a name that is not found without a slash.
    async fn with_slash(&self, name: &Name<'_>) -> Answer<Told> {
        let missing = || not_found(&name.shown);
        if self.learnt.redirects_folders.is_set() {
            return Err(missing());
        }
        let mut url = name.url.clone();
        url.set_path(&format!("{}/", name.url.path()));
        let methods = if self.learnt.no_head.is_set() { &[Method::GET][..] } else { &[Method::HEAD, Method::GET] };
        for method in methods {
            let reply = self.asker.ask(&Question::new(method.clone(), url.clone(), &name.shown)).await?;
            let (asked, from) = (path_of(&url), path_of(&reply.from));
            let there = from.slash && from.names.last() == asked.names.last();
            match reply.status().as_u16() {
                200..300 | 403 if there => return Ok(Told::Folder(None)),
                405 | 501 if *method == Method::HEAD => {}
                200..300 | 400 | 403..=406 | 410..=417 | 501 => return Err(missing()),
                _ => return Err(reply.trouble(&name.shown)),
            }
        }
        Err(missing())
    }
}

/// Whether an answer is a page that the server made up, as for a folder: it has no version.
fn made_up(reply: &Reply) -> bool {
    reply.head.is_page() && reply.head.tag.is_none() && reply.head.modified.is_none()
}

/// Whether a status alone means that the server does not know PROPFIND.
pub(super) fn cannot(status: u16) -> bool {
    matches!(status, 400 | 405 | 411 | 415 | 422 | 501)
}

/// The facts about a file in a listing, if there is a length.
pub(super) fn facts(response: &Response) -> Option<Facts> {
    let (modified, tag) = (response.modified, response.tag.clone());
    response.length.map(|size| Facts { size, modified, tag })
}

/// A time in nanoseconds since the epoch.
pub(super) fn time(nanos: i64) -> Option<SystemTime> {
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_nanos(u64::try_from(nanos).ok()?))
}

/// Whole seconds of nanoseconds.
pub(super) fn seconds(nanos: i64) -> i64 {
    nanos.div_euclid(1_000_000_000)
}
