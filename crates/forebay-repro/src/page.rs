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
    let about = About::of(findings);
    let version = env!("CARGO_PKG_VERSION");
    body.push_str(&format!("<p>Forebay {version}, seed {seed}. {}</p>\n<table>\n", about.sentences()));
    let headings =
        ["claim", about.figure(), "ours"].into_iter().chain(about.verdicts().into_iter().map(|(_, name)| name));
    let headings: String = headings.map(|name| format!("<th>{name}</th>")).collect();
    body.push_str(&format!("<tr>{headings}</tr>\n"));
    for Checked { experiment, finding } in findings {
        let id = escape(&experiment.id);
        let link = format!("<a href=\"#{id}\">{id}</a>");
        let mut cells = vec![link, escape(&experiment.figure), escape(&finding.ours)];
        cells.extend(about.verdicts().into_iter().map(|(kind, _)| coloured(finding.of(kind))));
        body.push_str(&row(&cells));
    }
    body.push_str("</table>\n");
    for Checked { experiment, finding } in findings {
        body.push_str(&section(experiment, finding));
    }
    chart::page(about.title(), &body)
}

/// The claims that a page has.
#[derive(Clone, Copy, PartialEq)]
enum About {
    Papers,
    /// Of our own: there is no paper, and no opponent of a paper.
    Ours,
    Both,
}

impl About {
    fn of(findings: &[Checked]) -> About {
        let own = findings.iter().filter(|checked| checked.experiment.kind() == Kind::Ours).count();
        match own {
            0 => About::Papers,
            own if own == findings.len() => About::Ours,
            _ => About::Both,
        }
    }

    fn title(self) -> &'static str {
        match self {
            About::Papers => "The papers' claims, checked",
            About::Ours => "Forebay's claims, checked",
            About::Both => "The papers' claims and Forebay's, checked",
        }
    }

    /// The heading of the claims' figures.
    fn figure(self) -> &'static str {
        match self {
            About::Papers => "the paper's figure",
            About::Ours => "wanted",
            About::Both => "the paper's figure, or the wanted one",
        }
    }

    /// The columns of verdicts.
    fn verdicts(self) -> Vec<(Kind, &'static str)> {
        match self {
            About::Ours => vec![(Kind::Ours, "verdict")],
            _ => vec![(Kind::System, "system"), (Kind::Opponent, "opponents"), (Kind::Ours, "wanted")],
        }
    }

    fn sentences(self) -> &'static str {
        match self {
            About::Ours => {
                "A claim <b>holds</b>, is <b>beyond</b> the wanted figure, is <b>weaker</b>, or <b>fails</b>; the rule \
                 is beside it."
            }
            _ => {
                "A claim <b>holds</b>, is <b>beyond</b> the paper's figure, is <b>weaker</b>, or <b>fails</b>; the \
                 rule is beside it. Its verdict is the one about the paper's <b>system</b>. How bad the paper's \
                 <b>opponents</b> are here stands beside it, and what <b>we</b> want beyond the paper. Claims of our \
                 own have only that."
            }
        }
    }
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
    text.push_str(&measures(experiment, finding));
    text.push_str(&format!("<p><b>Setting.</b> {}</p>\n", paragraphs(&experiment.setting)));
    text.push_str(&format!("<p><b>Judged.</b> {}</p>\n", paragraphs(&experiment.judgement)));
    finding.charts.iter().for_each(|chart| text.push_str(&chart.figure()));
    finding.maps.iter().for_each(|map| text.push_str(&map.figure()));
    text.push_str("</section>\n");
    text
}

/// The table of measures. That of a claim of our own has the column of a paper only if one is
/// quoted, and none that says of each that it is ours.
fn measures(experiment: &Experiment, finding: &Finding) -> String {
    let own = experiment.kind() == Kind::Ours;
    let quoted = !own || finding.measures.iter().any(|measure| !measure.paper.is_empty());
    let paper = if quoted { "<th>the paper</th>" } else { "" };
    let about = if own { "" } else { "<th>about</th>" };
    let mut text = format!("<table>\n<tr><th>measured</th>{paper}<th>ours</th>{about}<th>verdict</th></tr>\n");
    for measure in &finding.measures {
        let mut cells = vec![escape(&measure.what)];
        cells.extend(quoted.then(|| escape(&measure.paper)));
        cells.push(escape(&measure.ours));
        cells.extend((!own).then(|| measure.verdict.map_or("", |_| measure.kind.name()).to_owned()));
        cells.push(coloured(measure.verdict));
        text.push_str(&row(&cells));
    }
    text.push_str("</table>\n");
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Measure, experiment};

    fn checked(id: &str, kind: Kind) -> Checked {
        let measure =
            Measure { kind, verdict: Some(Verdict::Holds), ..Measure::shown("a share", "", "0.9".to_owned()) };
        Checked { experiment: experiment(id).unwrap(), finding: Finding::new("0.9".into(), vec![measure], Vec::new()) }
    }

    #[test]
    fn a_claim_of_our_own_has_no_paper_and_no_opponents() {
        let (own, paper) = (checked("today-best", Kind::Ours), checked("cp-depth", Kind::System));
        let text = page(std::slice::from_ref(&own), 1, false);
        for part in ["Forebay's claims, checked", "<th>wanted</th>", "<th>ours</th><th>verdict</th>"] {
            assert!(text.contains(part), "{part} is not on {text}");
        }
        for part in ["The papers'", "<th>opponents", "<th>the paper", "<th>about"] {
            assert!(!text.contains(part), "{part} is on {text}");
        }
        let text = page(std::slice::from_ref(&paper), 1, false);
        let has = |part: &str| text.contains(part);
        assert!(has("The papers' claims, checked") && has("<th>the paper's figure</th>") && has("<th>about</th>"));
        assert!(page(&[own, paper], 1, false).contains("or the wanted one"));
    }
}
