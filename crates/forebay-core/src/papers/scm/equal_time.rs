//! Equal Time Supplies (SCM §4.1.2): "the individual trigger distance should be proportional to the
//! request rate".
//!
//! Both T_S / R and T_C / R are the same for all streams, so T_i = R_i / Σ R · T_total, rounded:
//! cut off, streams whose rates fluctuate would lack half a block each in the mean.

use crate::demand::Supply;

pub(super) fn distance(supply: &Supply) -> u32 {
    if supply.rates == 0 {
        // No stream was read twice yet.
        return supply.total / supply.streams.max(1);
    }
    let rates = u128::from(supply.rates);
    ((u128::from(supply.rate) * u128::from(supply.total) + rates / 2) / rates) as u32
}
