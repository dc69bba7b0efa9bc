//! `forebay cache`: looks at, checks and clears the folder of a disk tier.

use forebay_tier::layout::FILE;
use forebay_tier::{Info, Report};
use serde_json::json;

use crate::failure::Failure;
use crate::options::{Cache, CacheCommand, CacheFolder};
use crate::size::{about, count};
use crate::{output, progress};

/// Damaged pieces that are named one by one.
const NAMED: usize = 20;

/// Runs the command.
pub(crate) fn run(cache: &Cache) -> Result<(), Failure> {
    match &cache.command {
        CacheCommand::Info(folder) => info(folder),
        CacheCommand::Check(folder) => check(folder),
        CacheCommand::Clear(folder) => clear(folder),
    }
}

fn info(CacheFolder { folder, json }: &CacheFolder) -> Result<(), Failure> {
    let info = forebay_tier::info(folder).map_err(Failure::input)?;
    let Info { files, disk_bytes, segments, pieces, piece_bytes, versions, id_is_right, owner, .. } = info;
    let Info { system_bytes, system_free_bytes, .. } = info;
    if *json {
        return output::json(&json!({
            "folder": folder, "files": files, "disk_bytes": disk_bytes, "segments": segments, "pieces": pieces,
            "piece_bytes": piece_bytes, "versions": versions, "in_use": owner.is_some(), "pid": owner.flatten(),
            "id_is_right": id_is_right, "system_bytes": system_bytes, "system_free_bytes": system_free_bytes,
        }));
    }
    let used = match owner {
        None => "nobody".to_owned(),
        Some(None) => "another process".to_owned(),
        Some(Some(pid)) => format!("process {pid}"),
    };
    let mut text = format!(
        "{}: {} of blocks in {} pieces, of {} versions of files\nfiles: {} with {}, {} segments written\nused by {used}\n",
        folder.display(),
        about(piece_bytes),
        count(pieces),
        count(versions),
        count(files),
        about(disk_bytes),
        count(segments),
    );
    let left = system_free_bytes as f64 * 100.0 / system_bytes.max(1) as f64;
    text += &format!("its file system has {} free, {left:.0} % of {}", about(system_free_bytes), about(system_bytes));
    // How much stays free is a mount's own choice, which the folder does not tell.
    let usual = (system_free_bytes + files * FILE).saturating_sub(system_bytes / 10);
    text += if usual < FILE { ": with the usual --disk-free of 10 %, a mount writes nothing there\n" } else { "\n" };
    if !id_is_right {
        text += "its id is damaged: the next mount begins with an empty folder\n";
    }
    output::print(&text)
}

fn check(CacheFolder { folder, json }: &CacheFolder) -> Result<(), Failure> {
    let bar = progress::bar("checking", 0);
    let report = forebay_tier::check(folder, |progress| {
        bar.set_length(progress.of);
        bar.set_position(progress.segments);
    });
    bar.finish_and_clear();
    let report = report.map_err(Failure::input)?;
    let Report { right, right_bytes, damaged, lost_segments, changed_segments } = &report;
    if *json {
        let places: Vec<_> = damaged
            .iter()
            .map(|place| json!({ "file": place.file, "offset": place.offset, "bytes": place.len }))
            .collect();
        output::json(&json!({
            "folder": folder, "right": right, "right_bytes": right_bytes, "damaged": places,
            "lost_segments": lost_segments, "changed_segments": changed_segments,
        }))?;
    } else {
        let mut text =
            format!("{}: {} pieces with {} are right\n", folder.display(), count(*right), about(*right_bytes));
        for place in damaged.iter().take(NAMED) {
            text += &format!("damaged: {} bytes at {} of {}\n", place.len, place.offset, place.file.display());
        }
        if let Some(more) = damaged.len().checked_sub(NAMED).filter(|&more| more > 0) {
            text += &format!("and {} more; --json has them all\n", count(more as u64));
        }
        if *lost_segments > 0 {
            text += &format!(
                "{} segments have no table: they are empty, or a crash came before it was written\n",
                count(*lost_segments)
            );
        }
        if *changed_segments > 0 {
            text += &format!("{} segments were written meanwhile and are not counted\n", count(*changed_segments));
        }
        output::print(&text)?;
    }
    match damaged.len() {
        0 => Ok(()),
        some => Err(Failure::run(format!(
            "{}: {some} damaged pieces; readers do not get them, but the disk may be failing",
            folder.display()
        ))),
    }
}

fn clear(CacheFolder { folder, json }: &CacheFolder) -> Result<(), Failure> {
    let bytes = forebay_tier::info(folder).map_err(Failure::input)?.disk_bytes;
    forebay_tier::clear(folder).map_err(Failure::input)?;
    if *json {
        return output::json(&json!({ "folder": folder, "removed_bytes": bytes }));
    }
    output::print(&format!("{}: {} removed\n", folder.display(), about(bytes)))
}
