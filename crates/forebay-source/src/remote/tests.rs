//! Names of a storage in memory whose requests are counted.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use proptest::prelude::*;

use super::source::{About, Limits};
use super::{Answer, Modes, Next, Page, Range, Remote, RemoteSource, Shows, Told, Trouble};
use crate::{Error, Facts, Kind, Segments, Source};

/// Names and their lengths; the folders above them follow.
#[derive(Default)]
struct Shelf {
    files: Mutex<BTreeMap<PathBuf, u64>>,
    /// Names per page; without it a page is not cheap, and holds all.
    page: Option<usize>,
    /// It lists nothing.
    mute: bool,
    /// It takes this long to refuse a listing, and answers for no name at all.
    silent_after: Option<Duration>,
    looks: AtomicUsize,
    pages: AtomicUsize,
    reads: AtomicUsize,
}

impl Shelf {
    fn of(names: impl IntoIterator<Item = String>) -> Shelf {
        let files = names.into_iter().map(|name| (PathBuf::from(&name), name.len() as u64)).collect();
        Shelf { files: Mutex::new(files), ..Shelf::default() }
    }

    fn paged(self, page: usize) -> Shelf {
        Shelf { page: Some(page), ..self }
    }

    /// The meaning of a name, by a naive look at all names.
    fn told(&self, path: &Path) -> Option<Told> {
        let files = self.files.lock();
        // Paths are in the order of their components, so paths below it come next.
        let mut from = files.range(path.to_path_buf()..);
        let (first, &size) = from.next().filter(|(file, _)| file.starts_with(path))?;
        let file = (first == path).then_some(Told::File(Facts { size, modified: None, tag: None }));
        let below = first != path || from.next().is_some_and(|(file, _)| file.starts_with(path));
        if below { Some(Told::Folder(None)) } else { file }
    }

    /// Requests until now: look-ups, pages and ranges.
    fn requests(&self) -> (usize, usize, usize) {
        let [looks, pages, reads] = [&self.looks, &self.pages, &self.reads];
        (looks.load(Ordering::SeqCst), pages.load(Ordering::SeqCst), reads.load(Ordering::SeqCst))
    }
}

#[async_trait]
impl Remote for Shelf {
    async fn look(&self, path: &Path) -> Answer<Told> {
        self.looks.fetch_add(1, Ordering::SeqCst);
        if self.silent_after.is_some() {
            return std::future::pending().await;
        }
        tokio::task::yield_now().await;
        self.told(path).ok_or_else(|| Trouble::new(Error::NotFound(path.display().to_string()), "404"))
    }

    async fn page(&self, folder: &Path, next: Option<&Next>) -> Answer<Page> {
        self.pages.fetch_add(1, Ordering::SeqCst);
        tokio::time::sleep(self.silent_after.unwrap_or_default()).await;
        let refused = |errno| {
            let error = Error::Refused { name: folder.display().to_string(), errno };
            Err(Trouble::new(error, "refused"))
        };
        if self.mute {
            return refused(libc::EOPNOTSUPP);
        }
        let root = folder.as_os_str().is_empty();
        match self.told(folder) {
            Some(Told::File(_)) => return refused(libc::ENOTDIR),
            None if !root => return Err(Trouble::new(Error::NotFound(folder.display().to_string()), "404")),
            _ => {}
        }
        // Keys in order, as a bucket has them: a folder's ends in a slash.
        let mut keys = BTreeMap::new();
        let files: Vec<(PathBuf, u64)> = self.files.lock().iter().map(|(path, &size)| (path.clone(), size)).collect();
        for (path, size) in files {
            let Ok(rest) = path.strip_prefix(folder) else { continue };
            let mut parts = rest.components();
            let Some(name) = parts.next() else { continue };
            let name = name.as_os_str().to_str().unwrap();
            // A file that is a folder as well has two keys.
            match parts.next() {
                Some(_) => keys.insert(format!("{name}/"), Told::Folder(None)),
                None => keys.insert(name.to_owned(), Told::File(Facts { size, modified: None, tag: None })),
            };
        }
        let after = |key: &&String| next.is_none_or(|next| ***key > *next.0);
        let most = self.page.unwrap_or(usize::MAX);
        let left: Vec<&String> = keys.keys().filter(after).collect();
        let names = left.iter().take(most).map(|key| (OsString::from(key.trim_end_matches('/')), keys[*key].clone()));
        let next = (left.len() > most).then(|| Next(left[most - 1].as_str().into()));
        Ok(Page { names: names.collect(), next })
    }

