//! Policies by name: the registry of replacement algorithms, the presets of prefetching, of
//! partitions and of contexts, a line each.
//!
//! A policy is written `PREFETCH+PARTITION+CONTEXT+REPLACEMENT`, each of which may be left out:
//! `competitive`, `arc`, `linux+s3-fifo`, `lazy+arc`, `amp`. A part that is left out stands for LRU
//! (or the algorithm that a preset goes with: `sarc` is `sarc+sarc-lists`, `amp` is `amp+arc`), no
//! partitions of contexts, one cache for all, and no prefetching. Presets may have options
//! ([`CHOICES`]), which follow their name, as in `competitive-em:start=5,epoch=0+arc`,
//! `lazy-clock:window=500` and `amp:by=file+s3-fifo`.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;
use core::mem::discriminant;
use core::str::FromStr;

mod choices;
mod contexts;
mod partition;
mod parts;
mod prefetch;
mod reclaim;

pub use choices::{CHOICES, Choice};
pub use contexts::Contexts;
pub use partition::Partition;
pub use parts::{PARTS, Part};
pub use prefetch::{Plain, Prefetch};
pub use reclaim::Reclaim;

use crate::auto::Parts;
use crate::auto::cache::CacheParts;
use crate::engine::{Core, Engine, Seats, Setup};
use crate::index::Index;
use crate::papers;
use crate::papers::amp::{self, ContextParts};
use crate::papers::cpem::Settings;
use crate::papers::sac::Scheme;
use crate::papers::sarc::THRESHOLD;
use crate::papers::scm::{Degree, Total, Trigger};
use crate::partition::Segments;
use crate::peers::arrow::{HOLE, RUST_HOLE};
use crate::replacement;

