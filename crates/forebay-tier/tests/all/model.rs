//! Random reads of changing files through a tier that is harmed, closed and opened again: always
//! the source's bytes.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::Arc;

use forebay_core::tier::{Admit, Evict, Rules};
use forebay_source::{BLOCK, Source};
use forebay_tier::{Options, Tiers};

use crate::damage::{Draws, flip, harm, segments};
use crate::known::{Known, MIB, check, check_all, eager, tiered};

/// Names of the files; the last one is never changed.
const NAMES: [&str; 4] = ["one", "two", "three", "large"];

struct Run<'a> {
    dir: &'a Path,
    known: Known,
    versions: [u64; NAMES.len()],
    options: Options,
    tiers: Arc<Tiers>,
    draws: Draws,
    told: Vec<String>,
}

impl Run<'_> {
    fn new(dir: &Path, seed: u64) -> Run<'_> {
        let mut draws = Draws::new(seed);
        let known = Known::new("a source");
        let sizes = [3 * MIB + 5, 20 * MIB + draws.below(MIB), BLOCK as u64 * 7, 90 * MIB];
        NAMES.iter().zip(sizes).for_each(|(name, size)| known.put(name, size, 0));
        let admit = if draws.below(3) == 0 { Admit::Second } else { Admit::All };
        let evict = [Evict::Fifo, Evict::Lru][draws.below(2) as usize];
        let options = Options { rules: Rules { admit, evict }, ..eager(dir, 1 + draws.below(2)) };
        let tiers = Tiers::open(vec![options.clone()]).unwrap();
        Run { dir, known, versions: [0; NAMES.len()], options, tiers, draws, told: Vec::new() }
    }

    fn step(&mut self) {
        let source = tiered(&self.known, &self.tiers);
        let which = self.draws.below(NAMES.len() as u64) as usize;
        let (name, version) = (NAMES[which], self.versions[which]);
        let size = source.stat(Path::new(name)).unwrap().size;
        let told = match self.draws.below(20) {
            0 => harm(self.dir, &mut self.draws),
            1 => {
                // The files' owner ends before another one begins.
                self.tiers.close();
                self.told.push("closed".into());
                let harmed = if self.draws.below(2) == 0 { harm(self.dir, &mut self.draws) } else { String::new() };
                self.tiers = Tiers::open(vec![self.options.clone()]).unwrap();
                format!("opened, {harmed}")
            }
            2 if which < 3 => {
                self.versions[which] += 1;
                let size = [size, size + 4096, size / 2 + 1][self.draws.below(3) as usize];
                self.known.put(name, size, self.versions[which]);
                format!("{name} changes")
            }
            3 => {
                self.tiers.settle();
                "settled".into()
            }
            _ => {
                let block = self.draws.below(size.div_ceil(BLOCK as u64));
                let blocks = 1 + self.draws.below([16, 300, 2000][self.draws.clone().below(3) as usize]);
                self.told.push(format!("{name} version {version} from {block}, {blocks}"));
                check(&source, name, version, block, blocks);
                return;
            }
        };
        self.told.push(told);
    }
}

#[test]
fn always_the_sources_bytes() {
    let seeds = std::env::var("FOREBAY_TIER_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(8);
    let (mut hits, mut damaged) = (0, 0);
    for seed in 0..seeds {
        let dir = tempfile::tempdir().unwrap();
        let mut run = Run::new(dir.path(), seed);
        for _ in 0..120 {
            let outcome = catch_unwind(AssertUnwindSafe(|| run.step()));
            if let Err(panic) = outcome {
                eprintln!("seed {seed}: {:#?}", run.told);
                resume_unwind(panic);
            }
        }
        run.tiers.settle();
        let figures = &run.tiers.figures()[0];
        assert_eq!((figures.write_errors, figures.no_reads.as_ref()), (0, None), "seed {seed}: {figures:?}");
        hits += figures.hit_bytes;
        damaged += figures.damaged;
    }
    assert!(hits > 0 && (seeds < 8 || damaged > 0), "{hits} bytes from the disk, {damaged} pieces damaged");
}

/// Bits that are flipped behind the back of a tier: each damaged piece is one miss, and then
/// written anew.
#[test]
fn damaged_pieces_are_misses() {
    let dir = tempfile::tempdir().unwrap();
    let known = Known::new("a source");
    known.put("a", 7 * MIB, 1);
    let tiers = Tiers::open(vec![eager(dir.path(), 1)]).unwrap();
    let source = tiered(&known, &tiers);
    check_all(&source, "a", 1);
    tiers.settle();
    flip(&segments(dir.path(), 0), 1000, &mut Draws::new(5));
    known.asked();
    check_all(&source, "a", 1);
    let (damaged, asked) = (tiers.figures()[0].damaged, known.asked());
    assert!((20..112).contains(&damaged), "{damaged} of 112 pieces");
    assert!(asked >= damaged * 65_536 && asked < 7 * MIB, "{asked} bytes of the source for {damaged} pieces");
    tiers.settle();
    check_all(&source, "a", 1);
    assert_eq!((known.asked(), tiers.figures()[0].damaged), (0, damaged));
}

/// A piece that is damaged while the source fails is the source's error, and not wrong bytes.
#[test]
fn a_source_that_fails_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let known = Known::new("a source");
    known.put("a", 2 * MIB, 1);
    let tiers = Tiers::open(vec![eager(dir.path(), 1)]).unwrap();
    let source = tiered(&known, &tiers);
    check(&source, "a", 1, 0, 256);
    tiers.settle();
    known.fail(true);
    check(&source, "a", 1, 0, 256);
    let object = source.open(Path::new("a")).unwrap();
    assert!(crate::known::read(object.as_ref(), 200, 100).is_err());
    let first = segments(dir.path(), 0);
    let zeros = vec![0; MIB as usize];
    std::os::unix::fs::FileExt::write_all_at(
        &std::fs::File::options().write(true).open(first).unwrap(),
        &zeros,
        65_536,
    )
    .unwrap();
    assert!(crate::known::read(object.as_ref(), 0, 10).is_err());
    known.fail(false);
    check(&source, "a", 1, 0, 512);
}
