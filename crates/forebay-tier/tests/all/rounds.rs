//! A tier whose work is done round by round, as a simulated world does it: nothing is done between
//! the rounds, and no time passes but its clock's.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use forebay_tier::disk::{Clock, Host, Local};
use forebay_tier::{Options, Rounds, Tiers};

use crate::known::{Known, MIB, check_all, eager, tiered};

/// A clock that the test sets, in seconds.
#[derive(Debug, Default)]
struct Set(AtomicU64);

impl Clock for Set {
    fn now(&self) -> Duration {
        Duration::from_secs(self.0.load(Ordering::Relaxed))
    }
}

#[test]
fn a_tier_in_rounds() {
    let (dir, known, clock) = (tempfile::tempdir().unwrap(), Known::new("a source"), Arc::new(Set::default()));
    known.put("a", 3 * MIB, 1);
    let host = Host { disk: Arc::new(Local), clock: Arc::clone(&clock) as Arc<dyn Clock> };
    let open = || Tiers::in_rounds(Options { writes: Some(MIB), ..eager(dir.path(), 1) }, &host).unwrap();

    let (tiers, Rounds { mut writer, mut recovery }) = open();
    let source = tiered(&known, &tiers);
    assert!(!recovery.round(), "there is nothing from before");
    check_all(&source, "a", 1);
    assert_eq!((known.asked(), tiers.figures()[0].written_bytes), (3 * MIB, 0), "nothing is written between rounds");
    assert!(writer.round(Duration::ZERO));
    check_all(&source, "a", 1);
    assert_eq!(known.asked(), 0);
    let unsaved = tiers.figures()[0].written_bytes;
    assert!(writer.round(Duration::ZERO));
    assert_eq!(tiers.figures()[0].written_bytes, unsaved, "no time has passed");
    clock.0.store(5, Ordering::Relaxed);
    assert!(writer.round(Duration::ZERO));
    assert!(tiers.figures()[0].written_bytes > unsaved, "after five seconds the table is written");
    tiers.stop();
    assert!(!writer.round(Duration::ZERO), "it was told to stop");
    tiers.close();
    drop((tiers, source, writer, recovery));

    let (tiers, Rounds { mut recovery, .. }) = open();
    let source = tiered(&known, &tiers);
    check_all(&source, "a", 1);
    assert_eq!(known.asked(), 3 * MIB, "nothing is found before a round");
    assert!(recovery.round());
    check_all(&source, "a", 1);
    assert_eq!(known.asked(), 0);
}
