//! Damage to the files of a tier, as a failing disk or a careless program does it.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use forebay_testkit::loop_disk::image_folder;
use forebay_tier::layout::{FILE, SEGMENT};

use crate::known::mix;

/// Draws numbers, the same ones for a seed.
#[derive(Clone, Debug)]
pub(crate) struct Draws(u64);

impl Draws {
    pub(crate) fn new(seed: u64) -> Draws {
        Draws(mix(seed))
    }

    /// A number below `n`.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 = mix(self.0);
        self.0 % n.max(1)
    }
}

/// The file numbered so.
pub(crate) fn segments(dir: &Path, number: u32) -> PathBuf {
    dir.join(format!("forebay-1/segments/{number:08}"))
}

/// Every file of a tier that is there.
pub(crate) fn files(dir: &Path) -> Vec<PathBuf> {
    let all = [dir.join("forebay-1"), dir.join("forebay-1/segments")];
    let entries = all.iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    files.sort();
    files
}

/// A copy of a tier.
pub(crate) fn copied(dir: &Path) -> tempfile::TempDir {
    let copy = image_folder("forebay-tier-").unwrap();
    fs::create_dir_all(copy.path().join("forebay-1/segments")).unwrap();
    for file in files(dir) {
        fs::copy(&file, copy.path().join(file.strip_prefix(dir).unwrap())).unwrap();
    }
    copy
}

/// Inverts so many bits anywhere in a file, half of them where the tables are.
pub(crate) fn flip(path: &Path, bits: u64, draws: &mut Draws) {
    let file = File::options().read(true).write(true).open(path).unwrap();
    let len = file.metadata().unwrap().len();
    for _ in 0..bits {
        let mut at = draws.below(len);
        if len == FILE && draws.below(2) == 0 {
            at = at / SEGMENT * SEGMENT + draws.below(8192);
        }
        let mut byte = [0];
        if file.read_at(&mut byte, at).unwrap() == 1 {
            byte[0] ^= 1 << draws.below(8);
            file.write_at(&byte, at).unwrap();
        }
    }
    file.sync_data().unwrap();
}

/// Does one of many things to one of the files, and tells which.
pub(crate) fn harm(dir: &Path, draws: &mut Draws) -> String {
    let files = files(dir);
    if files.is_empty() {
        return "nothing to harm".into();
    }
    let path = &files[draws.below(files.len() as u64) as usize];
    let len = fs::metadata(path).unwrap().len();
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let open = || File::options().read(true).write(true).open(path).unwrap();
    match draws.below(6) {
        0 | 1 => {
            flip(path, 1 + draws.below(64), draws);
            format!("bits of {name}")
        }
        2 => {
            open().set_len(draws.below(len.max(1))).unwrap();
            format!("{name} shorter")
        }
        3 => {
            fs::remove_file(path).unwrap();
            format!("{name} gone")
        }
        4 => {
            let at = draws.below(len.max(1));
            let zeros = vec![0; (len - at).min(1 << 20) as usize];
            open().write_all_at(&zeros, at).unwrap();
            format!("zeros in {name}")
        }
        _ if len == FILE => {
            swap(&open(), draws);
            format!("segments of {name} swapped")
        }
        _ => "nothing".into(),
    }
}

/// Swaps two segments of a file, or what is in front of their pieces.
fn swap(file: &File, draws: &mut Draws) {
    let (one, other) = (draws.below(8) * SEGMENT, draws.below(8) * SEGMENT);
    let len = if draws.below(2) == 0 { SEGMENT as usize } else { 64 << 10 };
    let (mut first, mut second) = (vec![0; len], vec![0; len]);
    file.read_exact_at(&mut first, one).unwrap();
    file.read_exact_at(&mut second, other).unwrap();
    file.write_all_at(&first, other).unwrap();
    file.write_all_at(&second, one).unwrap();
}
