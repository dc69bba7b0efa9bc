//! The ways in which a web server can be odd, each with the right reaction of a client.

use std::time::Duration;

/// A server's oddity. *Right* names the reaction that a client must have; [`Oddity::outcome`] says
/// it to a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Oddity {
    /// The server is not odd. It knows ranges, entity tags, dates and conditions, and answers
    /// PROPFIND.
    Plain,
    /// The first requests that the oddity applies to are odd like this, as many as the number says;
    /// later ones are plain. *Right*: the bytes, if another try can succeed.
    First(usize, Box<Oddity>),

    /// HEAD is answered with this code; GET is plain. *Right*: the bytes, with the length from a
    /// GET.
    HeadRefused(u16),
    /// The length of HEAD is off by this much. *Right*: the bytes at the length of GET, or an
    /// error; never a file cut or filled up to the wrong length.
    HeadLength(i64),
    /// HEAD tells no length (it says that chunks would follow). *Right*: the bytes, with the length
    /// from a GET.
    HeadWithoutLength,
    /// HEAD says `Content-Encoding: gzip` and the length 1234; GET is plain. *Right*: the bytes at
    /// the length of GET.
    HeadGzip,
    /// The answer to HEAD has a body. *Right*: the bytes, on another connection; or an error.
    HeadWithBody,

    /// Ranges are ignored: 200 with all bytes. *Right*: the part of them that was asked for.
    NoRanges,
    /// Every range is refused with 416. *Right*: the bytes without a range, or an error.
    RangesRefused,
    /// A 206 begins at byte 0, wherever the asked range began, and says so. *Right*: an error.
    RangeAtZero,
    /// A 206 has the first half of the asked range, and says so. *Right*: the rest with another
    /// request, or an error.
    RangeShort,
    /// A 206 has the first bytes of what was asked for, at most as many as the number says, and
    /// says so. *Right*: the bytes, the rest with other requests.
    RangeClipped(usize),
    /// A 206 has up to 1000 bytes more than asked for on each side, and says so. *Right*: the part
    /// that was asked for, or an error.
    RangeLong,
    /// A 206 has no `Content-Range`. *Right*: an error; the part that it has is not known.
    RangeUntold,
    /// The total in `Content-Range` is off by this much from the length of HEAD. *Right*: an error.
    RangeTotal(i64),
    /// The total in `Content-Range` is `*`. *Right*: the bytes.
    RangeTotalUnknown,
    /// A 206 comes in chunks, without a length. *Right*: the bytes.
    RangeChunked,
    /// A 206 is `multipart/byteranges`, with two parts. *Right*: the bytes of the parts, or an
    /// error; never the marks between the parts.
    Multipart,

    /// Every body is compressed with gzip, even if the client does not accept that. *Right*: the
    /// bytes before compression, or an error.
    Gzip,
    /// The body comes in chunks with extensions, and headers after the last one. *Right*: the
    /// bytes.
    ChunkExtras,
    /// Junk follows each body. *Right*: the bytes, with the next request on another connection; or
    /// an error.
    Junk,
    /// Two content lengths contradict each other. *Right*: an error.
    TwoLengths,
    /// The head has a header of this many bytes. *Right*: the bytes, or an error.
    LongHeader(usize),
    /// The head has no reason, no capitals, and no spaces after colons. *Right*: the bytes.
    BareHead,
    /// The answer is no HTTP. *Right*: an error.
    NotHttp,
    /// An interim answer (1xx) of this code comes before each answer. *Right*: the bytes.
    Interim(u16),
    /// The server speaks HTTP/1.0: each connection ends after one answer. Without `length`, so does
    /// the body. *Right*: the bytes.
    Http10 {
        /// Whether the answer tells the length of its body.
        length: bool,
    },
    /// The server closes the connection after each answer without saying so. *Right*: the bytes.
    Closes,

    /// GET and HEAD are redirected. *Right*: see [`To`].
    Redirect {
        /// 301, 302, 303, 307 or 308, and perhaps 300.
        code: u16,
        /// The target.
        to: To,
    },
    /// `Last-Modified` is written otherwise. *Right*: the bytes; the time of a form that HTTP
    /// allows.
    Modified(Modified),
    /// `ETag` is otherwise. *Right*: see [`Tag`].
    Tag(Tag),
    /// `If-Match` always fails with 412. *Right*: the bytes without the condition, or an error.
    IfMatchFails,
    /// Each GET finds a new version of the file: other bytes of the same length, and another tag.
    /// `If-Match` is obeyed. *Right*: the bytes of one version, or an error; never of two.
    Changing,

    /// A file that is missing is answered with 200 and a page that says so. *Right*: the bytes of
    /// those that are there. Only a listing can tell them apart.
    SoftMissing,
    /// Every request is answered with this code and a page. *Right*: an error.
    Refused(u16),
    /// Every request is answered with 429 or 503. *Right*: a retry no sooner than it says, and an
    /// error after some tries.
    Busy {
        /// The code.
        code: u16,
        /// When a retry is welcome.
        retry: RetryAfter,
    },
    /// Every request needs the user [`USER`] with the password [`PASSWORD`]. *Right*: the bytes
    /// with them, an error without.
    Password,

    /// The answer is cut. *Right*: the rest with another request if the body was cut, else another
    /// try; an error after some tries. Never a file that ends there.
    Cut(Cut),
    /// These methods are never answered. *Right*: an error in finite time; the bytes if GET is
    /// answered.
    Silent(Methods),
    /// The body comes in pieces of this many bytes with pauses. *Right*: the bytes.
    Drip {
        /// The bytes in a piece.
        bytes: usize,
        /// The pause after each.
        pause: Duration,
    },

    /// PROPFIND is answered with this code. *Right*: the bytes; a listing without WebDAV, or an
    /// error for it.
    Propfind(u16),
    /// PROPFIND is answered with 200 and a page. *Right*: as for [`Oddity::Propfind`].
    PropfindPage,
}

