//! LogGP by its closed forms, and devices at the other end of it.

use std::sync::{Arc, Mutex};

use forebay_core::Instant;
use forebay_device::scheduler::SchedulerKind;
use forebay_device::{Attached, Network, Queue, Request, device, network};
use proptest::prelude::*;

fn sac() -> Network {
    Network::new(&network::Description::default()).unwrap()
}

const L: u64 = 1000;
const O: u64 = 400;
const GAP: u64 = 76;

/// (k − 1) G at 10 Gb/s, 0.8 ns a byte.
fn bytes(k: u64) -> u64 {
    ((k - 1) * 8).div_ceil(10)
}

#[test]
fn a_lone_message() {
    for k in [1, 2, 64, 8192, 262_144] {
        let expected = O + bytes(k) + L + O;
        assert_eq!(sac().send(Instant(5), 0, 1, k), Instant(5 + expected));
        assert_eq!(sac().alone(k), expected);
    }
    assert_eq!(sac().send(Instant(5), 3, 3, 100), Instant(5), "to oneself");
}

/// The processor bounds short messages, the line long ones.
#[test]
fn messages_back_to_back() {
    for (k, apart) in [(1, O), (8192, bytes(8192) + GAP)] {
        let mut network = sac();
        for n in 0..20 {
            assert_eq!(network.send(Instant(0), 0, 1, k), Instant(O + bytes(k) + L + O + n * apart));
        }
    }
}

/// The receiver's line takes one after the other; one-byte messages wait for its processor.
#[test]
fn senders_contend_for_a_receiver() {
    for (k, apart) in [(8192, bytes(8192) + GAP), (1, O)] {
        let mut network = sac();
        for n in 0..10 {
            assert_eq!(network.send(Instant(0), 1 + n as u32, 0, k), Instant(O + bytes(k) + L + O + n * apart));
        }
        // Endpoints that have nothing to do with them are not delayed.
        assert_eq!(network.send(Instant(0), 20, 21, k), Instant(O + bytes(k) + L + O));
    }
}

/// An endpoint that will receive something later can send meanwhile, and its line outward is
/// another one than inward.
#[test]
fn what_comes_later_holds_up_nothing_now() {
    let mut network = sac();
    let late = network.send(Instant(0), 1, 0, 1_000_000);
    assert_eq!(late, Instant(O + bytes(1_000_000) + L + O));
    assert_eq!(network.send(Instant(10), 0, 2, 100), Instant(10 + network.alone(100)));
    // A short one from another sender fits in only after the long one, whose first byte reaches the
    // line before.
    let short = network.send(Instant(20), 2, 0, 100);
    assert!(short > late, "{short:?}");
}

#[test]
fn impossible_networks_are_refused() {
    let good = network::Description::default();
    for bad in [
        network::Description { latency_us: -1.0, ..good },
        network::Description { overhead_us: f64::NAN, ..good },
        network::Description { gbit_s: 0.0, ..good },
        network::Description { endpoints: 0, ..good },
    ] {
        assert!(Network::new(&bad).is_err(), "{bad:?}");
    }
    let text = "latency_us = 50\ngbit_s = 1";
    assert_eq!(toml::from_str(text), Ok(network::Description { latency_us: 50.0, gbit_s: 1.0, ..good }));
}

proptest! {
    /// Between the same two, no message overtakes another; none is quicker than alone; and no
    /// endpoint receives or sends faster than its processor and its line can.
    #[test]
    fn messages_keep_their_order_and_the_speed_limit(
        messages in proptest::collection::vec((0u64..3000, 0u32..4, 0u32..4, 1u64..5000), 1..120),
        overhead_us in prop_oneof![Just(0.4), Just(0.0), 0.0..3.0],
        gap_us in prop_oneof![Just(0.076), Just(0.0), 0.0..3.0],
    ) {
        let mut network = Network::new(&network::Description { overhead_us, gap_us, ..Default::default() }).unwrap();
        let overhead = (overhead_us * 1e3f64).round() as u64;
        let mut at = 0;
        let (mut last, mut arrived, mut carried) = ([[0; 4]; 4], [const { Vec::new() }; 4], [0; 4]);
        for &(gap, from, to, k) in &messages {
            at += gap;
            let arrival = network.send(Instant(at), from, to, k).0;
            if from == to {
                prop_assert_eq!(arrival, at);
                continue;
            }
            prop_assert!(arrival >= at + network.alone(k));
            let before = std::mem::replace(&mut last[from as usize][to as usize], arrival);
            prop_assert!(arrival >= before + overhead, "one overtook another: {} {}", before, arrival);
            arrived[to as usize].push(arrival);
            carried[to as usize] += bytes(k);
        }
        for (mut arrivals, carried) in arrived.into_iter().zip(carried) {
            arrivals.sort_unstable();
            prop_assert!(arrivals.windows(2).all(|pair| pair[1] - pair[0] >= overhead));
            prop_assert!(arrivals.last().is_none_or(|&end| end >= carried + L));
        }
    }
}

