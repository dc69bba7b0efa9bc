//! A process that writes to a tier and is killed, many times: what the next one finds is right.
//!
//! `FOREBAY_TIER_KILLS=1000 cargo test -p forebay-tier killed` kills it more often.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use forebay_core::tier::{Admit, Evict, Rules};
use forebay_testkit::loop_disk::image_folder;
use forebay_tier::{Options, Tiers, check as inspect};

use crate::damage::Draws;
use crate::known::{Known, MIB, check, check_all, eager, tiered};

/// Where the process writes.
const DIR: &str = "FOREBAY_TIER_WRITES_TO";

/// Files of 8 MiB; a tenth more than the tier has room for.
const FILES: u64 = 10;

fn known() -> Known {
    let known = Known::new("a source");
    (0..FILES).for_each(|file| known.put(&file.to_string(), 8 * MIB, file));
    known
}

/// The process that is killed, if that is what this is.
#[test]
fn writes_until_it_is_killed() {
    let Some(dir) = std::env::var_os(DIR) else { return };
    let known = known();
    let tiers = Tiers::open(vec![eager(&PathBuf::from(dir), 1)]).unwrap();
    let source = tiered(&known, &tiers);
    let mut draws = Draws::new(std::process::id().into());
    loop {
        let file = draws.below(FILES);
        check(&source, &file.to_string(), file, draws.below(2048), 1 + draws.below(700));
    }
}

#[test]
fn what_is_left_by_a_killed_process_is_right() {
    let kills = std::env::var("FOREBAY_TIER_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(30);
    let dir = image_folder("forebay-tier-").unwrap();
    let (mut draws, mut hits, mut damaged) = (Draws::new(1), 0, 0);
    for _ in 0..kills {
        kill_one(dir.path(), Duration::from_millis(10 + draws.below(150)));
        let report = inspect(dir.path(), |_| ()).unwrap();
        assert_eq!(report.damaged, [], "no table speaks of bytes that were not written");
        // Nothing is written here, as nothing is read twice: so everything that is there is found.
        let rules = Rules { admit: Admit::Second, evict: Evict::Lru };
        let known = known();
        let tiers = Tiers::open(vec![Options { rules, ..eager(dir.path(), 1) }]).unwrap();
        let source = tiered(&known, &tiers);
        if draws.below(2) == 0 {
            tiers.settle();
        }
        (0..FILES).for_each(|file| check_all(&source, &file.to_string(), file));
        hits += tiers.figures()[0].hit_bytes;
        damaged += tiers.figures()[0].damaged;
    }
    println!("{kills} kills: {} MiB from the disk, {damaged} pieces damaged", hits / MIB);
    assert!(hits > 0 && damaged == 0);
}

/// Lets a process write for so long.
fn kill_one(dir: &Path, after: Duration) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "kills::writes_until_it_is_killed"]).env(DIR, dir);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(after);
    assert!(child.try_wait().unwrap().is_none(), "it writes until it is killed");
    child.kill().unwrap();
    child.wait().unwrap();
}
