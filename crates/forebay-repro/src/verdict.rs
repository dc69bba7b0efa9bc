//! From what was measured to a verdict, by a rule that stands in the experiment's description.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The outcome of a claim, the worst first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It is not so here.
    Fails,
    /// The direction is right, the size is not reached.
    Weaker,
    /// It is so.
    Holds,
    /// Ours is better than the paper's.
    Beyond,
}

impl Verdict {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Fails => "fails",
            Verdict::Weaker => "weaker",
            Verdict::Holds => "holds",
            Verdict::Beyond => "beyond",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The thing that a rule's sentence is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The paper's own system: as good as the paper says.
    #[default]
    System,
    /// The paper's opponents: as bad as the paper says. Ours may be better.
    Opponent,
    /// Forebay: as good as is wanted, beyond the paper or without one.
    Ours,
}

impl Kind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::System => "system",
            Kind::Opponent => "opponent",
            Kind::Ours => "ours",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A rule for one measured number.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Rule {
    /// Near a number: it holds within a share of it, and is weaker within a larger one.
    About {
        /// The paper's.
        value: f64,
        /// Up to this share off.
        holds: f64,
        /// Up to this share off.
        weaker: f64,
    },
    /// Not above a number.
    AtMost {
        /// The paper's.
        value: f64,
        /// Up to here it is weaker.
        weaker: f64,
        /// From here down it is beyond, if anything is.
        beyond: Option<f64>,
    },
    /// Not below a number.
    AtLeast {
        /// The paper's.
        value: f64,
        /// Down to here it is weaker.
        weaker: f64,
        /// From here up it is beyond, if anything is.
        beyond: Option<f64>,
    },
}

impl Rule {
    /// The verdict on a number.
    pub fn judge(self, measured: f64) -> Verdict {
        let (holds, weaker, beyond) = match self {
            Rule::About { value, holds, weaker } => {
                let off = (measured - value).abs() / value.abs();
                (off <= holds, off <= weaker, false)
            }
            Rule::AtMost { value, weaker, beyond } => {
                (measured <= value, measured <= weaker, beyond.is_some_and(|beyond| measured <= beyond))
            }
            Rule::AtLeast { value, weaker, beyond } => {
                (measured >= value, measured >= weaker, beyond.is_some_and(|beyond| measured >= beyond))
            }
        };
        match (beyond, holds, weaker) {
            (true, _, _) => Verdict::Beyond,
            (_, true, _) => Verdict::Holds,
            (_, _, true) => Verdict::Weaker,
            // Also what is not a number.
            _ => Verdict::Fails,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules() {
        let about = Rule::About { value: 540.0, holds: 0.05, weaker: 0.15 };
        let verdicts =
            [540.0, 514.0, 512.0, 620.0, 622.0, 400.0, f64::NAN].map(|measured| about.judge(measured).name());
        assert_eq!(verdicts, ["holds", "holds", "weaker", "weaker", "fails", "fails", "fails"]);
        let most = Rule::AtMost { value: 2.0, weaker: 2.2, beyond: Some(1.0) };
        let verdicts = [0.9, 2.0, 2.1, 2.3, f64::NAN].map(|measured| most.judge(measured).name());
        assert_eq!(verdicts, ["beyond", "holds", "weaker", "fails", "fails"]);
        let least = Rule::AtLeast { value: 2.0, weaker: 1.5, beyond: None };
        let verdicts = [9.0, 2.0, 1.6, 1.0].map(|measured| least.judge(measured).name());
        assert_eq!(verdicts, ["holds", "holds", "weaker", "fails"]);
    }

    #[test]
    fn the_worst_of_several_is_the_least() {
        assert_eq!([Verdict::Beyond, Verdict::Weaker, Verdict::Holds].into_iter().min(), Some(Verdict::Weaker));
    }
}
