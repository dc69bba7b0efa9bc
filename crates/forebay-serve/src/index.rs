//! A folder as a page for a browser.

use std::ffi::OsStr;
use std::fmt::Write;

use crate::conditions::date;
use crate::listing::Item;
use crate::markup::escape;
use forebay_live::site::Seen;

/// The beginning of the page of a folder, `names` from the root.
pub(crate) fn head(names: &[impl AsRef<OsStr>]) -> String {
    let path: String = names.iter().map(|name| format!("{}/", name.as_ref().display())).collect();
    let path = escape(&format!("/{path}"));
    let up = if names.is_empty() { "" } else { "<tr><td><a href=\"../\">../</a></td><td></td><td></td></tr>\n" };
    format!(
        "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><meta name=\"robots\" content=\"noindex\"><title>{path}</title>\n\
         <style>body{{font-family:monospace}}td{{padding-right:2em}}td+td{{text-align:right}}</style></head>\n\
         <body><h1>{path}</h1>\n<table>\n{up}"
    )
}

/// A line of the page for each name.
pub(crate) fn lines(items: &[Item]) -> String {
    let mut text = String::new();
    for item in items {
        let (slash, size, modified) = match &item.seen {
            Seen::Unmeasured => ("", String::new(), String::new()),
            Seen::File(attributes) => ("", attributes.size.to_string(), date(attributes.modified)),
            Seen::Folder(folder) => ("/", String::new(), folder.modified().map(date).unwrap_or_default()),
        };
        let name = escape(&item.name.to_string_lossy());
        // Relative, so that a proxy may put the tree elsewhere; the dot keeps a name with a colon
        // from being a scheme.
        let href = format!("./{}", crate::target::escape(&item.name));
        // Writing to a text cannot fail.
        let _ = writeln!(
            text,
            "<tr><td><a href=\"{href}{slash}\">{name}{slash}</a></td><td>{size}</td><td>{modified}</td></tr>"
        );
    }
    text
}

/// The end of the page.
pub(crate) const FOOT: &str = "</table></body></html>\n";
