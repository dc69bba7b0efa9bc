//! Checks of a source: whether it can be reached with the credentials that there are, what it can
//! do, and whether its costs are known.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use forebay_live::profiler::{self, Store};
use forebay_source::object::StoreOptions;
use forebay_source::uri::{self, OpenError, Place, open_place};
use forebay_source::{Kind, Source};

use super::{Finding, SAME};
use crate::options::Reading;
use crate::storage;

/// Storage changes within a year: disks fill, networks move.
const OLD: Duration = Duration::from_secs(365 * 24 * 3600);

/// The findings about a source, as `forebay mount` takes it.
pub(super) fn findings(source: &OsStr, reading: &Reading) -> Vec<Finding> {
    let name = uri::without_user(&source.to_string_lossy());
    let check = format!("source {name}");
    let stores = match reading.stores.options() {
        Ok(stores) => StoreOptions { ttl: reading.ttl_of_stores(), ..stores },
        Err(error) => return vec![Finding::failed(check, error.to_string(), "give a file that can be read")],
    };
    let begun = Instant::now();
    let mut profiles = Vec::new();
    let opened = uri::parse(source).and_then(|(_, place)| {
        open_place(&place, &stores, |place, source| {
            profiles.push(profile(place, &source));
            Ok::<_, OpenError>(source)
        })
    });
    match opened {
        Err(error) => vec![Finding::failed(check, error.to_string(), SAME)],
        Ok(opened) => {
            let about = format!("it answers within {} ms", begun.elapsed().as_millis());
            let mut findings = vec![Finding::ok(check, about), names(&name, opened.as_ref())];
            findings.append(&mut profiles);
            findings
        }
    }
}

/// Whether names can be listed, and a file opened.
fn names(name: &str, source: &dyn Source) -> Finding {
    let check = format!("names of {name}");
    let listing = match source.list(Path::new("")) {
        Ok(listing) => listing,
        Err(error) => {
            let advice = "files can be read by their full names only; permit listing for more";
            return Finding::warning(check, format!("they cannot be listed: {error}"), advice);
        }
    };
    let Some(file) = listing.iter().find(|entry| entry.kind == Kind::File) else {
        return Finding::ok(check, format!("{} names, no file among them", listing.len()));
    };
    let file = Path::new(&file.name);
    match source.open(file) {
        Ok(_) => Finding::ok(check, format!("{} names; {} can be opened", listing.len(), file.display())),
        Err(error) => Finding::failed(check, error.to_string(), "permit reading, not only listing"),
    }
}

/// Whether the costs of a device are known from a measurement.
fn profile(place: &Place<'_>, source: &Arc<dyn Source>) -> Finding {
    let check = format!("profile of {}", source.describe());
    if source.cost().is_some() {
        return Finding::ok(check, "the source knows its costs");
    }
    let advice = "run `forebay profile` on it; until then a mount goes by usual costs or a short measurement";
    let device = match profiler::identity(&storage::target(place, source)) {
        Ok(device) => device,
        Err(error) => return Finding::warning(check, error.to_string(), advice),
    };
    let Some(profile) = Store::user().and_then(|store| store.load(&device)) else {
        return Finding::warning(check, "it was never measured", advice);
    };
    let measured = SystemTime::UNIX_EPOCH + Duration::from_secs(profile.measured);
    let age = measured.elapsed().unwrap_or_default();
    let about = format!("measured {} days ago", age.as_secs() / (24 * 3600));
    if age > OLD { Finding::warning(check, about, advice) } else { Finding::ok(check, about) }
}
