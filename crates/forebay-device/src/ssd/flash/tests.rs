//! The translation layer against a naive twin, and against the closed form of its amplification.

use proptest::prelude::*;

use super::*;

/// The same, as plain as possible: blocks are lists, and everything is found by looking at all.
struct Naive {
    block: usize,
    blocks: Vec<Vec<Option<u32>>>,
    free: Vec<usize>,
    open: usize,
}

impl Naive {
    fn like(flash: &Flash) -> Naive {
        let count = flash.valid.len();
        Naive { block: flash.block as usize, blocks: vec![vec![]; count], free: (1..count).rev().collect(), open: 0 }
    }

    fn valid(&self, number: usize) -> usize {
        self.blocks[number].iter().flatten().count()
    }

    fn write(&mut self, page: u32) -> u32 {
        let mut copied = 0;
        if self.blocks[self.open].len() == self.block {
            self.open = self.free.pop().expect("one is free");
            if self.free.is_empty() {
                let full = (0..self.blocks.len()).filter(|&number| number != self.open);
                let victim = full.min_by_key(|&number| self.valid(number)).expect("there are more");
                let pages = std::mem::take(&mut self.blocks[victim]);
                let kept: Vec<_> = pages.into_iter().filter(Option::is_some).collect();
                copied = kept.len() as u32;
                self.blocks[self.open].extend(kept);
                self.free.push(victim);
            }
        }
        for place in self.blocks.iter_mut().flatten().filter(|place| **place == Some(page)) {
            *place = None;
        }
        self.blocks[self.open].push(Some(page));
        copied
    }

    /// The pages of each block, in order.
    fn pages(&self) -> Vec<Vec<u32>> {
        self.blocks.iter().map(|block| block.iter().copied().flatten().collect()).collect()
    }
}

fn pages(flash: &Flash) -> Vec<Vec<u32>> {
    let of = |block: &[u32]| block.iter().copied().filter(|&page| page != NOWHERE).collect();
    flash.page.chunks(flash.block as usize).map(of).collect()
}

/// No page is lost or doubled, and the counts are those of the places.
fn is_whole(flash: &Flash) {
    for (page, &place) in flash.place.iter().enumerate().filter(|(_, place)| **place != NOWHERE) {
        assert_eq!(flash.page[place as usize], page as u32);
    }
    let written = flash.place.iter().filter(|&&place| place != NOWHERE).count();
    assert_eq!(flash.page.iter().filter(|&&page| page != NOWHERE).count(), written);
    for (number, block) in pages(flash).iter().enumerate() {
        assert_eq!(flash.valid[number] as usize, block.len());
    }
    for full in &flash.full {
        assert_eq!(flash.valid[full.number as usize], full.valid);
    }
}

proptest! {
    #[test]
    fn it_does_as_its_naive_twin(
        (count, block, spare) in (1u32..60, 1u32..9, 0.0f64..1.5),
        writes in proptest::collection::vec(any::<u32>(), 1..400),
    ) {
        let mut flash = Flash::new(count, block, spare);
        let mut naive = Naive::like(&flash);
        for page in writes {
            prop_assert_eq!(flash.write(page % count), naive.write(page % count));
            prop_assert_eq!(pages(&flash), naive.pages());
        }
        is_whole(&flash);
    }

    /// Any range of pages of a drive of any size, at any place.
    #[test]
    fn any_write_is_amplified(
        (count, spare, seed) in (any::<u64>(), 0.01f64..3.0, any::<u64>()),
        writes in proptest::collection::vec((any::<u64>(), 0u64..1000), 1..50),
    ) {
        let description = Description { spare, state: State::Empty, program_ms: 0.0 };
        let mut garbage = Garbage::new(description, count >> (seed % 64), seed);
        for (first, count) in writes {
            prop_assert!(garbage.write(first, first.saturating_add(count)) >= 1.0);
        }
    }
}

/// The n-th harmonic number, between whole n as well.
fn harmonic(n: f64) -> f64 {
    n.ln() + 0.577_215_664_901_533 + 0.5 / n - 1.0 / (12.0 * n * n)
}

