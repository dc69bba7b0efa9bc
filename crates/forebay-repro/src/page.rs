//! All findings on one page: the claim's text beside what was found, and the curves.

use crate::{Experiment, Finding, Kind, Verdict};
use forebay_sim::chart::{self, escape};

/// An experiment and what it found.
#[derive(Clone, PartialEq, Debug)]
pub struct Checked {
    /// The experiment.
    pub experiment: Experiment,
    /// The finding.
    pub finding: Finding,
}

/// A page that needs nothing else. The same findings give the same bytes, so the time that it took
/// is not on it. `quick` says that only a small part of the runs was done.
pub fn page(findings: &[Checked], seed: u64, quick: bool) -> String {
    let mut body = String::new();
    if quick {
        body.push_str("<p><b>A quick run</b>: a small part of the runs was done, so the verdicts say little.</p>\n");
    }
    body.push_str(&format!(
        "<p>Forebay {}, seed {seed}. A claim <b>holds</b>, is <b>beyond</b> the paper's figure, is <b>weaker</b>, or \
         <b>fails</b>; the rule is beside it. Its verdict is the one about the paper's <b>system</b>. How bad the \
         paper's <b>opponents</b> are here stands beside it, and what <b>we</b> want beyond the paper. Claims of our \
         own have only that.</p>\n",
        env!("CARGO_PKG_VERSION")
    ));
    body.push_str(
        "<table>\n<tr><th>claim</th><th>the paper's figure</th><th>ours</th><th>system</th><th>opponents</th>\
         <th>wanted</th></tr>\n",
    );
    for Checked { experiment, finding } in findings {
        let id = escape(&experiment.id);
        let link = format!("<a href=\"#{id}\">{id}</a>");
        let verdicts = [Kind::System, Kind::Opponent, Kind::Ours].map(|kind| coloured(finding.of(kind)));
        let cells = [link, escape(&experiment.figure), escape(&finding.ours)];
        body.push_str(&row(&[&cells[..], &verdicts].concat()));
    }
    body.push_str("</table>\n");
    for Checked { experiment, finding } in findings {
        body.push_str(&section(experiment, finding));
    }
    chart::page("The papers' claims, checked", &body)
}

fn section(experiment: &Experiment, finding: &Finding) -> String {
    let id = escape(&experiment.id);
    let mut text = format!("<section id=\"{id}\">\n<h2>{id}</h2>\n");
    text.push_str(&format!(
        "<blockquote>{}<br>{}</blockquote>\n",
        paragraphs(&experiment.claim),
        escape(&experiment.paper)
    ));
    text.push_str(&format!("<p><b>Found.</b> {}</p>\n", escape(&finding.found().join(" "))));
    text.push_str("<table>\n<tr><th>measured</th><th>the paper</th><th>ours</th><th>about</th><th>verdict</th></tr>\n");
    for measure in &finding.measures {
        let about = measure.verdict.map_or("", |_| measure.kind.name());
        let cells = [&measure.what, &measure.paper, &measure.ours].map(|cell| escape(cell));
        text.push_str(&row(&[&cells[..], &[about.to_owned(), coloured(measure.verdict)]].concat()));
    }
    text.push_str("</table>\n");
    text.push_str(&format!("<p><b>Setting.</b> {}</p>\n", paragraphs(&experiment.setting)));
    text.push_str(&format!("<p><b>Judged.</b> {}</p>\n", paragraphs(&experiment.judgement)));
    finding.charts.iter().for_each(|chart| text.push_str(&chart.figure()));
    finding.maps.iter().for_each(|map| text.push_str(&map.figure()));
    text.push_str("</section>\n");
    text
}

/// Cells that are HTML already.
fn row(cells: &[String]) -> String {
    let cells: String = cells.iter().map(|cell| format!("<td>{cell}</td>")).collect();
    format!("<tr>{cells}</tr>\n")
}

fn coloured(verdict: Option<Verdict>) -> String {
    verdict.map_or_else(String::new, |verdict| format!("<span class=\"{verdict}\">{verdict}</span>"))
}

fn paragraphs(text: &str) -> String {
    escape(text.trim()).replace("\n\n", "</p>\n<p>")
}
