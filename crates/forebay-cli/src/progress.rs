//! A bar that shows how far a measurement is: on standard error, and only if that is a terminal.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar of `steps` steps under a heading; it draws nothing where nobody watches.
pub(crate) fn bar(heading: &str, steps: u64) -> ProgressBar {
    let seen = std::io::stderr().is_terminal();
    let target = if seen { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let style = ProgressStyle::with_template("{prefix} {bar:30} {percent:>3} %  {msg}");
    let bar = ProgressBar::with_draw_target(Some(steps), target).with_prefix(heading.to_owned());
    // The template is a constant; should it be wrong, indicatif's own style serves as well.
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