    fn pages_are_cheap(&self) -> bool {
        self.page.is_some()
    }

    async fn read(&self, range: Range<'_>, _buffer: &mut Segments) -> Answer<()> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        Err(Trouble::new(Error::Stale(range.path.display().to_string()), "412"))
    }
}

/// A source over it that believes names for `ttl`, in `names` bytes.
fn source(shelf: &Arc<Shelf>, ttl: Duration, names: usize) -> RemoteSource {
    let about = About {
        name: "shelf".into(),
        address: "shelf".into(),
        server: String::new(),
        plain: None,
        shows: Shows::Nothing,
    };
    let limits = Limits { connections: 8, ttl, names, patience: Duration::from_secs(5) };
    RemoteSource::new(Arc::clone(shelf) as Arc<dyn Remote>, about, limits, Modes::default()).unwrap()
}

const LONG: Duration = Duration::from_secs(600);
const PLENTY: usize = 64 << 20;

fn many(count: usize) -> impl Iterator<Item = String> {
    (0..count).map(|number| format!("folder/f{number:05}"))
}

#[test]
fn files_of_a_folder_cost_a_page_of_it_and_one_of_the_root() {
    let shelf = Arc::new(Shelf::of(many(100)).paged(1000));
    let source = source(&shelf, LONG, PLENTY);
    assert_eq!(source.stat(Path::new("folder")).unwrap().kind, Kind::Folder);
    for name in many(100) {
        let found = source.stat(Path::new(&name)).unwrap();
        assert_eq!(found.size, name.len() as u64);
        source.open(Path::new(&name)).unwrap();
    }
    assert_eq!(shelf.requests(), (0, 2, 0));
    assert_eq!(source.stat(Path::new("folder/none")).unwrap_err().errno(), libc::ENOENT);
    assert_eq!(source.list(Path::new("folder")).unwrap().len(), 100);
    assert_eq!(shelf.requests(), (0, 2, 0));
}

#[test]
fn without_pages_the_second_name_of_a_folder_lists_it() {
    let shelf = Arc::new(Shelf::of(many(100)));
    let source = source(&shelf, LONG, PLENTY);
    for name in many(100) {
        source.open(Path::new(&name)).unwrap();
    }
    assert_eq!(shelf.requests(), (1, 1, 0));
}

#[test]
fn all_names_cost_their_pages_and_again_nothing() {
    let shelf = Arc::new(Shelf::of(many(20_000)).paged(1000));
    let source = source(&shelf, LONG, PLENTY);
    for _ in 0..3 {
        assert_eq!(source.list(Path::new("folder")).unwrap().len(), 20_000);
        for name in many(20_000).step_by(7) {
            source.stat(Path::new(&name)).unwrap();
        }
    }
    assert_eq!(shelf.requests(), (0, 20, 0));
}

#[test]
fn a_huge_folder_is_not_listed_for_look_ups() {
    let shelf = Arc::new(Shelf::of(many(50_000)).paged(1000));
    let source = source(&shelf, LONG, PLENTY);
    // On the first page; behind it, singly; then 25 pages, which do not reach it; then singly.
    for (number, requests) in [(10, (0, 1)), (40_000, (1, 26)), (49_000, (2, 26)), (3_000, (2, 26)), (10, (2, 26))] {
        source.stat(Path::new(&format!("folder/f{number:05}"))).unwrap();
        let (looks, pages, _) = shelf.requests();
        assert_eq!((looks, pages), requests, "f{number:05}");
    }
}