/// A name that policies are made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The name.
    pub name: &'static str,
    /// Which question it answers: `prefetch`, `partition`, `context` or `replacement`.
    pub axis: &'static str,
    /// Its paper.
    pub paper: &'static str,
    /// Its effect, in a line.
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

            /// The most bytes that it takes for each frame and each ghost beside the slab and the
            /// index.
            pub fn bytes_beside(self) -> u32 {
                match self {
                    $(Replacement::$policy => <replacement::$policy as replacement::Replacement>::BYTES_BESIDE),+
                }
            }

            /// How many partitions it can have, if contexts have their own in each of them or not.
            pub fn most_partitions(self, contexts: bool) -> usize {
                match self {
                    $(Replacement::$policy => Segments::<replacement::$policy>::most(contexts)),+
                }
            }

            /// How many ghosts there are beside `frames` frames where contexts have partitions,
            /// which need some to adapt by.
            pub fn ghosts_with_contexts(self, frames: u32) -> u32 {
                match self {
                    $(Replacement::$policy => ContextParts::ghosts::<replacement::$policy>(frames)),+
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
    "sarc-lists" SarcLists "Gill and Modha, USENIX 2005" "a list for what is sequential, one for the rest, sized by what a frame more is worth"
    "gill-lru" GillLru "Gill and Bathen, FAST 2007" "LRU; what was prefetched moves at its second use, and is not thrown out unread at once"
    "w-tinylfu" WTinyLfu "Einziger et al., TOS 2017" "admits from a small window what is more popular than the victim"
    "landlord" Landlord "Young, SODA 1998" "evicts by what fetching a block cost and by recency; all costs alike are LRU"
}

/// The replacement algorithm that a preset of prefetching goes with, if no other is named.
macro_rules! or_lru {
    () => {
        Replacement::Lru
    };
    ($replacement:ident) => {
        Replacement::$replacement
    };
}

macro_rules! prefetchers {
    ($($name:literal $prefetch:expr, $reclaim:expr $(, over $replacement:ident)?, $paper:literal $line:literal;)+) => {
        /// The presets of prefetching.
        pub const PREFETCHERS: &[Entry] = &[$(Entry { name: $name, axis: "prefetch", paper: $paper, line: $line }),+];

        const PRESETS: &[(&str, Prefetch, Reclaim, Replacement)] =
            &[$(($name, $prefetch, $reclaim, or_lru!($($replacement)?))),+];
    };
}

/// A prefetcher without settings: the module in `papers/` and the type there.
macro_rules! plain {
    ($module:ident::$prefetcher:ident) => {
        Prefetch::Plain(Plain::new(stringify!($prefetcher), || Box::new(papers::$module::$prefetcher)))
    };
}

/// SCM §4.1.4: T_default 24, P 48.
const fn supply(trigger: Trigger) -> Prefetch {
    Prefetch::Supply { trigger, degree: Degree::Fixed(48), total: Total::PerStream(24), slot_ms: 100 }
}

/// Both papers: pieces of the competitive depth, distances by demand within the memory for them.
const ETS_COMPETITIVE: Prefetch =
    Prefetch::Supply { trigger: Trigger::EqualTime, degree: Degree::Competitive, total: Total::Memory, slot_ms: 100 };

const SARC: Prefetch = Prefetch::Sarc { threshold: THRESHOLD, degree: 32, distance: 16 };

const COMPETITIVE: Prefetch = Prefetch::Competitive { channels: true, shares: true };

const AUTO: Prefetch = Prefetch::Auto(Parts::ALL);

/// The prefetch cache of `auto`.
const CACHE: Reclaim = Reclaim::Auto(Settings::PAPER, CacheParts::ALL);

/// The partitions of `auto`.
const DEVICES: Partition = Partition::ByWorth;

prefetchers! {
    "auto"        AUTO, CACHE, over Arc, "all five" "the papers joined: competitive depth, distances by demand, a prefetch cache, partitions of devices and in them of contexts, over arc";
    "none"        Prefetch::None, Reclaim::WithTheRest, "-" "fetches only what is asked for";
    "one-block"   plain!(one_block::OneBlock), Reclaim::WithTheRest, "Smith 1978" "one block lookahead";
    "fixed"       Prefetch::Fixed { degree: 4 }, Reclaim::WithTheRest, "Smith 1982 (RA in SCM)" "the next 4 blocks after every access";
    "linux"       plain!(linux::Linux), Reclaim::WithTheRest, "CPEM §2.2" "Linux 2.6: windows of 16, 18, 32 pages, the next one issued from the ahead window";
    "aggressive"  plain!(aggressive::Aggressive), Reclaim::WithTheRest, "CP §3.2" "Linux with windows up to 256 pages";
    "competitive" COMPETITIVE, Reclaim::WithTheRest, "CP §2" "as much as the device transfers in the time of one switch";
    "competitive-em" COMPETITIVE, Reclaim::PrefetchCache(Settings::PAPER), "CPEM §4" "competitive, with a prefetch cache: what was fetched ahead is not thrown out before its use";
    "even"        supply(Trigger::Even), Reclaim::WithTheRest, "SCM §4.1.4 (24-48)" "pieces of 48 pages, each once no more than 24 are unread";
    "ets"         supply(Trigger::EqualTime), Reclaim::WithTheRest, "SCM §4.1.2" "the same, the distances divided by how fast each stream is read";
    "esf"         supply(Trigger::EqualSafety), Reclaim::WithTheRest, "SCM §4.1.3" "the same, by what is read during a fetch and how unevenly";
    "sarc"        SARC, Reclaim::WithTheRest, over SarcLists, "Gill and Modha, USENIX 2005" "32 blocks at a time for streams of at least 4, over two lists (sarc-lists)";
    "gill"        Prefetch::Gill { most: 256 }, Reclaim::WithTheRest, over GillLru, "Gill and Bathen, FAST 2007" "degree and trigger distance learnt by stream: up when readers wait, down when pages go unread";
    "ets-competitive" ETS_COMPETITIVE, Reclaim::WithTheRest, "SCM §4.1.2, CP §2" "pieces of the competitive depth, distances by demand out of what memory allows";
    "mountpoint"  Prefetch::Mountpoint, Reclaim::WithTheRest, "Mountpoint for Amazon S3 1.24" "a window from 1.125 MiB, doubled when its reader stalls, anew after a seek";
    "gcsfs"       Prefetch::Gcsfs, Reclaim::WithTheRest, "gcsfs 2026.8" "from the third read on a window that grows by one read with each block taken";
    "arrow"       Prefetch::Arrow { hole: HOLE }, Reclaim::WithTheRest, "Apache Arrow" "one request for a missed read and the next one, if at most 8 KiB are between them";
    "arrow-rust"  Prefetch::Arrow { hole: RUST_HOLE }, Reclaim::WithTheRest, "object_store 0.14" "the same, if at most 1 MiB is between them";
    "mithril"     Prefetch::Mithril, Reclaim::WithTheRest, "Yang et al., SoCC 2017" "what was missed at nearly the same times, from the second time on";
}

macro_rules! partitions {
    ($($name:literal $partition:expr, $replacement:expr, $paper:literal $line:literal;)+) => {
        /// The presets of partitions, alone and together with a replacement algorithm.
        pub const PARTITIONS: &[Entry] = &[$(Entry { name: $name, axis: "partition", paper: $paper, line: $line }),+];

        const DIVISIONS: &[(&str, Partition, Option<Replacement>)] = &[$(($name, $partition, $replacement)),+];
    };
}

partitions! {
    "static"     Partition::paper(Scheme::Static), None, "SAC §2.3" "a partition a device, its size fixed by how long a request takes there";
    "eager"      Partition::paper(Scheme::Eager), None, "SAC §2.3" "a partition a device, the larger the longer readers wait for that; new sizes hold at once";
    "lazy"       Partition::paper(Scheme::Lazy), None, "SAC §2.3" "the same, new sizes come about as frames are wanted: an inverse lottery draws who gives one up";
    "worth"      Partition::ByWorth, None, "past SAC" "no sizes: whenever a frame is wanted, the partition gives one whose frames save least waiting (past the paper)";
    "eager-lru"  Partition::paper(Scheme::Eager), Some(Replacement::Lru), "SAC §2.3" "eager+lru";
    "lazy-lru"   Partition::paper(Scheme::Lazy), Some(Replacement::Lru), "SAC §2.3" "lazy+lru";
    "lazy-clock" Partition::paper(Scheme::Lazy), Some(Replacement::Clock), "SAC §3.2" "lazy+clock: a hand a partition (SAC §3.2)";
}

macro_rules! contexts {
    ($($name:literal $settings:expr, $replacement:ident $whole:literal, $paper:literal $line:literal;)+) => {
        /// The presets of program contexts, over ARC unless another replacement algorithm is named.
        pub const CONTEXTS: &[Entry] = &[$(Entry { name: $name, axis: "context", paper: $paper, line: $line }),+];

        /// The last word says whether the replacement algorithm is part of the name.
        const OF_CONTEXTS: &[(&str, Contexts, Replacement, bool)] =
            &[$(($name, $settings, Replacement::$replacement, $whole)),+];
    };
}

contexts! {
    "amp"     Contexts::paper(amp::Settings::AMP), Arc false, "AMP §3" "a partition, evicting what was used last, for each program context that loops; what is read once is dropped";
    "dear"    Contexts::paper(amp::Settings::DEAR), Arc false, "Choi et al., USENIX 1999" "the same, patterns told process by process, by the order of blocks (DEAR)";
    "pcc"     Contexts::paper(amp::Settings::PCC), Arc false, "Gniady et al., OSDI 2004 (PCC* in AMP)" "the same, patterns told by counting blocks that come again (PCC)";
    "ubm"     Contexts::paper(amp::Settings::UBM), Arc false, "Kim et al., OSDI 2000" "the same, patterns told file by file, by blocks that follow each other (UBM)";
    "amp-lru" Contexts::paper(amp::Settings::AMP), Lru true, "AMP §4.2.2" "amp+lru";
    "amp-duel" Contexts::JOINED, Arc false, "past AMP" "amp where a duel of small caches says that partitions pay; else the whole, or the whole as one loop";
}

/// A thing that can be built around any replacement algorithm.
pub trait Build {
    /// Its type once it is built.
    type Output;
    /// Builds it around `R`.
    fn with<R: replacement::Replacement + Send + 'static>(self) -> Self::Output;
}

struct EngineOver<I>(Setup, Policy, PhantomData<I>);

impl<I: Index + Send + 'static> Build for EngineOver<I> {
    type Output = Box<dyn Core>;

    fn with<R: replacement::Replacement + Send + 'static>(self) -> Box<dyn Core> {
        let EngineOver(setup, policy, _) = self;
        let (setup, loops) = (setup.sound(), policy.context.is_some());
        let divider = policy.partition.build(&setup, Segments::<R>::most(loops), loops);
        let sizes: Vec<u32> = match &divider {
            Some(divider) => divider.shares().iter().map(|share| share.size).collect(),
            None => vec![setup.frames],
        };
        let seats = Seats {
            prefetcher: policy.prefetch.build(&setup, loops),
            reclaimer: policy.reclaim.build(&setup),
            divider,
            contexts: policy.context.map(|contexts| contexts.build::<R>(&sizes)),
        };
        Box::new(Engine::<R, I>::new(setup, seats))
    }
}

