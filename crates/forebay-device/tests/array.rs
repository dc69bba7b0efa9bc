//! RAID-0, against naive twins and closed forms.

use forebay_core::{DeviceCost, Instant};
use forebay_device::scheduler::{Elevator, SchedulerKind};
use forebay_device::{Array, Description, DeviceQueue, Model, Queue, Request, array, device};
use proptest::prelude::*;

/// A nanosecond a byte and a thousand to begin; it remembers nothing.
struct Plain;

impl Model for Plain {
    fn serve(&mut self, at: Instant, request: Request) -> Instant {
        at.plus(1000 + request.len)
    }
    fn channels(&self) -> u32 {
        1
    }
    fn capacity(&self) -> u64 {
        10_000
    }
    fn cost(&self) -> DeviceCost {
        DeviceCost::flat(1000, 1_000_000_000, 1)
    }
}

fn plain() -> Box<dyn Queue> {
    Box::new(DeviceQueue::new(Box::new(Plain), Box::<Elevator>::default()))
}

fn of(n: usize, stripe: u64) -> Array {
    Array::new((0..n).map(|_| plain()).collect(), stripe).unwrap()
}

fn next(queue: &mut dyn Queue) -> Option<(u64, u64)> {
    while let Some(at) = queue.next_completion() {
        if let Some(id) = queue.complete(at) {
            return Some((at.0, id));
        }
    }
    None
}

/// n members take a long request's n-th part each: its time is that of a switch and a part.
#[test]
fn a_long_request_is_n_times_as_fast() {
    for n in [1, 2, 4, 8] {
        let mut array = of(n, 64);
        array.submit(Instant(5), 1, Request::read(64 * 8 * 3, 64 * 800));
        assert_eq!(next(&mut array), Some((5 + 1000 + 64 * 800 / n as u64, 1)));
    }
}

/// Requests within a stripe go to one member each, and n of them side by side.
#[test]
fn short_requests_are_served_side_by_side() {
    let mut array = of(4, 64);
    for stripe in 0..8 {
        array.submit(Instant(0), stripe, Request::read(stripe * 64 + 10, 20));
    }
    let done: Vec<(u64, u64)> = std::iter::from_fn(|| next(&mut array)).collect();
    assert_eq!(done, [0, 1, 2, 3, 4, 5, 6, 7].map(|id| (1020 * (1 + id / 4), id)));
}

/// From the middle of a stripe to the middle of another, by hand: c … h of the picture, two and a
/// half stripes.
#[test]
fn parts_that_touch_on_a_member_are_one() {
    let mut array = of(3, 100);
    // Bytes 150 to 720: 50 of stripe 1, stripes 2 to 6, 20 of stripe 7. On member 0 stripes 3 and
    // 6, on 1 half of 1, 4 and 20 of 7, on 2 stripes 2 and 5.
    array.submit(Instant(0), 1, Request::read(150, 570));
    let times: Vec<u64> = std::iter::from_fn(|| {
        let at = array.next_completion()?;
        array.complete(at);
        Some(at.0)
    })
    .collect();
    assert_eq!(times, [1170, 1200], "1000 and 50 + 100 + 20 on one, 200 on the two others at once");
}

#[test]
fn who_has_begun_anywhere_is_not_taken_back() {
    let mut array = of(2, 100);
    array.submit(Instant(0), 1, Request::read(0, 100));
    array.submit(Instant(0), 2, Request::read(0, 200));
    array.submit(Instant(0), 3, Request::read(0, 200));
    assert!(!array.cancel(Instant(1), 1), "in service");
    assert!(!array.cancel(Instant(1), 2), "half of it is in service");
    assert!(array.waits(Instant(1), 3) && array.cancel(Instant(1), 3) && !array.cancel(Instant(1), 3));
    assert!(!array.cancel(Instant(1), 9), "nobody knows it");
    assert_eq!([next(&mut array), next(&mut array), next(&mut array)], [Some((1100, 1)), Some((2200, 2)), None]);
}

