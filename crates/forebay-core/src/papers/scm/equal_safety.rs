//! Equal Safety Factors (SCM §4.1.3): the cycle inventory explicitly, T_C = R_i · t_prefetch; the
//! rest of the total in proportion to deviations, T_S = σ_i / Σ σ · (T_total − Σ T_C).
//!
//! The paper leaves open what happens when cycles alone need more than the total. Then there is no
//! safety inventory, T_S = 0, and each stream gets its part of the total by its rate, as under
//! Equal Time Supplies.

use super::equal_time;
use crate::demand::{Supply, cycle};

pub(super) fn distance(supply: &Supply) -> u32 {
    let total = u64::from(supply.total);
    if supply.cycles >= total || supply.rates == 0 {
        return equal_time::distance(supply);
    }
    let safety = total - supply.cycles;
    let part = match supply.deviations {
        // All streams are regular: they share the safety inventory evenly.
        0 => safety / u64::from(supply.streams.max(1)),
        deviations => {
            let deviations = u128::from(deviations);
            ((u128::from(supply.deviation) * u128::from(safety) + deviations / 2) / deviations) as u64
        }
    };
    (cycle(supply.rate, supply.lead_time) + part).min(u64::from(u32::MAX)) as u32
}
