//! The knowledge of files (`auto`'s part `whole`): a model of the shares that decide whether it is
//! believed, and the fetches of the engine.

use std::collections::BTreeMap;

use crate::bench::Bench;
use forebay_core::auto::knowledge::{Knowledge, Whose};
use forebay_core::{BlockKey, ContextId, DeviceId, FileId};
use proptest::prelude::*;

const BLOCKS: u32 = 500;

/// How often something came true, in real numbers: the first sixteen times count alike, then an
/// exponentially weighted mean.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    share: f64,
    seen: u32,
}

impl Share {
    fn saw(&mut self, came_true: bool) {
        self.seen += 1;
        self.share += (f64::from(u8::from(came_true)) - self.share) / f64::from(self.seen.min(16));
    }

    /// Seven times of eight, after eight: `None` if that is too close to call in real numbers.
    fn is_reliable(self) -> Option<bool> {
        if self.seen < 8 {
            return Some(false);
        }
        ((self.share - 0.875).abs() > 0.01).then_some(self.share > 0.875)
    }
}

/// The model: every stream's last two ends.
#[derive(Default)]
struct Model {
    whole: Share,
    again: Share,
    /// By first block: the last end, and the one before.
    ends: BTreeMap<(u32, u32), (u32, u32)>,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// A stream from a block comes as far as it came last time, to the end, or to some other block;
    /// then its file is closed.
    Stream {
        file: u32,
        from: u32,
        to: Option<u32>,
    },
    Again {
        file: u32,
        from: u32,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let from = prop_oneof![3 => Just(0u32), 1 => Just(100), 1 => Just(200)];
    let to = prop_oneof![4 => Just(None), 1 => (201..BLOCKS).prop_map(Some)];
    let step = prop_oneof![
        1 => (0..3u32, from.clone(), to).prop_map(|(file, from, to)| Step::Stream { file, from, to }),
        2 => (0..3u32, from).prop_map(|(file, from)| Step::Again { file, from }),
    ];
    proptest::collection::vec(step, 1..200)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// An end is expected when it came true seven times of eight, of the device, and at no other
    /// time; and it is where the last stream from that block came to, or the end of the file.
    #[test]
    fn only_what_keeps_coming_true_is_believed(steps in steps()) {
        let mut knowledge = Knowledge::new(4096, 1);
        let mut model = Model::default();
        let device = Whose { device: DeviceId(0), context: ContextId(0) };
        for step in steps {
            let (file, from, to) = match step {
                Step::Stream { file, from, to } => (file, from, to.unwrap_or(BLOCKS)),
                Step::Again { file, from } => (file, from, model.ends.get(&(file, from)).map_or(BLOCKS, |ends| ends.0)),
            };
            let first = BlockKey::new(FileId(file), from);
            let known = model.ends.get(&(file, from)).copied();
            if let Some((last, before)) = known.filter(|&(_, before)| before > 0) {
                model.again.saw(last == before);
            }
            let told = knowledge.begins(device, first, BLOCKS);
            let last = known.map(|(last, _)| last);
            let whole = (from == 0).then_some(BLOCKS);
            match (model.again.is_reliable(), model.whole.is_reliable()) {
                (Some(true), _) if last.is_some() => prop_assert_eq!(told, last),
                (Some(_), Some(true)) => prop_assert_eq!(told, whole),
                (Some(false), Some(false)) => prop_assert_eq!(told, None),
                _ => prop_assert!(told.is_none() || told == last || told == whole),
            }
            for end in (from + 1..=to).step_by(7).chain([to]) {
                knowledge.goes_on(first, end);
            }
            if from == 0 {
                knowledge.is_over(device, to == BLOCKS);
                model.whole.saw(to == BLOCKS);
            }
            model.ends.insert((file, from), (to, last.unwrap_or(0)));
        }
    }
}

/// `auto` that goes by ends of files alone.
const ONLY_WHOLE: &str = "auto:without=lengths/habits/company/near/cache/devices/contexts";

/// After eight whole files the ninth is fetched to its end at the first read, in equal pieces of
/// about the competitive depth.
#[test]
fn whole_files_are_fetched_whole_once_that_is_known() {
    for policy in [ONLY_WHOLE] {
        let mut bench = Bench::new(policy);
        for file in 0..8 {
            assert_eq!(
                bench.read_through(file, 100, 0, 100)[..2],
                [(0, 16), (16, 32)],
                "slow start: nothing is known yet"
            );
        }
        assert_eq!(bench.read_through(8, 100, 0, 100), [(0, 100)], "one switch, as the offline optimum");
        assert_eq!(
            bench.read_through(9, 400, 0, 400),
            [(0, 100), (100, 100), (200, 100), (300, 100)],
            "four pieces, none above 131"
        );
        // It is a share of seven in eight: one file that is not read whole is forgiven, several are
        // not.
        (10..14).for_each(|file| drop(bench.read_through(file, 100, 0, 20)));
        assert_eq!(bench.read_through(14, 100, 0, 100)[0], (0, 16), "no longer reliable");
    }
}

/// Files of which random portions are read: nothing is ever fetched by knowledge.
#[test]
fn random_portions_are_not_believed() {
    let mut bench = Bench::new(ONLY_WHOLE);
    let mut plain = Bench::new("auto:without=whole/lengths/habits/company/near/cache/devices/contexts");
    for round in 0..200u32 {
        let to = 20 + round * 48_271 % 61;
        let (known, unknown) = (bench.read_through(round % 60, 100, 0, to), plain.read_through(round % 60, 100, 0, to));
        assert_eq!(known, unknown, "round {round}");
    }
}

/// Without the option nothing of it is done, however regular the files are.
#[test]
fn the_paper_knows_nothing_of_files() {
    let mut bench = Bench::new("competitive");
    (0..30).for_each(|file| assert_eq!(bench.read_through(file, 100, 0, 100)[0], (0, 16)));
}

/// Depth D = 131: of streams of L blocks the best piece is √(D · L / 1.5), after slow start.
#[test]
fn pieces_are_as_large_as_the_mean_length_makes_them_best() {
    for (length, best) in [(400, 186), (100, 93)] {
        let mut bench = Bench::new("auto:without=whole/habits/company/near/cache/devices/contexts");
        for file in 0..8 {
            bench.read_through(file, length.into(), 0, length);
        }
        let pieces: Vec<u32> = bench.read_through(8, 3000, 0, 1500).iter().map(|&(_, len)| len).collect();
        assert_eq!(pieces[..3], [16, 32, 64]);
        assert_eq!(pieces[4..6], [best, best], "{length}: {pieces:?}");
    }
}

/// The mean is that of the last sixteen streams or so, and unknown before eight.
#[test]
fn the_mean_length_follows() {
    let mut knowledge = Knowledge::new(16, 1);
    let device = Whose { device: DeviceId(0), context: ContextId(0) };
    for streams in 1..=8 {
        assert_eq!(knowledge.mean_length(device), None, "{streams}");
        knowledge.was_long(device, 100 * streams);
    }
    assert_eq!(knowledge.mean_length(device), Some(450));
    (0..200).for_each(|_| knowledge.was_long(device, 1000));
    assert!(knowledge.mean_length(device).is_some_and(|mean| (985..=1000).contains(&mean)));
    assert_eq!(knowledge.mean_length(Whose { device: DeviceId(1), ..device }), None);
}