/// The user of [`Oddity::Password`].
pub const USER: &str = "user";
/// The password of [`Oddity::Password`].
pub const PASSWORD: &str = "secret";

/// The target of a redirect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    /// To `/moved/PATH`, as a path. *Right*: the bytes.
    Path,
    /// To the same, relative to the folder of the asked path. *Right*: the bytes.
    Relative,
    /// To the same, as a URL. *Right*: the bytes.
    Url,
    /// To the same under the other name `localhost`. *Right*: the bytes; a password is not passed
    /// on.
    Host,
    /// To the asked path. *Right*: an error.
    Itself,
    /// To a path that leads back. *Right*: an error.
    Circle,
    /// To ever new paths. *Right*: an error.
    Endless,
    /// There is no `Location`. *Right*: an error.
    Nowhere,
    /// To a file that is missing. *Right*: an error.
    Missing,
    /// To a scheme that is not HTTP: `file:///etc/passwd`. *Right*: an error.
    File,
}

/// The form of `Last-Modified`, which is the same for all files: see [`MODIFIED`](super::MODIFIED).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modified {
    /// `Friday, 07-Sep-18 08:49:58 GMT`, which HTTP allows.
    Rfc850,
    /// `Fri Sep  7 08:49:58 2018`, which HTTP allows.
    Asctime,
    /// `2018-09-07T08:49:58Z`, which HTTP does not know.
    Iso,
    /// Noon of a day in the year 2099.
    Future,
    /// Words that are no date.
    Nonsense,
    /// There is none.
    None,
}

/// The form of `ETag`. Plain is a strong one of the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// A weak one of the bytes. *Right*: the bytes.
    Weak,
    /// One of two in turn, as two machines behind one name give them. The bytes are the same.
    /// *Right*: the bytes, or an error.
    Flipping,
    /// The same, and weak. *Right*: the bytes, or an error.
    WeakFlipping,
    /// The same for all files, like the date. *Right*: the bytes; never those of another file.
    Shared,
    /// None. *Right*: the bytes.
    None,
    /// No characters at all. *Right*: the bytes.
    Empty,
    /// Nothing between quotes. *Right*: the bytes.
    EmptyQuotes,
    /// One without quotes. *Right*: the bytes.
    Unquoted,
}

/// `Retry-After`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryAfter {
    /// There is none.
    None,
    /// Seconds.
    Seconds(u64),
    /// The date as many seconds from now.
    Date(u64),
    /// Words that are neither.
    Nonsense,
}