fn next(queue: &mut dyn Queue) -> Option<(u64, u64)> {
    while let Some(at) = queue.next_completion() {
        if let Some(id) = queue.complete(at) {
            return Some((at.0, id));
        }
    }
    None
}

fn attached(network: &Arc<Mutex<Network>>, server: u32) -> Attached {
    let disk = device("ibm-10k").unwrap().queue(1, &SchedulerKind::default()).unwrap();
    Attached::new(disk, Arc::clone(network), 0, server)
}

/// A command there, the disk, the data back; a write takes its data there.
#[test]
fn an_attached_device_takes_two_messages_more() {
    let place = 7_000_000_000;
    for write in [false, true] {
        let request = Request { write, ..Request::read(place, 65536) };
        let network = Arc::new(Mutex::new(sac()));
        let alone = sac();
        let (there, back) = if write { (64 + 65536, 64) } else { (64, 65536) };
        let reaches = Instant(10).plus(alone.alone(there));
        let mut disk = device("ibm-10k").unwrap().queue(1, &SchedulerKind::default()).unwrap();
        disk.submit(reaches, 1, request);
        let done = next(disk.as_mut()).unwrap().0;
        let mut remote = attached(&network, 1);
        remote.submit(Instant(10), 1, request);
        assert_eq!(next(&mut remote), Some((done + alone.alone(back), 1)));
    }
    let (near, far) =
        (device("ibm-10k").unwrap().build(1).unwrap().cost(), attached(&Arc::new(Mutex::new(sac())), 1).cost());
    assert_eq!(far.switch_cost(1 << 30), near.switch_cost(1 << 30) + sac().alone(64) + sac().alone(1));
    assert_eq!(far.transfer_rate(0), near.transfer_rate(0), "the line is quicker than the disk");
}

/// Sixteen disks of one client share its line: their data comes at the line's rate if that is the
/// slower one.
#[test]
fn disks_share_the_line_of_their_client() {
    let slow = network::Description { gbit_s: 0.8, ..Default::default() };
    let network = Arc::new(Mutex::new(Network::new(&slow).unwrap()));
    let mut disks: Vec<Attached> = (1..=16).map(|server| attached(&network, server)).collect();
    for (id, disk) in disks.iter_mut().enumerate() {
        disk.submit(Instant(0), id as u64, Request::read(1 << 30, 1_000_000));
    }
    let (mut end, mut count) = (0, 0);
    // Always at the earliest moment of all.
    while let Some((at, i)) = disks.iter().enumerate().filter_map(|(i, disk)| Some((disk.next_completion()?, i))).min()
    {
        if disks[i].complete(at).is_some() {
            (end, count) = (at.0, count + 1);
        }
    }
    assert_eq!(count, 16);
    // 16 MB at 100 MB/s, after the first has come from its disk, in some 40 ms.
    assert!((165_000_000..210_000_000).contains(&end), "{end}");
}

#[test]
fn what_is_on_its_way_can_be_taken_back() {
    let mut remote = attached(&Arc::new(Mutex::new(sac())), 1);
    for id in 0..3 {
        remote.submit(Instant(0), id, Request::read(id << 30, 4096));
    }
    assert!(remote.waits(Instant(100), 0) && remote.cancel(Instant(100), 0), "it has not arrived");
    assert!(!remote.cancel(Instant(100), 0));
    assert!(!remote.cancel(Instant(5000), 1), "the disk works on it");
    assert!(remote.cancel(Instant(5000), 2));
    assert_eq!(next(&mut remote).map(|(_, id)| id), Some(1));
    assert_eq!(next(&mut remote), None);
}

#[test]
fn attached_devices_are_described() {
    let text = "name = 'far'\nabout = ''\n[model.attached]\ndevice = 'ssd'\nnetwork = { latency_us = 100, gbit_s = 1 }";
    let description = forebay_device::Description::parse(text, "far").unwrap();
    let cost = description.queue(1, &SchedulerKind::default()).unwrap().cost();
    assert_eq!(cost.transfer_rate(0), 125_000_000);
    assert!(cost.switch_cost(0) > 90_000 + 200_000);
    let bad = text.replace("gbit_s = 1", "gbit_s = 0");
    assert!(forebay_device::Description::parse(&bad, "far").unwrap_err().to_string().contains("gbit_s"));
}
