//! The addresses of the control channel, in one table.

use crate::server::Content;

/// The folder of the control channel. No file of a tree that is served has another of its names
/// taken away.
pub const CONTROL: &str = "/.well-known/forebay/";

/// The address of the counters ([`Tree::stats`](forebay_live::tree::Tree::stats)), as JSON.
pub const STATS: &str = "/.well-known/forebay/stats";

/// The address of told lists.
pub const HINT: &str = "/.well-known/forebay/hint";

/// A thing that the control channel answers with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Route {
    /// The page that shows the others in a browser.
    Page,
    /// Counters for Prometheus.
    Metrics,
    /// Counters as JSON.
    Stats,
    /// Reasons as JSON.
    Explain,
    /// Told lists: their state, and names that come.
    Hint,
}

/// Their names in [`CONTROL`].
const ROUTES: [(&str, Route); 5] = [
    ("", Route::Page),
    ("metrics", Route::Metrics),
    ("stats", Route::Stats),
    ("explain", Route::Explain),
    ("hint", Route::Hint),
];

impl Route {
    /// The route of an address. Where nothing else is served, the names are at the root as well.
    pub(crate) fn of(path: &str, content: Content) -> Option<Route> {
        let at_root = || path.strip_prefix('/').filter(|_| content == Content::Control);
        let name = path.strip_prefix(CONTROL).or_else(at_root)?;
        ROUTES.iter().find(|(known, _)| *known == name).map(|&(_, route)| route)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_keeps_its_names() {
        for (name, route) in ROUTES {
            assert_eq!(Route::of(&format!("{CONTROL}{name}"), Content::Tree), Some(route));
            assert_eq!(Route::of(&format!("{CONTROL}{name}"), Content::Control), Some(route));
            assert_eq!(Route::of(&format!("/{name}"), Content::Control), Some(route));
            assert_eq!(Route::of(&format!("/{name}"), Content::Tree), None, "{name}");
        }
        for path in ["", "*", "/.well-known/forebay", "/.well-known/forebay/stats/", "/.well-known/forebay//", "//"] {
            assert_eq!(Route::of(path, Content::Tree), None, "{path}");
            assert_eq!(Route::of(path, Content::Control), None, "{path}");
        }
        assert_eq!(Route::of(STATS, Content::Tree), Some(Route::Stats));
        assert_eq!(Route::of(HINT, Content::Tree), Some(Route::Hint));
    }
}
