//! Servers that are odd: the bytes read are the file's own, or there is an error, whichever is
//! right.

use forebay_testkit::files::Files;
use forebay_testkit::odd_web::{OddWeb, Oddity, Outcome, PASSWORD, USER};
use forebay_testkit::trees::content;

use super::*;
use crate::web::Login;

/// Files of one length, so that one could pass for another, and one of no bytes.
fn files() -> Vec<(String, Vec<u8>)> {
    let full = (0..2).map(|number| (format!("folder/file {number}"), content(number, 300_000)));
    full.chain([("one".to_owned(), vec![7]), ("empty".to_owned(), vec![])]).collect()
}

fn served() -> Files {
    files().into_iter().map(|(name, bytes)| (name.into_bytes(), bytes)).collect()
}

/// Checks one oddity; `Ok` tells how many files could be read.
fn check(oddity: &Oddity, webdav: bool) -> Result<usize, String> {
    let server = OddWeb::start(served(), oddity.clone()).unwrap();
    if !webdav {
        // The files have the oddity, the rest has no WebDAV.
        server.set(Oddity::Propfind(405));
        files().iter().for_each(|(name, _)| server.set_at(name, oddity.clone()));
    }
    let login = Login::new(USER, PASSWORD).filter(|_| *oddity == Oddity::Password);
    let source = Tried::with(&server.url(), &WebOptions { login, ..impatient() });
    let (mut read, mut why) = (0, String::new());
    for (name, bytes) in files() {
        match source.read_all(&name) {
            Ok(got) if got == bytes => read += 1,
            Ok(_) if *oddity == Oddity::Changing => {}
            Ok(got) => return Err(format!("{oddity:?}: {name} has {} other bytes", got.len())),
            Err(error) => why += &format!(" {error}"),
        }
        // Oddities that take long need not show with each file.
        if !why.is_empty() && oddity.outcome() == Outcome::Error {
            break;
        }
    }
    println!("{oddity:?} (WebDAV {webdav}): {read} of {}{why}", files().len());
    match oddity.outcome() {
        Outcome::Right if read < files().len() => Err(format!("{oddity:?}, WebDAV {webdav}: {read}:{why}")),
        // An empty file needs no bytes.
        Outcome::Error if read > 1 => Err(format!("{oddity:?}, WebDAV {webdav}: {read} of bad answers")),
        _ => Ok(read),
    }
}

#[test]
fn every_oddity() {
    let every = Oddity::every();
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let share = |odd: &Oddity| [true, false].map(|webdav| check(odd, webdav).err());
        let threads: Vec<_> = (0..8)
            .map(|thread| {
                let mine: Vec<&Oddity> = every.iter().skip(thread).step_by(8).collect();
                scope.spawn(move || mine.into_iter().flat_map(share).flatten().collect::<Vec<_>>())
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_request_that_failed_makes_no_folder() {
    for oddity in [Oddity::Refused(500), Oddity::Refused(403), Oddity::NotHttp, Oddity::TwoLengths] {
        let server = OddWeb::start(served(), oddity.clone()).unwrap();
        let source = Tried::new(&server.url());
        assert!(source.look("one").is_err(), "{oddity:?}");
        assert!(source.page("").is_err(), "{oddity:?}");
    }
}

#[test]
fn a_server_without_listings_has_its_files() {
    for oddity in [400, 403, 404, 405, 500, 501].map(Oddity::Propfind).into_iter().chain([Oddity::PropfindPage]) {
        let server = OddWeb::start(served(), oddity.clone()).unwrap();
        let source = Tried::new(&server.url());
        assert_eq!(source.page("").unwrap_err().errno(), libc::EOPNOTSUPP, "{oddity:?}");
        assert_eq!(source.read_all("one").unwrap(), [7], "{oddity:?}");
        assert_eq!(source.read_all("folder/file 1").unwrap(), content(1, 300_000), "{oddity:?}");
        assert!(matches!(source.look("folder/file 9"), Err(Error::NotFound(_))), "{oddity:?}");
        server.requests().clear();
        source.look("one").unwrap();
        assert_eq!(server.requests().all().len(), 1, "{oddity:?}: one way, learnt");
    }
}

/// The rest of a range is asked for, in parts of the size that the server gives.
#[test]
fn a_range_that_comes_short_is_asked_for_to_its_end() {
    let (size, bytes) = (10_000, content(5, 1 << 20));
    let server = OddWeb::start([("file", bytes.as_slice())], Oddity::RangeClipped(size)).unwrap();
    let source = Tried::new(&server.url());
    let version = source.facts("file").unwrap().version();
    server.requests().clear();
    assert!(source.read("file", &version, 0..1 << 20).unwrap() == bytes);
    assert_eq!(server.requests().all().len(), bytes.len().div_ceil(size));
    // A server that gives next to nothing is not asked for ever.
    server.set(Oddity::RangeClipped(10));
    let error = source.read("file", &version, 0..1 << 20).unwrap_err();
    assert!(error.to_string().contains("too few bytes"), "{error}");
}

#[test]
fn a_changed_file_is_stale_and_one_of_the_same_tag_is_not_mixed_up() {
    for oddity in [Oddity::Plain, Oddity::Propfind(405)] {
        let server = OddWeb::start(served(), oddity.clone()).unwrap();
        let source = Tried::new(&server.url());
        let version = source.facts("folder/file 0").unwrap().version();
        assert_eq!(source.read("folder/file 0", &version, 5..9).unwrap(), content(0, 300_000)[5..9]);
        server.put("folder/file 0", &content(9, 300_000));
        let changed = source.read("folder/file 0", &version, 5..9);
        assert!(matches!(changed, Err(Error::Stale(_))), "{oddity:?}: {changed:?}");
        assert_eq!(source.read_all("folder/file 0").unwrap(), content(9, 300_000));
    }
}

#[test]
fn a_password_goes_to_its_own_server_only() {
    use forebay_testkit::odd_web::To;
    let server = OddWeb::start(served(), Oddity::Redirect { code: 302, to: To::Host }).unwrap();
    let url = server.url().replace("http://", &format!("http://{USER}:{PASSWORD}@"));
    let source = Tried::new(&url);
    assert_eq!(source.read_all("one").unwrap(), [7]);
    let requests = server.requests().all();
    let shown = |host: &str| {
        let to = requests.iter().filter(|request| request.header("host").is_some_and(|name| name.starts_with(host)));
        to.map(|request| request.header("authorization").is_some()).collect::<Vec<_>>()
    };
    assert!(!shown("127.").is_empty() && shown("127.").iter().all(|shown| *shown));
    assert!(!shown("localhost").is_empty() && !shown("localhost").iter().any(|shown| *shown));
    assert!(!format!("{:?} {}", source.web, source.web.identity()).contains(PASSWORD));
}
