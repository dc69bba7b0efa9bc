//! A range of a file.
//!
//! Every answer is checked before a byte of it is taken: its bytes, the length of its file, and the
//! version. Bytes beyond the range are not taken. If a server gives only a limited part of a range
//! at a time, the rest is asked for in parts of that size, several at once if there is room.

use futures::{StreamExt, TryStreamExt, stream};
use parking_lot::Mutex;
use reqwest::{Method, StatusCode, header};

use super::ask::{Question, Reply};
use super::coding::CODED;
use super::elsewhere::{elsewhere, fits};
use super::head::strong;
use super::look::Name;
use super::ranges::refuses_ranges;
use super::trouble::{against_rules, broken, stale, too_slow};
use super::{Web, labels};
use crate::remote::{Answer, Flow, Range, Trouble};
use crate::{Error, Segments};

/// Answers that may be needed for one range, beside one for each [`LITTLE`].
const ANSWERS: usize = 64;

/// A server that keeps giving fewer bytes of a range at a time is not asked to the end.
const LITTLE: usize = 1 << 10;

/// Parts of a range that are asked for at once.
const ABREAST: usize = 8;

/// Bytes of a range that are wanted, counted from its first one.
#[derive(Clone, Copy)]
struct Span {
    start: usize,
    end: usize,
}

/// The bytes of a range that an answer has brought.
struct Got {
    came: usize,
    /// The number that its head promised.
    given: usize,
}

/// The place for the bytes of all answers. No two parts of a range overlap.
type Buffer<'a> = Mutex<&'a mut Segments>;

/// The place for the bytes of an answer.
struct Copy {
    /// Bytes of the body before those that are wanted.
    skip: u64,
    /// Bytes wanted.
    want: usize,
    /// Their place in the buffer.
    at: usize,
    /// Bytes that the body has; it is read to the end to check that, unless `told`.
    body: u64,
    /// Whether the head told the same number.
    told: bool,
}

impl Web {
    pub(super) async fn read_range(&self, range: &Range<'_>, buffer: &mut Segments) -> Answer<()> {
        let name = match self.named(range.path).await {
            Err(Trouble { error: Error::NotFound(_), .. }) => return Err(stale(&self.name(range.path))),
            name => name?,
        };
        let (buffer, whole) = (Mutex::new(buffer), Span { start: 0, end: range.len });
        let first = self.part(&name, range, whole, &buffer).await?;
        let left = range.len - first.came;
        if left == 0 {
            return Ok(());
        }
        let clipped = first.came == first.given && first.given >= LITTLE;
        let size = if clipped { first.given } else { left };
        let turns = range.room.turns((ABREAST - 1).min(left / size));
        let starts = (first.came..range.len).step_by(size);
        let parts = starts.map(|start| Span { start, end: range.len.min(start + size) });
        let filled = parts.map(|part| self.fill(&name, range, part, &buffer));
        stream::iter(filled).buffer_unordered(1 + turns.len()).try_collect().await
    }

    /// Reads a part of a range, in as many answers as it takes.
    async fn fill(&self, name: &Name<'_>, range: &Range<'_>, part: Span, buffer: &Buffer<'_>) -> Answer<()> {
        let mut left = part;
        for _ in 0..ANSWERS + (part.end - part.start) / LITTLE {
            let Got { came, .. } = self.part(name, range, left, buffer).await?;
            left.start += came;
            if left.start >= left.end {
                return Ok(());
            }
            if came == 0 {
                break;
            }
        }
        Err(broken(&name.shown, "the answers have too few bytes"))
    }

    /// Reads the first of the bytes, or all of them.
    async fn part(&self, name: &Name<'_>, range: &Range<'_>, left: Span, buffer: &Buffer<'_>) -> Answer<Got> {
        let reply = self.ask_for(name, range, left).await?;
        if reply.is_page_elsewhere() && !fits(range.version, &reply.head) {
            return Err(elsewhere(&name.shown));
        }
        if reply.head.coding.is_some() && !self.is_stored_so(name, range.version.size, &reply.head).await? {
            return Err(against_rules(&name.shown, CODED));
        }
        let copy = match reply.status() {
            StatusCode::PARTIAL_CONTENT => self.of_part(name, range, left, &reply).await?,
            StatusCode::OK => self.of_whole_file(name, range, left, &reply).await?,
            _ => return Err(reply.trouble(&name.shown)),
        };
        self.same_version(name, range.version, &reply.head).await?;
        let given = copy.want;
        let flow = Flow::new(range.patience);
        Ok(Got { came: self.copy(name, reply, copy, flow, buffer).await?, given })
    }