/// The bytes of a request, one by one: member and place.
fn bytes(request: (u64, u64), n: u64, stripe: u64) -> Vec<(u64, u64)> {
    let place = |byte: u64| (byte / stripe % n, byte / stripe / n * stripe + byte % stripe);
    (request.0..request.0 + request.1).map(place).collect()
}

/// A member that answers at once and remembers its requests.
struct Recorder(std::sync::Arc<std::sync::Mutex<Vec<(u64, u64, u64)>>>, u64);

impl Model for Recorder {
    fn serve(&mut self, at: Instant, request: Request) -> Instant {
        self.0.lock().unwrap().push((self.1, request.start, request.len));
        at
    }
    fn channels(&self) -> u32 {
        1
    }
    fn capacity(&self) -> u64 {
        0
    }
    fn cost(&self) -> DeviceCost {
        DeviceCost::flat(0, 1, 1)
    }
}

proptest! {
    /// Each byte is asked for once, where it lies, in one run a member.
    #[test]
    fn stripes_are_where_they_belong(n in 1u64..6, stripe in 1u64..40, start in 0u64..500, len in 1u64..300) {
        let asked = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let member = |number| -> Box<dyn Queue> {
            let model = Recorder(std::sync::Arc::clone(&asked), number);
            Box::new(DeviceQueue::new(Box::new(model), Box::<Elevator>::default()))
        };
        let mut array = Array::new((0..n).map(member).collect(), stripe).unwrap();
        array.submit(Instant(0), 1, Request::read(start, len));
        prop_assert_eq!(next(&mut array), Some((0, 1)));
        let parts = asked.lock().unwrap().clone();
        prop_assert!(parts.len() as u64 <= n);
        let mut got: Vec<(u64, u64)> = parts.iter().flat_map(|&(m, start, len)| (start..start + len).map(move |p| (m, p))).collect();
        let mut expected = bytes((start, len), n, stripe);
        got.sort_unstable();
        expected.sort_unstable();
        prop_assert_eq!(got, expected);
    }

    /// An array of one is its member.
    #[test]
    fn an_array_of_one_is_its_member(
        requests in proptest::collection::vec((0u64..20_000_000, any::<u32>(), 0u64..500_000, proptest::option::of(0u64..20_000_000)), 1..40),
        stripe in prop_oneof![Just(512u64), Just(65536), 1u64..1 << 20],
    ) {
        let member = || device("ibm-10k").unwrap().queue(3, &SchedulerKind::default()).unwrap();
        let mut queues = [member(), Box::new(Array::new(vec![member()], stripe).unwrap())];
        let runs = queues.each_mut().map(|queue| {
            let (mut at, mut events) = (0, Vec::new());
            for (id, &(gap, place, len, cancel)) in requests.iter().enumerate() {
                at += gap;
                queue.submit(Instant(at), id as u64, Request::read(u64::from(place) * 8, len));
                if let Some(after) = cancel {
                    at += after;
                    events.push((at, queue.cancel(Instant(at), id as u64), id as u64));
                }
            }
            events.extend(std::iter::from_fn(|| next(queue.as_mut())).map(|(at, id)| (at, true, id)));
            events
        });
        prop_assert_eq!(&runs[0], &runs[1]);
        let [one, other] = queues.map(|queue| queue.cost());
        prop_assert_eq!((one.seek, one.zones, one.half_revolution), (other.seek, other.zones, other.half_revolution));
    }
}

/// n times the depth of a member, at the cost of a member's switch, over n times its distances.
#[test]
fn an_array_justifies_n_times_the_depth() {
    let ibm = device("ibm-10k").unwrap();
    let member = ibm.build(0).unwrap().cost();
    for n in [2u64, 4, 16] {
        let array = array(&vec![ibm.clone(); n as usize], 65536, &SchedulerKind::default(), 1).unwrap();
        let cost = array.cost();
        assert!(cost.capacity.abs_diff(n * member.capacity) <= n * 65536, "{}", cost.capacity);
        assert_eq!(cost.switch_cost(n * 5_000_000_000), member.switch_cost(5_000_000_000));
        let (place, distance) = (cost.capacity / 2, cost.mean_distance());
        let (own, one) =
            (cost.competitive_depth(distance, place), member.competitive_depth(member.mean_distance(), place / n));
        assert!(own.abs_diff(n * one) < n * one / 1000, "{own} {one}");
        assert_eq!(cost.channels, 1);
    }
}

