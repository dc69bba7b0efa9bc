//! Every decoder of bytes from outside, under bytes that a seed made up.
//!
//! ```text
//!   corpus ──▶ Mutator ──▶ an input ──▶ a target ──▶ its outcome: new ones join the pool
//!                ▲                          │
//!              seed                         └─ panic, abort, too much memory, too slow: a finding
//! ```
//!
//! [`targets::all`] is the one table; `cargo xtask fuzz`, the test of this crate and the shim for
//! cargo-fuzz in `fuzz/` run what stands there. A target runs in a process of its own, so that
//! nothing that goes wrong ends the others, and what went wrong can be tried again and made small.

pub mod corpus;
pub mod minimise;
pub mod mutator;
pub mod targets;
pub mod worker;

/// A decoder that is fuzzed.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name, which is that of its folder of examples.
    pub name: &'static str,
    /// The bytes that it decodes, in a few words.
    pub about: &'static str,
    /// Decodes bytes, and panics if that breaks a promise.
    pub run: fn(&[u8]) -> Outcome,
}

/// A number for the kind of a result. Inputs with an outcome that was not seen before are kept, and
/// are the ground for further ones.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Outcome(u64);

impl Outcome {
    /// Of a number of things: counts of like size are one kind.
    pub fn of_count(count: usize) -> Outcome {
        Outcome(u64::from((count as u64 + 1).ilog2()))
    }

    /// Of a decision.
    pub fn of_flag(flag: bool) -> Outcome {
        Outcome(u64::from(flag))
    }

    /// Of a choice among few.
    pub fn of_number(number: u64) -> Outcome {
        Outcome(number)
    }

    /// Of a number of things, or the reason why there are none. Reasons that differ in names and
    /// numbers only are one kind.
    pub fn of_result<E: std::fmt::Display>(result: Result<usize, E>) -> Outcome {
        match result {
            Ok(count) => Outcome::of_count(count),
            Err(error) => Outcome(hash_of_words(&error.to_string())),
        }
    }
}

/// A hash of the plain words at the beginning of a text, up to what it quotes.
fn hash_of_words(text: &str) -> u64 {
    let plain = |word: &&str| word.bytes().all(|byte| byte.is_ascii_lowercase());
    let quoted = |mark: char| matches!(mark, '"' | '\'' | '`' | '[' | '{' | '\n');
    let unquoted = text.split(quoted).step_by(2);
    let words = unquoted.flat_map(|part| part.split([' ', ',', ':', '.'])).filter(plain).take(5);
    let step = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    words.flat_map(str::bytes).fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn like_reasons_are_one_outcome() {
        let of = |text: &str| Outcome::of_result(Err(text));
        assert_eq!(of("line 12 is not a number: 'abc9'"), of("line 7 is not a number: 'X'"));
        assert_ne!(of("line 12 is not a number"), of("line 12 ends early"));
        assert_ne!(Outcome::of_count(1), Outcome::of_count(9));
    }
}
