//! RAID-0: several devices side by side, blocks laid over them in stripes.
//!
//! ```text
//!  members         0        1        2
//!               ┌──────┐ ┌──────┐ ┌──────┐
//!               │ a  b │ │ c  d │ │ e  f │   a request over c … h is two: c, d, and e, f with what follows on 0,
//!               │ g  h │ │ i  j │ │ k  l │   which is one part a member, since what follows on a member is adjacent there
//!               └──────┘ └──────┘ └──────┘
//! ```
//!
//! Every member has a queue and a scheduler of its own. A request is complete with its last part.

use std::collections::{HashMap, VecDeque};

use forebay_core::{DeviceCost, Instant};
use serde::{Deserialize, Serialize};

use crate::scheduler::SchedulerKind;
use crate::{Description, Error, Queue, Request};

/// An array as it is written in a description.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArrayDescription {
    /// Devices by name, or files by path, relative to the file of this description.
    pub members: Vec<String>,
    /// Kibibytes of a stripe on one member.
    pub stripe_kib: u64,
}

/// Several queues as one.
pub struct Array {
    members: Vec<Box<dyn Queue>>,
    stripe: u64,
    /// Requests under way, by the driver's name.
    under_way: HashMap<u64, Parts>,
    complete: VecDeque<(Instant, u64)>,
}

/// On how many members a request has a part, and how many of these are done.
#[derive(Clone, Copy, Debug)]
struct Parts {
    all: u32,
    done: u32,
}

/// An array of new devices with `stripe` bytes on one member at a time, each member behind its own
/// scheduler. `seed` and a member's number fix all that is random in it.
pub fn array(members: &[Description], stripe: u64, scheduler: &SchedulerKind, seed: u64) -> Result<Array, Error> {
    let queue = |(number, member): (u64, &Description)| member.queue(seed.wrapping_add(number), scheduler);
    let queues: Vec<Box<dyn Queue>> = (0..).zip(members).map(queue).collect::<Result<_, _>>()?;
    Array::new(queues, stripe).map_err(|reason| Error::Invalid { name: "array".to_owned(), reason })
}

impl Array {
    /// An array of these queues, with `stripe` bytes on one member at a time.
    pub fn new(members: Vec<Box<dyn Queue>>, stripe: u64) -> Result<Array, &'static str> {
        if members.is_empty() || members.len() > 1024 || !(1..=1 << 50).contains(&stripe) {
            return Err("an array needs 1 to 1024 members and a stripe of at least one byte");
        }
        Ok(Array { members, stripe, under_way: HashMap::new(), complete: VecDeque::new() })
    }

    /// How many bytes of `member` lie before `place` of the array. It grows with `place`, by a
    /// stripe in every row.
    fn before(&self, member: usize, place: u64) -> u64 {
        let row = u128::from(self.stripe) * self.members.len() as u128;
        let (full, rest) = (u128::from(place) / row, u128::from(place) % row);
        let here = rest.saturating_sub(u128::from(self.stripe) * member as u128).min(self.stripe.into());
        (full * u128::from(self.stripe) + here) as u64
    }

    /// The part of a request on one member, if it has any.
    fn part(&self, member: usize, request: Request) -> Option<Request> {
        let (start, end) = (request.start, request.start.saturating_add(request.len));
        let (from, to) = (self.before(member, start), self.before(member, end));
        // An empty request is one part, where it begins.
        let home = (start / self.stripe) as usize % self.members.len() == member;
        (from < to || (request.len == 0 && home)).then_some(Request { start: from, len: to - from, ..request })
    }

    /// Lets the members work until `at`, in the order of time.
    fn advance(&mut self, at: Instant) {
        loop {
            let moments =
                self.members.iter().enumerate().filter_map(|(i, member)| Some((member.next_completion()?, i)));
            let Some((moment, i)) = moments.min().filter(|&(moment, _)| moment <= at) else { return };
            let Some(id) = self.members[i].complete(moment) else { continue };
            let Some(parts) = self.under_way.get_mut(&id) else { continue };
            parts.done += 1;
            if parts.done == parts.all {
                self.under_way.remove(&id);
                self.complete.push_back((moment, id));
            }
        }
    }
}

