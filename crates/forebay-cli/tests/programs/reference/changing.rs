//! A folder that changes in every way while it is mounted. After each change the mount shows what
//! the folder has; a file that is open shows the version that it was opened as, or an error.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use forebay_testkit::mounts;
use forebay_testkit::trees::content;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::{User, limited};
use crate::{Mount, eventually, text};

const NAMES: [&str; 6] = ["a", "b", "c", "folder/a", "folder/b", "other/a"];

/// How many changes are made.
const CHANGES: usize = 60;

/// A moment longer than a tick of the kernel's clock for file times. Before Linux 6.13, a change in
/// the tick of another one cannot be told from it.
const TICK: Duration = Duration::from_millis(12);

/// All files below a folder with their bytes, and all folders with none.
fn tree(root: &Path) -> std::io::Result<BTreeMap<PathBuf, Option<Vec<u8>>>> {
    let mut all = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            let inner = path.strip_prefix(root).expect("it lies below").to_owned();
            if fs::symlink_metadata(&path)?.is_dir() {
                all.insert(inner, None);
                folders.push(path);
            } else {
                let bytes = fs::read(&path)?;
                assert_eq!(fs::metadata(&path)?.len(), bytes.len() as u64, "{}", path.display());
                all.insert(inner, Some(bytes));
            }
        }
    }
    Ok(all)
}

/// Changes one name, and says how.
fn change(root: &Path, name: &str, random: &mut StdRng) -> std::io::Result<&'static str> {
    let path = root.join(name);
    fs::create_dir_all(path.parent().expect("below the root"))?;
    let bytes = content(random.random(), random.random_range(0..60_000));
    std::thread::sleep(TICK);
    match random.random_range(0..8) {
        0 => fs::write(&path, &bytes).map(|()| "written"),
        1 | 2 => {
            let new = root.join("new");
            fs::write(&new, &bytes)?;
            fs::rename(new, &path).map(|()| "replaced")
        }
        3 => File::options().append(true).create(true).open(&path)?.write_all(&bytes).map(|()| "longer"),
        4 => {
            let file = File::options().write(true).create(true).truncate(false).open(&path)?;
            file.set_len(random.random_range(0..20_000)).map(|()| "cut or stretched")
        }
        5 => {
            // The same length, other bytes.
            let len = fs::metadata(&path).map_or(1, |about| about.len());
            fs::write(&path, content(random.random(), len as usize)).map(|()| "overwritten")
        }
        6 => {
            fs::remove_file(&path).or_else(|error| match error.kind() {
                std::io::ErrorKind::NotFound => Ok(()),
                _ => Err(error),
            })?;
            Ok("removed")
        }
        _ => {
            let folder = path.parent().filter(|folder| *folder != root);
            folder.map_or(Ok(()), fs::remove_dir_all)?;
            Ok("removed with its folder")
        }
    }
}

/// A file that was opened, and its bytes then.
struct Held {
    file: File,
    bytes: Vec<u8>,
    name: &'static str,
}

impl Held {
    fn open(source: &Path, mount: &Path, name: &'static str) -> Option<Held> {
        let bytes = fs::read(source.join(name)).ok()?;
        let file = File::open(mount.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        Some(Held { file, bytes, name })
    }

    /// All its bytes, or an error; never some of one version and some of another.
    fn check(mut self, how: &str) {
        let mut bytes = Vec::new();
        if self.file.read_to_end(&mut bytes).is_ok() {
            assert!(bytes == self.bytes, "{} is {how}: {} bytes of {}", self.name, bytes.len(), self.bytes.len());
        }
    }
}

/// Changes the folder and looks at the mount after each change.
fn changes(source: &Path, mount: &Path, seed: u64, patient: bool) {
    let mut random = StdRng::seed_from_u64(seed);
    let mut held = Vec::new();
    for number in 0..CHANGES {
        let name = NAMES[random.random_range(0..NAMES.len())];
        // With a lifetime of names, the name may stand for an older version at this moment.
        if !patient && random.random() {
            held.extend(Held::open(source, mount, name));
        }
        let how = change(source, name, &mut random).expect("the source is ours");
        let expected = tree(source).expect("the source is ours");
        if patient {
            eventually("the mount shows the folder", || tree(mount).is_ok_and(|found| found == expected));
        } else {
            let found = tree(mount).unwrap_or_else(|error| panic!("change {number}, {name} {how}: {error}"));
            let differing = expected.iter().find(|(name, bytes)| found.get(*name) != Some(bytes));
            let names = (found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
            assert!(
                found == expected,
                "change {number}, {name} {how}: {:?} {names:?}",
                differing.map(|(name, _)| name)
            );
        }
        if number % 7 == 6 {
            held.drain(..).for_each(|held: Held| held.check(how));
        }
    }
}

#[test]
fn a_changing_folder_is_shown_as_it_is() {
    if !mounts::possible() {
        return;
    }
    let seed = rand::random();
    println!("seed {seed}");
    for (ttl, kernel_cache) in [("0s", "off"), ("0s", "on"), ("100ms", "off")] {
        let source = tempfile::tempdir().expect("a folder");
        let args = [text(source.path()), "--memory", "24MiB", "--ttl", ttl, "--kernel-cache", kernel_cache];
        let mount = Mount::start(&args);
        let (root, point) = (source.path().to_owned(), mount.path().to_owned());
        let work = move || changes(&root, &point, seed, ttl != "0s");
        limited(&format!("changes with --ttl {ttl}, --kernel-cache {kernel_cache}"), User(0), work);
    }
}
