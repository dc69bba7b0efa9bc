//! Policies by name: the registry of replacement algorithms and the presets of prefetching, a line each.
//!
//! A policy is written `PREFETCH+REPLACEMENT`, either of which may be left out: `competitive`, `arc`, `linux+s3-fifo`.
//! What is left out is LRU, and no prefetching.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use core::fmt;
use core::marker::PhantomData;
use core::str::FromStr;

use crate::engine::{Core, Engine, Setup};
use crate::index::Index;
use crate::prefetch::Prefetch;
use crate::replacement;

/// A name that policies are made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The name.
    pub name: &'static str,
    /// Which question it answers: `prefetch` or `replacement`.
    pub axis: &'static str,
    /// Where it is from.
    pub paper: &'static str,
    /// What it does, in a line.
    pub line: &'static str,
}

macro_rules! registry {
    ($($name:literal $policy:ident $paper:literal $line:literal)+) => {
        /// The replacement algorithms.
        pub const REPLACEMENTS: &[Entry] =
            &[$(Entry { name: $name, axis: "replacement", paper: $paper, line: $line }),+];

        /// A replacement algorithm.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Replacement {
            $(#[doc = $line] $policy),+
        }

        impl Replacement {
            /// All of them, in the order of [`REPLACEMENTS`].
            pub const ALL: &[Replacement] = &[$(Replacement::$policy),+];

            /// Its name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Replacement::$policy => $name),+
                }
            }

            /// How many ghosts it keeps beside `frames` frames.
            pub fn ghosts(self, frames: u32) -> u32 {
                match self {
                    $(Replacement::$policy => <replacement::$policy as replacement::Replacement>::ghosts(frames)),+
                }
            }

            /// Builds something around its type.
            pub fn build<B: Build>(self, build: B) -> B::Output {
                match self {
                    $(Replacement::$policy => build.with::<replacement::$policy>()),+
                }
            }
        }
    };
}

registry! {
    "lru"     Lru    "folklore" "evicts the block whose last use is longest ago"
    "mru"     Mru    "folklore" "evicts the block used last: for loops larger than the cache"
    "fifo"    Fifo   "folklore" "evicts the block that came first"
    "clock"   Clock  "Corbató 1968" "FIFO with a second chance for blocks used since the hand came by"
    "sieve"   Sieve  "Zhang et al., NSDI 2024" "a hand sieves out blocks not used since it came by; survivors stay put"
    "s3-fifo" S3Fifo "Yang et al., SOSP 2023" "a small queue filters one-hit wonders before the main one"
    "arc"     Arc    "Megiddo and Modha, FAST 2003" "balances recency and frequency by its ghosts"
    "car"     Car    "Bansal and Modha, FAST 2004" "ARC with two clocks: a hit moves nothing"
    "2q"      TwoQ   "Johnson and Shasha, VLDB 1994" "a FIFO for what came, an LRU list for what came back"
    "lirs"    Lirs   "Jiang and Zhang, SIGMETRICS 2002" "keeps the blocks whose last two uses were closest together"
    "w-tinylfu" WTinyLfu "Einziger et al., TOS 2017" "admits from a small window what is more popular than the victim"
}

macro_rules! prefetchers {
    ($($name:literal $prefetch:expr, $paper:literal $line:literal;)+) => {
        /// The prefetch policies.
        pub const PREFETCHERS: &[Entry] = &[$(Entry { name: $name, axis: "prefetch", paper: $paper, line: $line }),+];

        const PREFETCH: &[(&str, Prefetch)] = &[$(($name, $prefetch)),+];
    };
}

prefetchers! {
    "none"        Prefetch::None, "-" "fetches only what is asked for";
    "one-block"   Prefetch::OneBlock, "Smith 1978" "one block lookahead";
    "fixed"       Prefetch::Fixed { degree: 4 }, "Smith 1982 (RA in SCM)" "the next 4 blocks after every access";
    "linux"       Prefetch::Linux, "CPEM §2.2" "Linux 2.6: windows of 16, 18, 32 pages, the next one issued from the ahead window";
    "aggressive"  Prefetch::Aggressive, "CP §3.2" "Linux with windows up to 256 pages";
    "competitive" Prefetch::Competitive, "CP §2" "as much as the device transfers in the time of one switch";
}

/// What can be built around any replacement algorithm.
pub trait Build {
    /// What it is then.
    type Output;
    /// Builds it around `R`.
    fn with<R: replacement::Replacement + Send + 'static>(self) -> Self::Output;
}

struct EngineOver<I>(Setup, PhantomData<I>);

impl<I: Index + Send + 'static> Build for EngineOver<I> {
    type Output = Box<dyn Core>;

    fn with<R: replacement::Replacement + Send + 'static>(self) -> Box<dyn Core> {
        Box::new(Engine::<R, I>::new(self.0))
    }
}

/// Every name, prefetchers first.
pub fn entries() -> impl Iterator<Item = &'static Entry> {
    PREFETCHERS.iter().chain(REPLACEMENTS)
}

/// A policy: one answer on every axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Policy {
    /// How much to prefetch, and when.
    pub prefetch: Prefetch,
    /// What goes.
    pub replacement: Replacement,
}

impl Policy {
    /// An engine of this policy; `setup.prefetch` is set from it.
    pub fn build<I: Index + Send + 'static>(self, setup: Setup) -> Box<dyn Core> {
        self.replacement.build(EngineOver::<I>(Setup { prefetch: self.prefetch, ..setup }, PhantomData))
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefetch = PREFETCH.iter().find(|(_, prefetch)| *prefetch == self.prefetch).map_or("?", |(name, _)| name);
        write!(f, "{prefetch}+{}", self.replacement.name())
    }
}

/// A name that no policy has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownPolicy {
    /// The name.
    pub name: String,
}

impl fmt::Display for UnknownPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown policy '{}'; known are", self.name)?;
        for (i, entry) in entries().enumerate() {
            write!(f, "{} {}", if i == 0 { "" } else { "," }, entry.name)?;
        }
        write!(f, ", or two of them as in 'competitive+arc'")
    }
}

impl core::error::Error for UnknownPolicy {}

impl FromStr for Policy {
    type Err = UnknownPolicy;

    fn from_str(text: &str) -> Result<Policy, UnknownPolicy> {
        let unknown = || UnknownPolicy { name: text.to_string() };
        let (mut prefetch, mut replacement) = (None, None);
        for name in text.split('+') {
            if let Some(&(_, found)) = PREFETCH.iter().find(|(known, _)| *known == name) {
                if prefetch.replace(found).is_some() {
                    return Err(unknown());
                }
            } else if let Some(&found) = Replacement::ALL.iter().find(|known| known.name() == name) {
                if replacement.replace(found).is_some() {
                    return Err(unknown());
                }
            } else {
                return Err(unknown());
            }
        }
        Ok(Policy {
            prefetch: prefetch.unwrap_or(Prefetch::None),
            replacement: replacement.unwrap_or(Replacement::Lru),
        })
    }
}
