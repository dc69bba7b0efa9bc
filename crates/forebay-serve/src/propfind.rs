//! `PROPFIND`: a folder as WebDAV lists it (RFC 4918, 9.1), for the http client of `object_store`
//! and others.
//!
//! Whichever properties a client asks for, it gets length, time, tag and kind. Forebay's own mounts
//! get all names, escaped byte by byte. For others, names that are not UTF-8 or hold control
//! characters are left out, since one such name makes clients give up the whole folder; by
//! themselves they can be read.

use std::ffi::OsStr;
use std::fmt::Write;
use std::time::SystemTime;

use hyper::HeaderMap;
use hyper::header::USER_AGENT;

use crate::conditions::date;
use crate::listing::Item;
use crate::markup::escape;
use crate::refusal::Refusal;
use crate::{media, tag};
use forebay_live::site::Seen;

/// How much of a tree is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Depth {
    /// The name itself.
    Itself,
    /// And those in it.
    Names,
    /// And all below.
    All,
}

impl Depth {
    pub(crate) fn of(headers: &HeaderMap) -> Result<Depth, Refusal> {
        match headers.get("depth").map(|value| value.to_str().unwrap_or_default().trim()) {
            Some("0") => Ok(Depth::Itself),
            Some("1") => Ok(Depth::Names),
            None => Ok(Depth::All),
            Some(value) if value.eq_ignore_ascii_case("infinity") => Ok(Depth::All),
            Some(_) => Err(Refusal::bad_request("Depth is 0, 1 or infinity")),
        }
    }
}

/// The beginning of the answer.
pub(crate) const HEAD: &str = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<D:multistatus xmlns:D=\"DAV:\">\n";

/// The end of the answer.
pub(crate) const FOOT: &str = "</D:multistatus>\n";

/// The responses for these names.
pub(crate) fn responses(items: &[Item], started: SystemTime) -> String {
    let mut text = String::new();
    for item in items {
        response(&mut text, &item.href, &item.name, &item.seen, started);
    }
    text
}

/// The names that are listed for a client: see above.
pub(crate) fn listed_for(headers: &HeaderMap) -> fn(&OsStr) -> bool {
    let agent = headers.get(USER_AGENT).map(|agent| agent.as_bytes());
    if agent.is_some_and(|agent| agent.starts_with(b"forebay/")) { |_| true } else { can_be_listed }
}

/// Whether all clients can have a name.
fn can_be_listed(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| !name.chars().any(char::is_control))
}

/// The response for one name, at the address `href`, which is escaped. A name without a known time
/// has that of the start.
pub(crate) fn response(text: &mut String, href: &str, name: &OsStr, seen: &Seen, started: SystemTime) {
    let about = match seen {
        Seen::Folder(folder) => {
            let modified = date(folder.modified().unwrap_or(started));
            format!("<D:resourcetype><D:collection/></D:resourcetype><D:getlastmodified>{modified}</D:getlastmodified>")
        }
        Seen::Unmeasured => format!("<D:resourcetype/><D:getcontenttype>{}</D:getcontenttype>", media::of(name)),
        Seen::File(attributes) => format!(
            "<D:resourcetype/><D:getcontentlength>{}</D:getcontentlength><D:getlastmodified>{}</D:getlastmodified>\
             <D:getetag>{}</D:getetag><D:getcontenttype>{}</D:getcontenttype>",
            attributes.size,
            date(attributes.modified),
            escape(&tag::of(&attributes.identity)),
            media::of(name),
        ),
    };
    // Writing to a text cannot fail.
    let _ = writeln!(
        text,
        "<D:response><D:href>{href}</D:href><D:propstat><D:prop>{about}</D:prop>\
         <D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>"
    );
}
