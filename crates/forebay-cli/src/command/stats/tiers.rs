//! The disk tiers of `forebay stats`.

use forebay_source::TierFigures;

use super::{count, percent};
use crate::size::about;
use crate::table::{Column, Table};

/// A row a folder, and a line for each that has failed.
pub(super) fn table(tiers: &[TierFigures]) -> String {
    if tiers.is_empty() {
        return String::new();
    }
    let mut table = Table::new([
        Column::left("disk tier"),
        Column::right("found"),
        Column::right(""),
        Column::right("written"),
        Column::right("held"),
        Column::right("of"),
        Column::right("pieces"),
    ]);
    let mut notes = String::new();
    for tier in tiers {
        let folder = tier.folder.display().to_string();
        table.row([
            folder.clone(),
            about(tier.hit_bytes),
            percent(tier.hit_bytes, tier.hit_bytes + tier.miss_bytes),
            about(tier.written_bytes),
            about(tier.disk_bytes),
            about(tier.size_bytes),
            count(tier.pieces),
        ]);
        if tier.recovered_segments < tier.segments_before {
            notes += &format!(
                "{folder}: {} of {} segments from before are known\n",
                count(tier.recovered_segments.into()),
                count(tier.segments_before.into())
            );
        }
        if tier.damaged > 0 {
            notes += &format!("{folder}: {} damaged pieces were fetched again\n", count(tier.damaged));
        }
        match (&tier.no_reads, &tier.no_writes) {
            (Some(reason), _) => notes += &format!("{folder}: off: {reason}\n"),
            (None, Some(reason)) => notes += &format!("{folder}: writes no more: {reason}\n"),
            (None, None) if tier.withheld_files > 0 => {
                notes += &format!("{folder}: its file system has too little room beside what --disk-free leaves\n");
            }
            (None, None) => {}
        }
    }
    format!("{table}{notes}")
}