impl Queue for Array {
    fn submit(&mut self, at: Instant, id: u64, request: Request) {
        self.advance(at);
        let mut all = 0;
        for number in 0..self.members.len() {
            if let Some(part) = self.part(number, request) {
                self.members[number].submit(at, id, part);
                all += 1;
            }
        }
        self.under_way.insert(id, Parts { all, done: 0 });
    }

    fn next_completion(&self) -> Option<Instant> {
        let complete = self.complete.front().map(|&(moment, _)| moment);
        complete.or_else(|| self.members.iter().filter_map(|member| member.next_completion()).min())
    }

    fn complete(&mut self, at: Instant) -> Option<u64> {
        self.advance(at);
        self.complete.pop_front().map(|(_, id)| id)
    }

    /// The array cancels a request only if all parts still wait. If one is in service or done, the
    /// request goes on.
    fn cancel(&mut self, at: Instant, id: u64) -> bool {
        if !self.waits(at, id) {
            return false;
        }
        self.under_way.remove(&id);
        // (A member without a part ignores the call.)
        self.members.iter_mut().for_each(|member| {
            member.cancel(at, id);
        });
        true
    }

    fn waits(&mut self, at: Instant, id: u64) -> bool {
        self.advance(at);
        let Some(&Parts { all, done }) = self.under_way.get(&id) else { return false };
        done == 0
            && self.members.iter_mut().filter_map(|member| member.waits(at, id).then_some(())).count() == all as usize
    }

    fn exited(&mut self, at: Instant, handler: u32) {
        self.advance(at);
        self.members.iter_mut().for_each(|member| member.exited(at, handler));
    }

    /// Every member contributes as many rows as the smallest one has.
    fn capacity(&self) -> u64 {
        let smallest = self.members.iter().map(|member| member.capacity()).min().unwrap_or(0);
        (smallest / self.stripe * self.stripe).saturating_mul(self.members.len() as u64)
    }

    /// A stream is read in requests that are long enough to have a part on every member. The
    /// members switch side by side, so a switch costs as much as for the slowest one. Then all
    /// transfer at once, and the request is done when the slowest is: n times its rate. So the
    /// competitive depth is n times that of a member ("multi-disk systems often require larger
    /// competitive prefetching depths", CPEM §6), and each member transfers for as long as it
    /// switched. Such requests slow each other as they would on one member: channels are those of a
    /// member. (Members that are done before the slowest go on with the next request, so the wait
    /// for the slowest platter is left out.) A request is billed at the dearest member's price,
    /// bytes at the mean of all. Distances and places are n times those on a member.
    fn cost(&self) -> DeviceCost {
        let costs: Vec<DeviceCost> = self.members.iter().map(|member| member.cost()).collect();
        let n = costs.len() as u64;
        let places = |of: fn(&DeviceCost) -> &Vec<(u64, u64)>| {
            let mut places: Vec<u64> = costs.iter().flat_map(|cost| of(cost).iter().map(|point| point.0)).collect();
            places.sort_unstable();
            places.dedup();
            places
        };
        let slowest = |distance: u64| costs.iter().map(|cost| cost.seek_time(distance)).max().unwrap_or(0);
        let rate = |place: u64| costs.iter().map(|cost| cost.transfer_rate(place)).min().unwrap_or(0);
        let seek = places(|cost| &cost.seek).into_iter().map(|d| (d.saturating_mul(n), slowest(d)));
        let zones = places(|cost| &cost.zones).into_iter().map(|p| (p.saturating_mul(n), rate(p).saturating_mul(n)));
        DeviceCost {
            seek: seek.collect(),
            half_revolution: costs.iter().map(|cost| cost.half_revolution).max().unwrap_or(0),
            zones: zones.collect(),
            capacity: self.capacity(),
            channels: costs.iter().map(|cost| cost.channels).min().unwrap_or(1),
        }
    }
}
