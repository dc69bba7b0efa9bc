//! Fields that several levels add to the record of a run: figures of each level, by its number. The
//! first level is the one that readers ask.

use forebay_sim::timed::{LevelFigures, Outcome};
use serde_json::{Map, Value, json};

/// The figures of all levels. There are none for a single level, whose figures are the run's.
pub(super) fn fields(outcome: &Outcome, block_bytes: u32) -> Map<String, Value> {
    if outcome.levels.len() < 2 {
        return Map::new();
    }
    (1..).zip(&outcome.levels).flat_map(|(number, level)| of(number, level, block_bytes)).collect()
}

/// The figures of the disk tier, if there is one.
pub(super) fn tier(outcome: &Outcome) -> Map<String, Value> {
    let Some(tier) = &outcome.tier else { return Map::new() };
    let figures = [
        ("tier", json!(tier.device)),
        ("tier_hit_ratio", json!(tier.hit_ratio())),
        ("tier_found_bytes", json!(tier.found_bytes)),
        ("tier_written_bytes", json!(tier.written_bytes)),
    ];
    figures.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn of(number: u32, level: &LevelFigures, block_bytes: u32) -> impl Iterator<Item = (String, Value)> {
    let counters = &level.counters;
    let figures = [
        ("capacity_blocks", json!(level.capacity_blocks)),
        ("hit_ratio", json!(level.hit_ratio())),
        ("demand_hit_ratio", json!(level.demand_hit_ratio())),
        ("prefetched", json!(counters.prefetched)),
        ("used", json!(counters.used)),
        ("late", json!(counters.late)),
        ("wasted", json!(counters.wasted)),
        ("fetches", json!(counters.fetches)),
        ("demand_fetches", json!(level.demand_fetches)),
        ("fetched_bytes", json!(counters.fetched * u64::from(block_bytes))),
        ("label_bytes", json!(level.label_bytes)),
    ];
    figures.into_iter().map(move |(name, value)| (format!("l{number}_{name}"), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_level_adds_nothing_and_several_are_numbered() {
        let level = LevelFigures { capacity_blocks: 7, label_bytes: 16, ..LevelFigures::default() };
        let one = Outcome { levels: vec![level.clone()], ..Outcome::default() };
        assert!(fields(&one, 4096).is_empty());
        let three = fields(&Outcome { levels: vec![level; 3], ..Outcome::default() }, 4096);
        assert_eq!(three.len(), 33);
        assert_eq!((&three["l1_capacity_blocks"], &three["l3_label_bytes"]), (&json!(7), &json!(16)));
        assert_eq!(three["l2_hit_ratio"], json!(0.0), "nobody asked");
    }
}
