//! `forebay stripe`: copies a tree to the members of a set, and distributes its files over them.

use std::path::PathBuf;

use forebay_sim::Watch;
use forebay_source::striped::{DealError, Dealt, Stripes, deal};
use forebay_source::uri::{Place, open_source, parse};

use crate::failure::Failure;
use crate::options::Stripe;
use crate::output;
use crate::progress::Progress;
use crate::size::{about, count};

/// Copies, and says how much it has copied.
pub(crate) fn run(options: &Stripe) -> Result<(), Failure> {
    let (name, place) = parse(&options.set)?;
    let (stripes, members) = members(&place, &options.set.to_string_lossy())?;
    if let Some(name) = name {
        return Err(Failure::input(format!("{name}=: a name is given to a set when it is mounted; leave it out here")));
    }
    let stores = options.stores.options().map_err(Failure::input)?;
    let (_, source) = open_source(&options.source, &stores)?;
    let progress = Progress::new("striping", 1);
    let run = progress.run();
    let dealt = deal(&*source, stripes.unit(), &members, &|done, all| {
        run.progress(done, all);
        run.stopped()
    });
    drop(run);
    progress.clear();
    let dealt = dealt.map_err(|error| failure(&error))?;
    output::print(&line(&dealt, members.len()))
}

/// The folders to write to.
fn members(place: &Place<'_>, given: &str) -> Result<(Stripes, Vec<PathBuf>), Failure> {
    let Place::Set(stripes, members) = place else {
        return Err(Failure::input(format!("{given}: not a set; a set is written stripe:64KiB:/d1,/d2")));
    };
    let folder = |member: &Place<'_>| match member {
        Place::Folder(folder) => Ok(folder.to_path_buf()),
        Place::Store(uri) => Err(Failure::input(format!("{uri}: only folders can be written to"))),
        Place::Set(..) => Err(Failure::input(format!("{given}: a member cannot be a set itself"))),
    };
    Ok((*stripes, members.iter().map(folder).collect::<Result<_, _>>()?))
}

fn failure(error: &DealError) -> Failure {
    if error.has_begun() {
        Failure::run(format!("{error}; the set is incomplete: empty its members before you try again"))
    } else {
        Failure::input(error)
    }
}

fn line(dealt: &Dealt, members: usize) -> String {
    let plural = |number: u64, what: &str| format!("{} {what}{}", count(number), if number == 1 { "" } else { "s" });
    format!(
        "striped {} in {}, {} and {} over {}\n",
        about(dealt.bytes),
        plural(dealt.files, "file"),
        plural(dealt.folders, "folder"),
        plural(dealt.links, "link"),
        plural(members as u64, "member")
    )
}
