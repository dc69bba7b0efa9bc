//! Answers of storage, and its names.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use forebay_source::object::fuzzing as object;
use forebay_source::size::Size;
use forebay_source::striped::Stripes;
use forebay_source::uri;
use forebay_source::web::{Token, fuzzing as web};

use crate::{Outcome, Target};

pub(super) const TARGETS: &[Target] = &[
    Target {
        name: "s3-keys",
        about: "a page of keys of S3, XML",
        run: |bytes| Outcome::of_result(object::keys(bytes)),
    },
    Target { name: "s3-refusal", about: "a refusal of S3", run: refusal },
    Target {
        name: "retry-after",
        about: "the header of that name",
        run: |bytes| Outcome::of_flag(object::pause(bytes)),
    },
    Target { name: "multistatus", about: "an answer to PROPFIND", run: |bytes| Outcome::of_count(web::listing(bytes)) },
    Target { name: "index", about: "a folder as a page of HTML", run: |bytes| Outcome::of_count(web::page(bytes)) },
    Target { name: "json-list", about: "a folder as a list in JSON", run: |bytes| Outcome::of_count(web::list(bytes)) },
    Target { name: "encoding", about: "a document in any encoding", run: |bytes| Outcome::of_count(web::text(bytes)) },
    Target { name: "answer-head", about: "the headers of an answer", run: |bytes| Outcome::of_count(web::head(bytes)) },
    Target { name: "link", about: "a link to a name", run: |bytes| Outcome::of_count(web::link(bytes)) },
    Target { name: "address", about: "a web server's address", run: |bytes| Outcome::of_flag(web::address(bytes)) },
    Target { name: "place", about: "a source as the command names it", run: place },
    Target { name: "size", about: "a size with its unit", run: size },
    Target { name: "secret", about: "a token in a file", run: secret },
    Target { name: "stripes", about: "the unit, members and lengths of a striped set", run: stripes },
];

fn refusal(bytes: &[u8]) -> Outcome {
    Outcome::of_result(object::refusal(bytes).map_or(Ok(0), Err))
}

fn place(bytes: &[u8]) -> Outcome {
    let arg = OsStr::from_bytes(bytes);
    let _ = uri::without_user(&arg.to_string_lossy());
    Outcome::of_result(uri::parse(arg).map(|(_, place)| place.devices().len()))
}

/// A size that is read comes back from its own text.
fn size(bytes: &[u8]) -> Outcome {
    let read = String::from_utf8_lossy(bytes).parse::<Size>();
    if let Ok(size) = &read {
        assert_eq!(size.to_string().parse::<Size>().map(Size::bytes), Ok(size.bytes()));
    }
    Outcome::of_result(read.map(|_| 1))
}

fn secret(bytes: &[u8]) -> Outcome {
    Outcome::of_result(Token::parse(&String::from_utf8_lossy(bytes), "fuzzed").map(|_| 1))
}

/// Numbers of 64 bits: the unit, then the length of each member; the set is as long as they say,
/// and its chunks are in order.
fn stripes(bytes: &[u8]) -> Outcome {
    let numbers = bytes.chunks_exact(8).map(|chunk| u64::from_le_bytes(chunk.try_into().expect("eight bytes")));
    let numbers: Vec<u64> = numbers.take(40).collect();
    let Some((&unit, lengths)) = numbers.split_first() else { return Outcome::of_count(0) };
    let stripes = match Stripes::new(unit, lengths.len()) {
        Ok(stripes) => stripes,
        Err(error) => return Outcome::of_result(Err(error)),
    };
    let size = stripes.size(lengths);
    let mut chunks = 0;
    for (member, range) in stripes.chunks(0..size).take(100) {
        assert!(member < lengths.len() && range.start < range.end, "{member} {range:?}");
        chunks += 1;
    }
    Outcome::of_count(chunks)
}
