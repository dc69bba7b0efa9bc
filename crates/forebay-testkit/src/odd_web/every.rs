//! Every oddity, with parameters that suit tests.

use std::time::Duration;

use super::oddity::{Cut, Methods, Modified, Oddity, RetryAfter, Tag, To};

impl Oddity {
    /// Every oddity, some with several parameters. Those that are silent or cut come last: a client
    /// takes its whole patience for each.
    pub fn every() -> Vec<Oddity> {
        let plain = [Oddity::Plain, Oddity::Password, Oddity::SoftMissing, Oddity::IfMatchFails, Oddity::Changing];
        let every = plain.into_iter().chain(heads()).chain(ranges()).chain(forms()).chain(redirects());
        every.chain(validators()).chain(refusals()).chain(stops()).collect()
    }
}

fn heads() -> Vec<Oddity> {
    let refused = [403, 405, 501].map(Oddity::HeadRefused);
    let lengths = [-1, 1, 1000].map(Oddity::HeadLength);
    let others = [Oddity::HeadWithoutLength, Oddity::HeadGzip, Oddity::HeadWithBody];
    refused.into_iter().chain(lengths).chain(others).collect()
}

fn ranges() -> Vec<Oddity> {
    vec![
        Oddity::NoRanges,
        Oddity::RangesRefused,
        Oddity::RangeAtZero,
        Oddity::RangeShort,
        Oddity::RangeClipped(10_000),
        Oddity::RangeClipped(1000),
        Oddity::RangeLong,
        Oddity::RangeUntold,
        Oddity::RangeTotal(-1),
        Oddity::RangeTotal(1),
        Oddity::RangeTotalUnknown,
        Oddity::RangeChunked,
        Oddity::Multipart,
    ]
}

fn forms() -> Vec<Oddity> {
    let interim = [100, 102, 103].map(Oddity::Interim);
    let others = [
        Oddity::Gzip,
        Oddity::ChunkExtras,
        Oddity::Junk,
        Oddity::TwoLengths,
        Oddity::LongHeader(60_000),
        Oddity::LongHeader(4_000_000),
        Oddity::BareHead,
        Oddity::NotHttp,
        Oddity::Http10 { length: true },
        Oddity::Http10 { length: false },
        Oddity::Closes,
        Oddity::Drip { bytes: 20_000, pause: Duration::from_millis(5) },
    ];
    interim.into_iter().chain(others).collect()
}

fn redirects() -> Vec<Oddity> {
    let followed = [To::Path, To::Relative, To::Url, To::Host];
    let followed = [301, 302, 303, 307, 308].into_iter().flat_map(|code| followed.map(|to| (code, to)));
    let refused = [To::Itself, To::Circle, To::Endless, To::Nowhere, To::Missing, To::File].map(|to| (302, to));
    followed.chain(refused).map(|(code, to)| Oddity::Redirect { code, to }).collect()
}

fn validators() -> Vec<Oddity> {
    use {Modified as M, Tag as T};
    let dates = [M::Rfc850, M::Asctime, M::Iso, M::Future, M::Nonsense, M::None].map(Oddity::Modified);
    let tags = [T::Weak, T::Flipping, T::WeakFlipping, T::Shared, T::None, T::Empty, T::EmptyQuotes, T::Unquoted];
    dates.into_iter().chain(tags.map(Oddity::Tag)).collect()
}

fn refusals() -> Vec<Oddity> {
    let refused = [401, 403, 404, 410, 500, 502].map(Oddity::Refused);
    let propfind = [403, 404, 405, 500, 501].map(Oddity::Propfind).into_iter().chain([Oddity::PropfindPage]);
    let retries = [RetryAfter::None, RetryAfter::Seconds(1), RetryAfter::Date(2), RetryAfter::Nonsense];
    let busy = [429, 503].into_iter().flat_map(|code| retries.map(|retry| Oddity::Busy { code, retry }));
    let once = busy.clone().map(|busy| Oddity::First(1, Box::new(busy)));
    refused.into_iter().chain(propfind).chain(once).chain(busy).collect()
}

fn stops() -> Vec<Oddity> {
    let cuts = [Cut::Nothing, Cut::Head, Cut::Body, Cut::Chunk, Cut::Reset].map(Oddity::Cut);
    let once = cuts.clone().map(|cut| Oddity::First(1, Box::new(cut)));
    let silent = [Methods::Head, Methods::Propfind, Methods::Get, Methods::All].map(Oddity::Silent);
    once.into_iter().chain(cuts).chain(silent).collect()
}