/// Every name: prefetchers, partitions, contexts, replacement algorithms.
pub fn entries() -> impl Iterator<Item = &'static Entry> {
    PREFETCHERS.iter().chain(PARTITIONS).chain(CONTEXTS).chain(REPLACEMENTS)
}

/// A policy: one answer on every axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Policy {
    /// How much to prefetch, and when.
    pub prefetch: Prefetch,
    /// Which prefetched blocks are given up first.
    pub reclaim: Reclaim,
    /// Which partition gives up a frame.
    pub partition: Partition,
    /// Whether program contexts have partitions.
    pub context: Option<Contexts>,
    /// Which block of a partition goes.
    pub replacement: Replacement,
}

/// The one that is right without a choice: `auto`.
impl Default for Policy {
    fn default() -> Policy {
        Policy::whole(AUTO, CACHE, Replacement::Arc)
    }
}

impl Policy {
    /// No prefetching, and this replacement.
    pub fn replacing(replacement: Replacement) -> Policy {
        Policy {
            prefetch: Prefetch::None,
            reclaim: Reclaim::WithTheRest,
            partition: Partition::Whole,
            context: None,
            replacement,
        }
    }

    /// An engine of this policy.
    pub fn build<I: Index + Send + 'static>(self, setup: Setup) -> Box<dyn Core> {
        self.replacement.build(EngineOver::<I>(setup, self, PhantomData))
    }

    /// How many devices it can have: one that divides the cache has lists for this many partitions.
    pub fn most_devices(&self) -> usize {
        match self.partition {
            Partition::Whole => usize::from(u16::MAX),
            Partition::ByDevice(_) | Partition::ByWorth => self.replacement.most_partitions(self.context.is_some()),
        }
    }

    /// How many ghosts it keeps beside `frames` frames.
    pub fn ghosts(&self, frames: u32) -> u32 {
        match self.context {
            None => self.replacement.ghosts(frames),
            Some(_) => self.replacement.ghosts_with_contexts(frames),
        }
    }

    /// All that a preset of prefetching stands for.
    fn whole(prefetch: Prefetch, reclaim: Reclaim, replacement: Replacement) -> Policy {
        let policy = Policy { prefetch, reclaim, ..Policy::replacing(replacement) };
        match prefetch {
            Prefetch::Auto(_) => Policy { partition: DEVICES, context: Some(Contexts::JOINED), ..policy },
            _ => policy,
        }
    }

    /// The preset of contexts that this has, whatever its options.
    fn contexts_preset(&self) -> Option<(&'static str, Policy)> {
        let own = self.context?;
        let same = |known: &Contexts| {
            discriminant(&known.settings.detection) == discriminant(&own.settings.detection)
                && known.views.is_some() == own.views.is_some()
        };
        let &(name, known, ..) = OF_CONTEXTS.iter().find(|(_, known, _, whole)| same(known) && !whole)?;
        Some((name, Policy { context: Some(known), ..*self }))
    }

    /// The preset of partitions that this has, whatever its options.
    fn divided(&self) -> Option<(&'static str, Policy)> {
        let scheme = |partition: &Partition| partition.settings().map(|settings| settings.scheme);
        let same = |known: &Partition| {
            discriminant(known) == discriminant(&self.partition) && scheme(known) == scheme(&self.partition)
        };
        let &(name, partition, _) = DIVISIONS.iter().find(|(_, known, whole)| same(known) && whole.is_none())?;
        Some((name, Policy { partition, ..*self }))
    }

    /// Writes a part of a policy's name: a preset's, and how `self` differs from it.
    fn write(&self, f: &mut fmt::Formatter<'_>, axis: &str, name: &str, preset: &Policy) -> fmt::Result {
        f.write_str(name)?;
        let chosen = Choice::on(axis).filter_map(|choice| {
            let value = (choice.get)(self)?;
            ((choice.get)(preset).as_ref() != Some(&value)).then_some((choice.name, value))
        });
        for (i, (key, value)) in chosen.enumerate() {
            write!(f, "{}{key}={value}", if i == 0 { ":" } else { "," })?;
        }
        Ok(())
    }

    /// The preset of prefetching that this has, whatever its options.
    fn preset(&self) -> Option<(&'static str, Policy)> {
        let joined = matches!(self.prefetch, Prefetch::Auto(_));
        let same = |prefetch: &Prefetch, reclaim: &Reclaim| {
            prefetch.is_like(&self.prefetch) && (joined || discriminant(reclaim) == discriminant(&self.reclaim))
        };
        let &(name, prefetch, reclaim, replacement) =
            PRESETS.iter().find(|(_, prefetch, reclaim, _)| same(prefetch, reclaim))?;
        let preset = Policy { prefetch, reclaim, ..*self };
        Some((name, if joined { Policy::whole(prefetch, reclaim, replacement) } else { preset }))
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, preset) = self.preset().unwrap_or(("?", *self));
        self.write(f, "prefetch", name, &preset)?;
        // The name repeats neither the parts that a preset brings by itself nor those said to be
        // left out.
        let joined = matches!(self.prefetch, Prefetch::Auto(_));
        let whole = joined.then(|| parts::without_what_lacks(preset, self));
        if let Some((name, preset)) = self.divided().filter(|_| whole.is_none_or(|own| own.partition != self.partition))
        {
            f.write_str("+")?;
            self.write(f, "partition", name, &preset)?;
        }
        if let Some((name, preset)) =
            self.contexts_preset().filter(|_| whole.is_none_or(|own| own.context != self.context))
        {
            f.write_str("+")?;
            self.write(f, "context", name, &preset)?;
        }
        match whole {
            Some(own) if own.replacement == self.replacement => Ok(()),
            _ => write!(f, "+{}", self.replacement.name()),
        }
    }
}

