//! A server that gives a limited part of a range at a time, as some gateways do.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use forebay_testkit::odd_web::{OddWeb, Oddity};
use forebay_testkit::trees::content;

use super::scripted::{Scripted, reply};
use super::*;
use crate::object::StoreOptions;
use crate::{Fetch, FetchId, RemoteSource, Source, waited};

const SIZE: usize = 1 << 20;

/// Bytes that the server gives at a time.
const SLICE: usize = 20_000;

/// The rest of a range is asked for, in parts of the size that the server gives.
#[test]
fn a_range_that_comes_short_is_asked_for_to_its_end() {
    let bytes = content(5, SIZE);
    let server = OddWeb::start([("file", bytes.as_slice())], Oddity::RangeClipped(SLICE)).unwrap();
    let source = Tried::new(&server.url());
    let version = source.facts("file").unwrap().version();
    server.requests().clear();
    assert!(source.read("file", &version, 0..SIZE as u64).unwrap() == bytes);
    assert_eq!(server.requests().all().len(), SIZE.div_ceil(SLICE));
    // A server that gives next to nothing is not asked for ever.
    server.set(Oddity::RangeClipped(10));
    let error = source.read("file", &version, 0..SIZE as u64).unwrap_err();
    assert!(error.to_string().contains("too few bytes"), "{error}");
}

/// Reads a file of a server that gives slices; returns the most requests that it had at once. The
/// server keeps the answer to a second slice until it has `least` requests.
fn at_once(connections: usize, least: usize) -> usize {
    let (bytes, under_way) = (content(5, SIZE), Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]));
    let (sent, counted) = (bytes.clone(), Arc::clone(&under_way));
    let server = Scripted::start(move |asked| {
        if asked.method == "PROPFIND" {
            return reply("405 Method Not Allowed", &[], "");
        }
        let Some(range) = asked.header("range").and_then(|range| range.strip_prefix("bytes=")) else {
            return reply("200 OK", &["ETag: \"t\""], &sent);
        };
        let (first, last) = range.split_once('-').unwrap();
        let (start, end) = (first.parse::<usize>().unwrap(), last.parse::<usize>().unwrap() + 1);
        let end = end.min(start + SLICE);
        let [now, most] = &*counted;
        most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        while start == SLICE && most.load(Ordering::SeqCst) < least {
            std::thread::yield_now();
        }
        now.fetch_sub(1, Ordering::SeqCst);
        let part = format!("Content-Range: bytes {start}-{}/{SIZE}", end - 1);
        reply("206 Partial Content", &["ETag: \"t\"", &part], &sent[start..end])
    });
    let options = StoreOptions { connections, ..StoreOptions::default() };
    let source = RemoteSource::open_uri(&server.url(), &options).unwrap();
    let object = source.open(Path::new("file")).unwrap();
    let read = waited(|then| {
        object.fetch(Fetch {
            id: FetchId::unique(),
            offset: 0,
            buffer: Segments::own(SIZE),
            len: SIZE,
            urgent: true,
            label: Label::default(),
            done: Box::new(move |buffer, outcome| then(outcome.map(|()| buffer.to_vec()))),
        });
    });
    assert!(read.unwrap() == bytes);
    under_way[1].load(Ordering::SeqCst)
}

#[test]
fn slices_are_asked_for_together_as_far_as_there_is_room() {
    assert_eq!(at_once(1, 1), 1);
    assert_eq!(at_once(3, 3), 3);
    assert!(at_once(64, 4) >= 4);
}
