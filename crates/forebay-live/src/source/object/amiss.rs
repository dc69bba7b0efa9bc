//! Answers that a store would not give, or that tell of a setting to mend.

/// Why an answer is not taken for what it was asked for.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum Amiss {
    /// A listing was asked for, and something else came.
    #[error("the answer is {0} instead of a listing: is this the endpoint of an S3 store?")]
    NotListing(String),
    /// An error as the body of a listing.
    #[error("the answer to a listing is the error {0}")]
    Error(String),
    /// A listing that cannot be read to its end.
    #[error("the listing is broken: {0}")]
    Broken(String),
    /// An object was asked for, and a page for browsers came.
    #[error("the answer is a page of HTML without any mark of an S3 store: does a portal answer for it?")]
    NotObject,
}

/// A page for browsers, in words.
pub(super) const HTML: &str = "a page of HTML";

impl Amiss {
    /// What kind of trouble it is, for the log.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Amiss::NotListing(_) | Amiss::NotObject => "not a store's answer",
            Amiss::Error(_) => "an error in a listing",
            Amiss::Broken(_) => "broken listing",
        }
    }
}