/// A text that names no policy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownPolicy {
    /// The text.
    pub name: String,
    /// The option that makes no sense, if that is the reason.
    pub option: Option<String>,
}

impl fmt::Display for UnknownPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(option) = &self.option {
            let parts = self.name.split('+').filter_map(|part| part.split_once(':'));
            let has = |options: &str| options.split(',').any(|known| known == option);
            let (preset, _) = parts.rev().find(|(_, options)| has(options)).unwrap_or_default();
            let known = || Choice::of(preset);
            if known().next().is_none() {
                return write!(f, "policy '{}': '{preset}' has no options", self.name);
            }
            write!(f, "policy '{}': no option is '{option}'; there are", self.name)?;
            for (i, choice) in known().enumerate() {
                write!(f, "{} {}={}", if i == 0 { "" } else { "," }, choice.name, choice.values)?;
            }
            let meant = option.split_once('=').and_then(|(key, _)| known().find(|choice| choice.name == key));
            return meant.map_or(Ok(()), |choice| choice.explain(preset, f));
        }
        write!(f, "unknown policy '{}'; known are", self.name)?;
        for (i, entry) in entries().enumerate() {
            write!(f, "{} {}", if i == 0 { "" } else { "," }, entry.name)?;
        }
        write!(f, ", or two of them as in 'competitive+arc'")
    }
}

