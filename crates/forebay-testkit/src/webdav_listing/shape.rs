//! The shapes of a WebDAV listing, each with the right reaction of a client.

use crate::odd_web::Outcome;

/// A listing's shape. *Right* names the reaction that a client must have; [`Shape::outcome`] says
/// it to a test. All else is as in [`Shape::Plain`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// The prefix is `D:`. An `href` is an absolute path. The folder itself comes first, with a
    /// slash at its end.
    Plain,
    /// Names have another prefix. *Right*: the listing.
    Prefix(Prefix),
    /// Properties of another namespace have the names of those of WebDAV and other values.
    /// *Right*: the listing, without them.
    Foreign,
    /// The parts of a response are otherwise. *Right*: see [`Parts`].
    Parts(Parts),
    /// The document is otherwise. *Right*: see [`Document`].
    Document(Document),
    /// Each `href` is otherwise addressed. *Right*: see [`Address`].
    Address(Address),
    /// Each `href` is otherwise encoded. *Right*: see [`Encoding`].
    Encoding(Encoding),
    /// `getlastmodified` is otherwise. *Right*: the listing; the time of a form that HTTP allows.
    Date(Date),
    /// `getcontentlength` is otherwise. *Right*: see [`Length`].
    Length(Length),
    /// The entries are others. *Right*: see [`Entries`].
    Entries(Entries),
    /// The answer around the document is otherwise. *Right*: see [`Frame`].
    Frame(Frame),
}

/// The prefix of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefix {
    /// `d:`, among others that are not used, as Nextcloud writes it.
    Lower,
    /// None: WebDAV's is the default namespace.
    Default,
    /// `lp1:` for properties, which each response declares, as Apache writes it.
    Second,
    /// Another one for each element, which declares it.
    Each,
    /// One with odd characters that XML allows.
    Odd,
}

/// The parts of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parts {
    /// A second `propstat` names properties that are not there, with 404. *Right*: the listing.
    SecondPropstat,
    /// A `propstat` with 404 comes first, and has another length and the type of a folder.
    /// *Right*: the listing, without them.
    RefusedFirst,
    /// `status` comes before `prop`. *Right*: the listing.
    StatusFirst,
    /// There is no `status`. *Right*: the listing, or an error.
    NoStatus,
    /// Each property has a `propstat` of its own. *Right*: the listing.
    PropstatEach,
    /// A response has no `propstat`. *Right*: the names, with lengths from elsewhere; or an error.
    NoPropstat,
    /// Locks, a name to display, a date of creation, and a text that is no name. *Right*: the
    /// listing.
    Locks,
}

/// The document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Document {
    /// Texts are in CDATA sections. *Right*: the listing.
    Cdata,
    /// Each character of a text is a reference by number. *Right*: the listing.
    References,
    /// Comments and processing instructions are everywhere, within texts too. *Right*: the listing.
    Comments,
    /// Lines and spaces are around every element and every text. *Right*: the listing.
    Pretty,
    /// A DOCTYPE without entities. *Right*: the listing, or an error.
    Doctype,
    /// Each slash is an entity that the DOCTYPE declares. *Right*: the listing, or an error.
    Entity,
    /// Entities that expand to a billion words. *Right*: an error, or the listing without them; not
    /// in minutes or gigabytes.
    EntityBomb,
    /// An entity from the file `/etc/hostname`. *Right*: an error, or the listing; the file is
    /// never read.
    ExternalEntity,
    /// Elements within each other, 200,000 deep. *Right*: an error, or the listing; no crash.
    Deep,
    /// A byte order mark before UTF-8. *Right*: the listing.
    Bom,
    /// UTF-16, little endian, with a byte order mark and a declaration. *Right*: the listing, or an
    /// error.
    Utf16,
    /// ISO 8859-1, by its declaration. Names in it are encoded as usual. *Right*: the listing, or
    /// an error.
    Latin1,
    /// The document ends in the middle. *Right*: an error; never a part of the listing.
    Cut,
    /// The root is another element. *Right*: an error.
    OtherRoot,
    /// The document is HTML. *Right*: an error.
    Html,
    /// The document is empty. *Right*: an error.
    Empty,
}

