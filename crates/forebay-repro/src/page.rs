//! All findings on one page: the claim's text beside what was found, and the curves.

use crate::{Experiment, Finding, Verdict};
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
/// is not on it.
pub fn page(findings: &[Checked], seed: u64) -> String {
    let mut body = format!(
        "<p>Forebay {}, seed {seed}. A claim <b>holds</b>, is <b>beyond</b> the paper's figure, is <b>weaker</b>, or \
         <b>fails</b>; the rule is beside it.</p>\n",
        env!("CARGO_PKG_VERSION")
    );
    body.push_str("<table>\n<tr><th>claim</th><th>the paper's figure</th><th>ours</th><th>verdict</th></tr>\n");
    for Checked { experiment, finding } in findings {
        let id = escape(&experiment.id);
        let link = format!("<a href=\"#{id}\">{id}</a>");
        body.push_str(&row(&[link, escape(&experiment.figure), escape(&finding.ours)], Some(finding.verdict)));
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
    text.push_str("<table>\n<tr><th>measured</th><th>the paper</th><th>ours</th><th>verdict</th></tr>\n");
    for measure in &finding.measures {
        text.push_str(&row(&[&measure.what, &measure.paper, &measure.ours].map(|cell| escape(cell)), measure.verdict));
    }
    text.push_str("</table>\n");
    text.push_str(&format!("<p><b>Setting.</b> {}</p>\n", paragraphs(&experiment.setting)));
    text.push_str(&format!("<p><b>Judged.</b> {}</p>\n", paragraphs(&experiment.judgement)));
    finding.charts.iter().for_each(|chart| text.push_str(&chart.figure()));
    finding.maps.iter().for_each(|map| text.push_str(&map.figure()));
    text.push_str("</section>\n");
    text
}

/// Cells that are HTML already, and the verdict if there is one.
fn row(cells: &[String], verdict: Option<Verdict>) -> String {
    let cells: String = cells.iter().map(|cell| format!("<td>{cell}</td>")).collect();
    let verdict = verdict.map_or_else(String::new, |verdict| format!("<span class=\"{verdict}\">{verdict}</span>"));
    format!("<tr>{cells}<td>{verdict}</td></tr>\n")
}

fn paragraphs(text: &str) -> String {
    escape(text.trim()).replace("\n\n", "</p>\n<p>")
}