/// Where an answer to GET is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Before its first byte, by closing the connection. HEAD is cut as well.
    Nothing,
    /// In the middle of its head. HEAD is cut as well.
    Head,
    /// In the middle of a body with a length, by closing the connection.
    Body,
    /// In the middle of a body in chunks, by closing the connection.
    Chunk,
    /// In the middle of a body with a length, by a reset.
    Reset,
}

/// Methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Methods {
    /// HEAD only.
    Head,
    /// GET only.
    Get,
    /// PROPFIND only.
    Propfind,
    /// All.
    All,
}

/// The right reaction of a client to an odd server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The right bytes.
    Right,
    /// An error, in finite time. A wrong byte is never given out, and a file does not end early.
    Error,
    /// Either of the two.
    Either,
}

impl Oddity {
    /// The right reaction of a client that asks for a file which is there. [`Oddity::Changing`] has
    /// many right bytes. A client without the password gets an error of [`Oddity::Password`].
    pub fn outcome(&self) -> Outcome {
        match self {
            Oddity::First(_, then) => match (&**then, then.outcome()) {
                (Oddity::Busy { .. } | Oddity::Cut(_), _) | (_, Outcome::Right) => Outcome::Right,
                _ => Outcome::Either,
            },
            Oddity::Plain | Oddity::Password | Oddity::Modified(_) | Oddity::SoftMissing => Outcome::Right,
            Oddity::HeadRefused(_) | Oddity::HeadWithoutLength => Outcome::Right,
            Oddity::RangeClipped(_) | Oddity::Silent(Methods::Head | Methods::Propfind) => Outcome::Right,
            Oddity::HeadGzip | Oddity::NoRanges | Oddity::RangeTotalUnknown | Oddity::RangeChunked => Outcome::Right,
            Oddity::ChunkExtras | Oddity::BareHead | Oddity::Interim(_) | Oddity::Http10 { .. } => Outcome::Right,
            Oddity::Closes | Oddity::Drip { .. } | Oddity::Propfind(_) | Oddity::PropfindPage => Outcome::Right,

            Oddity::RangeAtZero | Oddity::RangeUntold | Oddity::RangeTotal(_) | Oddity::TwoLengths => Outcome::Error,
            Oddity::NotHttp | Oddity::Refused(_) | Oddity::Busy { .. } => Outcome::Error,
            Oddity::Silent(Methods::Get | Methods::All) | Oddity::Cut(Cut::Nothing | Cut::Head) => Outcome::Error,

            Oddity::HeadLength(_) | Oddity::HeadWithBody | Oddity::RangesRefused | Oddity::RangeShort => {
                Outcome::Either
            }
            Oddity::RangeLong | Oddity::Multipart | Oddity::Gzip | Oddity::Junk | Oddity::LongHeader(_) => {
                Outcome::Either
            }
            Oddity::IfMatchFails | Oddity::Changing => Outcome::Either,
            Oddity::Cut(Cut::Body | Cut::Chunk | Cut::Reset) => Outcome::Either,

            Oddity::Tag(Tag::Flipping | Tag::WeakFlipping) => Outcome::Either,
            Oddity::Tag(_) => Outcome::Right,
            Oddity::Redirect { to: To::Path | To::Relative | To::Url | To::Host, .. } => Outcome::Right,
            Oddity::Redirect { .. } => Outcome::Error,
        }
    }

    /// Whether the oddity changes answers to requests of `method`.
    pub(super) fn concerns(&self, method: &str) -> bool {
        match self {
            Oddity::Cut(Cut::Body | Cut::Chunk | Cut::Reset) | Oddity::Silent(Methods::Get) => method == "GET",
            Oddity::Silent(Methods::Head) | Oddity::HeadRefused(_) | Oddity::HeadLength(_) => method == "HEAD",
            Oddity::HeadWithoutLength | Oddity::HeadGzip | Oddity::HeadWithBody => method == "HEAD",
            Oddity::Propfind(_) | Oddity::PropfindPage | Oddity::Silent(Methods::Propfind) => method == "PROPFIND",
            Oddity::Redirect { .. } => method == "GET" || method == "HEAD",
            Oddity::First(_, then) => then.concerns(method),
            _ => true,
        }
    }
}
