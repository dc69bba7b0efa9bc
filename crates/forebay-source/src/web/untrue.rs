//! HEAD that says of a file that it is empty, or that it is missing: neither is always true.

use reqwest::Method;

use super::Web;
use super::ask::{Question, Reply};
use super::head::Head;
use super::look::Name;
use crate::Error;
use crate::remote::{Answer, Told};

/// How many names a byte may miss as HEAD does before HEAD is believed.
const MISSED: u32 = 4;

impl Web {
    /// Looks up a file that HEAD says is empty: some servers tell zero for every file.
    pub(super) async fn look_at_nothing(&self, name: &Name<'_>, head: &Head) -> Answer<Told> {
        let trouble = match self.look_by_byte(name).await {
            Ok(told) => {
                if matches!(&told, Told::File(facts) if facts.size > 0) {
                    self.learnt.no_head.set();
                }
                return Ok(told);
            }
            Err(trouble) => trouble,
        };
        let fails = matches!(trouble.error, Error::Refused { .. }) || trouble.kind == "broken";
        if fails && self.has_no_byte(name).await? { Ok(Told::File(head.facts(0))) } else { Err(trouble) }
    }

    /// Whether GET brings no byte of a file, however that is said.
    async fn has_no_byte(&self, name: &Name<'_>) -> Answer<bool> {
        let question = Question::new(Method::GET, name.url.clone(), &name.shown);
        let mut reply = match self.asker.ask(&question).await {
            Ok(reply) => reply,
            Err(trouble) => return if trouble.kind == "broken" { Ok(true) } else { Err(trouble) },
        };
        match reply.status().as_u16() {
            200 => match reply.chunk(&name.shown).await {
                Ok(bytes) => Ok(bytes.is_none_or(|bytes| bytes.is_empty())),
                Err(trouble) if trouble.kind == "broken" => Ok(true),
                Err(trouble) => Err(trouble),
            },
            status => Ok(matches!(status, 204 | 400 | 416)),
        }
    }

    /// Whether HEAD may be answered 404 for files that are there. It is not once it has found one,
    /// and is taken not to be if a byte of several names was not found either.
    pub(super) fn head_may_miss(&self) -> bool {
        !self.learnt.head_finds.is_set() && self.learnt.missed.get() < MISSED
    }

    /// Looks up a name that HEAD does not find.
    pub(super) async fn look_past_head(&self, name: &Name<'_>, reply: Reply) -> Answer<Told> {
        let told = match self.look_by_byte(name).await {
            Err(trouble) if !trouble.error.is_transient() => {
                self.learnt.missed.add();
                return Err(reply.trouble(&name.shown));
            }
            told => told?,
        };
        if matches!(told, Told::File(_)) && !self.learnt.no_head.set() {
            self.say("HEAD does not find files that are there", "; the first byte of each is asked for instead");
        }
        Ok(told)
    }
}
