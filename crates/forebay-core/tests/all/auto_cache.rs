//! `auto` with one device and nothing fetched ahead is AMP's cache where that pays: the engine
//! misses the same references as an untimed `amp-duel`.

use crate::script;
use forebay_core::index::Hashed;
use forebay_core::papers::amp::Detector;
use forebay_core::presets::{Contexts, Prefetch};
use forebay_core::replacement::Arc;
use forebay_core::{
    Action, Actions, Caller, ContextId, DeviceCost, DeviceId, Event, EventKind, HandlerId, Instant, Policy, ReadId,
    Setup,
};

use script::{Script, callers, key};

const FRAMES: u32 = 256;
const BLOCK: u32 = 4096;

/// A loop of 300 blocks, 400 at random, and a scan that never ends, in turn.
fn references() -> impl Iterator<Item = (u32, u32)> {
    let mut state = 1u64;
    (0..60_000u32).map(move |nth| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        match nth % 3 {
            0 => (1, nth / 3 % 300),
            1 => (2, 1000 + (state >> 33) as u32 % 400),
            _ => (3, 10_000 + nth / 3),
        }
    })
}

#[test]
fn without_prefetching_it_misses_what_amp_misses() {
    let auto: Policy = "auto".parse().expect("a policy");
    let policy = Policy { prefetch: Prefetch::None, ..auto };
    assert_eq!(policy.context, Some(Contexts::JOINED));
    let mut core = policy.build::<Hashed>(Setup {
        frames: FRAMES,
        block_bytes: BLOCK,
        streams: 16,
        devices: vec![DeviceCost::flat(10_000_000, 50_000_000, 1)],
        referenced: Default::default(),
    });
    let (mut cache, mut detector) =
        (Script::<Arc>::new(FRAMES, Contexts::JOINED), callers(Detector::new(Contexts::JOINED.settings).over(FRAMES)));
    let (mut at, mut actions) = (Instant(0), Actions::new());
    let file = key(0).file();
    core.handle(&[Event { at, kind: EventKind::Open { file, device: DeviceId(0), bytes: 1 << 40 } }], &mut actions);
    let (mut misses, mut looping) = (0, 0);
    for (nth, (context, block)) in references().enumerate() {
        let caller = Caller { handler: HandlerId(context), context: ContextId(context) };
        let access = detector.access(caller, key(block));
        let hit = cache.read(block, access);
        looping += u32::from(matches!(access.place, forebay_core::seams::Place::Loop(_)));
        at = at.plus(1_000_000);
        actions.clear();
        let read = ReadId(0);
        let offset = u64::from(block) * u64::from(BLOCK);
        let kind = EventKind::Read { read, handler: caller.handler, context: caller.context, file, offset, len: BLOCK };
        core.handle(&[Event { at, kind }], &mut actions);
        let io = actions.iter().find_map(|action| match action {
            Action::Fetch { io, .. } => Some(*io),
            _ => None,
        });
        assert_eq!(io.is_none(), hit, "reference {nth}, block {block} of context {context}");
        misses += u32::from(!hit);
        if let Some(io) = io {
            core.handle(&[Event { at, kind: EventKind::Arrived { io } }], &mut actions);
        }
        core.handle(&[Event { at, kind: EventKind::Done { read } }], &mut actions);
    }
    core.check();
    assert!(core.divider().is_none(), "with one device there is nothing to divide");
    assert!(looping > 5_000 && (30_000..50_000).contains(&misses), "{looping} accesses of loops, {misses} misses");
}