/// Desnoyers 2012, §3: with uniform random writes, a block of n pages spends a time in proportion
/// to 1/i with i valid ones, from n down to the x at which it is cleaned. So it has (n − x) / (H(n)
/// − H(x)) of them in the mean, which must be n / (1 + spare). The amplification is n / (n − x).
fn amplification(n: f64, spare: f64) -> f64 {
    let (mut low, mut high) = (1e-3, n - 1e-6);
    for _ in 0..100 {
        let x = (low + high) / 2.0;
        let mean = (n - x) / (harmonic(n) - harmonic(x));
        if mean < n / (1.0 + spare) { low = x } else { high = x }
    }
    n / (n - low)
}

/// The paper's limit of large blocks: s is the flash by the capacity, and the share e^(−s (1 − X))
/// = X of a victim is valid.
#[test]
fn the_closed_form_has_the_papers_limit() {
    for spare in [0.07, 0.15, 0.29, 1.0] {
        let limit = |x: f64| (-(1.0 + spare) * (1.0 - x)).exp();
        let x = (0..2000).fold(0.1, |x, _| limit(x));
        let (many, few) = (amplification(1e6, spare), amplification(f64::from(BLOCK), spare));
        assert!((many * (1.0 - x) - 1.0).abs() < 1e-3, "{spare}: {many}, {}", 1.0 / (1.0 - x));
        println!("spare {spare}: {few:.2} with {BLOCK} pages, {many:.2} with any number");
        assert!((few / many - 1.0).abs() < 0.06, "{spare}: {few} with {BLOCK} pages, {many}");
    }
}

/// Uniform random writes are amplified as in the closed form, to within 2 %.
#[test]
fn uniform_writes_are_amplified_as_published() {
    for spare in [0.07, 0.15, 0.29, 0.5, 1.0] {
        let count = FOLLOWED as u32;
        let mut flash = Flash::new(count, BLOCK, spare);
        let mut random = Random::new(11);
        (0..count).for_each(|page| assert_eq!(flash.write(page), 0));
        let mut write = |times: u32| (0..times).map(|_| flash.write(random.below(count.into()) as u32)).sum::<u32>();
        write(3 * count);
        let measured = 1.0 + f64::from(write(3 * count)) / f64::from(3 * count);
        let published = amplification(f64::from(BLOCK), spare);
        println!("spare {spare}: {measured:.3}, published {published:.3}");
        assert!((measured / published - 1.0).abs() < 0.02, "spare {spare}: {measured}, published {published}");
    }
}

/// Pages that are overwritten in order leave whole blocks of garbage.
#[test]
fn writes_in_order_copy_nothing() {
    let mut flash = Flash::new(10_000, 64, 0.1);
    let copied: u32 = (0..5).flat_map(|_| 0..10_000).map(|page| flash.write(page)).sum();
    assert_eq!(copied, 0);
    is_whole(&flash);
}

/// A sample of a large drive has the amplification of the whole one, by its state and by what is
/// written: uniformly, in order, or most of it on a tenth of the drive.
#[test]
fn a_sample_stands_for_the_drive() {
    let spare = 0.29;
    let pages = 100 * FOLLOWED;
    let of = |state| Garbage::new(Description { spare, state, program_ms: 0.0 }, pages, 3);
    let published = amplification(f64::from(BLOCK), spare);
    let worn = of(State::Random).write(0, 1);
    assert!((worn / published - 1.0).abs() < 0.05, "{worn}, published {published}");
    assert_eq!((of(State::Empty).write(0, 1), of(State::Sequential).write(0, 1)), (1.0, 1.0));

    let mut garbage = of(State::Random);
    let mut random = Random::new(9);
    let mut last = 0.0;
    for _ in 0..pages / 10 {
        let first = random.below(pages / 32) * 32;
        last = garbage.write(first, first + 32);
    }
    assert!((last / published - 1.0).abs() < 0.06, "{last} by pieces of 32 pages, published {published}");

    // In order, three times over the drive: old pages and copies are gone, and what is garbage is
    // whole blocks.
    for _ in 0..3 {
        (0..pages / 128).for_each(|piece| last = garbage.write(piece * 128, (piece + 1) * 128));
    }
    assert!(last < 1.01, "{last} in order");
}
