//! Two plain sentences about a finding: one on the claim, one on the rest.

use crate::{Finding, Kind, Measure, Verdict};

impl Finding {
    /// The finding in two sentences, made of its figures.
    pub fn found(&self) -> [String; 2] {
        [self.on_claim(), self.on_rest()]
    }

    /// The judged measures of a kind, the worst first.
    fn judged(&self, kind: Kind) -> Vec<&Measure> {
        let mut judged: Vec<&Measure> =
            self.measures.iter().filter(|measure| measure.kind == kind && measure.verdict.is_some()).collect();
        judged.sort_by_key(|measure| measure.verdict);
        judged
    }

    fn on_claim(&self) -> String {
        let subject = match self.kind() {
            Kind::System => "The paper's system",
            Kind::Opponent => "The paper's opponent",
            Kind::Ours => "Forebay",
        };
        let verb = match self.verdict {
            Verdict::Beyond => "does better than the claim says",
            Verdict::Holds => "does what the claim says",
            Verdict::Weaker => "goes the way that the claim says, but not as far",
            Verdict::Fails => "does not do what the claim says",
        };
        let judged = self.judged(self.kind());
        let Some(worst) = judged.first() else { return format!("{subject} {verb}: nothing is judged.") };
        format!("{subject} {verb}: {}{}.", share(&judged), example(worst))
    }

    fn on_rest(&self) -> String {
        let opponents = if self.kind() == Kind::Opponent { Vec::new() } else { self.judged(Kind::Opponent) };
        let wanted = if self.kind() == Kind::Ours { Vec::new() } else { self.judged(Kind::Ours) };
        let mut parts = Vec::new();
        if let Some(worst) = opponents.first() {
            let verb = match worst.verdict {
                Some(Verdict::Weaker | Verdict::Fails) => "not as bad here as the paper says",
                _ => "as bad here as the paper says",
            };
            parts.push(format!("the opponents are {verb}: {}{}", share(&opponents), example(worst)));
        }
        if let Some(worst) = wanted.first() {
            let verb = match worst.verdict {
                Some(Verdict::Weaker | Verdict::Fails) => "what is wanted beyond the paper is a known weakness",
                _ => "what is wanted beyond the paper is there",
            };
            parts.push(format!("{verb}: {}{}", share(&wanted), example(worst)));
        }
        if parts.is_empty() {
            parts.push(format!("in figures: {}", self.ours));
        }
        capital(&format!("{}.", parts.join("; ")))
    }
}

/// How many of the measures have the verdict of the worst, which comes first.
fn share(judged: &[&Measure]) -> String {
    let worst = judged.first().and_then(|measure| measure.verdict).unwrap_or(Verdict::Fails);
    let same = judged.iter().filter(|measure| measure.verdict == Some(worst)).count();
    let (many, verb) = match (same, worst) {
        (1, Verdict::Fails) => (1, "fails"),
        (1, Verdict::Holds) => (1, "holds"),
        (1, Verdict::Weaker) => (1, "is weaker"),
        (1, Verdict::Beyond) => (1, "is beyond"),
        (many, Verdict::Fails) => (many, "fail"),
        (many, Verdict::Holds) => (many, "hold"),
        (many, Verdict::Weaker) => (many, "are weaker"),
        (many, Verdict::Beyond) => (many, "are beyond"),
    };
    match judged.len() {
        all if all == many && all > 1 => format!("all {all} judged figures {verb}"),
        1 => format!("the judged figure {verb}"),
        all => format!("{many} of {all} judged figures {verb}"),
    }
}

fn example(measure: &Measure) -> String {
    let paper = if measure.paper.is_empty() { String::new() } else { format!(" (the paper: {})", measure.paper) };
    format!(", such as {}: {}{paper}", measure.what, measure.ours)
}

/// A sentence from its first words.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measure(what: &str, kind: Kind, verdict: Option<Verdict>) -> Measure {
        Measure { what: what.to_owned(), paper: "2 ×".to_owned(), ours: "1.5 ×".to_owned(), verdict, kind }
    }

    #[test]
    fn the_verdict_is_on_the_system_and_the_rest_is_told_beside_it() {
        let measures = vec![
            measure("gain", Kind::System, Some(Verdict::Holds)),
            measure("more", Kind::System, Some(Verdict::Beyond)),
            measure("harm", Kind::Ours, Some(Verdict::Weaker)),
            measure("Linux", Kind::Opponent, Some(Verdict::Fails)),
            measure("shown", Kind::System, None),
        ];
        let finding = Finding::new("up to 3 ×".to_owned(), measures, Vec::new());
        assert_eq!((finding.verdict, finding.kind()), (Verdict::Holds, Kind::System));
        assert_eq!(
            [Kind::System, Kind::Opponent, Kind::Ours].map(|kind| finding.of(kind)),
            [Some(Verdict::Holds), Some(Verdict::Fails), Some(Verdict::Weaker)]
        );
        let [claim, rest] = finding.found();
        assert_eq!(
            claim,
            "The paper's system does what the claim says: 1 of 2 judged figures holds, such as gain: 1.5 × (the paper: 2 ×)."
        );
        assert!(
            rest.starts_with("The opponents are not as bad here as the paper says: the judged figure fails"),
            "{rest}"
        );
        assert!(rest.contains("; what is wanted beyond the paper is a known weakness: the judged figure is weaker"));
    }

    #[test]
    fn a_claim_without_a_system_is_judged_by_what_it_has() {
        let own = Finding::new("0.9".to_owned(), vec![measure("best", Kind::Ours, Some(Verdict::Fails))], Vec::new());
        assert_eq!((own.verdict, own.kind()), (Verdict::Fails, Kind::Ours));
        assert_eq!(own.found()[1], "In figures: 0.9.");
        let bad = measure("LRU", Kind::Opponent, Some(Verdict::Weaker));
        let opponent = Finding::new(String::new(), vec![bad], Vec::new());
        assert_eq!((opponent.verdict, opponent.kind()), (Verdict::Weaker, Kind::Opponent));
    }
}