    /// Asks for the bytes, in a way that this server accepts.
    async fn ask_for(&self, name: &Name<'_>, range: &Range<'_>, left: Span) -> Answer<Reply> {
        let (start, end) = (range.offset + left.start as u64, range.offset + left.end as u64);
        // At most once for each fact that is learnt.
        for _ in 0..4 {
            let mut question = Question::new(Method::GET, name.url.clone(), &name.shown);
            let whole = self.learnt.reads_whole(name.path);
            if !whole {
                question = question.range(start, Some(end));
            }
            let condition = strong(range.version).filter(|_| !self.learnt.no_conditions.is_set());
            if let Some(tag) = condition {
                question = question.header(header::IF_MATCH, tag);
            }
            let label = if left.start == 0 { range.label.clone() } else { range.label.rest(start) };
            labels::write(&label, self.labels, &mut question.headers);
            let reply = self.asker.ask(&question).await?;
            if reply.lacks_slash {
                return Err(stale(&name.shown));
            }
            match reply.status() {
                StatusCode::NOT_FOUND | StatusCode::GONE => return Err(stale(&name.shown)),
                StatusCode::PRECONDITION_FAILED => {
                    if condition.is_none() || !self.still_has(name, range.version).await? {
                        return Err(stale(&name.shown));
                    }
                    self.learnt.no_conditions.set();
                }
                StatusCode::RANGE_NOT_SATISFIABLE => {
                    let total = reply.head.range.and_then(|range| range.total);
                    if whole || total.is_some_and(|total| total != range.version.size) {
                        return Err(stale(&name.shown));
                    }
                    self.ranges_are_refused(name.path);
                }
                status if !whole && refuses_ranges(status) => match self.whole_instead(question).await? {
                    Some(reply) => {
                        self.ranges_are_refused(name.path);
                        return Ok(reply);
                    }
                    None => return Ok(reply),
                },
                StatusCode::PARTIAL_CONTENT => {
                    self.learnt.ranges_work.set();
                    return Ok(reply);
                }
                _ => return Ok(reply),
            }
        }
        Err(stale(&name.shown))
    }

    /// The answer to the question without its range, if that is a file.
    async fn whole_instead(&self, mut question: Question<'_>) -> Answer<Option<Reply>> {
        question.headers.remove(header::RANGE);
        let reply = self.asker.ask(&question).await?;
        Ok(Some(reply).filter(|reply| reply.status() == StatusCode::OK))
    }

    /// The bytes wanted from a part.
    async fn of_part(&self, name: &Name<'_>, range: &Range<'_>, left: Span, reply: &Reply) -> Answer<Copy> {
        if reply.head.media == "multipart/byteranges" {
            return Err(against_rules(&name.shown, "several parts where one was asked for"));
        }
        let told = reply.head.range.and_then(|range| Some((range.part?, range.total)));
        let Some((part, total)) = told else {
            return Err(against_rules(&name.shown, "a part that does not say which"));
        };
        if total.is_some_and(|total| total != range.version.size) {
            return Err(self.other_length(name, range.version).await);
        }
        let start = range.offset + left.start as u64;
        if !(part.start..part.end).contains(&start) {
            return Err(against_rules(&name.shown, "another part than was asked for"));
        }
        let body = part.end - part.start;
        if reply.head.length.is_some_and(|length| length != body) {
            return Err(against_rules(&name.shown, "a part of another length than it says"));
        }
        let want = usize::try_from(part.end - start).unwrap_or(usize::MAX).min(left.end - left.start);
        Ok(Copy { skip: start - part.start, want, at: left.start, body, told: true })
    }

    /// The bytes wanted from a whole file.
    async fn of_whole_file(&self, name: &Name<'_>, range: &Range<'_>, left: Span, reply: &Reply) -> Answer<Copy> {
        if reply.head.length.is_some_and(|length| length != range.version.size) {
            return Err(self.other_length(name, range.version).await);
        }
        let skip = range.offset + left.start as u64;
        if skip > 0 && !self.learnt.reads_whole(name.path) {
            self.say("ranges are ignored", "; each one costs the file up to its end");
        }
        let (want, body) = (left.end - left.start, range.version.size);
        Ok(Copy { skip, want, at: left.start, body, told: reply.head.length.is_some() })
    }

    /// Copies bytes of the body as they come; returns how many. Ends as soon as the bytes are
    /// there, unless only reading tells the body's length.
    async fn copy(
        &self,
        name: &Name<'_>,
        mut reply: Reply,
        copy: Copy,
        mut flow: Flow,
        buffer: &Buffer<'_>,
    ) -> Answer<usize> {
        let (mut seen, mut filled) = (0u64, 0usize);
        loop {
            let chunk = flow.next(reply.chunk(&name.shown)).await;
            let bytes = match chunk.unwrap_or_else(|slow| Err(too_slow(&name.shown, slow))) {
                Ok(Some(bytes)) => bytes,
                Ok(None) => break,
                // The rest is asked for anew.
                Err(trouble) if trouble.kind == "broken" && filled > 0 => return Ok(filled),
                Err(trouble) => return Err(trouble),
            };
            let before = usize::try_from(copy.skip.saturating_sub(seen)).unwrap_or(usize::MAX);
            let useful = bytes.get(before..).unwrap_or_default();
            let useful = &useful[..useful.len().min(copy.want - filled)];
            buffer.lock().write(copy.at + filled, useful);
            filled += useful.len();
            seen += bytes.len() as u64;
            flow.came(bytes.len());
            if seen > copy.body {
                return Err(broken(&name.shown, "more bytes came than the answer has"));
            }
            if copy.told && filled == copy.want && seen < copy.body {
                return Ok(filled);
            }
        }
        if seen == copy.body {
            return Ok(filled);
        }
        // A body without a told length that ends early may be cut, or of a shorter file.
        Err(broken(&name.shown, "the answer ended early"))
    }
}