impl core::error::Error for UnknownPolicy {}

impl Policy {
    /// A preset of prefetching, over the replacement algorithm that it goes with.
    fn of_preset(name: &str) -> Option<Policy> {
        let &(_, prefetch, reclaim, replacement) = PRESETS.iter().find(|(known, ..)| *known == name)?;
        Some(Policy::whole(prefetch, reclaim, replacement))
    }

    /// A preset of contexts, over the replacement algorithm that it goes with; and whether that is
    /// part of its name.
    fn of_context(name: &str) -> Option<(Policy, bool)> {
        let &(_, contexts, replacement, whole) = OF_CONTEXTS.iter().find(|(known, ..)| *known == name)?;
        Some((Policy { context: Some(contexts), ..Policy::replacing(replacement) }, whole))
    }

    /// A preset of partitions, over LRU if it names no replacement algorithm; and whether it does.
    fn of_partition(name: &str) -> Option<(Policy, bool)> {
        let &(_, partition, replacement) = DIVISIONS.iter().find(|(known, ..)| *known == name)?;
        let policy = Policy::replacing(replacement.unwrap_or(Replacement::Lru));
        Some((Policy { partition, ..policy }, replacement.is_some()))
    }
}

impl FromStr for Policy {
    type Err = UnknownPolicy;