/// That depth is worth it: random reads of it take about twice the transfer alone, as they do on a
/// member.
#[test]
fn competitive_reads_keep_an_array_half_busy() {
    let ibm = device("ibm-10k").unwrap();
    let mut array = array(&vec![ibm; 4], 65536, &SchedulerKind::default(), 1).unwrap();
    let cost = array.cost();
    let depth = cost.competitive_depth(cost.mean_distance(), cost.capacity / 2);
    let mut random = forebay_device::random::Random::new(2);
    let (mut now, n) = (Instant(0), 500);
    for id in 0..n {
        array.submit(now, id, Request::read(random.below(cost.capacity - depth), depth));
        now = Instant(next(&mut array).unwrap().0);
    }
    let share = (depth * n) as f64 / now.0 as f64 * 1e9 / cost.transfer_rate(cost.capacity / 2) as f64;
    // One at a time waits for the slowest of four platters: 0.8 of a revolution instead of half of
    // one.
    assert!((0.42..0.52).contains(&share), "{share}");
}

#[test]
fn arrays_are_described_by_their_members_names() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
    let open = |name: &str| device(dir.path().join(name).to_str().unwrap());
    write(
        "slow.toml",
        "name = 'slow'\nabout = ''\n[model.slowed]\ndevice = 'ibm-10k'\nslowdowns = [{ at_s = 0, factor = 2 }]",
    );
    let array = |members: &str| format!("name = 'r'\nabout = ''\n[model.array]\nmembers = {members}\nstripe_kib = 64");
    write("array.toml", &array("['ibm-10k', 'slow.toml', 'ibm-10k']"));
    let description = open("array.toml").unwrap();
    assert_eq!(description.model.kind(), "array");
    let mut queue = description.queue(1, &SchedulerKind::default()).unwrap();
    let single = device("ibm-10k").unwrap().build(1).unwrap().capacity();
    assert_eq!(queue.capacity(), single / 65536 * 65536 * 3);
    let time = |queue: &mut dyn Queue, start: u64| {
        queue.submit(Instant(0), start, Request::read(start, 65536));
        next(queue).unwrap().0
    };
    let quick = time(queue.as_mut(), 3 << 30);
    let slow = time(description.queue(1, &SchedulerKind::default()).unwrap().as_mut(), (3 << 30) + 65536);
    // A revolution is 6 ms, and the platter's position differs by less than one.
    assert!(slow > quick, "{quick} {slow}");
    assert!(description.build(1).err().unwrap().to_string().contains("not a single device"));
    write("aged.toml", &array("['../aged/disk.toml@2', 'ibm-10k@10']"));
    std::fs::create_dir(dir.path().join("sub")).unwrap();
    write("sub/aged.toml", &array("['../disk.toml@2', 'ibm-10k@10']"));
    write("disk.toml", include_str!("../devices/ibm-10k.toml"));
    assert!(open("sub/aged.toml").is_ok() && open("aged.toml").is_err(), "by the folder of the file, with an age");
    write("self.toml", &array("['self.toml']"));
    assert!(open("self.toml").unwrap_err().to_string().contains("eight deep"));
    write("none.toml", &array("[]"));
    assert!(open("none.toml").unwrap_err().to_string().contains("1 to 1024"));
    write("absent.toml", &array("['absent']"));
    assert!(open("absent.toml").unwrap_err().to_string().contains("ibm-10k"));
    assert!(Description::parse(&array("['ibm-10k']"), "x").is_ok());
}