#[test]
fn where_names_cannot_be_listed_each_is_asked_for() {
    let shelf = Arc::new(Shelf { mute: true, ..Shelf::of(many(10)).paged(1000) });
    let source = source(&shelf, LONG, PLENTY);
    for name in many(10).chain(many(10)) {
        source.open(Path::new(&name)).unwrap();
    }
    assert_eq!(shelf.requests(), (10, 1, 0));
    assert_eq!(source.list(Path::new("folder")).unwrap_err().errno(), libc::EOPNOTSUPP);
}

/// A listing and then a request for the name: one look-up, and one patience.
#[test]
fn a_look_up_has_one_patience() {
    let silent_after = Some(Duration::from_secs(4));
    let shelf = Arc::new(Shelf { mute: true, silent_after, ..Shelf::of(many(10)).paged(1000) });
    let (source, began) = (source(&shelf, LONG, PLENTY), std::time::Instant::now());
    let error = source.stat(Path::new("folder/f00003")).unwrap_err();
    assert!(matches!(error, Error::GivenUp { .. }), "{error}");
    assert_eq!(shelf.requests(), (1, 1, 0));
    // The patience is 5 s, and twice that would be 9 s or more.
    assert!(began.elapsed() < Duration::from_millis(8500), "{:?}", began.elapsed());
}

#[test]
fn what_was_told_is_believed_no_longer_than_said() {
    let shelf = Arc::new(Shelf::of(many(10)).paged(1000));
    let source = source(&shelf, Duration::from_millis(50), PLENTY);
    let path = PathBuf::from("folder/f00003");
    assert_eq!(source.stat(&path).unwrap().size, 13);
    shelf.files.lock().insert(path.clone(), 99);
    std::thread::sleep(Duration::from_millis(60));
    assert_eq!(source.stat(&path).unwrap().size, 99);
    shelf.files.lock().remove(&path);
    std::thread::sleep(Duration::from_millis(60));
    assert_eq!(source.stat(&path).unwrap_err().errno(), libc::ENOENT);
}

#[test]
fn a_folder_that_was_made_is_there_once_a_name_below_it_is() {
    for page in [None, Some(1000)] {
        let shelf = Arc::new(Shelf { page, ..Shelf::of(["data/old".to_owned()]) });
        let source = source(&shelf, LONG, PLENTY);
        assert_eq!(source.list(Path::new("data")).unwrap().len(), 1);
        shelf.files.lock().insert("data/new/inner/file".into(), 5);
        for missing in ["data/new", "data/new"] {
            assert!(matches!(source.stat(Path::new(missing)), Err(Error::NotFound(_))), "as it was listed");
        }
        assert_eq!(source.stat(Path::new("data/new/inner/file")).unwrap().size, 5);
        let before = shelf.requests();
        assert_eq!(source.stat(Path::new("data/new")).unwrap().kind, Kind::Folder);
        assert_eq!(shelf.requests(), before);
    }
}

#[test]
fn forgotten_names_are_asked_for_and_so_are_those_below() {
    let shelf = Arc::new(Shelf::of(many(5)).paged(1000));
    let source = source(&shelf, LONG, PLENTY);
    let listed = |folder: &str| source.list(Path::new(folder)).unwrap().len();
    assert_eq!((listed(""), listed("folder")), (1, 5));
    shelf.files.lock().extend([("folder/more".into(), 1), ("other".into(), 1)]);
    source.forget_names(Path::new("elsewhere"));
    assert_eq!((listed(""), listed("folder")), (2, 5), "the names beside it, and not those below another");
    shelf.files.lock().insert("third".into(), 1);
    source.forget_names(Path::new("folder/more"));
    assert_eq!((listed(""), listed("folder")), (2, 6));
    shelf.files.lock().insert("folder/last".into(), 1);
    source.forget_names(Path::new(""));
    assert_eq!((listed(""), listed("folder")), (3, 7));
}

#[test]
fn an_answer_that_is_under_way_while_names_are_forgotten_is_asked_for_again() {
    let shelf = Arc::new(Shelf { silent_after: Some(Duration::from_millis(200)), ..Shelf::of(many(5)).paged(1000) });
    let source = source(&shelf, LONG, PLENTY);
    std::thread::scope(|scope| {
        scope.spawn(|| source.list(Path::new("folder")).unwrap());
        while shelf.requests().1 == 0 {
            std::thread::yield_now();
        }
        source.forget_names(Path::new("folder"));
        assert_eq!(source.list(Path::new("folder")).unwrap().len(), 5);
    });
    assert_eq!(shelf.requests().1, 2);
}