    fn from_str(text: &str) -> Result<Policy, UnknownPolicy> {
        let unknown = || UnknownPolicy { name: text.to_string(), option: None };
        let (mut prefetch, mut partition, mut context, mut replacement) = (None, None, None, None);
        for part in text.split('+') {
            let (name, options) = part.split_once(':').map_or((part, None), |(name, options)| (name, Some(options)));
            let choose = |preset, axis| {
                let options = options.into_iter().flat_map(|options| options.split(','));
                choose(preset, axis, options)
                    .map_err(|option| UnknownPolicy { option: Some(option.to_string()), ..unknown() })
            };
            let twice = if let Some(preset) = Policy::of_preset(name) {
                prefetch.replace(choose(preset, "prefetch")?).is_some()
            } else if let Some((preset, whole)) = Policy::of_partition(name) {
                let other = whole && replacement.replace(preset.replacement).is_some();
                partition.replace(choose(preset, "partition")?.partition).is_some() || other
            } else if let Some((preset, whole)) = Policy::of_context(name) {
                let other = whole && replacement.replace(preset.replacement).is_some();
                context.replace(choose(preset, "context")?).is_some() || other
            } else if let Some(&found) = Replacement::ALL.iter().find(|known| known.name() == name) {
                replacement.replace(found).is_some() || options.is_some()
            } else {
                true
            };
            if twice {
                return Err(unknown());
            }
        }
        let policy = prefetch.unwrap_or(Policy::replacing(Replacement::Lru));
        // A preset of prefetching whose replacement algorithm is not LRU needs that algorithm.
        let goes_with = match context {
            Some(preset) if policy.replacement == Replacement::Lru => preset.replacement,
            _ => policy.replacement,
        };
        Ok(Policy {
            partition: partition.unwrap_or(policy.partition),
            context: context.map_or(policy.context, |preset| preset.context),
            replacement: replacement.unwrap_or(goes_with),
            ..policy
        })
    }
}

/// A policy with options of an axis, each `key=value`. Returns the first that makes no sense.
fn choose<'a>(mut policy: Policy, axis: &str, options: impl Iterator<Item = &'a str>) -> Result<Policy, &'a str> {
    for option in options {
        let choice = option.split_once('=').and_then(|(key, value)| {
            let choice = Choice::on(axis).find(|choice| choice.name == key && (choice.get)(&policy).is_some())?;
            (choice.set)(&mut policy, value)
        });
        choice.ok_or(option)?;
    }
    Ok(policy)
}
