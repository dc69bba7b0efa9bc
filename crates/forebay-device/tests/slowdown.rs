//! Performance faults.

use forebay_core::{DeviceCost, Instant};
use forebay_device::slowdown::{Error, Slowdown, Slowed};
use forebay_device::{Description, Model, Request, device};
use proptest::prelude::*;

/// A nanosecond a byte.
struct Plain;

impl Model for Plain {
    fn serve(&mut self, at: Instant, request: Request) -> Instant {
        at.plus(request.len)
    }
    fn channels(&self) -> u32 {
        1
    }
    fn capacity(&self) -> u64 {
        0
    }
    fn cost(&self) -> DeviceCost {
        DeviceCost::flat(0, 1_000_000_000, 1)
    }
}

fn slowed(texts: &[&str]) -> Slowed {
    let slowdowns: Vec<Slowdown> = texts.iter().map(|text| text.parse().unwrap()).collect();
    Slowed::new(Box::new(Plain), &slowdowns).unwrap()
}

const S: u64 = 1_000_000_000;

/// SAC Fig. 8: half the speed from 500 s on; here, until 900 s.
#[test]
fn half_the_speed_from_500_to_900_seconds() {
    let serve = |from: u64, len: u64| slowed(&["500s-900s:2"]).serve(Instant(from), Request::read(0, len)).0 - from;
    assert_eq!(serve(0, S), S);
    assert_eq!(serve(600 * S, S), 2 * S);
    assert_eq!(serve(1000 * S, S), S);
    // Across a moment: the rest of it is slow, or quick again.
    assert_eq!(serve(499 * S, 3 * S), S + 4 * S);
    assert_eq!(serve(898 * S, 3 * S), 2 * S + 2 * S);
    // All the way: 200 s of work in the 400.
    assert_eq!(serve(499 * S, 202 * S), 402 * S);
}

#[test]
fn slowdowns_at_once_multiply() {
    let serve = |from: u64, len: u64| {
        slowed(&["10s:2", "20s-30s:3", "25s:0.5"]).serve(Instant(from), Request::read(0, len)).0 - from
    };
    // From 22 s on, half of it is done at 25 s.
    assert_eq!([0, 15, 20, 22, 27, 40].map(|at| serve(at * S, S) / 1_000_000), [1000, 2000, 5500, 4500, 3000, 1000]);
}

#[test]
fn slowdowns_are_read_and_written() {
    for (text, slowdown) in [
        ("500s:2", Slowdown { at_s: 500.0, until_s: None, factor: 2.0 }),
        ("500s-900s:2.5", Slowdown { at_s: 500.0, until_s: Some(900.0), factor: 2.5 }),
        ("0.5s-1s:100", Slowdown { at_s: 0.5, until_s: Some(1.0), factor: 100.0 }),
    ] {
        assert_eq!(text.parse(), Ok(slowdown));
        assert_eq!(slowdown.to_string(), text);
    }
    assert_eq!("250ms-2min:3".parse(), Ok(Slowdown { at_s: 0.25, until_s: Some(120.0), factor: 3.0 }));
    assert_eq!("1h:3".parse(), Ok(Slowdown { at_s: 3600.0, until_s: None, factor: 3.0 }));
    for text in ["", "500s", "500:2", "s:2", "500s:two", "500s-:2", "-5s:2", "500s:2:2", "½s:2"] {
        assert_eq!(text.parse::<Slowdown>(), Err(Error::Form(text.to_owned())), "{text}");
    }
    for text in ["500s:0", "500s:-1", "500s:nan", "500s-400s:2", "500s-500s:2", "1e10s:2", "500s:inf"] {
        assert_eq!(text.parse::<Slowdown>(), Err(Error::Bounds), "{text}");
    }
    assert!(Slowed::new(Box::new(Plain), &[Slowdown { at_s: 0.0, until_s: None, factor: 0.0 }]).is_err());
}

#[test]
fn slow_devices_are_described() {
    let text = "name = 'aged'\nabout = ''\n[model.slowed]\ndevice = 'ssd'\nslowdowns = [{ at_s = 500, until_s = 900, factor = 2 }]";
    let description = Description::parse(text, "aged").unwrap();
    let mut model = description.build(1).unwrap();
    let mut plain = device("ssd").unwrap().build(1).unwrap();
    assert_eq!(model.cost(), plain.cost(), "nobody announces a fault");
    let request = Request::read(0, 9_000_000);
    assert_eq!(model.serve(Instant(S), request), plain.serve(Instant(S), request));
    let own = |model: &mut dyn Model| model.serve(Instant(600 * S), request).since(Instant(600 * S));
    let (slow, quick) = (own(model.as_mut()), own(plain.as_mut()));
    assert!(slow.abs_diff(2 * quick) <= 2, "{slow} {quick}");
    let bad = text.replace("factor = 2", "factor = 0");
    assert!(Description::parse(&bad, "aged").unwrap_err().to_string().contains("factor"));
}

proptest! {
    /// A factor of one changes nothing, to the nanosecond, on a disk that remembers where it
    /// stands.
    #[test]
    fn a_factor_of_one_changes_nothing(
        moments in proptest::collection::vec((0u64..100, 1u64..100), 0..4),
        requests in proptest::collection::vec((0u64..10 * S, any::<u32>(), 0u64..300_000), 1..40),
    ) {
        let ones: Vec<Slowdown> = moments.iter()
            .map(|&(at, span)| Slowdown { at_s: at as f64, until_s: Some((at + span) as f64), factor: 1.0 }).collect();
        let ibm = || device("ibm-10k").unwrap().build(0).unwrap();
        let (mut plain, mut same) = (ibm(), Slowed::new(ibm(), &ones).unwrap());
        let (mut one, mut other) = (Instant(0), Instant(0));
        for (think, place, len) in requests {
            let request = Request::read(u64::from(place) * 8, len);
            one = plain.serve(one.plus(think), request);
            other = same.serve(other.plus(think), request);
            prop_assert_eq!(one, other);
        }
    }

    /// Later requests never end before earlier ones because of a fault. Work takes between its own
    /// time and the longest factor's.
    #[test]
    fn time_goes_on(
        slowdowns in proptest::collection::vec((0u64..50, 1u64..50, 1u32..8), 0..4),
        requests in proptest::collection::vec((0u64..5 * S, 0u64..5 * S), 1..40),
    ) {
        let list: Vec<Slowdown> = slowdowns.iter()
            .map(|&(at, span, factor)| Slowdown { at_s: at as f64, until_s: Some((at + span) as f64), factor: factor.into() }).collect();
        let most: f64 = slowdowns.iter().map(|s| f64::from(s.2)).product();
        let mut model = Slowed::new(Box::new(Plain), &list).unwrap();
        let mut now = Instant(0);
        for (think, len) in requests {
            let begin = now.plus(think);
            now = model.serve(begin, Request::read(0, len));
            // Where a moment inside is rounded down, a nanosecond is lost: as often as factors
            // change, and once more.
            prop_assert!(now.since(begin) + 10 * most as u64 >= len, "{} {}", now.since(begin), len);
            prop_assert!(now.since(begin) as f64 <= len as f64 * most + 10.0 * most);
        }
    }
}
