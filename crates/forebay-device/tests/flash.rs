//! Flash with garbage collection: the published figures of a drive, and what writes do to reads.

use forebay_core::Instant;
use forebay_device::random::Random;
use forebay_device::scheduler::SchedulerKind;
use forebay_device::ssd::flash::State;
use forebay_device::{Description, ModelDescription, Request, device};

/// The drive in this state.
fn micron(state: State) -> Description {
    let mut description = device("micron-7600").expect("it is shipped");
    let ModelDescription::Ssd(ssd) = &mut description.model else { panic!("it is flash") };
    ssd.flash.as_mut().expect("it collects garbage").state = state;
    description
}

/// How requests came through a drive.
struct Run {
    /// Requests a second.
    per_s: f64,
    /// Milliseconds of each read, sorted.
    reads: Vec<f64>,
}

/// `total` requests, of which `depth` are under way at any time.
fn run(description: &Description, depth: u64, total: u64, mut next: impl FnMut(u64) -> Request) -> Run {
    let mut queue = description.queue(1, &SchedulerKind::None).expect("it is built");
    let mut begun = vec![None; total as usize];
    let mut reads = Vec::new();
    let (mut now, mut id) = (Instant(0), 0);
    let mut submit = |queue: &mut Box<dyn forebay_device::Queue>, begun: &mut Vec<Option<Instant>>, at| {
        if id < total {
            let request = next(id);
            begun[id as usize] = (!request.write).then_some(at);
            queue.submit(at, id, request);
            id += 1;
        }
    };
    (0..depth).for_each(|_| submit(&mut queue, &mut begun, Instant(0)));
    while let Some(at) = queue.next_completion() {
        now = at;
        if let Some(done) = queue.complete(at) {
            reads.extend(begun[done as usize].map(|begin| at.since(begin) as f64 / 1e6));
            submit(&mut queue, &mut begun, at);
        }
    }
    reads.sort_by(f64::total_cmp);
    Run { per_s: total as f64 * 1e9 / now.0 as f64, reads }
}

fn random(seed: u64, len: u64, write: bool) -> impl FnMut(u64) -> Request {
    let mut random = Random::new(seed);
    move |_| Request { write, ..Request::read(random.below(6_400_000_000_000 / len) * len, len) }
}

fn in_order(len: u64, write: bool) -> impl FnMut(u64) -> Request {
    move |id| Request { write, ..Request::read(id * len, len) }
}

fn near(got: f64, want: f64, share: f64) {
    assert!((got / want - 1.0).abs() < share, "{got} is not within {share} of {want}");
}

/// The maker's figures: reads and sequential writes are put in, random writes come out. Writes in
/// order are measured on a drive that was written in order.
#[test]
fn the_makers_figures_come_out() {
    let worn = micron(State::Random);
    near(run(&worn, 256, 200_000, random(1, 4096, false)).per_s, 2.1e6, 0.03);
    near(run(&worn, 256, 20_000, in_order(1 << 20, false)).per_s * 1048576.0, 12e9, 0.01);
    let writes = run(&worn, 256, 200_000, random(2, 4096, true)).per_s;
    println!("{writes:.0} random writes a second");
    near(writes, 675e3, 0.06);
    let ordered = micron(State::Sequential);
    near(run(&ordered, 256, 20_000, in_order(1 << 20, true)).per_s * 1048576.0, 7e9, 0.01);
}

/// The garbage of writes that last takes of their rate: 7 GB/s by the amplification, at any depth
/// that keeps the drive busy. A drive that is new has none until its spare flash is used.
#[test]
fn garbage_takes_of_the_rate_of_writes() {
    let rate = |state| run(&micron(state), 256, 50_000, random(3, 65536, true)).per_s * 65536.0;
    near(rate(State::Empty), 7e9, 0.01);
    near(rate(State::Random), 7e9 / 2.4, 0.02);
    near(rate(State::Sequential), 7e9, 0.01);
}

/// A read that finds its die being written waits for up to 0.1 ms: seldom if few writes are under
/// way, and 0.05 ms in the mean if the drive is full of them.
#[test]
fn reads_wait_for_writes() {
    let mixed = |writes_of_100: u64| {
        let (mut kind, mut place) = (Random::new(5), random(6, 4096, false));
        run(&micron(State::Random), 64, 100_000, move |id| Request {
            write: kind.below(100) < writes_of_100,
            ..place(id)
        })
        .reads
    };
    let mean = |reads: &[f64]| reads.iter().sum::<f64>() / reads.len() as f64;
    let p99 = |reads: &[f64]| reads[reads.len() * 99 / 100];
    let (alone, some, many) = (mixed(0), mixed(5), mixed(90));
    near(p99(&alone), 0.092, 0.03);
    assert!(mean(&alone) < mean(&some) && mean(&some) < mean(&many), "{} {}", mean(&alone), mean(&some));
    near(mean(&many) - mean(&alone), 0.05, 0.15);
    assert!(p99(&some) > p99(&alone) + 0.02 && p99(&many) > 0.16, "{} {}", p99(&some), p99(&many));
}

/// The same seed gives the same times.
#[test]
fn a_seed_fixes_all_chance() {
    let times = |seed| {
        let mut model = micron(State::Random).build(seed).expect("it is built");
        let mut next = random(8, 4096, true);
        let mut now = Instant(0);
        let mut one = |id| {
            now = model.serve(now, next(id));
            now
        };
        (0..1000).map(&mut one).collect::<Vec<_>>()
    };
    assert_eq!(times(4), times(4));
    assert_ne!(times(4), times(5));
}

#[test]
fn impossible_garbage_is_refused() {
    let good = toml::to_string(&device("micron-7600").expect("it is shipped")).expect("TOML");
    for (from, to, said) in [
        ("spare = 0.288", "spare = 0.0", "`flash.spare`"),
        ("spare = 0.288", "spare = nan", "`flash.spare`"),
        ("program_ms = 0.1", "program_ms = -0.1", "`flash.program_ms`"),
        ("page_kib = 4\n", "", "`flash` needs"),
        ("total_mb_s = 7000.0", "", "`flash` needs"),
        ("state = \"random\"", "state = \"new\"", "new"),
    ] {
        assert!(good.contains(from), "{from}");
        let error = Description::parse(&good.replace(from, to), "bad").expect_err(to).to_string();
        assert!(error.contains(said), "{to}: {error}");
    }
}
