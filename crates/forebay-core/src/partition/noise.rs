//! A threshold by how much waits vary (past the paper).
//!
//! SAC §3.1 would "compute the threshold dynamically as the statistical variance of wait times and use the sum of the mean and the
//! variance as the threshold". Taken literally that has two faults. A variance of times is in nanoseconds squared, and cannot be added
//! to a mean; that of relative waits can, but it is the square of what varies, so that waits that vary by 10 % by chance would give a
//! threshold of 1 %. And over devices it tells how unequal they are, not how much is chance: what a threshold is for, "to filter normal
//! variations in the wait time not due to changes in workload or device characteristics", it would not filter among equal devices; and
//! its root, which would, is as large as the excess itself if half of the devices are slow, so that these would never be corrected.
//!
//! So here it is that of one device from epoch to epoch, as half the mean square of the differences of neighbouring epochs (von Neumann
//! 1941), which a slow change of the device or of the sizes hardly raises; and the threshold is the mean and the root of it. An epoch is
//! judged by those before it: a fault does not hide in the variance that it brings.

/// Where it begins: the root is 5 % of the mean, as the paper's T.
pub(super) const FIRST: u64 = 50 * 50;

/// What the latest epoch weighs: one part in so many.
const EPOCHS: u64 = 8;

/// The variance, in thousandths of the mean squared, after a relative wait went from `before` to `after`.
pub(super) fn learn(variance: u64, before: u32, after: u32) -> u64 {
    let half_square = u64::from(before.abs_diff(after)).pow(2) / 2;
    variance - variance / EPOCHS + half_square / EPOCHS
}

/// How far above the mean is no longer chance, in thousandths.
pub(super) fn spread(variance: u64) -> u32 {
    u32::try_from(variance.isqrt()).unwrap_or(u32::MAX)
}

/// By how much the largest of `count` values is above the least of them by chance alone, if one varies by `first` and the other by `second`: in
/// thousandths, √(2 ln n) times the root of both (Donoho and Johnstone's universal threshold, Biometrika 1994). Among sixteen disks there
/// is always one that seems to wait long, and one that seems not to.
pub(super) fn range(count: usize, first: u64, second: u64) -> u32 {
    // 2 ln n = 2 ln 2 · lb n, in thousandths.
    let twice_log = 1386 * u64::from(count.max(1).ilog2());
    spread(first.saturating_add(second).saturating_mul(twice_log) / 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Waits that go up and down by a tenth: differences of 200, half their square is 20,000, whose root is 141; a lasting
    /// difference is none at all.
    #[test]
    fn what_goes_up_and_down_is_noise_and_what_lasts_is_not() {
        let noisy = (0..200).fold(FIRST, |variance, epoch| {
            let (before, after) = if epoch % 2 == 0 { (900, 1100) } else { (1100, 900) };
            learn(variance, before, after)
        });
        assert!((138..=141).contains(&spread(noisy)), "{}", spread(noisy));
        let lasting = (0..200).fold(FIRST, |variance, _| learn(variance, 1900, 1900));
        assert!(spread(lasting) <= 2, "{}", spread(lasting));
    }

    /// 2500 - 312 + 900² / 2 / 8 = 52,813: a fault is above the 5 % that were known, and above what it brings itself.
    #[test]
    fn a_fault_does_not_hide() {
        assert_eq!(spread(FIRST), 50);
        let after = learn(FIRST, 1000, 1900);
        assert_eq!((after, spread(after)), (52_813, 229));
    }
}
