//! A folder as a list in XML, as nginx writes it (`autoindex_format xml`): a `list` of `file`,
//! `directory` and `other`, each with a name as its text.
//!
//! Lengths and times are not taken, for the reason in `json.rs`.

use std::ffi::OsString;
use std::io::{BufReader, Read};
use std::os::unix::ffi::OsStringExt;

use quick_xml::Reader;
use quick_xml::events::Event;

use super::index::Link;

/// Whether `text` is such a list. Its names are handed over as they come. If the text turns out to
/// be something else, they count for nothing.
pub(super) fn parse(text: impl Read, mut take: impl FnMut(Link)) -> bool {
    let mut reader = Reader::from_reader(BufReader::new(text));
    reader.config_mut().check_end_names = true;
    let (mut list, mut buffer) = (List::default(), Vec::new());
    loop {
        buffer.clear();
        let Ok(event) = reader.read_event_into(&mut buffer) else { return false };
        let understood = match event {
            Event::Start(tag) => list.opens(tag.local_name().as_ref()),
            Event::End(_) => {
                list.closes().into_iter().for_each(&mut take);
                true
            }
            Event::Text(text) => list.says(&text),
            Event::GeneralRef(entity) => list.refers(&entity),
            Event::Decl(_) | Event::Comment(_) => true,
            Event::Eof => return list.state == State::After,
            Event::Empty(_) | Event::CData(_) | Event::PI(_) | Event::DocType(_) => false,
        };
        if !understood {
            return false;
        }
    }
}

#[derive(Default)]
struct List {
    state: State,
    name: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Before,
    /// In the list, between its entries.
    Within,
    /// In an entry. Only files and folders are taken.
    Entry {
        taken: bool,
        folder: bool,
    },
    After,
}

impl List {
    fn opens(&mut self, name: &[u8]) -> bool {
        self.state = match (self.state, name) {
            (State::Before, b"list") => State::Within,
            (State::Within, b"file") => State::Entry { taken: true, folder: false },
            (State::Within, b"directory") => State::Entry { taken: true, folder: true },
            (State::Within, b"other") => State::Entry { taken: false, folder: false },
            _ => return false,
        };
        true
    }

    fn closes(&mut self) -> Option<Link> {
        let State::Entry { taken, folder } = self.state else {
            self.state = State::After;
            return None;
        };
        self.state = State::Within;
        let name = std::mem::take(&mut self.name);
        taken.then(|| Link { name: OsString::from_vec(name), slash: folder })
    }

    fn says(&mut self, text: &[u8]) -> bool {
        if matches!(self.state, State::Entry { .. }) {
            self.name.extend_from_slice(text);
            return true;
        }
        text.trim_ascii().is_empty()
    }

    fn refers(&mut self, entity: &[u8]) -> bool {
        let text: &[u8] = match entity {
            b"amp" => b"&",
            b"lt" => b"<",
            b"gt" => b">",
            b"quot" => b"\"",
            b"apos" => b"'",
            _ => return false,
        };
        matches!(self.state, State::Entry { .. }) && self.says(text)
    }
}
