//! Whether an answer is of the version that was opened.

use reqwest::{Method, StatusCode};

use super::Web;
use super::ask::Question;
use super::head::{Head, opaque};
use super::learnt::Propfind;
use super::look::{Name, seconds};
use super::trouble::{against_rules, stale};
use crate::remote::{Answer, Told, Trouble};
use crate::{Facts, Version};

/// How often a server with several tags for a version is asked until one comes again.
const PROBES: usize = 4;

impl Web {
    /// A name's facts, without the tag if tags are no versions at this server.
    pub(super) fn settled_tag(&self, told: Told) -> Told {
        match told {
            Told::File(facts) if self.learnt.tags_flip.is_set() && facts.modified.is_some() => {
                Told::File(Facts { tag: None, ..facts })
            }
            told => told,
        }
    }

    /// Whether the answer `head` is of `version`, as far as tags and times tell. An error if it is
    /// not. The caller checks lengths.
    pub(super) async fn same_version(&self, name: &Name<'_>, version: &Version, head: &Head) -> Answer<()> {
        let Some(tag) = version.tag.as_deref() else {
            let told = i64::try_from(version.modified).ok().map(seconds).filter(|&told| told != 0);
            let differ = told.zip(head.modified.map(seconds)).is_some_and(|(told, now)| told != now);
            return if differ { Err(stale(&name.shown)) } else { Ok(()) };
        };
        match head.tag.as_deref() {
            // An answer without a tag has only length and time.
            None => {
                let time = self.learnt.time(name.path, tag).map(seconds);
                let differ = time.zip(head.modified.map(seconds)).is_some_and(|(told, now)| told != now);
                if differ { Err(stale(&name.shown)) } else { Ok(()) }
            }
            Some(other) if opaque(other) == opaque(tag) => Ok(()),
            Some(_) => self.despite_tag(name, version, head).await,
        }
    }

    /// Whether the version is the same although its tag is another one. It is the same if the time
    /// is, and the server takes turns with its tags or has other tags in listings than in answers.
    async fn despite_tag(&self, name: &Name<'_>, version: &Version, head: &Head) -> Answer<()> {
        let tag = version.tag.as_deref().unwrap_or_default();
        let known = self.learnt.time(name.path, tag).filter(|_| self.learnt.tags_flip.is_set());
        let time = match known {
            Some(time) => Some(time),
            None => self.time_if_unchanged(name, version, head).await?,
        };
        let Some(time) = time.filter(|told| head.modified.is_some_and(|now| seconds(*told) == seconds(now))) else {
            return Err(stale(&name.shown));
        };
        self.learnt.remember(name.path, tag, time);
        if !self.learnt.tags_flip.set() {
            self.say("one version has several tags", "; lengths and times are compared instead");
        }
        Ok(())
    }

    /// The time of the version, if the server still gives it its tag, and its answers have tags
    /// that come again. The tags of a file that is being changed don't come again.
    async fn time_if_unchanged(&self, name: &Name<'_>, version: &Version, head: &Head) -> Answer<Option<i64>> {
        let tag = opaque(version.tag.as_deref().unwrap_or_default()).to_owned();
        let by_listing = self.looks_by_listing();
        // Looks by listings take no turns.
        for _ in 0..if by_listing { 1 } else { 2 } {
            let Ok(Told::File(facts)) = self.look_at(name.path).await else { return Ok(None) };
            if facts.size != version.size {
                return Ok(None);
            }
            if facts.tag.as_deref().map(opaque) == Some(&tag) {
                let seen = vec![opaque(head.tag.as_deref().unwrap_or_default()).to_owned(), tag];
                return Ok(if self.has_steady_tags(name, seen).await? { facts.modified } else { None });
            }
        }
        Ok(None)
    }

    /// Whether answers have tags that come again; `seen` are those that came already.
    async fn has_steady_tags(&self, name: &Name<'_>, mut seen: Vec<String>) -> Answer<bool> {
        for _ in 0..PROBES {
            let question = Question::new(Method::GET, name.url.clone(), &name.shown).range(0, Some(1));
            let reply = self.asker.ask(&question).await?;
            if !matches!(reply.status(), StatusCode::OK | StatusCode::PARTIAL_CONTENT) {
                return Ok(false);
            }
            let tag = opaque(reply.head.tag.as_deref().unwrap_or_default()).to_owned();
            if seen.contains(&tag) {
                return Ok(true);
            }
            seen.push(tag);
        }
        Ok(false)
    }

    /// The file has another length than the version. Either it has changed, or one way to ask
    /// tells a wrong length, and is not used any more. If only ranges tell another length, the
    /// server breaks the rules.
    pub(super) async fn other_length(&self, name: &Name<'_>, version: &Version) -> Trouble {
        let by_listing = self.looks_by_listing();
        let size = |told: Answer<Told>| match told {
            Ok(Told::File(facts)) => Some(facts.size),
            _ => None,
        };
        if size(self.look_at(name.path).await) == Some(version.size)
            && size(self.look_by_byte(name).await).is_some_and(|size| size != version.size)
        {
            if self.whole_length(name).await == Some(version.size) {
                return against_rules(&name.shown, "ranges tell another length than the file has");
            }
            let flag = if by_listing { &self.learnt.listings_lie } else { &self.learnt.no_head };
            flag.set();
            self.say("lengths are told that the files do not have", &format!(", as that of {}", name.shown));
        }
        stale(&name.shown)
    }

    /// The length of an answer with the whole file; no byte of it is read.
    async fn whole_length(&self, name: &Name<'_>) -> Option<u64> {
        let reply = self.asker.ask(&Question::new(Method::GET, name.url.clone(), &name.shown)).await.ok()?;
        (reply.status() == StatusCode::OK && reply.head.coding.is_none()).then_some(reply.head.length)?
    }

    fn looks_by_listing(&self) -> bool {
        self.learnt.propfind() == Propfind::Works && !self.learnt.listings_lie.is_set()
    }

    /// Whether the server still gives the name this version, after it denied the version for a
    /// range.
    pub(super) async fn still_has(&self, name: &Name<'_>, version: &Version) -> Answer<bool> {
        // Two looks, for a server that takes turns with its tags.
        for _ in 0..2 {
            let Ok(Told::File(facts)) = self.look_at(name.path).await else { return Ok(false) };
            let same = facts.tag.as_deref().map(opaque) == version.tag.as_deref().map(opaque);
            if facts.size == version.size && same {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