#[test]
fn a_file_that_turns_out_changed_is_asked_for_anew() {
    let shelf = Arc::new(Shelf::of(many(10)).paged(1000));
    let source = source(&shelf, LONG, PLENTY);
    let path = PathBuf::from("folder/f00003");
    let object = source.open(&path).unwrap();
    shelf.files.lock().insert(path.clone(), 99);
    let outcome = crate::waited(|then| {
        object.fetch(crate::Fetch {
            id: crate::FetchId::unique(),
            offset: 0,
            buffer: Segments::own(4096),
            len: 13,
            urgent: true,
            label: Default::default(),
            done: Box::new(move |_, outcome| then(outcome)),
        });
    });
    assert_eq!(outcome.unwrap_err().errno(), libc::ESTALE);
    assert_eq!(source.stat(&path).unwrap().size, 99);
}

#[test]
fn memory_is_bounded_and_what_does_not_fit_is_asked_for_again() {
    let folders = 50;
    let names = (0..folders * 100).map(|number| format!("{}/{number:05}", number / 100));
    let shelf = Arc::new(Shelf::of(names.clone()).paged(1000));
    let limit = 100 << 10;
    let source = source(&shelf, LONG, limit);
    for _ in 0..2 {
        for name in names.clone() {
            source.stat(Path::new(&name)).unwrap();
            assert!(source.remembered() <= limit);
        }
    }
    let (looks, pages, _) = shelf.requests();
    assert_eq!((looks, pages), (0, 2 * folders));
    // A folder that takes more than all is listed, and not kept.
    let shelf = Arc::new(Shelf::of(many(5_000)).paged(1000));
    let source = super::tests::source(&shelf, LONG, limit);
    assert_eq!(source.list(Path::new("folder")).unwrap().len(), 5_000);
    assert!(source.remembered() <= limit);
    source.stat(Path::new("folder/f00001")).unwrap();
    assert_eq!(shelf.requests(), (1, 5, 0));
}

#[test]
fn readers_that_ask_the_same_share_one_request() {
    let shelf = Arc::new(Shelf::of(many(1000)).paged(1000));
    let source = Arc::new(source(&shelf, LONG, PLENTY));
    std::thread::scope(|scope| {
        for number in 0..32 {
            let source = &source;
            scope.spawn(move || source.stat(Path::new(&format!("folder/f{number:05}"))).unwrap());
        }
    });
    assert_eq!(shelf.requests(), (0, 1, 0));
}

proptest! {
    /// For all questions in any order, the answer is that of a naive look at all names.
    #[test]
    fn answers_are_the_storages(
        names in prop::collection::btree_set("[ab-]{1,3}(/[ab-]{1,3}){0,2}", 0..40),
        asked in prop::collection::vec(("[ab-]{1,3}(/[ab-]{1,3}){0,2}", any::<bool>()), 0..60),
        page in prop::option::of(1..6usize),
        limit in prop::sample::select(vec![0, 2000, PLENTY]),
        long in any::<bool>(),
    ) {
        let shelf = Arc::new(Shelf { page, ..Shelf::of(names) });
        let source = source(&shelf, if long { LONG } else { Duration::ZERO }, limit);
        for (path, list) in asked {
            let path = PathBuf::from(path);
            let told = shelf.told(&path);
            if list && matches!(told, Some(Told::Folder(_))) {
                for entry in source.list(&path).unwrap() {
                    let folder = matches!(shelf.told(&path.join(&entry.name)), Some(Told::Folder(_)));
                    prop_assert_eq!(entry.kind, if folder { Kind::Folder } else { Kind::File });
                }
                continue;
            }
            let found = source.stat(&path).ok().map(|found| (found.kind, found.size));
            prop_assert_eq!(found, told.map(|told| match told {
                Told::File(facts) => (Kind::File, facts.size),
                _ => (Kind::Folder, 0),
            }), "{:?}", path);
        }
    }
}