/// How an `href` is addressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    /// A URL of this server. *Right*: the listing.
    Url,
    /// A URL with another host's name, as a server behind a proxy writes it. *Right*: the listing
    /// from this server, or an error; the other host is never asked.
    OtherHost,
    /// Relative to the folder: `a.txt`. *Right*: the listing.
    Relative,
    /// With segments that change nothing: `/./a.txt`. *Right*: the listing, or an error.
    Dots,
    /// With two slashes at its begin. *Right*: the listing, or an error; no other host is asked.
    DoubleSlash,
    /// Folders have no slash at their end. *Right*: the listing.
    NoSlash,
    /// Files have a slash at their end. *Right*: the listing, or an error.
    SlashOnFiles,
}

/// How an `href` is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Every byte but slashes as `%XX`. *Right*: the listing.
    Everything,
    /// With small letters: `%c3%a9`. *Right*: the listing.
    SmallLetters,
    /// All characters that a URL allows in a path are as they are: `!$&'()*+,;=:@`. *Right*: the
    /// listing.
    Allowed,
    /// The same, and brackets. *Right*: the listing.
    Brackets,
    /// Spaces are as they are. *Right*: the listing.
    Spaces,
    /// Names in UTF-8 are as they are. *Right*: the listing.
    Utf8,
    /// Every byte from 128 on is as it is, so a name that is not UTF-8 spoils the document.
    /// *Right*: the listing, or an error.
    Bytes,
    /// `%` and spaces are as they are, so `%41` cannot be told from `A`. *Right*: the listing if no
    /// name has a `%` before two digits; else the same or an error.
    Percent,
    /// `?` and `#` are as they are. *Right*: the listing, or an error.
    Query,
}

/// The form of a date, which is that of [`MODIFIED`](crate::odd_web::MODIFIED).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Date {
    /// `Fri, 7 Sep 2018 08:49:58 GMT`.
    OneDigitDay,
    /// `Fri, 07 Sep 2018 10:49:58 +0200`, as mail writes it.
    Offset,
    /// `Friday, 07-Sep-18 08:49:58 GMT`.
    Rfc850,
    /// `Fri Sep  7 08:49:58 2018`.
    Asctime,
    /// `2018-09-07T08:49:58Z`.
    Iso,
    /// Words that are no date.
    Nonsense,
    /// No characters.
    Empty,
    /// There is none.
    None,
}

/// The form of a length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// Folders have one as well, 4096. *Right*: the listing.
    OnFolders,
    /// Spaces and lines are around it. *Right*: the listing.
    Spaces,
    /// Files have none. *Right*: the lengths from elsewhere, or an error.
    None,
    /// It has no characters. *Right*: as for [`Length::None`].
    Empty,
    /// Words that are no number. *Right*: as for [`Length::None`].
    Nonsense,
    /// It is -1. *Right*: as for [`Length::None`].
    Negative,
    /// It does not fit 64 bits. *Right*: as for [`Length::None`].
    Huge,
    /// It is one more than the file has. *Right*: the right bytes, or an error.
    Wrong,
}

/// The entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entries {
    /// The folder itself is missing. *Right*: the listing.
    NoSelf,
    /// The folder itself comes last. *Right*: the listing.
    SelfLast,
    /// Each is there twice. *Right*: the listing, with each once.
    Twice,
    /// One more may not be seen: its response has only the status 403. *Right*: the listing without
    /// it.
    Denied,
    /// There are more, which are not in the folder: its parent, a neighbour, and a file of a folder
    /// in it. *Right*: the listing without them, or an error.
    Outside,
    /// There are more, whose names are none: `.`, `..`, with a slash, or with a zero. *Right*: the
    /// listing without them, or an error.
    NoNames,
    /// Everything below the folder, for any `Depth`. *Right*: the listing of the folder.
    Infinite,
    /// The folder's entries, even for `Depth: 0`. *Right*: the listing.
    DepthIgnored,
    /// `Depth: infinity` is refused with 403. *Right*: the listing.
    Finite,
}

/// The answer around the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// In chunks. *Right*: the listing.
    Chunked,
    /// Until the connection ends. *Right*: the listing.
    UntilClose,
    /// `text/xml` without a charset. *Right*: the listing.
    TextXml,
    /// `application/octet-stream`. *Right*: the listing, or an error.
    OtherType,
    /// 200 instead of 207. *Right*: the listing, or an error.
    Ok,
    /// The connection ends in the middle. *Right*: an error, or the listing after another try.
    Cut,
}

