//! Values of options as text, and back.

use alloc::string::{String, ToString};

use crate::papers::amp::recency::{ONE, Sampling};
use crate::papers::amp::{self, Detection};
use crate::papers::cpem::Settings;
use crate::papers::sac;
use crate::presets::{Policy, Prefetch};
use crate::seams::By;

pub(super) const OFF: &str = "off";
pub(super) const PERIODIC: &str = "periodic";
pub(super) const CONTINUOUS: &str = "continuous";
/// N_L, by default.
pub(super) const LIST: u32 = match amp::Settings::AMP.detection {
    Detection::Recency { sampling: Sampling::Adaptive(blocks), .. } => blocks,
    _ => 0,
};
/// The weight of the latest recency in a continuous mean, by default.
pub(super) const WEIGHT: u32 = ONE / 64;

/// N, of 1/N.
pub(super) fn one_in(value: &str) -> Option<u32> {
    value.strip_prefix("1/")?.parse().ok().filter(|&n| n > 0)
}

pub(super) fn part_of(n: u32) -> String {
    let mut text = String::from("1/");
    text.push_str(&n.to_string());
    text
}

/// Thousandths of a number between 0 and 1 that has no smaller parts.
pub(super) fn thousandths(value: &str) -> Option<u32> {
    let number: f64 = value.parse().ok().filter(|number| (0.0..=1.0).contains(number))?;
    let parts = (number * 1000.0 + 0.5) as u32;
    (f64::from(parts) / 1000.0 == number).then_some(parts)
}

/// The same as it is written, of parts of [`ONE`].
pub(super) fn fraction(parts: u32) -> String {
    let thousandths = (u64::from(parts) * 1000 + u64::from(ONE / 2)) / u64::from(ONE);
    (thousandths as f64 / 1000.0).to_string()
}

/// A value that is written as a word.
pub(super) struct Word<T> {
    pub(super) name: &'static str,
    pub(super) value: T,
}

pub(super) const BYS: [Word<By>; 3] = [
    Word { name: "context", value: By::Context },
    Word { name: "file", value: By::File },
    Word { name: "handler", value: By::Handler },
];

pub(super) const MEMORY: &str = "memory";
pub(super) const ADAPTIVE: &str = "adaptive";
pub(super) const EQUAL: &str = "equal";

/// How a divided cache comes by its sizes, if it has any.
pub(super) fn sized(policy: &Policy) -> Option<&sac::Settings> {
    policy.partition.settings()
}

pub(super) fn sized_mut(policy: &mut Policy) -> Option<&mut sac::Settings> {
    policy.partition.settings_mut()
}

pub(super) fn settings(policy: &Policy) -> Option<&Settings> {
    policy.reclaim.settings()
}

pub(super) fn settings_mut(policy: &mut Policy) -> Option<&mut Settings> {
    policy.reclaim.settings_mut()
}

/// The prefetch cache of the paper's own preset.
pub(super) fn of_paper(policy: &Policy) -> Option<&Settings> {
    settings(policy).filter(|_| !matches!(policy.prefetch, Prefetch::Auto(_)))
}

pub(super) fn of_paper_mut(policy: &mut Policy) -> Option<&mut Settings> {
    let auto = matches!(policy.prefetch, Prefetch::Auto(_));
    settings_mut(policy).filter(|_| !auto)
}

pub(super) fn put<T>(place: &mut T, value: Option<T>) -> Option<()> {
    *place = value?;
    Some(())
}

pub(super) fn switch(value: &str) -> Option<bool> {
    named(&[Word { name: "on", value: true }, Word { name: OFF, value: false }], value)
}

pub(super) fn on_off(on: bool) -> String {
    if on { "on" } else { "off" }.to_string()
}

pub(super) fn named<T: Copy>(words: &[Word<T>], name: &str) -> Option<T> {
    words.iter().find(|word| word.name == name).map(|word| word.value)
}

pub(super) fn name_of<T: PartialEq>(words: &[Word<T>], value: T) -> String {
    words.iter().find(|word| word.value == value).map_or("?", |word| word.name).to_string()
}
