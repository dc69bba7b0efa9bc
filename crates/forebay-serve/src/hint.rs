//! Told lists over HTTP: names in, one JSON object a line; the lists' state out.

use std::sync::Arc;

use forebay_live::told::{self, Answer as Told, Mode, Named, TellError};
use forebay_live::tree::Tree;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};

use crate::answer::Answer;
use crate::arriving::Arriving;
use crate::body::Body;
use crate::listing::blocking;
use crate::refusal::Refusal;

/// The longest line, in bytes.
const LINE: usize = 128 << 10;

/// Names that are handed on together.
const TOGETHER: usize = 4096;

/// Names of a request that are looked up before it is answered.
const LOOKED_UP: usize = 64;

/// The state of all lists.
pub(crate) async fn lists(tree: Arc<Tree>) -> Result<Answer, Refusal> {
    let text = blocking(move || Ok(told::report(&tree.told()))).await?;
    Ok(json(StatusCode::OK, text))
}

/// Takes names in.
pub(crate) async fn tell(tree: Arc<Tree>, query: Option<&str>, mut body: Arriving) -> Result<Answer, Refusal> {
    let Asked { list, mode } = Asked::of(query.unwrap_or(""))?;
    let mut taking = Taking { tree, list, mode, lines: 0, names: Vec::new(), first: Vec::new(), told: Told::default() };
    let mut text: Vec<u8> = Vec::new();
    while let Some(bytes) = body.next().await? {
        if mode == Mode::Clear && !bytes.is_empty() {
            return Err(Refusal::bad_request("a list that is cleared takes no names; leave the body out"));
        }
        for part in bytes.split_inclusive(|&byte| byte == b'\n') {
            text.extend_from_slice(part);
            if part.ends_with(b"\n") {
                taking.line(&text).await?;
                text.clear();
            } else if text.len() > LINE {
                return Err(taking.bad(&format!("has more than {LINE} bytes")));
            }
        }
    }
    taking.line(&text).await?;
    taking.hand_on(true).await?;
    let told = taking.answered().await?;
    let text = serde_json::to_string(&told).unwrap_or_default();
    Ok(json(StatusCode::ACCEPTED, text + "\n"))
}

/// The list and the mode that a request names.
pub(crate) struct Asked {
    list: String,
    mode: Mode,
}

impl Asked {
    pub(crate) fn of(query: &str) -> Result<Asked, Refusal> {
        let (mut list, mut mode) = ("default".to_owned(), Mode::Append);
        for part in query.split('&').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let value = percent_encoding::percent_decode_str(value).decode_utf8();
            let value = value.map_err(|_| Refusal::bad_request(format!("the value of {name} is not UTF-8")))?;
            match name {
                "list" => {
                    let name = told::name_of_list(&value);
                    list = name.map_err(|error| Refusal::bad_request(error.to_string()))?.to_owned();
                }
                "mode" => mode = value.parse().map_err(|error| Refusal::bad_request(format!("{error}")))?,
                _ => return Err(Refusal::bad_request(format!("{name} is neither list nor mode"))),
            }
        }
        Ok(Asked { list, mode })
    }
}

/// Names being taken in.
struct Taking {
    tree: Arc<Tree>,
    list: String,
    mode: Mode,
    lines: u64,
    names: Vec<Named>,
    /// The first of them.
    first: Vec<Named>,
    told: Told,
}

impl Taking {
    async fn line(&mut self, text: &[u8]) -> Result<(), Refusal> {
        self.lines += 1;
        match told::line(text) {
            Ok(None) => {}
            Ok(Some(named)) => {
                if self.first.len() < LOOKED_UP {
                    self.first.push(named.clone());
                }
                self.names.push(named);
            }
            Err(error) => return Err(self.bad(&error.to_string())),
        }
        if self.names.len() >= TOGETHER { self.hand_on(false).await } else { Ok(()) }
    }

    fn bad(&self, what: &str) -> Refusal {
        let taken = self.told.accepted;
        Refusal::bad_request(format!("line {} {what}; {taken} names before it were taken", self.lines))
    }

    /// Hands names on to the list. A list that is replaced or cleared is so even without any.
    async fn hand_on(&mut self, last: bool) -> Result<(), Refusal> {
        if self.names.is_empty() && !(last && self.mode != Mode::Append) {
            return Ok(());
        }
        let (tree, list, names) = (Arc::clone(&self.tree), self.list.clone(), std::mem::take(&mut self.names));
        let mode = std::mem::replace(&mut self.mode, Mode::Append);
        let told = blocking(move || Ok(tree.tell(&list, mode, names))).await?;
        match told {
            Ok(told) => {
                self.told.accepted += told;
                Ok(())
            }
            Err(TellError::Full { taken, bytes, most }) => {
                let taken = self.told.accepted + taken;
                Err(Refusal::full(TellError::Full { taken, bytes, most }.to_string()))
            }
            Err(error @ TellError::Lists) => Err(Refusal::full(error.to_string())),
            Err(error) => Err(Refusal::failed(error.to_string())),
        }
    }

    /// The answer, once the first names were looked up.
    async fn answered(self) -> Result<Told, Refusal> {
        let Taking { tree, first, mut told, .. } = self;
        told.missing = blocking(move || Ok(tree.absent(&first))).await?;
        told.missing.truncate(told::REPORTED);
        Ok(told)
    }
}

fn json(status: StatusCode, text: String) -> Answer {
    let mut answer = Response::new(Body::text(text));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}