impl Shape {
    /// The right reaction of a client that lists a folder and reads its files, if no name has a
    /// `%`.
    pub fn outcome(self) -> Outcome {
        use {Address as A, Document as D, Encoding as E, Entries as N, Frame as F, Length as L, Parts as P};
        match self {
            Shape::Plain | Shape::Prefix(_) | Shape::Foreign | Shape::Date(_) => Outcome::Right,
            Shape::Parts(P::NoStatus | P::NoPropstat) => Outcome::Either,
            Shape::Parts(_) => Outcome::Right,
            Shape::Document(D::Cdata | D::References | D::Comments | D::Pretty | D::Bom) => Outcome::Right,
            Shape::Document(D::Cut | D::OtherRoot | D::Html | D::Empty) => Outcome::Error,
            Shape::Document(_) => Outcome::Either,
            Shape::Address(A::Url | A::Relative | A::NoSlash) => Outcome::Right,
            Shape::Address(_) => Outcome::Either,
            Shape::Encoding(E::Bytes | E::Query) => Outcome::Either,
            Shape::Encoding(_) => Outcome::Right,
            Shape::Length(L::OnFolders | L::Spaces) => Outcome::Right,
            Shape::Length(_) => Outcome::Either,
            Shape::Entries(N::Outside | N::NoNames) => Outcome::Either,
            Shape::Entries(_) => Outcome::Right,
            Shape::Frame(F::Chunked | F::UntilClose | F::TextXml) => Outcome::Right,
            Shape::Frame(F::OtherType | F::Ok) => Outcome::Either,
            Shape::Frame(F::Cut) => Outcome::Error,
        }
    }

    /// Every shape.
    pub fn every() -> Vec<Shape> {
        use {Address as A, Date as T, Document as D, Encoding as E, Entries as N, Frame as F, Length as L};
        use {Parts as P, Prefix as X};
        let prefixes = [X::Lower, X::Default, X::Second, X::Each, X::Odd].map(Shape::Prefix);
        let parts = [P::SecondPropstat, P::RefusedFirst, P::StatusFirst, P::NoStatus, P::PropstatEach];
        let parts = parts.into_iter().chain([P::NoPropstat, P::Locks]).map(Shape::Parts);
        let documents = [D::Cdata, D::References, D::Comments, D::Pretty, D::Doctype, D::Entity, D::EntityBomb];
        let documents = documents.into_iter().chain([D::ExternalEntity, D::Deep, D::Bom, D::Utf16, D::Latin1]);
        let documents = documents.chain([D::Cut, D::OtherRoot, D::Html, D::Empty]).map(Shape::Document);
        let addresses = [A::Url, A::OtherHost, A::Relative, A::Dots, A::DoubleSlash, A::NoSlash, A::SlashOnFiles];
        let encodings = [E::Everything, E::SmallLetters, E::Allowed, E::Brackets, E::Spaces, E::Utf8, E::Bytes];
        let encodings = encodings.into_iter().chain([E::Percent, E::Query]).map(Shape::Encoding);
        let dates = [T::OneDigitDay, T::Offset, T::Rfc850, T::Asctime, T::Iso, T::Nonsense, T::Empty, T::None];
        let lengths = [L::OnFolders, L::Spaces, L::None, L::Empty, L::Nonsense, L::Negative, L::Huge, L::Wrong];
        let entries = [N::NoSelf, N::SelfLast, N::Twice, N::Denied, N::Outside, N::NoNames, N::Infinite];
        let entries = entries.into_iter().chain([N::DepthIgnored, N::Finite]).map(Shape::Entries);
        let frames = [F::Chunked, F::UntilClose, F::TextXml, F::OtherType, F::Ok, F::Cut].map(Shape::Frame);
        let shapes = [Shape::Plain, Shape::Foreign].into_iter().chain(prefixes).chain(parts).chain(documents);
        let shapes = shapes.chain(addresses.map(Shape::Address)).chain(encodings).chain(dates.map(Shape::Date));
        shapes.chain(lengths.map(Shape::Length)).chain(entries).chain(frames).collect()
    }
}
