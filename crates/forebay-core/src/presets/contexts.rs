//! Whether program contexts have partitions, as a value.

use alloc::boxed::Box;

use crate::auto::duel::{Duel, Views};
use crate::engine::ContextSeat;
use crate::papers::amp::{Detector, Settings};
use crate::partition::{Callers, Segments};
use crate::replacement::Replacement;
use crate::seams::Placement;

/// Partitions of contexts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Contexts {
    /// How contexts are told apart, and how many have a partition.
    pub settings: Settings,
    /// Which views the partitions have to beat, if contexts have them only where that pays.
    pub views: Option<Views>,
}

impl Contexts {
    /// Those of a paper.
    pub const fn paper(settings: Settings) -> Contexts {
        Contexts { settings, views: None }
    }

    /// Those of `auto`: AMP's, where they pay, and the whole as one loop where that pays more.
    pub const JOINED: Contexts = Contexts { settings: Settings::AMP, views: Some(Views::ALL) };

    /// Makes them, for partitions of such sizes.
    pub fn build<R: Replacement + Send + 'static>(self, sizes: &[u32]) -> ContextSeat {
        let loops = Segments::<R>::fitting(self.settings.loops(), sizes.len());
        let all: u32 = sizes.iter().sum();
        let settings = Settings { partitions: loops.most, ..self.settings };
        let duel = |(views, &size): (Views, &u32)| {
            Box::new(Duel::<R>::new(views, loops, size.max(1), all)) as Box<dyn Placement>
        };
        let views = sizes.iter().filter_map(|size| Some((self.views?, size)));
        ContextSeat {
            callers: Callers::new(Box::new(Detector::new(settings).over(all))),
            loops,
            placements: views.map(duel).collect(),
        }
    }
}

impl From<Settings> for Contexts {
    fn from(settings: Settings) -> Contexts {
        Contexts::paper(settings)
    }
}
